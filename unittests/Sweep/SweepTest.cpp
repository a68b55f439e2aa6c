//===- SweepTest.cpp - The sample of the sweep, and the plans -------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ForwardingFamily.h"
#include "Plan.h"
#include "gtest/gtest.h"
#include <set>
#include <tuple>

using namespace sparseditto;
using namespace sparseditto::test;

namespace {

/// A family's sample is cut into tests of their own, so that a runner spreads
/// them over the machine.
constexpr size_t shardCount = 8;

class SweepSample : public ::testing::TestWithParam<
                        std::tuple<const KernelFamily *, size_t>> {};

TEST_P(SweepSample, Verifies) {
  auto [family, shard] = GetParam();
  std::vector<SweepCase> plan = samplePlan(*family);
  for (size_t i = shard; i < plan.size(); i += shardCount) {
    std::string text = plan[i].str();
    // Ahead of the run: the last such line names a case that crashes.
    std::printf("case %s\n", text.c_str());
    std::fflush(stdout);
    SweepOutcome outcome = runCase(plan[i]);
    EXPECT_EQ(outcome.failure, "")
        << "reproduce: build/unittests/sd-sweep --case '" << text << "'";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Registry, SweepSample,
    ::testing::Combine(::testing::ValuesIn(allFamilies().begin(),
                                           allFamilies().end()),
                       ::testing::Range(size_t(0), shardCount)),
    [](const auto &info) {
      return std::get<0>(info.param)->name().str() + "_" +
             std::to_string(std::get<1>(info.param) + 1) + "of" +
             std::to_string(shardCount);
    });

class SweepPlan : public ::testing::TestWithParam<const KernelFamily *> {
protected:
  const KernelFamily &family() { return *GetParam(); }
  static std::set<int64_t> sizes() {
    return {sweepSizes().begin(), sweepSizes().end()};
  }
};

TEST_P(SweepPlan, SampleHoldsEveryValueOfEverything) {
  std::set<std::tuple<Layout, std::string, ElementType>> combinations;
  std::set<int64_t> m, k, n;
  std::set<std::pair<ElementType, ElementType>> types;
  std::set<WeightKind> weights;
  std::set<std::pair<std::string, int64_t>> knobs;
  std::set<std::pair<GuardedBufferOptions::Side, Layout>> sides;
  for (const SweepCase &c : samplePlan(family())) {
    combinations.emplace(c.problem.layout, name(c.problem.epilogue),
                         c.problem.type);
    m.insert(c.problem.m);
    k.insert(c.problem.k);
    n.insert(c.n.begin(), c.n.end());
    types.emplace(c.problem.type, c.problem.outputType);
    weights.insert(c.weight);
    sides.emplace(c.side, c.problem.layout);
    knobs.insert(c.strategy.knobs.begin(), c.strategy.knobs.end());
  }
  const FamilyDeclaration &declaration = family().declaration();
  EXPECT_EQ(combinations.size(), 2 * 16 * declaration.types.size());
  EXPECT_EQ(m, sizes());
  EXPECT_EQ(k, sizes());
  EXPECT_EQ(n, sizes());
  EXPECT_EQ(types.size(), 3 * declaration.types.size());
  EXPECT_EQ(weights.size(), weightKinds(family()).size());
  EXPECT_EQ(sides.size(), 4u);
  for (const Strategy &strategy : coveringStrategies(family(), false))
    for (const auto &[knob, value] : strategy.knobs)
      EXPECT_TRUE(knobs.count({knob, value})) << knob << " = " << value;
}

TEST_P(SweepPlan, ReachesEveryKnobValueThatSomeStrategyMayHave) {
  std::set<std::pair<std::string, int64_t>> reached;
  for (const Strategy &strategy : coveringStrategies(family(), false))
    reached.insert(strategy.knobs.begin(), strategy.knobs.end());
  // No strategy of block may have these: its list may take several passes, and
  // no panel has 256 rows.
  const std::set<std::string> unreachable = {"block stages 1",
                                             "block tile_m 256"};
  for (const KnobDeclaration &knob : family().declaration().knobs)
    for (int64_t value : knob.values) {
      if (unreachable.count(family().name().str() + " " + knob.name + " " +
                            std::to_string(value)))
        continue;
      EXPECT_TRUE(reached.count({knob.name, value}))
          << knob.name << " = " << value;
    }
}

TEST_P(SweepPlan, FullHoldsEveryShapeAndEveryPairOfKnobs) {
  std::set<std::tuple<int64_t, int64_t, Layout, ElementType>> shapes;
  std::set<std::tuple<std::string, ElementType, Layout, ElementType>> ends;
  std::set<std::string> strategies;
  std::vector<SweepCase> plan = fullPlan(family());
  for (const SweepCase &c : plan) {
    EXPECT_EQ(c.n.size(), sizes().size());
    if (c.strategy == family().declaration().defaults())
      shapes.emplace(c.problem.m, c.problem.k, c.problem.layout,
                     c.problem.type);
    ends.emplace(name(c.problem.epilogue), c.problem.outputType,
                 c.problem.layout, c.problem.type);
    strategies.insert(c.strategy.str());
  }
  const size_t types = family().declaration().types.size();
  EXPECT_EQ(shapes.size(), sizes().size() * sizes().size() * 2 * types);
  EXPECT_EQ(ends.size(), 16 * 3 * 2 * types);
  for (const Strategy &strategy : coveringStrategies(family(), true))
    EXPECT_TRUE(strategies.count(strategy.str())) << strategy.str();
}

TEST_P(SweepPlan, CasesAreFixedAndReadBack) {
  std::vector<SweepCase> plan = samplePlan(family()),
                         again = samplePlan(family()),
                         other = samplePlan(family(), 2);
  ASSERT_EQ(plan.size(), again.size());
  size_t differ = 0;
  for (size_t i = 0; i < plan.size(); ++i) {
    std::string text = plan[i].str();
    EXPECT_EQ(again[i].str(), text);
    differ += other[i].str() != text;
    auto parsed = SweepCase::parse(text);
    ASSERT_TRUE(bool(parsed)) << llvm::toString(parsed.takeError());
    EXPECT_EQ(parsed->str(), text);
    EXPECT_EQ(parsed->strategy, plan[i].strategy);
  }
  EXPECT_EQ(differ, plan.size());
}

INSTANTIATE_TEST_SUITE_P(Registry, SweepPlan,
                         ::testing::ValuesIn(allFamilies().begin(),
                                             allFamilies().end()),
                         [](const auto &info) {
                           return info.param->name().str();
                         });

TEST(SweepCase, SaysWhatItCannotRead) {
  auto errorOf = [](llvm::StringRef text) {
    auto parsed = SweepCase::parse(text);
    return parsed ? "" : llvm::toString(parsed.takeError());
  };
  EXPECT_EQ(errorOf("family=csr m=3 k=5 n=1"), "");
  EXPECT_EQ(errorOf("family=csr m=3 k=5 n=0"),
            "cannot read 'n=0' in case 'family=csr m=3 k=5 n=0'");
  EXPECT_EQ(errorOf("family=csr m=3 k=5 n=1 knobs=no:1"),
            "cannot read 'knobs=no:1' in case 'family=csr m=3 k=5 n=1 "
            "knobs=no:1'");
  EXPECT_EQ(errorOf("m=3"), "case 'm=3' lacks family, m, k or n");
}

/// A family whose kernels forget the bias: the sweep must see it, or it sees
/// nothing.
class Broken : public ForwardingFamily {
public:
  Broken() : ForwardingFamily(*findFamily("csr")) {}

  llvm::Expected<BuiltKernel> build(mlir::MLIRContext &context,
                                    const Problem &problem,
                                    const Strategy &strategy,
                                    const PackedWeight &packed, unsigned cc,
                                    llvm::StringRef symbol) const override {
    // A kernel without the bias, under a manifest that promises one.
    Problem without = problem;
    without.epilogue.bias = false;
    auto built = base.build(context, without, strategy, packed, cc, symbol);
    if (!built)
      return built;
    auto promised = base.build(context, problem, strategy, packed, cc, symbol);
    if (!promised)
      return promised;
    promised->module = std::move(built->module);
    return promised;
  }
};

TEST(SweepCase, AWrongKernelFails) {
  static const Broken broken;
  auto parsed = SweepCase::parse("family=csr m=9 k=20 type=f16 out=f16 "
                                 "epilogue=bias weight=unstructured n=2");
  ASSERT_TRUE(bool(parsed));
  EXPECT_EQ(runCase(*parsed).failure, "");
  parsed->family = &broken;
  EXPECT_NE(runCase(*parsed).failure, "");
}

} // namespace
