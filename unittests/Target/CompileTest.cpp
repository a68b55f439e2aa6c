//===- CompileTest.cpp - Kernel MLIR to PTX to cubin ----------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Target/Compile.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace sparseditto;

// Loads through shared memory with cp.async, 2:4 and dense matrix products, a
// loop over i32, an epilogue with math: what the sm_80 level of a family uses.
static const char kernel[] = R"mlir(
module {
  gpu.module @kernels {
    llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<8192 x i8>
    gpu.func @product(%w: !llvm.ptr<1> {llvm.align = 16 : i64},
                      %x: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias, llvm.readonly},
                      %y: !llvm.ptr<1> {llvm.align = 4 : i64, llvm.noalias},
                      %n: i32) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>, nvvm.minctasm = 2 : i32} {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %zero = arith.constant 0.0 : f32
      %tid = nvvm.read.ptx.sreg.tid.x range <i32, 0, 128> : i32
      %lane = nvvm.read.ptx.sreg.laneid : i32
      %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
      %to = llvm.getelementptr %tile[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xi32>
      %from = llvm.getelementptr %x[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>
      %sum:4 = scf.for %i = %c0 to %n step %c1
          iter_args(%d0 = %zero, %d1 = %zero, %d2 = %zero, %d3 = %zero) -> (f32, f32, f32, f32) : i32 {
        nvvm.cp.async.shared.global %to, %from, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
        nvvm.cp.async.commit.group
        %at = llvm.getelementptr %w[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>
        %a = llvm.load %at {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
        nvvm.cp.async.wait.group 0
        gpu.barrier
        %row = llvm.getelementptr %tile[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xi32>
        %b = nvvm.ldmatrix %row {num = 4 : i32, layout = #nvvm.mma_layout<col>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
        %a0 = vector.extract %a[0] : i32 from vector<4xi32>
        %a1 = vector.extract %a[1] : i32 from vector<4xi32>
        %a2 = vector.extract %a[2] : i32 from vector<4xi32>
        %a3 = vector.extract %a[3] : i32 from vector<4xi32>
        %b0 = llvm.extractvalue %b[0] : !llvm.struct<(i32, i32, i32, i32)>
        %b1 = llvm.extractvalue %b[1] : !llvm.struct<(i32, i32, i32, i32)>
        %b2 = llvm.extractvalue %b[2] : !llvm.struct<(i32, i32, i32, i32)>
        %b3 = llvm.extractvalue %b[3] : !llvm.struct<(i32, i32, i32, i32)>
        %m = nvvm.mma.sync A[%a0, %a1, %a2, %a3] B[%b0, %b1] C[%d0, %d1, %d2, %d3] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
        %e0 = llvm.extractvalue %m[0] : !llvm.struct<(f32, f32, f32, f32)>
        %e1 = llvm.extractvalue %m[1] : !llvm.struct<(f32, f32, f32, f32)>
        %e2 = llvm.extractvalue %m[2] : !llvm.struct<(f32, f32, f32, f32)>
        %e3 = llvm.extractvalue %m[3] : !llvm.struct<(f32, f32, f32, f32)>
        %s = nvvm.mma.sp.sync A[%a0, %a1, %a2, %a3] B[%b0, %b1, %b2, %b3] C[%e0, %e1, %e2, %e3] sparseMetadata[%tid] selector[%c0] {orderedMetadata, multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>, shape = #nvvm.shape<m = 16, n = 8, k = 32>} : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
        %f0 = llvm.extractvalue %s[0] : !llvm.struct<(f32, f32, f32, f32)>
        %f1 = llvm.extractvalue %s[1] : !llvm.struct<(f32, f32, f32, f32)>
        %f2 = llvm.extractvalue %s[2] : !llvm.struct<(f32, f32, f32, f32)>
        %f3 = llvm.extractvalue %s[3] : !llvm.struct<(f32, f32, f32, f32)>
        gpu.barrier
        scf.yield %f0, %f1, %f2, %f3 : f32, f32, f32, f32
      }
      %t = math.tanh %sum#0 : f32
      %g = math.erf %sum#1 : f32
      %e = math.exp %sum#2 : f32
      %v = vector.from_elements %t, %g : vector<2xf32>
      %u = vector.from_elements %e, %sum#3 : vector<2xf32>
      %p = arith.addf %v, %u : vector<2xf32>
      %h = arith.truncf %p : vector<2xf32> to vector<2xbf16>
      %inside = arith.cmpi slt, %tid, %n : i32
      scf.if %inside {
        %out = llvm.getelementptr %y[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<2xbf16>
        llvm.store %h, %out {alignment = 4 : i64} : vector<2xbf16>, !llvm.ptr<1>
      }
      gpu.return
    }
  }
}
)mlir";

namespace {
class Compile : public ::testing::Test {
protected:
  Compile() {
    DialectRegistry registry;
    registerKernelDialects(registry);
    context.appendDialectRegistry(registry);
  }

  OwningOpRef<ModuleOp> parse(const std::string &text) {
    auto module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(bool(module));
    return module;
  }
  /// A module with one kernel of no arguments around `body`.
  OwningOpRef<ModuleOp> parseBody(const std::string &body) {
    return parse("module { gpu.module @m { gpu.func @k(%p: !llvm.ptr<1>, %s: "
                 "!llvm.ptr<3>, %i: i32, %f: f32) kernel {\n" +
                 body + "\ngpu.return } } }");
  }
  llvm::Expected<std::string> ptx(const std::string &body,
                                  llvm::StringRef chip = "sm_80",
                                  unsigned version = 85) {
    auto module = parseBody(body);
    if (!module)
      return llvm::createStringError("the test's kernel does not parse");
    return translateToPtx(*module, *llvm::cantFail(findChip(chip)), version);
  }
  std::string error(const std::string &body, llvm::StringRef chip = "sm_80",
                    unsigned version = 85) {
    auto result = ptx(body, chip, version);
    return result ? "" : llvm::toString(result.takeError());
  }

  MLIRContext context;
};
} // namespace

static bool contains(llvm::StringRef text, llvm::StringRef part) {
  return text.contains(part);
}

TEST_F(Compile, EveryChipOfTheSupportList) {
  auto module = parse(kernel);
  for (const char *name :
       {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"}) {
    auto compiled =
        compileKernel(*module, *llvm::cantFail(findChip(name)), PtxasOptions());
    ASSERT_TRUE(bool(compiled))
        << name << ": " << llvm::toString(compiled.takeError());
    EXPECT_TRUE(contains(compiled->ptx, std::string(".target ") + name));
    EXPECT_TRUE(contains(compiled->ptx, "mma.sp::ordered_metadata"));
    EXPECT_TRUE(contains(compiled->ptx, ".maxntid 128"));
    EXPECT_TRUE(contains(compiled->ptx, ".minnctapersm 2"));
    EXPECT_TRUE(contains(compiled->ptx, ".extern") == false);
    const PtxasReport &report = compiled->report;
    if (!report.available)
      continue;
    ASSERT_TRUE(report.ok()) << name << ": " << report.log;
    EXPECT_FALSE(report.hasPerformanceFault()) << report.log;
    const KernelResources *resources = report.find("product", name);
    ASSERT_NE(resources, nullptr) << report.log;
    EXPECT_GT(resources->registers, 16u);
    EXPECT_EQ(resources->spillStoreBytes, 0u);
    EXPECT_EQ(resources->sharedBytes, 8192u);
    EXPECT_EQ(resources->barriers, 1u);
    EXPECT_EQ(compiled->cubin.substr(1, 3), "ELF");
  }
}

TEST_F(Compile, IsDeterministicAndLeavesTheModuleAlone) {
  auto module = parse(kernel);
  auto text = [](ModuleOp op) {
    std::string result;
    llvm::raw_string_ostream os(result);
    op.print(os);
    return result;
  };
  std::string before = text(*module);
  const Chip &chip = *llvm::cantFail(findChip("sm_90a"));
  std::string first = llvm::cantFail(translateToPtx(*module, chip, 85));
  EXPECT_EQ(text(*module), before);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(llvm::cantFail(translateToPtx(*module, chip, 85)), first);
  // Another context allocates elsewhere; the text must not know.
  MLIRContext other;
  DialectRegistry registry;
  registerKernelDialects(registry);
  other.appendDialectRegistry(registry);
  auto again = parseSourceString<ModuleOp>(kernel, &other);
  EXPECT_EQ(llvm::cantFail(translateToPtx(*again, chip, 85)), first);
}

TEST_F(Compile, LoweringFirstGivesTheSamePtx) {
  auto module = parse(kernel);
  const Chip &chip = *llvm::cantFail(findChip("sm_80"));
  std::string direct = llvm::cantFail(translateToPtx(*module, chip, 85));
  ASSERT_FALSE(bool(lowerKernelToNVVM(*module)));
  EXPECT_EQ(llvm::cantFail(translateToPtx(*module, chip, 85)), direct);
  // Only the two dialects are left, and the operations that the emulator
  // executes are still operations.
  bool sawMma = false;
  module->walk([&](Operation *op) {
    llvm::StringRef dialect = op->getName().getDialectNamespace();
    EXPECT_TRUE(dialect == "llvm" || dialect == "nvvm" ||
                dialect == "builtin" ||
                op->getName().getStringRef() == "gpu.module")
        << op->getName().getStringRef().str();
    EXPECT_NE(op->getName().getStringRef(), "llvm.inline_asm");
    sawMma |= op->getName().getStringRef() == "nvvm.mma.sp.sync";
  });
  EXPECT_TRUE(sawMma);
}

TEST_F(Compile, PtxVersionOutsideTheTable) {
  EXPECT_EQ(error("", "sm_90a", 78),
            "PTX version 78 is outside 80..90, what sm_90a takes");
  EXPECT_EQ(error("", "sm_80", 91),
            "PTX version 91 is outside 70..90, what sm_80 takes");
  // Inside the range, but no such version: LLVM would silently use its default.
  EXPECT_EQ(error("", "sm_80", 89), "there is no PTX version 89");
}

TEST_F(Compile, WantsOneModule) {
  const Chip &chip = *llvm::cantFail(findChip("sm_80"));
  EXPECT_EQ(
      llvm::toString(translateToPtx(*parse("module {}"), chip, 85).takeError()),
      "expected one gpu.module to translate, got 0");
  EXPECT_EQ(
      llvm::toString(
          translateToPtx(*parse("module { gpu.module @a {} gpu.module @b {} }"),
                         chip, 85)
              .takeError()),
      "expected one gpu.module to translate, got 2");
}

TEST_F(Compile, UnknownDialectsAreNamed) {
  context.allowUnregisteredDialects();
  std::string text = error("\"foo.bar\"() : () -> ()");
  EXPECT_TRUE(contains(text, "no lowering to the llvm and nvvm dialects for "
                             "'foo.bar' in a kernel"))
      << text;
}

TEST_F(Compile, LibdeviceIsNamed) {
  auto module =
      parse("module { gpu.module @m { llvm.func @__nv_expf(f32) -> "
            "f32\n gpu.func @k(%p: !llvm.ptr<1>, %f: f32) kernel { %r "
            "= llvm.call @__nv_expf(%f) : (f32) -> f32\n llvm.store "
            "%r, %p : f32, !llvm.ptr<1>\n gpu.return } } }");
  EXPECT_EQ(llvm::toString(
                translateToPtx(*module, *llvm::cantFail(findChip("sm_80")), 85)
                    .takeError()),
            "the kernel calls '__nv_expf', which nothing defines (a libdevice "
            "function; libdevice is not linked)");
}

TEST_F(Compile, MathWithoutALoweringIsNamed) {
  std::string text = error("%r = math.atan2 %f, %f : f32\n"
                           "llvm.store %r, %p : f32, !llvm.ptr<1>");
  EXPECT_TRUE(contains(text, "'llvm.intr.atan2' has no NVPTX lowering"))
      << text;
}

TEST_F(Compile, UndefinedFunctionIsNamed) {
  auto module = parse("module { gpu.module @m { llvm.func @outside(f32)\n"
                      "gpu.func @k(%f: f32) kernel { llvm.call @outside(%f) : "
                      "(f32) -> ()\n gpu.return } } }");
  EXPECT_EQ(llvm::toString(
                translateToPtx(*module, *llvm::cantFail(findChip("sm_80")), 85)
                    .takeError()),
            "the kernel calls 'outside', which nothing defines");
}

TEST_F(Compile, MathStaysInsideTheModule) {
  std::string body;
  for (const char *op : {"tanh", "erf", "exp", "exp2", "rsqrt", "sqrt", "log",
                         "log2", "log1p", "expm1", "sin", "cos", "absf",
                         "floor", "ceil", "round", "roundeven", "trunc"})
    for (const char *type : {"f32", "f16", "bf16"}) {
      std::string id = std::string(op) + type;
      body += "%x" + id + " = llvm.load volatile %p : !llvm.ptr<1> -> " + type +
              "\n%y" + id + " = math." + op + " %x" + id + " : " + type +
              "\nllvm.store volatile %y" + id + ", %p : " + type +
              ", !llvm.ptr<1>\n";
    }
  for (const char *chip : {"sm_80", "sm_90a"}) {
    auto text = ptx(body, chip);
    ASSERT_TRUE(bool(text)) << llvm::toString(text.takeError());
    EXPECT_FALSE(contains(*text, ".extern"));
    EXPECT_TRUE(contains(*text, "ex2.approx"));
    EXPECT_TRUE(contains(*text, "sqrt.rn.f32"));
  }
}

// LLVM folds a function of a constant with the arithmetic of the host, so the
// PTX shows the value that the rewritten function has.
TEST_F(Compile, MathOfConstants) {
  const float infinity = std::numeric_limits<float>::infinity();
  auto fold = [&](llvm::StringRef function, float x) -> float {
    std::string bits = llvm::utohexstr(llvm::bit_cast<uint32_t>(x));
    std::string text = llvm::cantFail(
        ptx("%x = arith.constant 0x" + std::string(8 - bits.size(), '0') +
            bits + " : f32\n%y = math." + function.str() +
            " %x : f32\n%z = arith.bitcast %y : f32 to i32\n"
            "llvm.store %z, %p : i32, !llvm.ptr<1>"));
    llvm::StringRef store =
        llvm::StringRef(text).split("st.global.b32").second.split("], ").second;
    int64_t value = 0;
    EXPECT_FALSE(store.split(';').first.getAsInteger(0, value)) << text;
    return llvm::bit_cast<float>(uint32_t(value));
  };
  auto ulps = [](float got, double wanted) {
    float nearest = float(wanted);
    return std::fabs(double(got) - wanted) /
           (double(std::nextafter(std::fabs(nearest), 1e38f)) -
            std::fabs(nearest));
  };
  for (float x : {-87.0f, -50.25f, -20.7f, -1.0f, -0.001f, 0.0f, 1e-6f, 0.3f,
                  1.0f, 10.1f, 33.3f, 66.6f, 87.9f})
    EXPECT_LE(ulps(fold("exp", x), std::exp(double(x))), 1.5) << x;
  EXPECT_EQ(fold("exp", 200.0f), infinity);
  EXPECT_EQ(fold("exp", -200.0f), 0.0f);
  for (float x : {-9.0f, -1.5f, -0.1f, 1e-5f, 0.7f, 3.0f, 20.0f}) {
    EXPECT_LE(ulps(fold("tanh", x), std::tanh(double(x))), 8.0) << x;
    EXPECT_NEAR(fold("erf", x), std::erf(double(x)), 1e-6) << x;
  }
  EXPECT_EQ(fold("rsqrt", 4.0f), 0.5f);
  EXPECT_EQ(fold("rsqrt", 0.0f), infinity);
}

TEST_F(Compile, SharedMemoryThatWouldBeWrong) {
  EXPECT_TRUE(contains(error("%a = memref.alloca() : memref<16xf32, 3>"),
                       "'memref.alloca' does not make usable shared memory"));
  EXPECT_TRUE(contains(error("%a = memref.alloc() : memref<16xf32, "
                             "#gpu.address_space<workgroup>>"),
                       "'memref.alloc' does not make usable shared memory"));
  EXPECT_TRUE(contains(error("%a = gpu.dynamic_shared_memory : memref<?xi8, "
                             "#gpu.address_space<workgroup>>"),
                       "'gpu.dynamic_shared_memory' does not make usable"));
}

TEST_F(Compile, DynamicMemRefArgument) {
  auto module = parse("module { gpu.module @m { gpu.func @k(%a: f32, %b: "
                      "memref<?x4xf32>) kernel { gpu.return } } }");
  std::string text = llvm::toString(lowerKernelToNVVM(*module));
  EXPECT_TRUE(contains(text, "argument 1 of kernel 'k' is passed as a bare "
                             "pointer and needs a static shape or rank 0, got "
                             "'memref<?x4xf32>'"))
      << text;
}

// The oldest chip and PTX version that the table names must really do: LLVM
// aborts this test where they do not.
TEST_F(Compile, OperationsAtTheirMinimum) {
  struct Case {
    const char *body, *chip;
    unsigned ptx;
  } cases[] = {
      {"%a = nvvm.shfl.sync bfly %i, %f, %i, %i : f32 -> f32\n"
       "llvm.store %a, %p : f32, !llvm.ptr<1>",
       "sm_80", 70},
      {"%t = llvm.mlir.constant(true) : i1\n"
       "%a = nvvm.vote.sync ballot %i, %t -> i32\n"
       "llvm.store %a, %p : i32, !llvm.ptr<1>",
       "sm_80", 70},
      {"%a = nvvm.redux.sync add %i, %i : i32 -> i32\n"
       "llvm.store %a, %p : i32, !llvm.ptr<1>",
       "sm_80", 70},
      {"nvvm.barrier0\n nvvm.bar.warp.sync %i : i32", "sm_80", 70},
      {"nvvm.barrier id = %i number_of_threads = %i", "sm_80", 70},
      {"nvvm.memory.barrier <gpu>", "sm_80", 70},
      {"nvvm.nanosleep %i", "sm_80", 70},
      {"nvvm.exit", "sm_80", 70},
      {"nvvm.cp.async.shared.global %s, %p, 16, cache = cg : !llvm.ptr<3>, "
       "!llvm.ptr<1>\n nvvm.cp.async.commit.group\n nvvm.cp.async.wait.group 0",
       "sm_80", 70},
      {"nvvm.cp.async.shared.global %s, %p, 8, cache = ca, %i : !llvm.ptr<3>, "
       "!llvm.ptr<1>, i32",
       "sm_80", 70},
      {"nvvm.cp.async.mbarrier.arrive %s : !llvm.ptr<3>", "sm_80", 70},
      {"nvvm.mbarrier.init %s, %i : !llvm.ptr<3>, i32", "sm_80", 70},
      {"nvvm.mbarrier.inval %s : !llvm.ptr<3>", "sm_80", 70},
      {"%a = nvvm.mbarrier.arrive %s : !llvm.ptr<3> -> i64\n"
       "llvm.store %a, %p : i64, !llvm.ptr<1>",
       "sm_80", 70},
      {"%a = nvvm.mbarrier.arrive.nocomplete %s, %i : !llvm.ptr<3>, i32 -> "
       "i64\n"
       "llvm.store %a, %p : i64, !llvm.ptr<1>",
       "sm_80", 70},
      {"%a = arith.extui %i : i32 to i64\n"
       "%b = nvvm.mbarrier.test.wait %s, %a : !llvm.ptr<3>, i64 -> i1\n"
       "llvm.store %b, %p : i1, !llvm.ptr<1>",
       "sm_80", 70},
      {"nvvm.mbarrier.arrive.expect_tx %s, %i : !llvm.ptr<3>, i32", "sm_90",
       80},
      {"nvvm.mbarrier.try_wait.parity %s, %i, %i : !llvm.ptr<3>, i32, i32",
       "sm_90", 78},
      {"%a = nvvm.mbarrier.try_wait %s, %i : !llvm.ptr<3>, i32 -> i1\n"
       "llvm.store %a, %p : i1, !llvm.ptr<1>",
       "sm_90", 80},
      {"nvvm.fence.mbarrier.init", "sm_90", 80},
      {"nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = "
       "#nvvm.shared_space<cta>}",
       "sm_90", 80},
      {"nvvm.griddepcontrol wait\n nvvm.griddepcontrol launch_dependents",
       "sm_90", 78},
      {"%e = nvvm.elect.sync -> i1\n llvm.store %e, %p : i1, !llvm.ptr<1>",
       "sm_90", 80},
      {"nvvm.cluster.arrive\n nvvm.cluster.wait", "sm_90", 80},
      {"nvvm.setmaxregister increase 232", "sm_90a", 80},
      {"nvvm.wgmma.fence.aligned\n nvvm.wgmma.commit.group.sync.aligned\n "
       "nvvm.wgmma.wait.group.sync.aligned 0",
       "sm_90a", 80},
      {"%d = llvm.addrspacecast %s : !llvm.ptr<3> to !llvm.ptr<7>\n"
       "nvvm.cp.async.bulk.shared.cluster.global %d, %p, %s, %i : "
       "!llvm.ptr<7>, !llvm.ptr<1>",
       "sm_90", 80},
      {"nvvm.stmatrix %s, %i {layout = #nvvm.mma_layout<row>, shape = "
       "#nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = "
       "#nvvm.ld_st_matrix_elt_type<b16>} : !llvm.ptr<3>, i32",
       "sm_90", 78},
      {"%a = nvvm.ldmatrix %s {num = 1 : i32, layout = #nvvm.mma_layout<row>, "
       "shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = "
       "#nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> i32\n"
       "llvm.store %a, %p : i32, !llvm.ptr<1>",
       "sm_80", 70},
      {"%c = nvvm.convert.f32x2.to.f8x2 %f, %f {rnd = #nvvm.fp_rnd_mode<rn>, "
       "sat = #nvvm.sat_mode<satfinite>} : i16 (f8E4M3FN)\n"
       "llvm.store %c, %p : i16, !llvm.ptr<1>",
       "sm_89", 81},
      {"%c = nvvm.convert.float.to.tf32 %f {rnd = #nvvm.fp_rnd_mode<rna>}"
       "\n llvm.store %c, %p : i32, !llvm.ptr<1>",
       "sm_80", 70},
      {"%c = nvvm.rcp.approx.ftz.f %f : f32\n"
       "llvm.store %c, %p : f32, !llvm.ptr<1>",
       "sm_80", 70},
      {"%c = llvm.call_intrinsic \"llvm.nvvm.ex2.approx.ftz.f\"(%f) : (f32) -> "
       "f32\n llvm.store %c, %p : f32, !llvm.ptr<1>",
       "sm_80", 70},
      {"%c = llvm.call_intrinsic \"llvm.nvvm.lg2.approx.f\"(%f) : (f32) -> "
       "f32\n llvm.store %c, %p : f32, !llvm.ptr<1>",
       "sm_80", 70},
      {"%c = llvm.call_intrinsic \"llvm.nvvm.fmax.nan.f\"(%f, %f) : (f32, f32) "
       "-> f32\n llvm.store %c, %p : f32, !llvm.ptr<1>",
       "sm_80", 70},
      {"%c = llvm.call_intrinsic \"llvm.nvvm.fmax.xorsign.abs.f\"(%f, %f) : "
       "(f32, f32) -> f32\n llvm.store %c, %p : f32, !llvm.ptr<1>",
       "sm_86", 72},
      {"%c = llvm.call_intrinsic \"llvm.nvvm.fma.rn.relu.f16\"(%h, %h, %h) : "
       "(f16, f16, f16) -> f16\n llvm.store %c, %p : f16, !llvm.ptr<1>",
       "sm_80", 70},
      {"%c = llvm.call_intrinsic \"llvm.nvvm.prmt\"(%i, %i, %i) : (i32, i32, "
       "i32) -> i32\n llvm.store %c, %p : i32, !llvm.ptr<1>",
       "sm_80", 70},
      {"nvvm.prefetch level = L2, %p : !llvm.ptr<1>", "sm_90", 80},
      {"%a = nvvm.match.sync any %i, %i : i32 -> i32\n"
       "llvm.store %a, %p : i32, !llvm.ptr<1>",
       "sm_80", 70},
      {"%v = llvm.bitcast %i : i32 to vector<4xi8>\n"
       "%a = nvvm.dot.accumulate.4way %v <signed>, %v <signed>, %i : "
       "vector<4xi8>, vector<4xi8>\n llvm.store %a, %p : i32, !llvm.ptr<1>",
       "sm_80", 70},
      {"%a = llvm.fptrunc %f : f32 to bf16\n %b = llvm.fadd %a, %a : bf16\n"
       "%c = llvm.intr.fma(%b, %b, %a) : (bf16, bf16, bf16) -> bf16\n"
       "%d = llvm.intr.maximum(%c, %b) : (bf16, bf16) -> bf16\n"
       "llvm.store %d, %p : bf16, !llvm.ptr<1>",
       "sm_80", 70},
      {"%a = llvm.intr.exp2(%h) : (f16) -> f16\n"
       "llvm.store %a, %p : f16, !llvm.ptr<1>",
       "sm_80", 70},
      {"%a = llvm.atomicrmw fadd %p, %h monotonic : !llvm.ptr<1>, f16", "sm_80",
       70},
      {"%a = llvm.atomicrmw fadd %p, %f syncscope(\"cluster\") acq_rel : "
       "!llvm.ptr<1>, f32",
       "sm_90", 78},
  };
  for (const Case &c : cases) {
    SCOPED_TRACE(c.body);
    auto text = ptx(std::string("%h = arith.truncf %f : f32 to f16\n") + c.body,
                    c.chip, c.ptx);
    EXPECT_TRUE(bool(text)) << llvm::toString(text.takeError());
  }
}

// What each operation needs, one below it.
TEST_F(Compile, OperationsBelowTheirChip) {
  struct Case {
    const char *body, *chip;
    unsigned ptx;
    const char *message;
  } cases[] = {
      {"nvvm.griddepcontrol wait", "sm_80", 85,
       "'nvvm.griddepcontrol' needs sm_90 or newer, got sm_80"},
      {"nvvm.mbarrier.arrive.expect_tx %s, %i : !llvm.ptr<3>, i32", "sm_89", 85,
       "'nvvm.mbarrier.arrive.expect_tx' needs sm_90 or newer, got sm_89"},
      {"nvvm.wgmma.fence.aligned", "sm_90", 85,
       "'nvvm.wgmma.fence.aligned' needs sm_90a, got sm_90"},
      {"nvvm.wgmma.fence.aligned", "sm_100a", 88,
       "'nvvm.wgmma.fence.aligned' needs sm_90a, got sm_100a"},
      {"nvvm.setmaxregister increase 232", "sm_120a", 88,
       "'nvvm.setmaxregister' needs sm_90a, got sm_120a"},
      {"%e = nvvm.elect.sync -> i1", "sm_86", 85,
       "'nvvm.elect.sync' needs sm_90 or newer, got sm_86"},
      {"%c = nvvm.convert.f32x2.to.f8x2 %f, %f {rnd = #nvvm.fp_rnd_mode<rn>, "
       "sat = #nvvm.sat_mode<satfinite>} : i16 (f8E4M3FN)",
       "sm_86", 85,
       "'nvvm.convert.f32x2.to.f8x2' needs sm_89 or newer, got sm_86"},
      {"%z = llvm.mlir.constant(0 : i32) : i32\n"
       "%r = llvm.call_intrinsic \"llvm.nvvm.foo.bar\"(%z) : (i32) -> i32",
       "sm_90a", 85,
       "'llvm.nvvm.foo.bar' is not known to be supported by any chip"},
      {"%r = llvm.call_intrinsic \"llvm.x86.rdtsc\"() : () -> i64", "sm_90a",
       85, "intrinsic 'llvm.x86.rdtsc' is not known to be supported by NVPTX"},
      {"%r = llvm.intr.pow(%f, %f) : (f32, f32) -> f32\n"
       "llvm.store %r, %p : f32, !llvm.ptr<1>",
       "sm_80", 85, "'llvm.intr.pow' has no NVPTX lowering"},
      {"%d = arith.extf %f : f32 to f64\n %r = llvm.call_intrinsic "
       "\"llvm.nvvm.ex2.approx.d\"(%d) : (f64) -> f64",
       "sm_80", 85, "'llvm.call_intrinsic' of f64 has no NVPTX lowering"},
      {"%c = llvm.call_intrinsic \"llvm.nvvm.fmax.xorsign.abs.f\"(%f, %f) : "
       "(f32, f32) -> f32",
       "sm_80", 85, "'llvm.nvvm.fmax.xorsign.abs.f' needs sm_86 or newer"},
      {"%r = llvm.fptosi %f : f32 to i128\n"
       "llvm.store %r, %p : i128, !llvm.ptr<1>",
       "sm_80", 85, "'llvm.fptosi' of integers wider than 64 bits"},
      {"%d = arith.extf %f : f32 to f64\n %r = math.exp2 %d : f64\n"
       "llvm.store %r, %p : f64, !llvm.ptr<1>",
       "sm_80", 85, "'llvm.intr.exp2' of f64 has no NVPTX lowering"},
      {"%r = llvm.mlir.poison : f128\nllvm.store %r, %p : f128, "
       "!llvm.ptr<1>",
       "sm_80", 85,
       "'llvm.mlir.poison' uses the type f128, which NVPTX does not have"},
      {"%r = llvm.atomicrmw add %p, %i syncscope(\"cluster\") monotonic : "
       "!llvm.ptr<1>, i32",
       "sm_80", 85, "'llvm.atomicrmw' needs sm_90 or newer, got sm_80"},
      {"%r = llvm.atomicrmw add %p, %i syncscope(\"agent\") monotonic : "
       "!llvm.ptr<1>, i32",
       "sm_80", 85, "'llvm.atomicrmw' has the unknown syncscope \"agent\""},
  };
  for (const Case &c : cases) {
    std::string text = error(c.body, c.chip, c.ptx);
    EXPECT_TRUE(contains(text, c.message)) << c.body << "\n" << text;
  }
}

TEST_F(Compile, SharedGlobalWithAValue) {
  auto module = parse("module { gpu.module @m { llvm.mlir.global internal "
                      "@start(1.0 : f32) {addr_space = 3 : i32} : f32\n"
                      "gpu.func @k() kernel { gpu.return } } }");
  std::string text = llvm::toString(
      translateToPtx(*module, *llvm::cantFail(findChip("sm_80")), 85)
          .takeError());
  EXPECT_TRUE(contains(text, "global 'start' in address space 3 has an initial "
                             "value"))
      << text;
}

TEST_F(Compile, OrderedMetadataNeedsPtx85) {
  auto module = parse(kernel);
  const Chip &chip = *llvm::cantFail(findChip("sm_80"));
  std::string text =
      llvm::toString(translateToPtx(*module, chip, 84).takeError());
  EXPECT_TRUE(contains(text, "'nvvm.mma.sp.sync' needs PTX 8.5 or newer, got "
                             "8.4"))
      << text;
}
