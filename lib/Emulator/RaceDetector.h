//===- RaceDetector.h - Order of shared-memory accesses ---------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two accesses to a byte, one of them a write and not both atomic, race unless
// a chain of barriers orders them. A barrier of the whole block starts a new
// generation; smaller ones (a warp's, named ones, mbarriers) are followed with
// a vector clock a thread. A word remembers its last two writers and readers,
// so a race may be missed but none is invented.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_EMULATOR_RACEDETECTOR_H
#define SPARSEDITTO_LIB_EMULATOR_RACEDETECTOR_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace sparseditto::emulator {

struct SharedAccess {
  unsigned thread = 0, site = 0;
  unsigned offset = 0, size = 0;
  bool write = false, atomic = false;
  /// Done by all lanes of the thread's warp at once (ldmatrix).
  bool warpWide = false;
};

class RaceDetector {
public:
  /// A new block: nothing has been accessed.
  void reset(unsigned threads, unsigned sharedBytes);

  struct Conflict {
    unsigned thread, site;
    bool write;
  };
  /// Records the access; an earlier one that it races with, if any.
  std::optional<Conflict> access(const SharedAccess &access);

  /// A barrier of all threads.
  void orderAll();
  /// What `before` did so far comes before what `after` does next.
  void order(llvm::ArrayRef<unsigned> before, llvm::ArrayRef<unsigned> after);

  /// Clocks of some threads at one moment, for barriers that are left later.
  struct Snapshot {
    uint32_t generation = 0;
    std::vector<uint32_t> clock;
  };
  /// Adds what `thread` did so far.
  void release(unsigned thread, Snapshot &snapshot);
  /// What the snapshot holds comes before what `thread` does next.
  void acquire(unsigned thread, const Snapshot &snapshot);

private:
  struct Stamp {
    uint32_t generation = 0; ///< 0: empty.
    uint32_t epoch = 0, site = 0;
    uint16_t thread = 0;
    uint8_t mask = 0; ///< Bytes of the word.
    bool atomic : 1 = false, warpWide : 1 = false;
  };
  struct Word {
    Stamp writes[2], reads[2];
  };
  std::vector<Word> Words;
  unsigned NumThreads = 0;
  uint32_t Generation = 1;
  std::vector<uint32_t> Epoch;      ///< Of each thread, in this generation.
  std::vector<uint32_t> Known;      ///< NumThreads rows of NumThreads epochs.
  std::vector<uint32_t> KnownSince; ///< Generation of each row of Known.

  bool ordered(const Stamp &stamp, unsigned thread) const;
  uint32_t *row(unsigned thread);
  static void insert(Stamp (&slots)[2], const Stamp &stamp);
};

} // namespace sparseditto::emulator

#endif // SPARSEDITTO_LIB_EMULATOR_RACEDETECTOR_H
