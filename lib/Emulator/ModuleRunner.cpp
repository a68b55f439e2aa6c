//===- ModuleRunner.cpp - Whole modules on the CPU ------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Host code calls back through plain C functions, which find their session in a
// variable of the thread. What goes wrong there cannot be returned through host
// code, so it is kept in the session and the call is left by longjmp: nothing
// in between has a destructor.
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Emulator/ModuleRunner.h"
#include "HostCode.h"
#include "HostMemory.h"
#include "HostSession.h"
#include "Jit.h"
#include "Translate.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "sparseditto/Support/Error.h"
#include "sparseditto/Target/Compile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/LLVMContext.h"
#include <cstring>

using namespace sparseditto;
using namespace sparseditto::emulator;

std::string HostTensorType::str() const {
  std::string text;
  for (int64_t side : shape)
    text += (side < 0 ? std::string("?") : std::to_string(side)) + "x";
  return text + name(type).str();
}

struct ModuleRunner::Impl {
  explicit Impl(uint64_t memoryBytes) : session(memoryBytes) {}

  /// Of host.module, until both belong to the JIT.
  std::unique_ptr<llvm::LLVMContext> context =
      std::make_unique<llvm::LLVMContext>();
  HostCode host;
  /// Before the kernels, which it calls, and after the memory, whose bytes it
  /// points to.
  HostSession session;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  void (*entry)(void **) = nullptr;
  void (*init)() = nullptr;
  uint64_t leaked = 0;

  llvm::Error buildKernels(mlir::ModuleOp module,
                           const EmulatorOptions &options);
  llvm::Error compile();
};

ModuleRunner::ModuleRunner(std::unique_ptr<Impl> impl)
    : Pimpl(std::move(impl)) {}
ModuleRunner::~ModuleRunner() = default;

llvm::StringRef ModuleRunner::entry() const { return Pimpl->host.entry; }
llvm::ArrayRef<HostTensorType> ModuleRunner::arguments() const {
  return Pimpl->host.arguments;
}
llvm::ArrayRef<HostTensorType> ModuleRunner::results() const {
  return Pimpl->host.results;
}
llvm::ArrayRef<KernelUse> ModuleRunner::kernels() const {
  return Pimpl->session.uses;
}
uint64_t ModuleRunner::leakedBytes() const { return Pimpl->leaked; }

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

llvm::Error ModuleRunner::Impl::buildKernels(mlir::ModuleOp module,
                                             const EmulatorOptions &options) {
  for (const HostKernel &kernel : host.kernels) {
    mlir::OwningOpRef<mlir::ModuleOp> wrapper =
        mlir::ModuleOp::create(module.getLoc());
    for (auto gpuModule : module.getOps<mlir::gpu::GPUModuleOp>())
      if (gpuModule.getName() == kernel.module)
        wrapper->push_back(gpuModule->clone());
    if (needsLowering(*wrapper))
      if (llvm::Error error = lowerKernelToNVVM(*wrapper))
        return makeError("kernel '{0}': {1}", kernel.function,
                         llvm::toString(std::move(error)));
    llvm::Expected<std::unique_ptr<EmulatedKernel>> emulated =
        EmulatedKernel::create(*wrapper, kernel.function, options);
    if (!emulated)
      return emulated.takeError();
    session.kernels.push_back(std::move(*emulated));
    KernelUse use;
    use.kernel = kernel.function;
    session.uses.push_back(std::move(use));
  }
  return llvm::Error::success();
}

