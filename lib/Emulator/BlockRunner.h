//===- BlockRunner.h - Fibres of one block ----------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the threads of a block as fibres until all have left, one block after
// another. One runner a host thread.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_EMULATOR_BLOCKRUNNER_H
#define SPARSEDITTO_LIB_EMULATOR_BLOCKRUNNER_H

#include "Context.h"
#include "FiberStacks.h"
#include "RaceDetector.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <map>

namespace sparseditto::emulator {

/// Mappings that outlive a launch: making them costs more than most blocks.
struct WorkerMemory {
  SharedMemory shared;
  FiberStacks stacks;
  RaceDetector races;
};

class BlockRunner {
public:
  BlockRunner(const LaunchState &launch, WorkerMemory &memory)
      : Launch(launch), Shared(memory.shared), Stacks(memory.stacks),
        Races(memory.races) {}

  /// Maps what is missing of the memory. Call before the first block.
  llvm::Error prepare();
  /// Runs one block. False: see takeFault().
  bool run(std::array<unsigned, 3> block);
  llvm::Error takeFault();

  LaunchReport counts;

  // For the run-time functions, called on a fibre.
  /// On a fibre that runs for the first time.
  void arrive(ThreadContext &thread) { afterSwitch(thread.stack, OwnStack); }
  /// Gives up the fibre until the scheduler resumes it.
  void suspend(ThreadContext &thread);
  /// Records the fault and leaves the block; never returns, so the caller must
  /// hold nothing that owns memory. `message` is called once.
  [[noreturn]] void raise(const ThreadContext &thread, FaultKind kind,
                          unsigned site,
                          llvm::function_ref<std::string()> message);
  [[noreturn]] void exitThread(ThreadContext &thread);
  WarpState &warpOf(const ThreadContext &thread) {
    return Warps[thread.warpId];
  }
  void makeReady(ThreadContext &thread);
  /// A fibre did something that another may wait for.
  void noteProgress() { Progress = true; }
  /// Stops the block when the launch's time is over.
  void checkDeadline(ThreadContext &thread, unsigned site);

  const LaunchState &launch() const { return Launch; }
  const Site &site(unsigned index) const { return (*Launch.sites)[index]; }
  SharedMemory &shared() { return Shared; }
  RaceDetector &races() { return Races; }
  std::map<unsigned, MbarrierState> &mbarriers() { return Mbarriers; }
  const ThreadContext &thread(unsigned index) const { return Threads[index]; }
  BarrierState &barrier(unsigned id) { return Barriers[id]; }
  unsigned liveThreads() const { return Live; }
  unsigned numThreads() const { return Threads.size(); }

  /// From the signal handler: turns a trap into a fault and leaves the block.
  /// Does not return if the running fibre caused it.
  static void handleSignal(int signal, uint64_t address);

private:
  const LaunchState &Launch;
  SharedMemory &Shared;
  FiberStacks &Stacks;
  RaceDetector &Races;
  std::vector<ThreadContext> Threads;
  std::vector<WarpState> Warps;
  std::array<BarrierState, 16> Barriers;
  std::map<unsigned, MbarrierState> Mbarriers; ///< By shared offset.
  std::vector<SiteCache> Cache;
  ThreadContext *Running = nullptr;
  StackExtent OwnStack; ///< The scheduler's.
  unsigned Live = 0;
  bool Progress = false;
  bool Polled = false; ///< Some thread's test failed in this round.
  bool Failed = false;
  std::unique_ptr<EmulatorFault> Fault;
  sigjmp_buf SignalExit;

  void resetBlock(std::array<unsigned, 3> block);
  void schedule();
  bool runWarp(WarpState &warp);
  void resume(ThreadContext &thread);
  void record(const ThreadContext &thread, FaultKind kind, unsigned site,
              std::string message);
  void reportDeadlock();
  std::string whereabouts(const std::vector<const ThreadContext *> &threads);
};

} // namespace sparseditto::emulator

#endif // SPARSEDITTO_LIB_EMULATOR_BLOCKRUNNER_H
