//===- ForwardingFamily.h - A family that stands in for another -*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_UNITTESTS_KERNELS_FORWARDINGFAMILY_H
#define SPARSEDITTO_UNITTESTS_KERNELS_FORWARDINGFAMILY_H

#include "sparseditto/Kernels/Family.h"

namespace sparseditto::test {

/// Does what `base` does; tests override what they want otherwise.
class ForwardingFamily : public KernelFamily {
public:
  explicit ForwardingFamily(const KernelFamily &base) : base(base) {}

  const FamilyDeclaration &declaration() const override {
    return base.declaration();
  }
  llvm::Error accepts(const PatternReport &report,
                      const Problem &problem) const override {
    return base.accepts(report, problem);
  }
  llvm::Error check(const Strategy &strategy, const Problem &problem,
                    unsigned computeCapability) const override {
    return base.check(strategy, problem, computeCapability);
  }
  std::vector<Strategy> candidates(const PatternReport &report,
                                   const Problem &problem,
                                   unsigned computeCapability) const override {
    return base.candidates(report, problem, computeCapability);
  }
  CostModel cost(const PatternReport &report, const Problem &problem,
                 const Strategy &strategy, int64_t n) const override {
    return base.cost(report, problem, strategy, n);
  }
  llvm::Expected<PackedWeight> pack(const Matrix &weight,
                                    const Strategy &strategy) const override {
    return base.pack(weight, strategy);
  }
  llvm::Expected<Matrix> unpack(const PackedWeight &packed) const override {
    return base.unpack(packed);
  }
  llvm::Expected<BuiltKernel>
  build(mlir::MLIRContext &context, const Problem &problem,
        const Strategy &strategy, const PackedWeight &packed,
        unsigned computeCapability, llvm::StringRef symbol) const override {
    return base.build(context, problem, strategy, packed, computeCapability,
                      symbol);
  }

protected:
  const KernelFamily &base;
};

} // namespace sparseditto::test

#endif // SPARSEDITTO_UNITTESTS_KERNELS_FORWARDINGFAMILY_H
