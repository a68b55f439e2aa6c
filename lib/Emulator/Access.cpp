//===- Access.cpp - Checked memory accesses -------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Access.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>

using namespace sparseditto;
using namespace sparseditto::emulator;

static std::string describeAccess(AccessKind kind, unsigned size) {
  const char *what = isStore(kind)                ? "-byte store"
                     : kind == AccessKind::Atomic ? "-byte atomic"
                                                  : "-byte load";
  return std::to_string(size) + what;
}

static void checkAlignment(ThreadContext &thread, uint64_t address,
                           unsigned size, unsigned alignment, AccessKind kind,
                           unsigned site) {
  if ((address & (alignment - 1)) == 0)
    return;
  thread.runner->raise(thread, FaultKind::Misaligned, site, [&] {
    return describeAccess(kind, size) + " at address 0x" +
           llvm::utohexstr(address) + ", which is no multiple of " +
           std::to_string(alignment);
  });
}

void emulator::checkSharedRace(ThreadContext &thread, unsigned offset,
                               unsigned size, AccessKind kind, unsigned site) {
  BlockRunner &runner = *thread.runner;
  if (!runner.launch().options.checkRaces)
    return;
  SharedAccess access;
  access.thread = thread.index;
  access.site = site;
  access.offset = offset;
  access.size = size;
  access.atomic = kind == AccessKind::Atomic;
  access.write = isStore(kind) || access.atomic;
  access.warpWide =
      kind == AccessKind::WarpLoad || kind == AccessKind::WarpStore;
  std::optional<RaceDetector::Conflict> conflict =
      runner.races().access(access);
  if (!conflict)
    return;
  const ThreadContext &other = runner.thread(conflict->thread);
  const OperationRecord &op =
      (*runner.launch().operations)[runner.site(conflict->site).operation];
  runner.raise(thread, FaultKind::SharedRace, site, [&] {
    return llvm::formatv(
               "{0} of {1} races with a {2} by thread ({3}, {4}, {5}) at "
               "'{6}' {7}: no barrier lies between them",
               describeAccess(kind, size), runner.shared().describe(offset),
               conflict->write ? "write" : "read", other.tid[0], other.tid[1],
               other.tid[2], op.name, op.location)
        .str();
  });
}

static void checkShared(ThreadContext &thread, uint64_t address, unsigned size,
                        unsigned alignment, AccessKind kind, unsigned site) {
  BlockRunner &runner = *thread.runner;
  SharedMemory &shared = runner.shared();
  unsigned offset = shared.offsetOf(address);
  unsigned end = offset + size;
  checkAlignment(thread, address, size, alignment, kind, site);
  ByteState wanted = ByteState::Written;
  unsigned bad = end > SharedMemory::windowBytes
                     ? SharedMemory::windowBytes - 1
                     : shared.findOther(offset, size, wanted);
  if (bad == end)
    return checkSharedRace(thread, offset, size, kind, site);
  // The rare cases, worst first: every byte is looked at again.
  for (unsigned i = offset; i < end; ++i) {
    ByteState state =
        i < SharedMemory::windowBytes ? *shared.state(i) : ByteState::RedZone;
    if (state == ByteState::RedZone)
      runner.raise(thread, FaultKind::OutOfBounds, site, [&] {
        return describeAccess(kind, size) + " outside " +
               shared.describe(offset);
      });
    if (state == ByteState::InFlight)
      runner.raise(thread, FaultKind::AsyncPending, site, [&] {
        return describeAccess(kind, size) + " of " + shared.describe(offset) +
               ", to which a copy is still in flight";
      });
  }
  if (isStore(kind)) {
    shared.mark(offset, size, ByteState::Written);
    return checkSharedRace(thread, offset, size, kind, site);
  }
  checkSharedRace(thread, offset, size, kind, site);
  if (runner.launch().options.checkUninitializedShared)
    runner.raise(thread, FaultKind::UninitializedShared, site, [&] {
      return describeAccess(kind, size) + " of " + shared.describe(offset) +
             ", byte " + std::to_string(bad - offset) +
             " of which was never written";
    });
}

