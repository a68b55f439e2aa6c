//===- StackSwitch.h - What AddressSanitizer must know of fibres *- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AddressSanitizer takes the stack of a host thread for the only one, and
// remembers the red zones of frames that were left without returning. These
// functions tell it which stack runs, and forget such frames. Without it they
// do nothing.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_EMULATOR_STACKSWITCH_H
#define SPARSEDITTO_LIB_EMULATOR_STACKSWITCH_H

#include <cstddef>

// GCC defines the macro, clang before version 23 has the feature instead.
#if defined(__SANITIZE_ADDRESS__)
#define SPARSEDITTO_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SPARSEDITTO_ASAN 1
#endif
#endif

#ifdef SPARSEDITTO_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace sparseditto::emulator {

#ifdef SPARSEDITTO_ASAN
constexpr bool addressSanitizer = true;
#else
constexpr bool addressSanitizer = false;
#endif

/// A stack that code leaves and comes back to.
struct StackExtent {
  const void *bottom = nullptr; ///< Lowest address.
  size_t bytes = 0;
  void *frames = nullptr; ///< AddressSanitizer's own, while another stack runs.
};

/// Immediately before `from` is left for `to`; `forGood` if never to return.
inline void beforeSwitch([[maybe_unused]] StackExtent &from,
                         [[maybe_unused]] const StackExtent &to,
                         [[maybe_unused]] bool forGood = false) {
#ifdef SPARSEDITTO_ASAN
  __sanitizer_start_switch_fiber(forGood ? nullptr : &from.frames, to.bottom,
                                 to.bytes);
#endif
}

/// The first thing on `now`, after `previous` has been left. What `previous`
/// covers is filled in.
inline void afterSwitch([[maybe_unused]] StackExtent &now,
                        [[maybe_unused]] StackExtent &previous) {
#ifdef SPARSEDITTO_ASAN
  __sanitizer_finish_switch_fiber(now.frames, &previous.bottom,
                                  &previous.bytes);
  now.frames = nullptr;
#endif
}

/// After a jump to `now` that left a fibre in the middle, with `frame` the
/// lowest frame that is still in use.
inline void afterJump([[maybe_unused]] StackExtent &now,
                      [[maybe_unused]] void *frame) {
#ifdef SPARSEDITTO_ASAN
  __sanitizer_start_switch_fiber(nullptr, now.bottom, now.bytes);
  __sanitizer_finish_switch_fiber(now.frames, nullptr, nullptr);
  now.frames = nullptr;
  __asan_unpoison_memory_region(now.bottom,
                                static_cast<char *>(frame) -
                                    static_cast<const char *>(now.bottom));
#endif
}

/// No frame lies on this memory any more.
inline void forgetFrames([[maybe_unused]] const void *bottom,
                         [[maybe_unused]] size_t bytes) {
#ifdef SPARSEDITTO_ASAN
  __asan_unpoison_memory_region(bottom, bytes);
#endif
}

} // namespace sparseditto::emulator

#endif // SPARSEDITTO_LIB_EMULATOR_STACKSWITCH_H
