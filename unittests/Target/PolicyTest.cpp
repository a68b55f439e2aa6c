//===- PolicyTest.cpp - What candidates may not do ------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "sparseditto/Target/CandidatePolicy.h"
#include "sparseditto/Target/Compile.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace sparseditto;
using ::testing::HasSubstr;

static KernelManifest manifestOf() {
  KernelManifest manifest;
  manifest.symbol = "kernel";
  manifest.strategy.family = "custom";
  manifest.format = "rows";
  manifest.problem.m = manifest.problem.k = 64;
  manifest.block = {64, 1, 1};
  manifest.staticSharedBytes = 256;
  manifest.chip = "sm_80";
  manifest.ptxVersion = 80;
  manifest.args.push_back({ArgKind::Packed, "values", ElementType::F16, 256});
  for (const KernelArg &arg : activationArgs(manifest.problem))
    manifest.args.push_back(arg);
  return manifest;
}

static std::string replaced(std::string text, llvm::StringRef from,
                            llvm::StringRef to) {
  size_t at = text.find(from.str());
  EXPECT_NE(at, std::string::npos) << from.str();
  return text.replace(at, from.size(), to.str());
}

struct Case {
  const char *from, *to; ///< An edit of the good text.
  const char *message;   ///< Must be part of the refusal; empty: accepted.
};

static void expectCase(llvm::Error error, const Case &test) {
  SCOPED_TRACE(std::string(test.from) + " -> " + test.to);
  std::string message = llvm::toString(std::move(error));
  if (*test.message)
    EXPECT_THAT(message, HasSubstr(test.message));
  else
    EXPECT_EQ(message, "");
}

//===----------------------------------------------------------------------===//
// PTX
//===----------------------------------------------------------------------===//

static const char *goodPtx = R"(//
.version 8.0
.target sm_80
.address_size 64
/* two
   lines */
.const .align 4 .b8 table[4] = {1, 2, 3, 4};
.shared .align 16 .b8 tile[256];
.visible .entry kernel(
	.param .u64 .ptr .global .align 256 kernel_param_0,
	.param .u64 .ptr .global .align 2 kernel_param_1,
	.param .u64 .ptr .global .align 2 kernel_param_2,
	.param .u32 kernel_param_3,
	.param .u32 kernel_param_4,
	.param .u32 kernel_param_5
)
.maxntid 64, 1, 1
{
	.reg .pred 	%p<3>;
	.reg .b32 	%r<9>, %sum;
	.reg .b64 	%rd<9>;
	ld.param.b64 	%rd1, [kernel_param_2];
	mov.u32 	%r1, %tid.x;
	setp.ge.u32 	%p1, %r1, 64;
	@%p1 bra 	$L__BB0_2;
	{ .reg .b32 scratch; mov.b32 scratch, 7; }
	.pragma "nounroll";
	ld.global.nc.L1::no_allocate.L2::128B.b32 	%sum, [%rd1+4];
	st.global.b16 	[%rd1], 0x0000;
$L__BB0_2:
	ret;
}
)";

