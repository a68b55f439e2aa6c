//===- Simd.h - Two builds of one kernel ------------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels are plain C++ marked SD_INLINE; a wrapper marked SD_AVX2 inlines them
// and so compiles them for AVX2 and popcnt, a plain wrapper for any processor.
// Lambdas do not inherit a target attribute: kernels use none.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_ANALYSIS_SIMD_H
#define SPARSEDITTO_LIB_ANALYSIS_SIMD_H

#define SD_INLINE inline __attribute__((always_inline))

#if defined(__x86_64__)
#define SD_HAS_AVX2_BUILD 1
#define SD_AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt,lzcnt")))
#endif

namespace sparseditto::detail {

inline bool useAVX2(bool portable) {
#ifdef SD_HAS_AVX2_BUILD
  return !portable && __builtin_cpu_supports("avx2") &&
         __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
#else
  return false;
#endif
}

} // namespace sparseditto::detail

#endif // SPARSEDITTO_LIB_ANALYSIS_SIMD_H
