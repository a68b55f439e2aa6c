//===- TimedOperands.h - What a timed kernel reads and writes ---*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel that is timed must not be able to tell a launch that is looked at
// from one that is not, nor find its own result from before: every copy of X is
// new before each replay, every copy of Y holds something else, and which
// launches are compared with the oracle is decided afterwards.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_RUNTIME_TIMEDOPERANDS_H
#define SPARSEDITTO_LIB_RUNTIME_TIMEDOPERANDS_H

#include "sparseditto/IO/Matrix.h"
#include "sparseditto/Kernels/Packed.h"
#include "sparseditto/Runtime/Kernel.h"
#include "sparseditto/Runtime/Timing.h"
#include "sparseditto/Verify/Checker.h"
#include "sparseditto/Verify/Inputs.h"
#include "sparseditto/Verify/Oracle.h"
#include <optional>

namespace sparseditto {

class TimedOperands {
public:
  /// `kernel`, `weight`, `packed` and `random` outlive this. Fills every copy
  /// once.
  static llvm::Expected<TimedOperands>
  create(DeviceRef device, const KernelManifest &kernel, const Matrix &weight,
         const PackedWeight &packed, int64_t n, const TimingOptions &options,
         Random &random);

  /// New X and Y in every copy, on a device that then is idle.
  llvm::Error refresh();
  /// Compares some elements of a few copies, as the last replay left them, with
  /// the oracle. Empty, or what was wrong.
  llvm::Expected<std::string> audit();

  struct Damage {
    CheckStatus status; ///< InputModified or OutOfBounds.
    std::string text;
  };
  /// Compares all memory of all copies, but for Y, with what it held before the
  /// last replay.
  llvm::Expected<std::optional<Damage>> findDamage() const;

  LaunchArguments arguments(unsigned copy) const;
  unsigned copies() const { return rotating->copies(); }
  unsigned launches(const TimingOptions &options) const {
    return rotating->launches(options);
  }
  bool cold() const { return rotating->cold(); }
  /// Of one copy.
  size_t bytes() const;
  /// Of the packed weight and Y, which no kernel can leave alone.
  size_t unavoidableBytes() const;
  /// X of copy c for a peer that is timed beside the kernel: the values rotated
  /// by a stride of its own.
  std::vector<uint8_t> activations(unsigned copy) const;

private:
  TimedOperands(DeviceRef device, const KernelManifest &kernel, Oracle oracle,
                int64_t n, Random &random)
      : device(std::move(device)), kernel(&kernel), problem(&kernel.problem),
        oracle(std::move(oracle)), n(n), random(&random) {}
  llvm::Error fill(const PackedWeight &packed, const TimingOptions &options);
  llvm::Error fillReservoir();
  std::vector<uint8_t> randomBytes(ElementType type, size_t count);
  llvm::Expected<std::vector<float>>
  read(unsigned copy, size_t operand, ElementType type, int64_t features,
       std::optional<llvm::ArrayRef<int64_t>> tokens) const;
  std::vector<int64_t> sample(int64_t count, int64_t most);
  llvm::Error auditCopy(unsigned copy, std::string &fault);

  DeviceRef device;
  const KernelManifest *kernel;
  const Problem *problem;
  Oracle oracle;
  int64_t n;
  Random *random;

  std::string operandName(size_t operand) const;
  std::vector<uint8_t> rotatedX(size_t bytes) const;

  std::optional<RotatingOperands> rotating;
  std::vector<const PackedBuffer *> buffers;
  size_t packedCount = 0; ///< Packed buffers, which come first.
  size_t xAt = 0, yAt = 0;
  std::optional<size_t> biasAt, residualAt;
  size_t operandCount = 0;
  /// Pointers of every copy: launches must not allocate.
  std::vector<std::vector<cuda::DevicePtr>> packedPointers;
  std::vector<uint8_t> baseX, bias, residual;
  /// Where in the reservoir the X of each copy came from.
  std::vector<size_t> xPlaces;
  /// Normal values on the device. X and Y are filled from random places of it.
  DeviceBuffer reservoir;
};

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_RUNTIME_TIMEDOPERANDS_H
