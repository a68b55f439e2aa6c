//===- TestKernel.h - Kernels from text -------------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_UNITTESTS_EMULATOR_TESTKERNEL_H
#define SPARSEDITTO_UNITTESTS_EMULATOR_TESTKERNEL_H

#include "sparseditto/Emulator/Emulator.h"
#include "sparseditto/Emulator/GuardedBuffer.h"
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace sparseditto {

/// Compiles the llvm.func @k of `text`, a module in the LLVM and NVVM dialects.
llvm::Expected<std::unique_ptr<EmulatedKernel>>
compileText(llvm::StringRef text, const EmulatorOptions &options = {});
/// The same; fails the test on an error.
std::unique_ptr<EmulatedKernel> compile(llvm::StringRef text,
                                        const EmulatorOptions &options = {});

/// A buffer holding `values`, as close to its end guard as 16-byte alignment
/// lets it.
template <typename T>
GuardedBuffer bufferOf(llvm::StringRef name, const std::vector<T> &values,
                       unsigned alignment = 16) {
  GuardedBufferOptions options;
  options.alignment = alignment;
  auto buffer = GuardedBuffer::create(
      name,
      llvm::ArrayRef<uint8_t>(reinterpret_cast<const uint8_t *>(values.data()),
                              values.size() * sizeof(T)),
      options);
  EXPECT_TRUE(static_cast<bool>(buffer));
  return std::move(*buffer);
}
template <typename T> std::vector<T> valuesOf(const GuardedBuffer &buffer) {
  std::vector<T> values(buffer.size() / sizeof(T));
  std::memcpy(values.data(), buffer.data(), values.size() * sizeof(T));
  return values;
}

/// What the launch or compilation reported; fails the test if it did not.
EmulatorFault faultOf(llvm::Error error);
std::string textOf(llvm::Error error);

} // namespace sparseditto

#endif // SPARSEDITTO_UNITTESTS_EMULATOR_TESTKERNEL_H