llvm::Error ModuleRunner::Impl::compile() {
  initializeNativeBackend();
  llvm::Expected<llvm::orc::JITTargetMachineBuilder> machine = hostMachine();
  if (!machine)
    return machine.takeError();
  llvm::Expected<llvm::DataLayout> layout =
      machine->getDefaultDataLayoutForTarget();
  if (!layout)
    return layout.takeError();
  host.module->setDataLayout(*layout);
  if (llvm::Error error = optimize(*host.module, *machine))
    return error;
  llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>> compiled =
      compileWithJit(std::move(*machine), std::move(host.module),
                     std::move(context), hostSymbols());
  if (!compiled)
    return compiled.takeError();
  jit = std::move(*compiled);
  llvm::Expected<llvm::orc::ExecutorAddr> address = jit->lookup(hostEntry);
  if (!address)
    return makeError("host code calls what the emulator does not have: {0}",
                     llvm::toString(address.takeError()));
  entry = address->toPtr<void(void **)>();
  if (host.hasInit) {
    address = jit->lookup(hostInit);
    if (!address)
      return address.takeError();
    init = address->toPtr<void()>();
  }
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<ModuleRunner>>
ModuleRunner::create(mlir::ModuleOp module,
                     const ModuleRunnerOptions &options) {
  auto impl = std::make_unique<Impl>(options.memoryBytes);
  mlir::OwningOpRef<mlir::ModuleOp> clone = module.clone();
  llvm::Expected<HostCode> host =
      lowerHostCode(*clone, options.entry, *impl->context);
  if (!host)
    return host.takeError();
  impl->host = std::move(*host);
  impl->session.sites = impl->host.sites;
  if (llvm::Error error = impl->buildKernels(module, options.emulator))
    return error;
  if (llvm::Error error = impl->compile())
    return error;
  return std::unique_ptr<ModuleRunner>(new ModuleRunner(std::move(impl)));
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// A memref descriptor: allocated and aligned pointer, offset, sizes, strides.
static size_t descriptorWords(const HostTensorType &type) {
  return 3 + 2 * type.shape.size();
}

/// Elements of a shape, none on overflow or a negative side.
static std::optional<uint64_t> countElements(llvm::ArrayRef<int64_t> shape) {
  uint64_t count = 1;
  for (int64_t side : shape)
    if (side < 0 || __builtin_mul_overflow(count, uint64_t(side), &count))
      return std::nullopt;
  return count;
}

llvm::Error ModuleRunner::checkInputs(llvm::ArrayRef<HostTensor> inputs) const {
  const HostCode &host = Pimpl->host;
  if (inputs.size() != host.arguments.size())
    return makeError("'{0}' takes {1} inputs, got {2}", host.entry,
                     host.arguments.size(), inputs.size());
  for (auto [i, input] : llvm::enumerate(inputs)) {
    const HostTensorType &wanted = host.arguments[i];
    bool fits =
        input.type == wanted.type && input.shape.size() == wanted.shape.size();
    for (size_t d = 0; fits && d < wanted.shape.size(); ++d)
      fits = wanted.shape[d] < 0 || wanted.shape[d] == input.shape[d];
    if (!fits)
      return makeError("input {0} is {1}, argument {0} of '{2}' is {3}", i,
                       HostTensorType{input.type, input.shape}.str(),
                       host.entry, wanted.str());
    std::optional<uint64_t> count = countElements(input.shape);
    if (!count || *count * byteSize(input.type) != input.bytes.size())
      return makeError("input {0} of {1} has {2} bytes", i,
                       HostTensorType{input.type, input.shape}.str(),
                       input.bytes.size());
  }
  return llvm::Error::success();
}

/// Copies a result out of its buffer, whatever its strides. `bytesFrom` says
/// how much of the buffer lies behind an address.
static llvm::Expected<HostTensor> readResult(
    size_t index, const HostTensorType &type, llvm::ArrayRef<int64_t> words,
    llvm::function_ref<std::optional<uint64_t>(const void *)> bytesFrom) {
  size_t rank = type.shape.size(), size = byteSize(type.type);
  llvm::ArrayRef<int64_t> sizes = words.slice(3, rank),
                          strides = words.slice(3 + rank, rank);
  HostTensor tensor;
  tensor.type = type.type;
  tensor.shape.assign(sizes.begin(), sizes.end());
  std::optional<uint64_t> count = countElements(sizes);
  // A row of a result at a time would be quicker; strides other than the
  // contiguous ones are not allowed by its type.
  uint64_t expected = 1;
  bool isContiguous = true;
  for (size_t d = rank; d-- > 0;) {
    isContiguous &= sizes[d] <= 1 || uint64_t(strides[d]) == expected;
    expected *= uint64_t(std::max<int64_t>(sizes[d], 1));
  }
  auto *data =
      reinterpret_cast<const uint8_t *>(words[1]) + words[2] * int64_t(size);
  if (!count || !isContiguous)
    return makeError("result {0} has a shape or strides that its type, {1}, "
                     "does not allow",
                     index, type.str());
  if (*count == 0)
    return tensor;
  std::optional<uint64_t> available = bytesFrom(data);
  if (!available || *available / size < *count)
    return makeError("result {0} of {1} does not lie within one live buffer",
                     index, HostTensorType{type.type, tensor.shape}.str());
  tensor.bytes.assign(data, data + *count * size);
  return tensor;
}

llvm::Expected<std::vector<HostTensor>>
ModuleRunner::run(llvm::ArrayRef<HostTensor> inputs) {
  Impl &impl = *Pimpl;
  if (llvm::Error error = checkInputs(inputs))
    return error;
  if (impl.init) {
    if (llvm::Error error = impl.session.call([&] { impl.init(); }))
      return error;
    impl.init = nullptr;
    // The weights, from here on.
    impl.session.memory.freezeDevice();
  }

  std::vector<GuardedBuffer> buffers;
  std::vector<std::vector<int64_t>> descriptors;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    llvm::Expected<GuardedBuffer> buffer =
        GuardedBuffer::create("argument " + std::to_string(i), input.bytes);
    if (!buffer)
      return buffer.takeError();
    auto pointer = int64_t(buffer->devicePointer());
    std::vector<int64_t> words = {pointer, pointer, 0};
    words.insert(words.end(), input.shape.begin(), input.shape.end());
    std::vector<int64_t> strides(input.shape.size(), 1);
    for (size_t d = strides.size(); d-- > 1;)
      strides[d - 1] = strides[d] * std::max<int64_t>(input.shape[d], 1);
    words.insert(words.end(), strides.begin(), strides.end());
    descriptors.push_back(std::move(words));
    buffers.push_back(std::move(*buffer));
  }
  size_t resultWords = 0;
  for (const HostTensorType &type : impl.host.results)
    resultWords += descriptorWords(type);
  std::vector<int64_t> returned(resultWords);
  std::vector<void *> pointers;
  if (resultWords)
    pointers.push_back(returned.data());
  for (std::vector<int64_t> &descriptor : descriptors)
    pointers.push_back(descriptor.data());

  uint64_t before = impl.session.memory.liveBytes();
  if (llvm::Error error =
          impl.session.call([&] { impl.entry(pointers.data()); }))
    return error;

  auto bytesFrom = [&](const void *data) -> std::optional<uint64_t> {
    for (const GuardedBuffer &buffer : buffers) {
      auto offset = static_cast<const uint8_t *>(data) - buffer.data();
      if (offset >= 0 && size_t(offset) <= buffer.size())
        return buffer.size() - size_t(offset);
    }
    return impl.session.memory.bytesFrom(data);
  };
  std::vector<HostTensor> results;
  llvm::ArrayRef<int64_t> rest = returned;
  for (auto [i, type] : llvm::enumerate(impl.host.results)) {
    llvm::Expected<HostTensor> tensor =
        readResult(i, type, rest.take_front(descriptorWords(type)), bytesFrom);
    if (!tensor)
      return tensor.takeError();
    results.push_back(std::move(*tensor));
    rest = rest.drop_front(descriptorWords(type));
  }
  // They were the caller's.
  rest = returned;
  for (const HostTensorType &type : impl.host.results) {
    impl.session.memory.release(reinterpret_cast<void *>(rest.front()));
    rest = rest.drop_front(descriptorWords(type));
  }
  impl.leaked = impl.session.memory.liveBytes() - before;
  return results;
}
