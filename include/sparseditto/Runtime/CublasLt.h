//===- CublasLt.h - The dense peer ------------------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cuBLASLt through dlopen, with the heuristics searched: a sparse kernel is
// compared with the best dense algorithm found, never with the first guess.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_RUNTIME_CUBLASLT_H
#define SPARSEDITTO_RUNTIME_CUBLASLT_H

#include "sparseditto/Kernels/Problem.h"
#include "sparseditto/Runtime/Device.h"
#include <memory>
#include <vector>

namespace sparseditto {

class CublasLt {
public:
  /// Loads libcublasLt once a process.
  static llvm::Expected<const CublasLt *> get();
  llvm::StringRef path() const;
  /// "13.1.0".
  std::string version() const;

  struct Api;
  const Api &api() const { return *table; }

private:
  CublasLt() = default;
  llvm::Error load();
  std::shared_ptr<Api> table;
};

/// Y = W X by cuBLASLt for one shape and N, without an epilogue, operands tight
/// in the problem's layout. Several algorithms, the heuristic's best first.
class DenseProduct {
public:
  static llvm::Expected<DenseProduct> create(DeviceRef device,
                                             const Problem &problem, int64_t n,
                                             int maxAlgorithms = 16);
  DenseProduct(DenseProduct &&) noexcept;
  ~DenseProduct();

  size_t algorithms() const;
  /// Enqueues algorithm `index`; capturable.
  llvm::Error run(size_t index, cuda::DevicePtr w, cuda::DevicePtr x,
                  cuda::DevicePtr y, cuda::StreamHandle stream) const;

private:
  struct Impl;
  explicit DenseProduct(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace sparseditto

#endif // SPARSEDITTO_RUNTIME_CUBLASLT_H
