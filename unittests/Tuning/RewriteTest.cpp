//===- RewriteTest.cpp - Edits, refusals, a kernel that stays right -------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Tuning/Rewrite.h"
#include "TestWeights.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "sparseditto/Emulator/EmulatorExecutor.h"
#include "sparseditto/Tuning/CandidateBuilder.h"
#include "sparseditto/Verify/Checker.h"
#include "gtest/gtest.h"

using namespace sparseditto;
using namespace sparseditto::test;

//===----------------------------------------------------------------------===//
// Edits
//===----------------------------------------------------------------------===//

static std::string edited(llvm::StringRef text,
                          const std::vector<KernelEdit> &edits) {
  auto result = applyEdits(text, edits);
  return result ? *result : "error: " + llvm::toString(result.takeError());
}

TEST(Edits, OneAfterTheOther) {
  EXPECT_EQ(edited("a\nb\nc\n", {{"b", "x\ny"}, {"y\nc", "z"}}), "a\nx\nz\n");
  EXPECT_EQ(edited("a\nb\n", {{"b\n", ""}}), "a\n");
}

TEST(Edits, BeforeMustOccurOnce) {
  EXPECT_EQ(edited("a\nb\na\na\n", {{"b", "c"}, {"a", "d"}}),
            "error: edit 2 of 2: 'before' must occur once and occurs 3 times, "
            "at lines 1, 3, 4; add lines around it");
  // Overlapping places count.
  EXPECT_EQ(edited("xaaax", {{"aa", "b"}}),
            "error: edit 1 of 1: 'before' must occur once and occurs 2 times, "
            "at lines 1, 1; add lines around it");
  EXPECT_EQ(edited("  alpha = 1\n  beta = 2\n", {{"betta = 2", "x"}}),
            "error: edit 1 of 1: 'before' does not occur in the kernel; the "
            "nearest line is 2, \"beta = 2\"");
  EXPECT_EQ(edited("a\nbb\ncc\ndd\n", {{"bb\ncc\nee\n", "x"}}),
            "error: edit 1 of 1: 'before' does not occur in the kernel; its "
            "first 2 lines are at line 2, then line 4 is \"dd\" and not "
            "\"ee\"");
  EXPECT_EQ(edited("a\n  b\n", {{"a\nb", "x"}}),
            "error: edit 1 of 1: 'before' does not occur in the kernel; line 1 "
            "differs from it in spaces only");
}

TEST(Edits, MustChangeSomething) {
  EXPECT_EQ(edited("a", {{"", "x"}}), "error: edit 1 of 1: 'before' is empty");
  EXPECT_EQ(edited("a", {{"a", "a"}}),
            "error: edit 1 of 1: 'before' and 'after' are the same");
}