static void checkGlobal(ThreadContext &thread, uint64_t address, unsigned size,
                        unsigned alignment, AccessKind kind, unsigned site) {
  BlockRunner &runner = *thread.runner;
  const Allocation *buffer = runner.launch().allocations.find(address);
  if (!buffer)
    runner.raise(thread, FaultKind::OutOfBounds, site, [&] {
      return describeAccess(kind, size) + " at address 0x" +
             llvm::utohexstr(address) + ", which is in no buffer";
    });
  if (address < buffer->begin || address > buffer->end ||
      buffer->end - address < size)
    runner.raise(thread, FaultKind::OutOfBounds, site, [&] {
      return describeAccess(kind, size) + " at byte " +
             std::to_string(int64_t(address - buffer->begin)) + " of buffer '" +
             buffer->name + "', which has " +
             std::to_string(buffer->end - buffer->begin) + " bytes";
    });
  checkAlignment(thread, address, size, alignment, kind, site);
  if ((isStore(kind) || kind == AccessKind::Atomic) && buffer->readOnly)
    runner.raise(thread, FaultKind::ReadOnlyWrite, site, [&] {
      return describeAccess(kind, size) + " to buffer '" + buffer->name +
             "', which is read-only";
    });
  // Sites have one size and kind, so the whole buffer is good for the next
  // time.
  thread.cache[site] = {buffer->begin, buffer->end - buffer->begin - size};
}

void emulator::checkGlobalRange(ThreadContext &thread, uint64_t address,
                                unsigned size, AccessKind kind, unsigned site) {
  checkGlobal(thread, address, size, 1, kind, site);
  // Sizes differ from time to time: nothing to remember.
  thread.cache[site] = SiteCache();
}

void emulator::accessMemory(ThreadContext &thread, uint64_t address,
                            unsigned size, unsigned alignment, AccessKind kind,
                            unsigned site) {
  if (thread.runner->shared().contains(address))
    checkShared(thread, address, size, alignment, kind, site);
  else
    checkGlobal(thread, address, size, alignment, kind, site);
}

void emulator::checkSharedOperand(ThreadContext &thread, uint64_t address,
                                  unsigned site) {
  BlockRunner &runner = *thread.runner;
  if (runner.shared().contains(address))
    return;
  runner.raise(thread, FaultKind::OutOfBounds, site, [&] {
    return "address 0x" + llvm::utohexstr(address) + " is not in shared memory";
  });
}

void emulator::issueCopy(ThreadContext &thread, unsigned site,
                         uint64_t destination, uint64_t source, unsigned size,
                         unsigned sourceSize) {
  BlockRunner &runner = *thread.runner;
  SharedMemory &shared = runner.shared();
  if (sourceSize > size)
    runner.raise(thread, FaultKind::InvalidOperand, site, [&] {
      return "source size " + std::to_string(sourceSize) +
             " exceeds the copy's " + std::to_string(size) + " bytes";
    });
  checkSharedOperand(thread, destination, site);
  checkShared(thread, destination, size, size, AccessKind::Store, site);
  if (sourceSize != 0) {
    checkGlobalRange(thread, source, sourceSize, AccessKind::Load, site);
    checkAlignment(thread, source, size, size, AccessKind::Load, site);
  }
  shared.mark(shared.offsetOf(destination), size, ByteState::InFlight);
  thread.uncommitted.push_back({destination, source, size, sourceSize, site});
}

static void completeCopies(ThreadContext &thread,
                           const std::vector<PendingCopy> &copies) {
  SharedMemory &shared = thread.runner->shared();
  for (const PendingCopy &copy : copies) {
    char *to = reinterpret_cast<char *>(copy.destination);
    std::memcpy(to, reinterpret_cast<const void *>(copy.source),
                copy.sourceSize);
    std::memset(to + copy.sourceSize, 0, copy.size - copy.sourceSize);
    unsigned offset = shared.offsetOf(copy.destination);
    shared.mark(offset, copy.size, ByteState::Written);
    // Visible to this thread only, until a barrier.
    checkSharedRace(thread, offset, copy.size, AccessKind::Store, copy.site);
  }
}

void emulator::commitCopies(ThreadContext &thread) {
  thread.groups.push_back(std::move(thread.uncommitted));
  thread.uncommitted.clear();
}

void emulator::waitCopies(ThreadContext &thread, unsigned pending) {
  if (thread.groups.size() <= pending)
    return;
  auto end = thread.groups.end() - pending;
  for (auto it = thread.groups.begin(); it != end; ++it)
    completeCopies(thread, *it);
  thread.groups.erase(thread.groups.begin(), end);
}

void emulator::waitAllCopies(ThreadContext &thread) {
  waitCopies(thread, 0);
  completeCopies(thread, thread.uncommitted);
  thread.uncommitted.clear();
}

void emulator::orderThreads(BlockRunner &runner,
                            llvm::ArrayRef<unsigned> before,
                            llvm::ArrayRef<unsigned> after) {
  if (!runner.launch().options.checkRaces)
    return;
  if (after.size() == runner.numThreads() && before.size() == after.size())
    runner.races().orderAll();
  else
    runner.races().order(before, after);
}
