//===- Plan.h - Which kernels the sweep runs --------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_UNITTESTS_SWEEP_PLAN_H
#define SPARSEDITTO_UNITTESTS_SWEEP_PLAN_H

#include "Case.h"

namespace sparseditto::test {

/// The values that M, K and N take.
llvm::ArrayRef<int64_t> sweepSizes();

/// bias x activation x residual: 16.
std::vector<Epilogue> allEpilogues();

/// Output types that the family takes at its defaults.
std::vector<ElementType> outputTypes(const KernelFamily &family,
                                     ElementType type);

/// Weights that the family packs at every value of its packing knobs.
std::vector<WeightKind> weightKinds(const KernelFamily &family);

/// Legal strategies for a 257 x 257 weight that hold every reachable value of
/// every knob and, with `pairs`, every reachable pair of values; those that
/// cover most come first. Fixed by the family, and worked out once.
const std::vector<Strategy> &coveringStrategies(const KernelFamily &family,
                                                bool pairs);

/// What runs on every commit: each (layout, epilogue, type) once, with M, K, N,
/// output type, weight, knobs and guard side dealt from shuffled decks, so that
/// each value of each occurs. Fixed by the family and the seed.
std::vector<SweepCase> samplePlan(const KernelFamily &family,
                                  uint64_t seed = 1);

/// What runs at night, every case with all N: every M x K x layout x type at
/// the default knobs and at the family's best guess for 257 tokens, and every
/// strategy of coveringStrategies(pairs) x layout x type, the rest dealt from
/// decks. Shuffled, so that a part of it is a fair sample.
std::vector<SweepCase> fullPlan(const KernelFamily &family, uint64_t seed = 1);

} // namespace sparseditto::test

#endif // SPARSEDITTO_UNITTESTS_SWEEP_PLAN_H
