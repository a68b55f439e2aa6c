//===- Plan.cpp - Which kernels the sweep runs ----------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "sparseditto/Analysis/Analyze.h"
#include "llvm/ADT/STLExtras.h"
#include <map>
#include <set>
#include <tuple>

using namespace sparseditto;
using namespace sparseditto::test;

static constexpr unsigned computeCapability = 90;
static constexpr Layout bothLayouts[] = {Layout::TokenMajor,
                                         Layout::FeatureMajor};

llvm::ArrayRef<int64_t> test::sweepSizes() {
  static const int64_t sizes[] = {1,  2,  3,  7,  8,  15, 16,  17,  24, 31,
                                  40, 56, 63, 64, 65, 72, 127, 129, 257};
  return sizes;
}

std::vector<Epilogue> test::allEpilogues() {
  std::vector<Epilogue> all;
  for (bool bias : {false, true})
    for (bool residual : {false, true})
      for (Activation activation : {Activation::None, Activation::Relu,
                                    Activation::Gelu, Activation::Silu})
        all.push_back({bias, activation, residual});
  return all;
}

static bool succeeded(llvm::Error error) {
  bool ok = !error;
  llvm::consumeError(std::move(error));
  return ok;
}

static bool isLegal(const KernelFamily &family, const Strategy &strategy,
                    const Problem &problem) {
  return succeeded(family.check(strategy, problem, computeCapability));
}

std::vector<ElementType> test::outputTypes(const KernelFamily &family,
                                           ElementType type) {
  std::vector<ElementType> types;
  for (int i = 0; i <= int(ElementType::Bool); ++i) {
    Problem problem{.m = 64, .k = 64, .type = type};
    problem.outputType = ElementType(i);
    if (isLegal(family, family.declaration().defaults(), problem))
      types.push_back(problem.outputType);
  }
  return types;
}

std::vector<WeightKind> test::weightKinds(const KernelFamily &family) {
  const FamilyDeclaration &declaration = family.declaration();
  std::vector<WeightKind> kinds;
  for (const WeightKindName &entry : allWeightKinds()) {
    bool packs = true;
    for (const KnobDeclaration &knob : declaration.knobs)
      for (int64_t value : knob.values)
        if (packs && (knob.affectsPacking || value == knob.defaultValue)) {
          Strategy strategy = declaration.defaults();
          strategy.set(knob.name, value);
          packs =
              succeeded(family
                            .pack(makeWeight(entry.kind, declaration.types[0],
                                             257, 257, 1),
                                  strategy)
                            .takeError());
        }
    if (packs)
      kinds.push_back(entry.kind);
  }
  return kinds;
}

//===----------------------------------------------------------------------===//
// Strategies
//===----------------------------------------------------------------------===//

namespace {
/// One value of one knob, or two of two (the first alone when second < 0).
struct Goal {
  int first, firstValue, second, secondValue;
  auto operator<=>(const Goal &) const = default;
};
} // namespace

/// Draws legal strategies at random, among them some for each goal that one
/// can be found for.
static std::vector<Strategy> drawStrategies(const KernelFamily &family,
                                            const Problem &problem,
                                            llvm::ArrayRef<Goal> goals) {
  const std::vector<KnobDeclaration> &knobs = family.declaration().knobs;
  Random random(7);
  std::vector<Strategy> legal = {family.declaration().defaults()};
  auto redraw = [&](Strategy &strategy, const KnobDeclaration &knob) {
    strategy.set(knob.name, knob.values[random.below(knob.values.size())]);
  };
  auto draw = [&](const Goal *goal) {
    // A legal one with some knobs changed is legal far more often than one
    // with all of them drawn.
    Strategy strategy = legal[random.below(legal.size())];
    for (const KnobDeclaration &knob : knobs)
      if (random.below(3) == 0)
        redraw(strategy, knob);
    auto fix = [&](int knob, int value) {
      strategy.set(knobs[size_t(knob)].name,
                   knobs[size_t(knob)].values[size_t(value)]);
    };
    if (goal)
      fix(goal->first, goal->firstValue);
    if (goal && goal->second >= 0)
      fix(goal->second, goal->secondValue);
    if (!isLegal(family, strategy, problem))
      return false;
    legal.push_back(std::move(strategy));
    return true;
  };
  for (int i = 0; i < 4000; ++i)
    draw(nullptr);
  for (const Goal &goal : goals) {
    auto meets = [&](const Strategy &s) {
      auto has = [&](int knob, int value) {
        return s.get(knobs[size_t(knob)].name) ==
               knobs[size_t(knob)].values[size_t(value)];
      };
      return has(goal.first, goal.firstValue) &&
             (goal.second < 0 || has(goal.second, goal.secondValue));
    };
    if (llvm::any_of(legal, meets))
      continue;
    for (int i = 0; i < 1000 && !draw(&goal); ++i) {
    }
  }
  return legal;
}