TEST(PtxPolicy, Rules) {
  const Case cases[] = {
      {".version 8.0", ".version 8.0", ""},
      // The header.
      {".version 8.0", ".version 8.5", "PTX line 2: PTX version 8.5, the"},
      {".version 8.0", "", "PTX line 32: .version or .target is missing"},
      {".target sm_80", ".target sm_75", "PTX line 3: target sm_75, the mani"},
      {".target sm_80", ".target sm_80, debug", "target options"},
      {".target sm_80", ".target sm_80\n.target sm_80", "a second .target"},
      {".address_size 64", ".address_size 32", "address size 32"},
      // Variables.
      {".const", ".global .align 4 .u32 calls;\n.const",
       "PTX line 7: global variable 'calls' would keep its value"},
      {".const", ".visible .global .align 4 .u32 calls;\n.const",
       "global variable 'calls'"},
      {".const", ".extern .global .align 4 .u32 calls;\n.const",
       "external '.global'"},
      {".const", ".weak .const", "'.weak' is not allowed"},
      {" = {1, 2, 3, 4}", "", "constant 'table' has no value"},
      {"tile[256]", "tile[260]",
       "260 bytes of shared variables, the manifest says 256"},
      {"tile[256]", "tile[256], more[4]", "more than one variable"},
      {".shared", ".extern .shared", "external variable 'tile' with a size"},
      // Sizes of several dimensions must not wrap around.
      {".b8 tile[256]", ".b8 tile[4194304][4194303][5]", "the size of 'tile'"},
      {".b8 tile[256]", ".v4 .v4 .v4 .v4 .v4 .v4 .v4 .v4 .v4 .v4 .v4 .v4 .b8 x",
       "the size of ''"},
      {".pragma \"nounroll\"", ".pragma \"a\nb\"",
       "pragma 'a b' is not allowed"},
      {".shared .align 16 .b8 tile[256]",
       ".extern .shared .align 16 .b8 tile[]", ""},
      {".pragma \"nounroll\";", ".local .align 16 .b8 stack[32768];",
       "32768 bytes of local memory"},
      {".pragma \"nounroll\";", ".global .u32 hidden;", "'.global' is not"},
      // Functions and calls.
      {".const", ".func helper { ret; }\n.const", "function besides"},
      {".const",
       ".extern .func (.param .b32 r) vprintf (.param .b64 f);\n.const",
       "external '.func'"},
      {".const", ".alias kernel, other;\n.const", "'.alias'"},
      {"ret;", "call helper;", "instruction 'call'"},
      {"ret;\n}", "ret;\n}\n.visible .entry second() { ret; }",
       "a second kernel, 'second'"},
      {"entry kernel(", "entry other(", "kernel 'other', the manifest says"},
      // The ABI.
      {",\n\t.param .u32 kernel_param_5", "", "5 parameters, the manifest"},
      {".param .u32 kernel_param_5",
       ".param .u32 kernel_param_5, .param .u64 more", "7 parameters"},
      {".param .u32 kernel_param_3", ".param .u64 kernel_param_3",
       "parameter 3 ('n'): '.u64', expected a 32-bit integer"},
      {".param .u64 .ptr .global .align 2 kernel_param_1",
       ".param .align 8 .b8 kernel_param_1[8]", "alignment 8"},
      {".align 2 kernel_param_1", ".align 16 kernel_param_1",
       "parameter 1 ('x'): alignment 16, the manifest promises 2"},
      {".ptr .global .align 2 kernel_param_1",
       ".ptr .shared .align 2 kernel_param_1", "'.shared'"},
      {".maxntid 64", ".maxntid 32", "does not fit the 64 threads"},
      {".maxntid 64", ".maxntid 128", ""},
      {".maxntid 64, 1, 1", ".reqntid 128, 1, 1", "does not fit"},
      {".maxntid 64, 1, 1", ".reqntid 64", ""},
      {".maxntid 64, 1, 1", ".maxntid 64\n.minnctapersm 2", ""},
      {".maxntid 64, 1, 1", ".reqnctapercluster 8", "'.reqnctapercluster'"},
      // Clocks and places.
      {"%tid.x", "%clock", "special register '%clock' is not"},
      {"%tid.x", "%clock64", "'%clock64'"},
      {"%tid.x", "%globaltimer_lo", "'%globaltimer_lo'"},
      {"%tid.x", "%smid", "PTX line 23: special register '%smid'"},
      {"%tid.x", "%gridid", "'%gridid'"},
      {"%tid.x", "%laneid", ""},
      {"%tid.x", "%r10", ""}, // Of a declared family; ptxas judges numbers.
      {"%tid.x", "%q1", "'%q1'"},
      // Caches.
      {"L2::128B", "L2::evict_last", "keeps lines in L2"},
      {"L2::128B.b32", "L2::cache_hint.b32", "sets a cache policy"},
      {"ret;", "createpolicy.fractional.L2::evict_last.b64 %rd1, 1.0;",
       "instruction 'createpolicy"},
      {"ret;", "prefetch.global.L2 [%rd1];", "instruction 'prefetch"},
      {"ret;", "discard.global.L2 [%rd1], 128;", "instruction 'discard"},
      {"ret;", "applypriority.global.L2::evict_normal [%rd1], 128;",
       "instruction 'applypriority"},
      {"ret;", "cp.async.bulk.prefetch.L2.global [%rd1], 128;",
       "fills caches ahead"},
      // Others.
      {"ret;", "nanosleep.u32 1000;", "instruction 'nanosleep"},
      {"ret;", "alloca.u64 %rd1, 64;", "instruction 'alloca"},
      {"ret;", "tex.1d.v4.f32.s32 {%r1}, [t, {%r2}];", "instruction 'tex"},
      {"[%rd1+4]", "[4096]", "the number 4096 as an address"},
      {"ret;", "@!%p1 brkpt;", "instruction 'brkpt'"},
      {"\"nounroll\"", "\"frequency 1\"", "pragma 'frequency 1'"},
      // What is no PTX.
      {"/* two", "/* /* two", ""},
      {"lines */", "lines", "PTX line 5: a comment is not closed"},
      {"\"nounroll\"", "\"nounroll", "a string is not closed"},
      {"ret;\n}", "ret;\n", "a brace is not closed"},
      {"ret;", "ret", "a statement is not ended"},
      {"ret;", "\x01;", "byte 0x1 is no text"},
      {"ret;", "@%p1;", "a guard guards nothing"},
      {"ret;", "[;", "expected an instruction, got '['"},
  };
  for (const Case &test : cases)
    expectCase(
        checkCandidatePtx(replaced(goodPtx, test.from, test.to), manifestOf()),
        test);
}

