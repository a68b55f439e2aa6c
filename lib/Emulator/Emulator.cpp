//===- Emulator.cpp - Running kernels on the CPU --------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Emulator/Emulator.h"
#include "BlockRunner.h"
#include "Instrument.h"
#include "Jit.h"
#include "Runtime.h"
#include "Translate.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FormatVariadic.h"
#include <atomic>
#include <mutex>
#include <thread>

using namespace sparseditto;
using namespace sparseditto::emulator;

struct EmulatedKernel::Impl {
  std::unique_ptr<llvm::orc::LLJIT> jit;
  InstrumentedKernel instrumented;
  std::vector<OperationRecord> operations;
  std::string symbol;
  EmulatorOptions options;
  void (*entry)(ThreadContext *, const uint64_t *) = nullptr;
  std::vector<uint64_t> registered; ///< Device globals in the registry.
  std::vector<std::unique_ptr<WorkerMemory>> memory; ///< One a worker.

  ~Impl() {
    for (uint64_t begin : registered)
      unregisterAllocation(begin);
  }
  llvm::Error compile(std::unique_ptr<llvm::Module> module,
                      std::unique_ptr<llvm::LLVMContext> context);
  llvm::Error launchError(const llvm::Twine &message) const;
};

EmulatedKernel::EmulatedKernel(std::unique_ptr<Impl> impl)
    : Pimpl(std::move(impl)) {}
EmulatedKernel::~EmulatedKernel() = default;

unsigned EmulatedKernel::numArguments() const {
  return Pimpl->instrumented.numArguments;
}
unsigned EmulatedKernel::staticSharedBytes() const {
  return Pimpl->instrumented.staticSharedBytes;
}