TEST(LineDiff, HunksWithContext) {
  EXPECT_EQ(lineDiff("a\nb\n", "a\nb\n"), "");
  EXPECT_EQ(lineDiff("a\nb\nc\nd\ne\nf\n", "a\nb\nX\nd\ne\nf\nY\n", 1),
            "@@ -2,3 +2,3 @@\n b\n-c\n+X\n d\n@@ -6,1 +6,2 @@\n f\n+Y\n");
  // Changes that are near share a hunk.
  EXPECT_EQ(lineDiff("a\nb\nc\nd\n", "A\nb\nc\nD\n", 1),
            "@@ -1,4 +1,4 @@\n-a\n+A\n b\n c\n-d\n+D\n");
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {
class RewriteTest : public ::testing::Test {
protected:
  RewriteTest() {
    problem.m = 64;
    problem.k = 96;
    strategy = family.declaration().defaults();
    packed = llvm::cantFail(packChecked(family, weight, strategy));
    base = KernelCache(PtxasOptions())
               .get(family, problem, strategy, packed, chip);
  }
  void SetUp() override {
    ASSERT_EQ(base->status, CandidateStatus::Compiled) << base->message;
  }

  std::shared_ptr<const CachedKernel>
  build(const std::vector<KernelEdit> &edits,
        const IsolationLimits &limits = {}) {
    Rewrite rewrite;
    rewrite.base = strategy;
    rewrite.edits = edits;
    return buildRewrite(llvm::cantFail(rewrittenText(rewrite, *base)), *base,
                        chip, PtxasOptions(), limits);
  }
  /// With statements put at the beginning of the kernel.
  std::shared_ptr<const CachedKernel>
  withStatements(const std::string &statements,
                 const IsolationLimits &limits = {}) {
    return build({{first, statements + "\n" + first}}, limits);
  }
  /// The checker's word, from the emulator.
  CheckResult check(const CachedKernel &kernel) {
    mlir::DialectRegistry registry;
    registerKernelDialects(registry);
    mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
    auto module =
        mlir::parseSourceString<mlir::ModuleOp>(kernel.mlir, &context);
    EXPECT_TRUE(module);
    auto executor =
        llvm::cantFail(EmulatorExecutor::create(*module, kernel.manifest));
    CheckOptions options;
    options.n = {1, 3, 17};
    options.onlyGivenN = true;
    options.maxOneHotLaunches = 8;
    return llvm::cantFail(
        checkKernel(kernel.manifest, weight, packed, *executor, options));
  }

  const KernelFamily &family = *findFamily("csr");
  const Chip &chip = *llvm::cantFail(findChip("sm_80"));
  Matrix weight = randomWeight(ElementType::F16, 64, 96, 0.2, 7);
  Problem problem;
  Strategy strategy;
  PackedWeight packed;
  std::shared_ptr<const CachedKernel> base;
  /// What the tests edit; the first statement, and the load of a row's bounds.
  const std::string first = "%0 = nvvm.read.ptx.sreg.ctaid.y : i32",
                    rowLoad = "%20 = llvm.load %19 {alignment = 16 : i64} : "
                              "!llvm.ptr<1> -> vector<4xi32>";
};
} // namespace

TEST_F(RewriteTest, CacheHintStaysRight) {
  auto kernel =
      build({{rowLoad, "%20 = llvm.load %19 invariant {alignment = 16 : i64} : "
                       "!llvm.ptr<1> -> vector<4xi32>"}});
  ASSERT_EQ(kernel->status, CandidateStatus::Compiled) << kernel->message;
  EXPECT_NE(kernel->ptx.find("ld.global.nc"), std::string::npos);
  EXPECT_NE(kernel->ptx, base->ptx);
  // What it is, and what it shares with its base.
  EXPECT_EQ(kernel->manifest.symbol.find("sd_custom_"), 0u);
  EXPECT_EQ(kernel->manifest.strategy.family, "custom");
  EXPECT_EQ(kernel->manifest.strategy.knobs, strategy.knobs);
  ASSERT_TRUE(kernel->manifest.custom);
  EXPECT_EQ(kernel->manifest.custom->base, strategy);
  EXPECT_EQ(kernel->manifest.format, base->manifest.format);
  EXPECT_EQ(kernel->manifest.grid, base->manifest.grid);
  EXPECT_EQ(kernel->manifest.sourceHash, sourceHash(kernel->mlir));
  EXPECT_EQ(kernel->mlir.find("@" + base->manifest.symbol + "("),
            std::string::npos);
  EXPECT_EQ(kernel->resources.registers > 0, !kernel->cubin.empty());
  CheckResult result = check(*kernel);
  EXPECT_EQ(result.status, CheckStatus::Verified)
      << (result.failure ? result.failure->message : "");
  EXPECT_GT(result.elements, 0);
}

TEST_F(RewriteTest, WhatCompilesToTheSameIsTheSameBinary) {
  auto dead = withStatements("%dead = arith.addi %arg4, %arg5 : i32");
  ASSERT_EQ(dead->status, CandidateStatus::Compiled) << dead->message;
  EXPECT_NE(dead->manifest.symbol, base->manifest.symbol);
  EXPECT_EQ(dead->facts.binaryHash, base->facts.binaryHash);
  auto other =
      withStatements("%v = llvm.load volatile %arg0 : !llvm.ptr<1> -> i32");
  ASSERT_EQ(other->status, CandidateStatus::Compiled) << other->message;
  EXPECT_NE(other->facts.binaryHash, base->facts.binaryHash);
}

TEST_F(RewriteTest, OtherOrderOfLoadsStaysRight) {
  // The row's bounds are asked for before X is.
  llvm::StringRef text = base->mlir;
  size_t begin = text.find("%c16_i32_2 = arith.constant 16"),
         end = text.find(rowLoad) + rowLoad.size();
  ASSERT_LT(begin, end);
  std::string moved = text.slice(begin, end).str();
  const std::string early = "%7 = nvvm.read.ptx.sreg.tid.x";
  auto kernel = build({{moved, ""}, {early, moved + "\n" + early}});
  ASSERT_EQ(kernel->status, CandidateStatus::Compiled) << kernel->message;
  EXPECT_NE(kernel->ptx, base->ptx);
  EXPECT_EQ(check(*kernel).status, CheckStatus::Verified);
}

TEST_F(RewriteTest, WholeModule) {
  Rewrite rewrite;
  rewrite.base = strategy;
  rewrite.text = "// The same with a remark.\n" + base->mlir;
  auto text = llvm::cantFail(rewrittenText(rewrite, *base));
  auto kernel = buildRewrite(text, *base, chip, PtxasOptions());
  ASSERT_EQ(kernel->status, CandidateStatus::Compiled) << kernel->message;
  EXPECT_NE(kernel->manifest.symbol, base->manifest.symbol);
  EXPECT_EQ(check(*kernel).status, CheckStatus::Verified);
  // Another text, another name; the same text, the same.
  EXPECT_EQ(text.symbol, kernel->manifest.symbol);
  EXPECT_EQ(llvm::cantFail(rewrittenText(rewrite, *base)).symbol, text.symbol);
  rewrite.text += "\n// More.\n";
  EXPECT_NE(llvm::cantFail(rewrittenText(rewrite, *base)).symbol,
            kernel->manifest.symbol);
}

TEST_F(RewriteTest, TextThatIsNone) {
  auto messageOf = [&](const std::vector<KernelEdit> &edits,
                       const std::string &text) {
    Rewrite rewrite;
    rewrite.base = strategy;
    rewrite.edits = edits;
    rewrite.text = text;
    auto made = rewrittenText(rewrite, *base);
    return made ? made->mlir : llvm::toString(made.takeError());
  };
  EXPECT_EQ(messageOf({}, ""),
            "a rewrite is either edits or a whole module, got neither");
  EXPECT_EQ(messageOf({{"a", "b"}}, "module {}"),
            "a rewrite is either edits or a whole module, got both");
  EXPECT_EQ(messageOf({}, base->mlir), "the text is that of its base");
  EXPECT_EQ(messageOf({}, "module {}"),
            "the kernel's name, '@" + base->manifest.symbol +
                "', is not in the module; it has to stay");
  EXPECT_EQ(messageOf({}, std::string((1 << 20) + 1, ' ')),
            "the module has 1048577 bytes, at most 1048576 are taken");
  EXPECT_EQ(messageOf({{"no such line", ""}}, "")
                .find("edit 1 of 1: 'before' does not occur"),
            0u);
}

TEST_F(RewriteTest, DiagnosticsHaveLinesAndCarets) {
  // Does not parse.
  auto kernel = withStatements("%q = arith.nonsense %0 : i32");
  EXPECT_EQ(kernel->status, CandidateStatus::LoweringFailed);
  EXPECT_NE(kernel->message.find("kernel.mlir:5:12: "), std::string::npos)
      << kernel->message;
  EXPECT_NE(kernel->message.find("\n        %q = arith.nonsense %0 : i32\n"
                                 "             ^\n"),
            std::string::npos)
      << kernel->message;
  // Parses and does not verify.
  kernel = withStatements("%q = arith.constant 1.0 : f32\n"
                          "%r = \"arith.addi\"(%q, %q) : (f32, f32) -> f32");
  EXPECT_EQ(kernel->status, CandidateStatus::LoweringFailed);
  EXPECT_NE(kernel->message.find("kernel.mlir:6:6: "), std::string::npos)
      << kernel->message;
  EXPECT_NE(kernel->message.find("\n       ^\n"), std::string::npos)
      << kernel->message;
  // Verifies and does not suit the chip.
  kernel = withStatements("nvvm.griddepcontrol wait");
  EXPECT_NE(kernel->message.find("sm_90"), std::string::npos)
      << kernel->message;
}

TEST_F(RewriteTest, WhatNoCandidateMay) {
  auto expectIllegal = [&](const std::vector<KernelEdit> &edits,
                           llvm::StringRef why) {
    auto kernel = build(edits);
    EXPECT_EQ(kernel->status, CandidateStatus::Illegal) << kernel->message;
    EXPECT_NE(kernel->message.find(why), std::string::npos) << kernel->message;
    EXPECT_TRUE(kernel->ptx.empty());
  };
  expectIllegal({{first, "gpu.printf \"x\"\n" + first}},
                "kernel.mlir:5:7: 'gpu.printf'");
  expectIllegal({{first, "%t = nvvm.read.ptx.sreg.clock64 : i64\n" + first}},
                "clock");
  // State that outlives a launch.
  expectIllegal(
      {{"gpu.func @", "llvm.mlir.global external @kept(0 : i32) {addr_space = "
                      "1 : i32} : i32\n    gpu.func @"}},
      "would keep its value");
  // The ABI: arguments, block, shared memory.
  expectIllegal({{"%arg6: i32)", "%arg6: i32, %more: i32)"}}, "8 arguments");
  expectIllegal({{"llvm.align = 2 : i64, llvm.noalias, llvm.readonly",
                  "llvm.align = 16 : i64, llvm.noalias, llvm.readonly"}},
                "alignment 16");
  expectIllegal({{"known_block_size = array<i32: 512, 1, 1>",
                  "known_block_size = array<i32: 256, 1, 1>"}},
                "block");
  expectIllegal({{"gpu.func @", "llvm.mlir.global external @more() {addr_space "
                                "= 3 : i32} : !llvm.array<64 x i8>\n    "
                                "gpu.func @"}},
                "shared memory");
}

TEST_F(RewriteTest, CompilerThatDies) {
  // Two constants that hold each other's address.
  auto holds = [](const std::string &name, const std::string &other) {
    return "llvm.mlir.global external constant @" + name +
           "() {addr_space = 4 : i32} : !llvm.ptr<4> {\n%p = "
           "llvm.mlir.addressof @" +
           other + " : !llvm.ptr<4>\nllvm.return %p : !llvm.ptr<4>\n}\n";
  };
  auto kernel =
      build({{"gpu.func @",
              holds("sd_a", "sd_b") + holds("sd_b", "sd_a") + "gpu.func @"}});
  EXPECT_EQ(kernel->status, CandidateStatus::Crashed) << kernel->message;
  EXPECT_EQ(kernel->message.find("the compiler died of signal"), 0u)
      << kernel->message;
}

TEST_F(RewriteTest, EndlessCompilation) {
  // Short to write, long to compile: two million instructions, each on the
  // last. Products alone would be reassociated to a few squares.
  std::string chain = "%q0 = llvm.load volatile %arg0 {alignment = 4 : i64} : "
                      "!llvm.ptr<1> -> vector<1024xi32>\n";
  for (int i = 0; i < 1000; ++i)
    chain += llvm::formatv("%p{0} = arith.muli %q{1}, %q0 : vector<1024xi32>\n"
                           "%q{0} = arith.xori %p{0}, %q{1} : "
                           "vector<1024xi32>\n",
                           i + 1, i);
  chain +=
      "%last = vector.reduction <xor>, %q1000 : vector<1024xi32> into i32\n"
      "llvm.store volatile %last, %arg3 {alignment = 2 : i64} : i32, "
      "!llvm.ptr<1>";
  IsolationLimits limits;
  limits.timeoutSeconds = 1;
  auto kernel = build({{first, first + "\n" + chain}}, limits);
  EXPECT_EQ(kernel->status, CandidateStatus::TimedOut) << kernel->message;
  EXPECT_EQ(kernel->message, "compilation did not finish in 1 s");
}

TEST_F(RewriteTest, MoreRegistersThanThereAre) {
  if (base->cubin.empty())
    GTEST_SKIP() << "no ptxas";
  // All values are live between the loads and the sum.
  std::string loads = "%three = arith.constant 3 : i32\n", sum;
  std::string total = "%v0";
  for (int i = 0; i < 300; ++i)
    loads += "%v" + std::to_string(i) +
             " = llvm.load volatile %arg0 : !llvm.ptr<1> -> i32\n";
  for (int i = 299; i > 0; --i) {
    std::string next = "%s" + std::to_string(i);
    // In this order only: neither distributive nor associative.
    sum += next + "a = llvm.mul " + total + ", %three : i32\n" + next +
           " = llvm.xor " + next + "a, %v" + std::to_string(i) + " : i32\n";
    total = next;
  }
  std::string use = "llvm.store volatile " + total +
                    ", %arg3 {alignment = 2 : i64} : i32, !llvm.ptr<1>";
  auto kernel = withStatements(loads + sum + use);
  EXPECT_EQ(kernel->status, CandidateStatus::OverResources) << kernel->message;
  EXPECT_NE(kernel->message.find("spills "), std::string::npos)
      << kernel->message;
}

TEST_F(RewriteTest, RefusedByPtxas) {
  if (base->cubin.empty())
    GTEST_SKIP() << "no ptxas";
  auto kernel = withStatements(
      "%q = llvm.inline_asm has_side_effects asm_dialect = att \"add.f16 $0, "
      "$1, $1;\", \"=r,r\" %arg4 : (i32) -> i32");
  EXPECT_EQ(kernel->status, CandidateStatus::PtxasFailed) << kernel->message;
  // With the line of the PTX.
  EXPECT_EQ(kernel->message.find("line "), 0u) << kernel->message;
  EXPECT_NE(kernel->message.find("\n  \tadd.f16 "), std::string::npos)
      << kernel->message;
}

TEST_F(RewriteTest, WrongKernelsAreForTheChecker) {
  // The sum begins with one.
  auto kernel = build({{"%cst = arith.constant 0.000000e+00 : f32",
                        "%cst = arith.constant 1.000000e+00 : f32"}});
  ASSERT_EQ(kernel->status, CandidateStatus::Compiled) << kernel->message;
  EXPECT_EQ(check(*kernel).status, CheckStatus::WrongResult);
  // Without the barrier X is read before it is there.
  kernel = build({{"gpu.barrier\n", ""}});
  ASSERT_EQ(kernel->status, CandidateStatus::Compiled) << kernel->message;
  CheckResult result = check(*kernel);
  EXPECT_EQ(result.status, CheckStatus::LaunchFailed);
  ASSERT_TRUE(result.failure);
  EXPECT_NE(result.failure->message.find("uninitialized-shared"),
            std::string::npos)
      << result.failure->message;
}

TEST_F(RewriteTest, BuiltOnceAndByProposal) {
  KernelCache cache{PtxasOptions()};
  CandidateBuilder builder(weight, cache);
  Proposal proposal;
  proposal.strategy = strategy;
  proposal.rewrite.emplace();
  proposal.rewrite->base = strategy;
  proposal.rewrite->edits = {
      {rowLoad, "%20 = llvm.load %19 invariant {alignment = 16 : i64} : "
                "!llvm.ptr<1> -> vector<4xi32>"}};
  Problem tuned = problem;
  auto built = builder.build(proposal, tuned, /*n=*/1, chip);
  EXPECT_EQ(built.candidate.status, CandidateStatus::Compiled)
      << built.candidate.message;
  ASSERT_TRUE(built.kernel);
  EXPECT_EQ(built.kernel->manifest.strategy.family, "custom");
  EXPECT_EQ(builder.build(proposal, tuned, 1, chip).kernel, built.kernel);
  // The base is built beside it, and unchanged.
  proposal.rewrite.reset();
  auto plain = builder.build(proposal, tuned, 1, chip);
  EXPECT_EQ(plain.kernel->mlir, base->mlir);
  EXPECT_EQ(cache.kernels().size(), 2u);
  // Edits that do not apply are this proposal's alone.
  proposal.rewrite.emplace();
  proposal.rewrite->base = strategy;
  proposal.rewrite->edits = {{"nowhere", ""}};
  built = builder.build(proposal, tuned, 1, chip);
  EXPECT_EQ(built.candidate.status, CandidateStatus::Illegal);
  EXPECT_EQ(built.candidate.message.find("edit 1 of 1: "), 0u);
  EXPECT_EQ(cache.kernels().size(), 2u);
  // A base that cannot be built says why.
  proposal.rewrite->base.set("warps", 3);
  proposal.strategy = proposal.rewrite->base;
  built = builder.build(proposal, tuned, 1, chip);
  EXPECT_EQ(built.candidate.status, CandidateStatus::Illegal);
  EXPECT_NE(built.candidate.message.find("warps"), std::string::npos)
      << built.candidate.message;
}