TEST(PtxPolicy, HugeText) {
  std::string text(size_t(5) << 20, ' ');
  EXPECT_THAT(llvm::toString(checkCandidatePtx(text, manifestOf())),
              HasSubstr("bytes of text, at most"));
}

TEST(PtxPolicy, EveryPrefixIsAnError) {
  // Truncated anywhere before its last brace, a text is refused and nothing
  // reads past its end.
  llvm::StringRef text = llvm::StringRef(goodPtx).rtrim();
  for (size_t i = 0; i < text.size(); ++i) {
    // On the heap, so that a sanitizer sees a read beyond.
    std::vector<char> copy(text.begin(), text.begin() + ptrdiff_t(i));
    EXPECT_NE(llvm::toString(
                  checkCandidatePtx({copy.data(), copy.size()}, manifestOf())),
              "");
  }
}

//===----------------------------------------------------------------------===//
// MLIR
//===----------------------------------------------------------------------===//

static const char *goodModule = R"(
module {
  gpu.module @m {
    llvm.mlir.global external @tile() {addr_space = 3 : i32} : !llvm.array<256 x i8>
    gpu.func @kernel(%w: memref<64x64xf16, 1> {llvm.align = 256 : i64}, %x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %n: i32, %ldx: i32, %ldy: i32) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
      %zero = arith.constant 0.0 : f16
      %tid = nvvm.read.ptx.sreg.tid.x : i32
      %at = llvm.getelementptr %y[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
      llvm.store %zero, %at : f16, !llvm.ptr<1>
      gpu.return
    }
  }
}
)";

static llvm::Error checkText(const std::string &text,
                             const KernelManifest &manifest = manifestOf()) {
  mlir::DialectRegistry registry;
  registerKernelDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  context.allowUnregisteredDialects();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(bool(module)) << text;
  return module ? checkCandidateModule(*module, manifest)
                : llvm::createStringError("does not parse");
}