llvm::Error
EmulatedKernel::Impl::compile(std::unique_ptr<llvm::Module> module,
                              std::unique_ptr<llvm::LLVMContext> context) {
  llvm::Expected<llvm::orc::JITTargetMachineBuilder> machine = hostMachine();
  if (!machine)
    return machine.takeError();
  if (llvm::Error error = optimize(*module, *machine))
    return error;
  std::vector<std::pair<std::string, uint64_t>> globals;
  for (const std::string &name : instrumented.globals) {
    llvm::GlobalVariable *global = module->getNamedGlobal(name);
    if (global)
      globals.emplace_back(name, module->getDataLayout().getTypeAllocSize(
                                     global->getValueType()));
  }
  llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>> compiled =
      compileWithJit(std::move(*machine), std::move(module), std::move(context),
                     runtimeSymbols());
  if (!compiled)
    return compiled.takeError();
  jit = std::move(*compiled);
  llvm::Expected<llvm::orc::ExecutorAddr> address = jit->lookup(entryName);
  if (!address)
    return address.takeError();
  entry = address->toPtr<void(ThreadContext *, const uint64_t *)>();
  for (const auto &[name, size] : globals) {
    llvm::Expected<llvm::orc::ExecutorAddr> at = jit->lookup(name);
    if (!at)
      return at.takeError();
    Allocation allocation;
    allocation.begin = allocation.mappingBegin = at->getValue();
    allocation.end = allocation.mappingEnd = at->getValue() + size;
    allocation.name = name;
    registered.push_back(allocation.begin);
    registerAllocation(std::move(allocation));
  }
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<EmulatedKernel>>
EmulatedKernel::create(mlir::ModuleOp lowered, llvm::StringRef symbol,
                       const EmulatorOptions &options) {
  initializeNativeBackend();
  auto impl = std::make_unique<Impl>();
  impl->symbol = symbol.str();
  impl->options = options;
  auto context = std::make_unique<llvm::LLVMContext>();
  llvm::Expected<TranslatedKernel> translated =
      translateKernel(lowered, symbol, *context);
  if (!translated)
    return translated.takeError();
  impl->operations = std::move(translated->operations);
  llvm::Expected<llvm::orc::JITTargetMachineBuilder> machine = hostMachine();
  if (!machine)
    return machine.takeError();
  llvm::Expected<llvm::DataLayout> layout =
      machine->getDefaultDataLayoutForTarget();
  if (!layout)
    return layout.takeError();
  translated->module->setDataLayout(*layout);
  llvm::Expected<InstrumentedKernel> instrumented =
      instrumentKernel(*translated->module, symbol, impl->operations);
  if (!instrumented)
    return instrumented.takeError();
  impl->instrumented = std::move(*instrumented);
  if (llvm::Error error =
          impl->compile(std::move(translated->module), std::move(context)))
    return error;
  return std::unique_ptr<EmulatedKernel>(new EmulatedKernel(std::move(impl)));
}

llvm::Error
EmulatedKernel::Impl::launchError(const llvm::Twine &message) const {
  auto fault = std::make_unique<EmulatorFault>();
  fault->kind = FaultKind::Launch;
  fault->kernel = symbol;
  fault->message = message.str();
  return llvm::Error(std::unique_ptr<llvm::ErrorInfoBase>(std::move(fault)));
}

static std::string text(std::array<unsigned, 3> dims) {
  return llvm::formatv("({0}, {1}, {2})", dims[0], dims[1], dims[2]).str();
}

llvm::Error EmulatedKernel::launch(std::array<unsigned, 3> grid,
                                   std::array<unsigned, 3> block,
                                   unsigned dynamicSharedBytes,
                                   llvm::ArrayRef<uint64_t> args,
                                   LaunchReport *report) {
  Impl &impl = *Pimpl;
  const InstrumentedKernel &info = impl.instrumented;
  if (args.size() != info.numArguments)
    return impl.launchError(llvm::Twine(args.size()) +
                            " arguments for a kernel with " +
                            llvm::Twine(info.numArguments));
  uint64_t threads = uint64_t(block[0]) * block[1] * block[2];
  if (threads == 0 || threads > 1024 || block[0] > 1024 || block[1] > 1024 ||
      block[2] > 64)
    return impl.launchError("block " + text(block) +
                            " is empty or exceeds 1024 threads");
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0 || grid[1] > 65535 ||
      grid[2] > 65535 || grid[0] > 0x7fffffffu)
    return impl.launchError("grid " + text(grid) +
                            " is empty or exceeds (2147483647, 65535, 65535)");
  if (info.requiredBlock && *info.requiredBlock != block)
    return impl.launchError("block " + text(block) +
                            " for a kernel that requires " +
                            text(*info.requiredBlock));
  if (info.maximalBlock) {
    const auto &m = *info.maximalBlock;
    if (threads > uint64_t(m[0]) * m[1] * m[2])
      return impl.launchError("block " + text(block) +
                              " for a kernel built for at most " + text(m));
  }
  if (uint64_t(info.paddedSharedBytes) + dynamicSharedBytes >
      SharedMemory::windowBytes)
    return impl.launchError(llvm::Twine(info.staticSharedBytes) + " + " +
                            llvm::Twine(dynamicSharedBytes) +
                            " bytes of shared memory exceed the window");

  installTrapHandler();
  LaunchState state;
  state.kernel = impl.symbol;
  state.sites = &info.sites;
  state.operations = &impl.operations;
  state.sharedRegions = &info.shared;
  state.entry = impl.entry;
  state.args = args.data();
  state.grid = grid;
  state.block = block;
  state.dynamicSharedBytes = dynamicSharedBytes;
  state.allocations = snapshotAllocations();
  state.options = impl.options;
  auto start = std::chrono::steady_clock::now();
  state.deadline =
      start + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                  std::chrono::duration<double>(impl.options.timeoutSeconds));

  uint64_t total = uint64_t(grid[0]) * grid[1] * grid[2];
  std::atomic<uint64_t> next{0};
  std::mutex mutex;
  llvm::Error result = llvm::Error::success();
  bool failed = false;
  LaunchReport sum;
  auto work = [&](WorkerMemory &memory) {
    TrapStack stack;
    BlockRunner runner(state, memory);
    llvm::Error error = runner.prepare();
    while (!error) {
      uint64_t index = next.fetch_add(1);
      if (index >= total)
        break;
      if (!runner.run({static_cast<unsigned>(index % grid[0]),
                       static_cast<unsigned>(index / grid[0] % grid[1]),
                       static_cast<unsigned>(index / grid[0] / grid[1])}))
        error = runner.takeFault();
    }
    std::lock_guard<std::mutex> lock(mutex);
    sum.blocks += runner.counts.blocks;
    sum.threads += runner.counts.threads;
    sum.warpOperations += runner.counts.warpOperations;
    sum.barriers += runner.counts.barriers;
    if (error) {
      next = total; // The others stop after their block.
      if (std::exchange(failed, true))
        llvm::consumeError(std::move(error));
      else
        result = std::move(error);
    }
  };
  unsigned workers =
      std::max<uint64_t>(1, std::min<uint64_t>(impl.options.workers, total));
  while (impl.memory.size() < workers)
    impl.memory.push_back(std::make_unique<WorkerMemory>());
  std::vector<std::thread> pool;
  for (unsigned i = 1; i < workers; ++i)
    pool.emplace_back([&, i] { work(*impl.memory[i]); });
  work(*impl.memory[0]);
  for (std::thread &thread : pool)
    thread.join();
  sum.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  if (report)
    *report = sum;
  return result;
}
