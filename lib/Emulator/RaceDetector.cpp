//===- RaceDetector.cpp - Order of shared-memory accesses -----------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaceDetector.h"
#include <algorithm>

using namespace sparseditto::emulator;

void RaceDetector::reset(unsigned threads, unsigned sharedBytes) {
  // Stamps of earlier blocks are of earlier generations: no need to clear.
  if (Words.size() < (sharedBytes + 3) / 4)
    Words.resize((sharedBytes + 3) / 4);
  if (NumThreads != threads) {
    NumThreads = threads;
    Epoch.resize(threads);
    Known.clear();
    KnownSince.assign(threads, 0);
  }
  orderAll();
}

void RaceDetector::orderAll() {
  if (++Generation == 0) {
    // Wrapped around: old stamps would look new.
    std::fill(Words.begin(), Words.end(), Word());
    std::fill(KnownSince.begin(), KnownSince.end(), 0);
    Generation = 1;
  }
  std::fill(Epoch.begin(), Epoch.end(), 1);
}

uint32_t *RaceDetector::row(unsigned thread) {
  if (Known.empty())
    Known.resize(size_t(NumThreads) * NumThreads);
  uint32_t *clock = &Known[size_t(thread) * NumThreads];
  if (KnownSince[thread] != Generation) {
    KnownSince[thread] = Generation;
    std::fill_n(clock, NumThreads, 0);
  }
  return clock;
}

bool RaceDetector::ordered(const Stamp &stamp, unsigned thread) const {
  if (stamp.generation != Generation || stamp.thread == thread)
    return true;
  if (stamp.warpWide && stamp.thread / 32u == thread / 32)
    return true;
  return KnownSince[thread] == Generation &&
         Known[size_t(thread) * NumThreads + stamp.thread] >= stamp.epoch;
}

void RaceDetector::insert(Stamp (&slots)[2], const Stamp &stamp) {
  for (Stamp &slot : slots) {
    // An access of the same thread takes over if it conflicts with no less.
    bool covers =
        slot.thread == stamp.thread && (slot.mask & ~stamp.mask) == 0 &&
        (slot.atomic || !stamp.atomic) && (slot.warpWide || !stamp.warpWide);
    if (slot.generation != stamp.generation || covers) {
      slot = stamp;
      return;
    }
  }
  // The newer one is more likely to meet its rival.
  slots[0] = slots[1];
  slots[1] = stamp;
}

std::optional<RaceDetector::Conflict>
RaceDetector::access(const SharedAccess &a) {
  Stamp stamp;
  stamp.generation = Generation;
  stamp.epoch = Epoch[a.thread];
  stamp.site = a.site;
  stamp.thread = static_cast<uint16_t>(a.thread);
  stamp.atomic = a.atomic;
  stamp.warpWide = a.warpWide;
  std::optional<Conflict> found;
  unsigned end = a.offset + a.size;
  for (unsigned word = a.offset / 4; word * 4 < end; ++word) {
    unsigned first = std::max(a.offset, word * 4) - word * 4;
    unsigned last = std::min(end, word * 4 + 4) - word * 4;
    stamp.mask = static_cast<uint8_t>((1u << last) - (1u << first));
    Word &cell = Words[word];
    auto check = [&](const Stamp &other, bool write) {
      if ((other.mask & stamp.mask) && !(other.atomic && stamp.atomic) &&
          !ordered(other, a.thread) && !found)
        found = Conflict{other.thread, other.site, write};
    };
    for (const Stamp &other : cell.writes)
      check(other, true);
    if (a.write)
      for (const Stamp &other : cell.reads)
        check(other, false);
    insert(a.write ? cell.writes : cell.reads, stamp);
  }
  return found;
}

void RaceDetector::release(unsigned thread, Snapshot &snapshot) {
  if (snapshot.generation != Generation) {
    snapshot.generation = Generation;
    snapshot.clock.assign(NumThreads, 0);
  }
  const uint32_t *known = row(thread);
  for (unsigned i = 0; i < NumThreads; ++i)
    snapshot.clock[i] = std::max(snapshot.clock[i], known[i]);
  snapshot.clock[thread] = Epoch[thread]++;
}

void RaceDetector::acquire(unsigned thread, const Snapshot &snapshot) {
  if (snapshot.generation != Generation)
    return;
  uint32_t *known = row(thread);
  for (unsigned i = 0; i < NumThreads; ++i)
    known[i] = std::max(known[i], snapshot.clock[i]);
}

void RaceDetector::order(llvm::ArrayRef<unsigned> before,
                         llvm::ArrayRef<unsigned> after) {
  Snapshot snapshot;
  for (unsigned thread : before)
    release(thread, snapshot);
  for (unsigned thread : after)
    acquire(thread, snapshot);
}