TEST(ModulePolicy, Rules) {
  const Case cases[] = {
      {"module {", "module {", ""},
      // State.
      {"llvm.mlir.global external @tile() {addr_space = 3 : i32}",
       "llvm.mlir.global external @calls() {addr_space = 1 : i32}",
       "'llvm.mlir.global' 'calls' would keep its value"},
      {"llvm.mlir.global external @tile() {addr_space = 3 : i32}",
       "llvm.mlir.global external @calls()", "would keep its value"},
      {"llvm.mlir.global external @tile() {addr_space = 3 : i32} : "
       "!llvm.array<256 x i8>",
       "memref.global @seen : memref<4xi32> = uninitialized",
       "'memref.global' 'seen' would keep its value"},
      {"llvm.mlir.global external @tile() {addr_space = 3 : i32} : "
       "!llvm.array<256 x i8>",
       "memref.global \"private\" @tile : memref<64xf32, 3>", ""},
      {"llvm.mlir.global external @tile() {addr_space = 3 : i32} : "
       "!llvm.array<256 x i8>",
       "llvm.mlir.global internal constant @table(7 : i32) {addr_space = 4 : "
       "i32} : i32",
       ""},
      {"256 x i8", "260 x i8",
       "has 260 bytes of static shared memory, the manifest says 256"},
      {"gpu.return",
       "%c = arith.constant 3000 : i32\n %s = llvm.alloca %c x f64 : (i32) -> "
       "!llvm.ptr\n gpu.return",
       "'llvm.alloca' makes 24000 bytes of local memory a thread"},
      {"gpu.return",
       "%s = llvm.alloca %n x f64 : (i32) -> !llvm.ptr\n gpu.return",
       "'llvm.alloca' has no constant size"},
      {"gpu.return", "%s = memref.alloca() : memref<5000xf32>\n gpu.return",
       "'memref.alloca' makes 20000 bytes"},
      {"gpu.return", "%s = memref.alloca() : memref<16xf32>\n gpu.return", ""},
      // Structure.
      {"gpu.module @m {", "llvm.func @host()\n gpu.module @m {",
       "'llvm.func' is not allowed beside the gpu.module"},
      {"gpu.module @m {", "gpu.module @other {} gpu.module @m {",
       "'gpu.module' is a second one"},
      {"llvm.mlir.global external @tile",
       "llvm.func @vprintf(!llvm.ptr, !llvm.ptr) -> i32\n llvm.mlir.global "
       "external @tile",
       "'llvm.func' 'vprintf' is not the kernel 'kernel' of the manifest"},
      {"gpu.func @kernel(", "gpu.func @other(",
       "'other' is not the kernel 'kernel'"},
      // The ABI.
      {", %ldy: i32)", ")", "has 5 arguments, the manifest has 6"},
      {"%n: i32", "%n: i64", "argument 3 ('n') is i64, expected i32"},
      {"%x: !llvm.ptr<1>", "%x: !llvm.ptr<3>", "is not in global memory"},
      {"%x: !llvm.ptr<1>", "%x: f32", "is f32, expected a pointer"},
      {"memref<64x64xf16, 1>", "memref<64x64xf32, 1>", "holds f32"},
      {"%x: !llvm.ptr<1>", "%x: !llvm.ptr<1> {llvm.align = 16 : i64}",
       "has alignment 16, the manifest promises 2"},
      {"array<i32: 64, 1, 1>", "array<i32: 128, 1, 1>",
       "known_block_size is not the manifest's block"},
      // Operations.
      {"gpu.return", "gpu.printf \"hello\"\n gpu.return",
       "'gpu.printf' is not"},
      {"gpu.return",
       "%more = gpu.dynamic_shared_memory : memref<?xi8, "
       "#gpu.address_space<workgroup>>\n gpu.return",
       "'gpu.dynamic_shared_memory' is not"},
      {"gpu.return",
       "%v = vector.broadcast %zero : f16 to vector<4xf16>\n vector.print %v "
       ": vector<4xf16>\n gpu.return",
       "'vector.print' is not"},
      {"gpu.return",
       "%v = vector.broadcast %zero : f16 to vector<64x64xf16>\n gpu.return",
       "vectors have at most 1024 elements"},
      {"gpu.return", "\"other.op\"() : () -> ()\n gpu.return", "'other.op'"},
      {"gpu.return",
       "%p = llvm.mlir.undef : !llvm.ptr\n llvm.call %p() : !llvm.ptr, () -> "
       "()\n gpu.return",
       "'llvm.call' is not"},
      // Addresses.
      {"gpu.return",
       "%i = arith.constant 4096 : i64\n %p = llvm.inttoptr %i : i64 to "
       "!llvm.ptr<1>\n gpu.return",
       "'llvm.inttoptr' makes an address from a number"},
      {"gpu.return",
       "%i = arith.constant 64 : i32\n %p = llvm.inttoptr %i : i32 to "
       "!llvm.ptr<3>\n gpu.return",
       ""},
      {"gpu.return", "%p = llvm.mlir.zero : !llvm.ptr<1>\n gpu.return",
       "'llvm.mlir.zero' makes an address"},
      {"gpu.return", "%i = llvm.ptrtoint %y : !llvm.ptr<1> to i64\n gpu.return",
       ""},
      // Registers and instructions.
      {"tid.x", "clock64", "special register"},
      {"gpu.return", "%s = nvvm.read.ptx.sreg.globaltimer : i64\n gpu.return",
       "'globaltimer' is not"},
      {"gpu.return",
       "%s = llvm.call_intrinsic \"llvm.nvvm.read.ptx.sreg.smid\"() : () -> "
       "i32\n gpu.return",
       "special register 'smid'"},
      {"gpu.return", "nvvm.breakpoint\n gpu.return",
       "'nvvm.breakpoint' is not"},
      {"gpu.return",
       "%s = llvm.call_intrinsic \"llvm.nvvm.unheard.of\"() : () -> i32\n "
       "gpu.return",
       "'llvm.nvvm.unheard.of' is not a known instruction"},
      {"gpu.return",
       "%s = llvm.call_intrinsic \"llvm.stacksave\"() : () -> !llvm.ptr\n "
       "gpu.return",
       "intrinsic 'llvm.stacksave' is not a known one"},
      // Inline assembly.
      {"gpu.return",
       "%s = llvm.inline_asm \"mov.u32 $0, %laneid;\", \"=r\" : () -> i32\n "
       "gpu.return",
       ""},
      {"gpu.return",
       "%s = llvm.inline_asm \"mov.u32 $0, %clock;\", \"=r\" : () -> i32\n "
       "gpu.return",
       "special register '%clock'"},
      {"gpu.return",
       "llvm.inline_asm has_side_effects \"{ .global .u32 c; }\", \"\" : () "
       "-> ()\n gpu.return",
       "inline assembly may not declare '.global'"},
      {"gpu.return",
       "llvm.inline_asm has_side_effects \"ret; } .func f() { ret;\", \"\" : "
       "() -> ()\n gpu.return",
       "closes a brace that it did not open"},
      {"gpu.return",
       "llvm.inline_asm has_side_effects \"mov.u32 $0, %cl$(ock$|x$);\", "
       "\"=r\" : () -> i32\n gpu.return",
       "'$' that is no operand"},
      {"gpu.return",
       "llvm.inline_asm has_side_effects \"membar.gl; // \", \"\" : () -> "
       "()\n gpu.return",
       ""},
      {"gpu.return",
       "llvm.inline_asm has_side_effects \"discard.global.L2 [$0], 128;\", "
       "\"l\" %y : (!llvm.ptr<1>) -> ()\n gpu.return",
       "instruction 'discard.global.L2'"},
  };
  for (const Case &test : cases)
    expectCase(checkText(replaced(goodModule, test.from, test.to)), test);
}

TEST(ModulePolicy, SaysWhere) {
  EXPECT_THAT(llvm::toString(checkText(replaced(
                  goodModule, "gpu.return", "nvvm.breakpoint\n gpu.return"))),
              HasSubstr(":10:"));
}

TEST(ModulePolicy, SharedMemoryOfTheChip) {
  KernelManifest manifest = manifestOf();
  manifest.dynamicSharedBytes = 200000;
  EXPECT_THAT(llvm::toString(checkCandidatePtx(goodPtx, manifest)),
              HasSubstr("200256 bytes of shared memory, a block of sm_80 has"));
  EXPECT_THAT(llvm::toString(checkText(goodModule, manifest)),
              HasSubstr("200256 bytes of shared memory, a block of sm_80 has"));
}