const std::vector<Strategy> &
test::coveringStrategies(const KernelFamily &family, bool pairs) {
  static std::map<std::pair<const KernelFamily *, bool>, std::vector<Strategy>>
      known;
  std::vector<Strategy> &chosen = known[{&family, pairs}];
  if (!chosen.empty())
    return chosen;
  const std::vector<KnobDeclaration> &knobs = family.declaration().knobs;
  std::vector<Goal> goals;
  for (int a = 0; a < int(knobs.size()); ++a)
    for (int va = 0; va < int(knobs[size_t(a)].values.size()); ++va) {
      goals.push_back({a, va, -1, -1});
      for (int b = a + 1; pairs && b < int(knobs.size()); ++b)
        for (int vb = 0; vb < int(knobs[size_t(b)].values.size()); ++vb)
          goals.push_back({a, va, b, vb});
    }
  Problem problem{.m = 257, .k = 257, .type = family.declaration().types[0]};
  std::vector<Strategy> pool = drawStrategies(family, problem, goals);

  // The goals that each strategy meets.
  auto goalsOf = [&](const Strategy &strategy) {
    std::vector<Goal> result;
    std::vector<int> index;
    for (const KnobDeclaration &knob : knobs)
      index.push_back(int(llvm::find(knob.values, *strategy.get(knob.name)) -
                          knob.values.begin()));
    for (int a = 0; a < int(knobs.size()); ++a) {
      result.push_back({a, index[size_t(a)], -1, -1});
      for (int b = a + 1; pairs && b < int(knobs.size()); ++b)
        result.push_back({a, index[size_t(a)], b, index[size_t(b)]});
    }
    return result;
  };
  std::vector<std::vector<Goal>> met;
  for (const Strategy &strategy : pool)
    met.push_back(goalsOf(strategy));
  std::set<Goal> open;
  for (const std::vector<Goal> &some : met)
    open.insert(some.begin(), some.end());
  while (!open.empty()) {
    auto gain = [&](size_t i) {
      return llvm::count_if(met[i],
                            [&](const Goal &g) { return open.count(g); });
    };
    size_t best = 0;
    int64_t bestGain = gain(0);
    for (size_t i = 1; i < pool.size(); ++i)
      if (int64_t g = gain(i); g > bestGain) {
        best = i;
        bestGain = g;
      }
    chosen.push_back(pool[best]);
    for (const Goal &goal : met[best])
      open.erase(goal);
  }
  return chosen;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

template <typename T>
static void shuffle(std::vector<T> &items, Random &random) {
  for (size_t i = items.size(); i > 1; --i)
    std::swap(items[i - 1], items[random.below(i)]);
}

namespace {
/// Deals every card once before any comes again, each time in another order.
template <typename T> class Deck {
public:
  Deck(std::vector<T> cards, Random &random)
      : cards(std::move(cards)), random(random) {}
  const T &deal() {
    if (next % cards.size() == 0)
      shuffle(cards, random);
    return cards[next++ % cards.size()];
  }
  /// The first card that `takes`, looking at each at most once.
  template <typename Takes> const T *dealFor(Takes takes) {
    for (size_t i = 0; i < cards.size(); ++i)
      if (const T &card = deal(); takes(card))
        return &card;
    return nullptr;
  }
  size_t size() const { return cards.size(); }

private:
  std::vector<T> cards;
  Random &random;
  size_t next = 0;
};

/// What both plans deal from.
struct Decks {
  static llvm::ArrayRef<int64_t> largeSizes() {
    return sweepSizes().drop_while([](int64_t size) { return size < 31; });
  }

  Decks(const KernelFamily &family, uint64_t seed)
      : random(seed), m(sweepSizes(), random), k(sweepSizes(), random),
        n(sweepSizes(), random), largeM(largeSizes(), random),
        largeK(largeSizes(), random), weights(weightKinds(family), random),
        sides({GuardedBufferOptions::End, GuardedBufferOptions::Start},
              random) {}

  /// M, K, N and knobs are still to be set.
  SweepCase start(const KernelFamily &family, Layout layout, ElementType type) {
    SweepCase result;
    result.family = &family;
    result.problem.layout = layout;
    result.problem.type = type;
    result.weight = weights.deal();
    result.side = sides.deal();
    result.seed = 1 + random.below(1000000);
    result.strategy = family.declaration().defaults();
    return result;
  }

  Random random;
  Deck<int64_t> m, k, n, largeM, largeK;
  Deck<WeightKind> weights;
  Deck<GuardedBufferOptions::Side> sides;
};
} // namespace

/// The family's best guess for the case's weight and tuneN, if it has one.
static std::optional<Strategy> firstCandidate(const SweepCase &sweepCase) {
  const Problem &problem = sweepCase.problem;
  auto report = analyze(makeWeight(sweepCase.weight, problem.type, problem.m,
                                   problem.k, sweepCase.seed),
                        {.threads = 1});
  std::vector<Strategy> guesses = sweepCase.family->candidates(
      llvm::cantFail(std::move(report)), problem, computeCapability);
  if (guesses.empty())
    return std::nullopt;
  return guesses.front();
}

std::vector<SweepCase> test::samplePlan(const KernelFamily &family,
                                        uint64_t seed) {
  Decks decks(family, seed);
  std::vector<SweepCase> plan;
  // Every value of every knob first, then as many pairs as there are cases for.
  std::vector<Strategy> strategies = coveringStrategies(family, false);
  llvm::append_range(strategies, coveringStrategies(family, true));
  size_t nextStrategy = 0;
  for (ElementType type : family.declaration().types) {
    Deck<ElementType> outputs(outputTypes(family, type), decks.random);
    for (Layout layout : bothLayouts)
      for (const Epilogue &epilogue : allEpilogues()) {
        SweepCase next = decks.start(family, layout, type);
        next.problem.epilogue = epilogue;
        next.problem.outputType = outputs.deal();
        // Knobs show in shapes of several tiles.
        const bool withKnobs = plan.size() % 2 != 0;
        next.problem.m = (withKnobs ? decks.largeM : decks.m).deal();
        next.problem.k = (withKnobs ? decks.largeK : decks.k).deal();
        for (int i = 0; i < 3; ++i)
          next.n.push_back(decks.n.deal());
        llvm::sort(next.n);
        next.n.erase(llvm::unique(next.n), next.n.end());
        // One case in four has the defaults, one what the family would choose.
        if (plan.size() % 4 == 2) {
          next.problem.tuneN = next.n.back();
          if (std::optional<Strategy> guess = firstCandidate(next))
            next.strategy = *guess;
        } else if (withKnobs) {
          for (size_t i = 0; i < strategies.size(); ++i) {
            const Strategy &strategy =
                strategies[nextStrategy++ % strategies.size()];
            if (!isLegal(family, strategy, next.problem))
              continue;
            next.strategy = strategy;
            break;
          }
        }
        plan.push_back(std::move(next));
      }
  }
  return plan;
}

std::vector<SweepCase> test::fullPlan(const KernelFamily &family,
                                      uint64_t seed) {
  Decks decks(family, seed);
  std::vector<SweepCase> plan;
  const std::vector<Strategy> strategies = coveringStrategies(family, true);
  for (ElementType type : family.declaration().types) {
    std::vector<std::pair<Epilogue, ElementType>> ends;
    for (const Epilogue &epilogue : allEpilogues())
      for (ElementType output : outputTypes(family, type))
        ends.emplace_back(epilogue, output);
    for (Layout layout : bothLayouts) {
      Deck<std::pair<Epilogue, ElementType>> endDeck(ends, decks.random);
      auto add = [&](int64_t m, int64_t k, const Strategy *strategy) {
        SweepCase next = decks.start(family, layout, type);
        std::tie(next.problem.epilogue, next.problem.outputType) =
            endDeck.deal();
        next.problem.m = m;
        next.problem.k = k;
        next.n = sweepSizes();
        if (strategy) {
          next.strategy = *strategy;
          // Some knobs want another shape: more rows, fewer passes over K.
          for (int i = 0; i < 20 && !isLegal(family, *strategy, next.problem);
               ++i) {
            next.problem.m = decks.m.deal();
            next.problem.k = decks.k.deal();
          }
        } else {
          next.problem.tuneN = 257;
          std::optional<Strategy> guess = firstCandidate(next);
          if (!guess || *guess == next.strategy)
            return;
          next.strategy = *guess;
        }
        if (isLegal(family, next.strategy, next.problem))
          plan.push_back(std::move(next));
      };
      const Strategy defaults = family.declaration().defaults();
      for (int64_t m : sweepSizes())
        for (int64_t k : sweepSizes()) {
          add(m, k, &defaults);
          add(m, k, nullptr);
        }
      for (const Strategy &strategy : strategies) {
        add(decks.m.deal(), decks.k.deal(), &strategy);
        add(decks.largeM.deal(), decks.largeK.deal(), &strategy);
        add(257, 257, &strategy);
      }
    }
  }
  shuffle(plan, decks.random);
  return plan;
}
