//===- GemmFamily.h - Base of the tensor-core families ----------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What nm, block and dense share around the schedules of Gemm.h: knobs, checks,
// candidates and the build; a family adds its format and its WeightSource.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_KERNELS_COMMON_GEMMFAMILY_H
#define SPARSEDITTO_KERNELS_COMMON_GEMMFAMILY_H

#include "sparseditto/Kernels/Common/Gemm.h"

namespace sparseditto {

class GemmFamily : public KernelFamily {
public:
  const FamilyDeclaration &declaration() const override { return decl; }
  llvm::Error check(const Strategy &strategy, const Problem &problem,
                    unsigned computeCapability) const override;
  std::vector<Strategy> candidates(const PatternReport &report,
                                   const Problem &problem,
                                   unsigned computeCapability) const override;
  llvm::Expected<BuiltKernel>
  build(mlir::MLIRContext &context, const Problem &problem,
        const Strategy &strategy, const PackedWeight &packed,
        unsigned computeCapability, llvm::StringRef symbol) const override;

protected:
  GemmFamily(FamilyDeclaration declaration, llvm::StringRef format,
             int formatVersion)
      : decl(std::move(declaration)), format(format), version(formatVersion) {}

  /// Shape of the source; `packed` is null before packing, then the largest
  /// sizes that any weight may need count.
  virtual SourceShape sourceShape(const Problem &problem,
                                  const Strategy &strategy,
                                  const PackedWeight *packed) const = 0;
  /// The family's own rules on knobs; the shared ones are checked after it.
  virtual llvm::Error checkOwn(const GemmConfig &config,
                               const Strategy &strategy,
                               const Problem &problem) const;
  virtual std::unique_ptr<WeightSource>
  makeSource(KernelFrame &frame, const SourceShape &shape,
             const GemmConfig &config, const Strategy &strategy,
             const PackedWeight &packed) const = 0;
  /// Blocks of tileM rows that cover the weight.
  virtual int64_t rowTiles(const GemmConfig &config, const Strategy &strategy,
                           const PackedWeight &packed) const;
  /// Called on each candidate before it is checked: sets knobs of the family.
  /// False drops the candidate.
  virtual bool completeCandidate(Strategy &strategy,
                                 const PatternReport &report,
                                 const Problem &problem) const;
  /// Success if format, version, attributes and buffer shapes are sound.
  virtual llvm::Error checkBuffers(const PackedWeight &packed) const = 0;
  /// Success if `packed` was packed for the strategy's packing knobs.
  virtual llvm::Error checkPackedFor(const PackedWeight &packed,
                                     const Strategy &strategy) const;

  FamilyDeclaration decl;
  std::string format;
  int version;

private:
  /// Success if `packed` is this family's format and fits the problem.
  llvm::Error checkPacked(const PackedWeight &packed,
                          const Problem &problem) const;
};

/// What the declarations have in common: types, the knobs of the schedules and
/// their defaults.
FamilyDeclaration gemmDeclaration(llvm::StringRef name, llvm::StringRef summary,
                                  llvm::StringRef accepts);

/// How much of a packed weight is there to check: build() gets shapes only.
enum class PackedCheck { Shapes, Contents };
/// Buffer `name` of `packed` with exactly the given type and shape, and with
/// Contents as many bytes, or an error naming the format and what is wrong:
/// packed files are not trusted.
llvm::Expected<const PackedBuffer *>
checkedBuffer(const PackedWeight &packed, llvm::StringRef name,
              ElementType type, llvm::ArrayRef<int64_t> shape,
              PackedCheck check);
/// Error unless format, version, M, K and the 16-bit type are sound.
llvm::Error checkPackedHeader(const PackedWeight &packed,
                              llvm::StringRef format, int version);
/// Error unless the matrix has a 16-bit float type and a positive shape.
llvm::Error checkPackable(const Matrix &weight);
/// An empty buffer of `shape`, zero-filled.
PackedBuffer makeBuffer(llvm::StringRef name, ElementType type,
                        llvm::ArrayRef<int64_t> shape);

/// Writes the 16 x 16 A fragment of mma.m16n8k16 at (row, column) of `weight`
/// to 512 bytes at `dst`, in the order of dense-fragment. Elements outside of
/// the matrix and zeros stay as they are there.
void packFragment(const Matrix &weight, int64_t row, int64_t column,
                  uint8_t *dst);
/// The inverse, for a zero-filled `weight`. Zeros are not stored. Fails on a
/// non-zero outside of the matrix.
llvm::Error unpackFragment(const uint8_t *src, Matrix &weight, int64_t row,
                           int64_t column, llvm::StringRef format);

} // namespace sparseditto

#endif // SPARSEDITTO_KERNELS_COMMON_GEMMFAMILY_H
