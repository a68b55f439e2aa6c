//===- Limits.cpp - Checks that families share ----------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Kernels/Limits.h"
#include "sparseditto/Support/Error.h"

using namespace sparseditto;

// CUDA C++ Programming Guide, "Technical Specifications per Compute
// Capability": maximum shared memory per thread block.
unsigned sparseditto::maxSharedBytes(unsigned computeCapability) {
  switch (computeCapability) {
  case 80:
  case 87:
    return 163 * 1024;
  case 90:
  case 100:
  case 101:
  case 103:
  case 110:
    return 227 * 1024;
  default:
    return 99 * 1024;
  }
}

llvm::Error sparseditto::checkType(const FamilyDeclaration &declaration,
                                   const Problem &problem) {
  if (llvm::is_contained(declaration.types, problem.type))
    return llvm::Error::success();
  std::string legal;
  for (ElementType type : declaration.types)
    legal += (legal.empty() ? "" : ", ") + name(type).str();
  return makeError("{0}: expected element type {1}, got {2}", declaration.name,
                   legal, name(problem.type));
}

llvm::Error sparseditto::checkOutputType(const FamilyDeclaration &declaration,
                                         const Problem &problem) {
  if (problem.outputType == ElementType::F16 ||
      problem.outputType == ElementType::BF16 ||
      problem.outputType == ElementType::F32)
    return llvm::Error::success();
  return makeError("{0}: expected an output of f16, bf16 or f32, got {1}",
                   declaration.name, name(problem.outputType));
}

llvm::Error sparseditto::checkSharedMemory(llvm::StringRef family,
                                           int64_t bytes,
                                           unsigned computeCapability,
                                           llvm::StringRef knob) {
  const int64_t limit = maxSharedBytes(computeCapability);
  if (bytes <= limit)
    return llvm::Error::success();
  return makeError(
      "{0}: needs {1} bytes of shared memory, compute capability {2} has {3}; "
      "lower {4}",
      family, bytes, computeCapability, limit, knob);
}
