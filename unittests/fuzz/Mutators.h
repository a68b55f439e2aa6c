//===- Mutators.h - Mutations that keep the syntax -------------*- C++ -*--===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libFuzzer's own mutations of text with a grammar mostly break it. These keep
// most of it intact, so that what lies behind the parsers is reached; now and
// then they leave the work to libFuzzer, which breaks the syntax.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_UNITTESTS_FUZZ_MUTATORS_H
#define SPARSEDITTO_UNITTESTS_FUZZ_MUTATORS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstddef>
#include <cstdint>
#include <limits>

namespace sparseditto::fuzz {

/// Values around which readers go wrong.
inline constexpr int64_t hostileIntegers[] = {
    0,
    1,
    2,
    -1,
    3,
    8,
    16,
    64,
    255,
    256,
    1024,
    1025,
    65535,
    65536,
    1 << 20,
    std::numeric_limits<int32_t>::max(),
    int64_t(1) << 31,
    int64_t(1) << 32,
    int64_t(1) << 53,
    int64_t(1) << 62,
    std::numeric_limits<int64_t>::max(),
    std::numeric_limits<int64_t>::min(),
};

/// Changes one to three values of a JSON text, or its members or items: for an
/// LLVMFuzzerCustomMutator, whose parameters these are.
size_t mutateJSON(uint8_t *data, size_t size, size_t maxSize, unsigned seed);

/// Changes one to three tokens of any other text. New ones are taken from the
/// text and from `words`.
size_t mutateTokens(uint8_t *data, size_t size, size_t maxSize, unsigned seed,
                    llvm::ArrayRef<llvm::StringRef> words);

} // namespace sparseditto::fuzz

#endif // SPARSEDITTO_UNITTESTS_FUZZ_MUTATORS_H
