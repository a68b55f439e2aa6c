//===- Device.cpp - GPU objects that clean up after themselves ------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/Device.h"
#include "llvm/ADT/StringExtras.h"

using namespace sparseditto;

static llvm::Error fail(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

bool DeviceInfo::runs(llvm::StringRef chip) const {
  int capability = 0;
  if (!chip.consume_front("sm_") || chip.consumeInteger(10, capability))
    return false;
  // "a" code runs on exactly that chip; "f" code within the family.
  if (chip == "a")
    return capability == computeCapability;
  if (!chip.empty() && chip != "f")
    return false;
  return capability / 10 == computeCapability / 10 &&
         capability <= computeCapability;
}

llvm::Expected<DeviceRef> Device::open(int ordinal) {
  llvm::Expected<const Driver *> driver = Driver::get();
  if (!driver)
    return driver.takeError();
  const Driver &api = **driver;
  int count = 0;
  if (llvm::Error error =
          api.check(api.deviceGetCount(&count), "cuDeviceGetCount"))
    return error;
  if (ordinal < 0 || ordinal >= count)
    return fail("no GPU " + llvm::Twine(ordinal) + ": the driver reports " +
                llvm::Twine(count));
  std::shared_ptr<Device> device(new Device);
  device->api = *driver;
  if (llvm::Error error =
          api.check(api.deviceGet(&device->handle, ordinal), "cuDeviceGet"))
    return error;

  DeviceInfo &info = device->properties;
  info.ordinal = ordinal;
  info.driverVersion = api.version();
  char name[256] = {};
  if (llvm::Error error =
          api.check(api.deviceGetName(name, sizeof(name) - 1, device->handle),
                    "cuDeviceGetName"))
    return error;
  info.name = name;
  if (llvm::Error error =
          api.check(api.deviceTotalMem(&info.memoryBytes, device->handle),
                    "cuDeviceTotalMem"))
    return error;
  auto attribute = [&](cuda::DeviceAttribute which, int &value) {
    return api.check(api.deviceGetAttribute(&value, which, device->handle),
                     "cuDeviceGetAttribute");
  };
  int major = 0, minor = 0, l2 = 0, clock = 0, memoryClock = 0;
  struct {
    cuda::DeviceAttribute which;
    int *value;
  } wanted[] = {{cuda::ComputeCapabilityMajor, &major},
                {cuda::ComputeCapabilityMinor, &minor},
                {cuda::MultiprocessorCount, &info.multiprocessors},
                {cuda::L2CacheSize, &l2},
                {cuda::MaxSharedPerBlockOptin, &info.sharedPerBlockOptin}};
  for (auto &item : wanted)
    if (llvm::Error error = attribute(item.which, *item.value))
      return error;
  // Newer drivers may stop reporting clocks; they are only printed.
  llvm::consumeError(attribute(cuda::ClockRate, clock));
  llvm::consumeError(attribute(cuda::MemoryClockRate, memoryClock));
  llvm::consumeError(attribute(cuda::MemoryBusWidth, info.memoryBusBits));
  info.computeCapability = major * 10 + minor;
  info.l2Bytes = size_t(l2);
  info.clockMHz = clock / 1000.0;
  info.memoryClockMHz = memoryClock / 1000.0;

  if (llvm::Error error =
          api.check(api.primaryCtxRetain(&device->context, device->handle),
                    "cuDevicePrimaryCtxRetain"))
    return error;
  if (llvm::Error error = device->makeCurrent())
    return error;
  return DeviceRef(std::move(device));
}

Device::~Device() {
  if (context)
    api->primaryCtxRelease(handle);
}

llvm::Error Device::makeCurrent() const {
  return api->check(api->ctxSetCurrent(context), "cuCtxSetCurrent");
}

llvm::Error Device::synchronize() const {
  if (llvm::Error error = makeCurrent())
    return error;
  return api->check(api->ctxSynchronize(), "cuCtxSynchronize");
}

llvm::Error Device::resetPersistingCache() const {
  if (llvm::Error error = makeCurrent())
    return error;
  cuda::Result result = api->ctxResetPersistingL2();
  return result == cuda::notSupported
             ? llvm::Error::success()
             : api->check(result, "cuCtxResetPersistingL2Cache");
}

llvm::Expected<size_t> Device::freeBytes() const {
  size_t free = 0, total = 0;
  if (llvm::Error error = makeCurrent())
    return error;
  if (llvm::Error error =
          api->check(api->memGetInfo(&free, &total), "cuMemGetInfo"))
    return error;
  return free;
}

//===----------------------------------------------------------------------===//
// DeviceBuffer
//===----------------------------------------------------------------------===//

llvm::Expected<DeviceBuffer> DeviceBuffer::allocate(DeviceRef device,
                                                    size_t bytes) {
  if (llvm::Error error = device->makeCurrent())
    return error;
  const Driver &api = device->driver();
  DeviceBuffer buffer;
  // The driver refuses an allocation of no bytes; empty operands exist.
  std::string what = "cuMemAlloc of " + std::to_string(bytes) + " bytes";
  if (llvm::Error error = api.check(
          api.memAlloc(&buffer.address, bytes ? bytes : 1), what.c_str()))
    return error;
  buffer.device = std::move(device);
  buffer.length = bytes;
  return buffer;
}

DeviceBuffer::~DeviceBuffer() {
  if (address) {
    llvm::consumeError(device->makeCurrent());
    device->driver().memFree(address);
  }
}

llvm::Error DeviceBuffer::bounds(const char *what, size_t offset,
                                 size_t bytes) const {
  if (offset > length || bytes > length - offset)
    return fail(llvm::Twine(what) + " of " + llvm::Twine(uint64_t(bytes)) +
                " bytes at offset " + llvm::Twine(uint64_t(offset)) +
                " of a device buffer of " + llvm::Twine(uint64_t(length)) +
                " bytes");
  if (bytes == 0)
    return llvm::Error::success();
  return device->makeCurrent();
}

llvm::Error DeviceBuffer::upload(llvm::ArrayRef<uint8_t> bytes,
                                 size_t offset) const {
  if (llvm::Error error = bounds("upload", offset, bytes.size()))
    return error;
  if (bytes.empty())
    return llvm::Error::success();
  const Driver &api = device->driver();
  return api.check(api.memcpyHtoD(address + offset, bytes.data(), bytes.size()),
                   "cuMemcpyHtoD");
}

llvm::Error DeviceBuffer::download(llvm::MutableArrayRef<uint8_t> bytes,
                                   size_t offset) const {
  if (llvm::Error error = bounds("download", offset, bytes.size()))
    return error;
  if (bytes.empty())
    return llvm::Error::success();
  const Driver &api = device->driver();
  return api.check(api.memcpyDtoH(bytes.data(), address + offset, bytes.size()),
                   "cuMemcpyDtoH");
}

llvm::Error DeviceBuffer::fill(uint8_t byte) const {
  if (llvm::Error error = bounds("fill", 0, length))
    return error;
  if (length == 0)
    return llvm::Error::success();
  const Driver &api = device->driver();
  return api.check(api.memsetD8(address, byte, length), "cuMemsetD8");
}

llvm::Error DeviceBuffer::copyFrom(const DeviceBuffer &source, size_t from,
                                   size_t to, size_t bytes) const {
  if (llvm::Error error = source.bounds("copy", from, bytes))
    return error;
  if (llvm::Error error = bounds("copy", to, bytes))
    return error;
  if (bytes == 0)
    return llvm::Error::success();
  const Driver &api = device->driver();
  return api.check(api.memcpyDtoD(address + to, source.address + from, bytes),
                   "cuMemcpyDtoD");
}

//===----------------------------------------------------------------------===//
// Stream, Event, Graph
//===----------------------------------------------------------------------===//

llvm::Expected<Stream> Stream::create(DeviceRef device) {
  if (llvm::Error error = device->makeCurrent())
    return error;
  Stream stream(std::move(device));
  const Driver &api = stream.device->driver();
  if (llvm::Error error =
          api.check(api.streamCreate(&stream.stream, cuda::streamNonBlocking),
                    "cuStreamCreate"))
    return error;
  return stream;
}

Stream::~Stream() {
  if (stream)
    device->driver().streamDestroy(stream);
}

llvm::Error Stream::synchronize() const {
  if (llvm::Error error = device->makeCurrent())
    return error;
  const Driver &api = device->driver();
  return api.check(api.streamSynchronize(stream), "cuStreamSynchronize");
}

llvm::Expected<Event> Event::create(DeviceRef device) {
  if (llvm::Error error = device->makeCurrent())
    return error;
  Event event(std::move(device));
  const Driver &api = event.device->driver();
  if (llvm::Error error =
          api.check(api.eventCreate(&event.event, 0), "cuEventCreate"))
    return error;
  return event;
}

Event::~Event() {
  if (event)
    device->driver().eventDestroy(event);
}

llvm::Error Event::record(const Stream &stream) const {
  const Driver &api = device->driver();
  return api.check(api.eventRecord(event, stream.handle()), "cuEventRecord");
}

llvm::Expected<double> Event::microseconds(const Event &from, const Event &to) {
  const Driver &api = to.device->driver();
  if (llvm::Error error =
          api.check(api.eventSynchronize(to.event), "cuEventSynchronize"))
    return error;
  float milliseconds = 0;
  if (llvm::Error error =
          api.check(api.eventElapsedTime(&milliseconds, from.event, to.event),
                    "cuEventElapsedTime"))
    return error;
  return double(milliseconds) * 1e3;
}

llvm::Expected<Graph>
Graph::capture(const Stream &stream,
               llvm::function_ref<llvm::Error()> enqueue) {
  if (llvm::Error error = stream.on()->makeCurrent())
    return error;
  Graph result(stream.on());
  const Driver &api = stream.on()->driver();
  if (llvm::Error error = api.check(
          api.streamBeginCapture(stream.handle(), cuda::captureThreadLocal),
          "cuStreamBeginCapture"))
    return error;
  llvm::Error enqueued = enqueue();
  // Always, or the stream stays in capture mode.
  llvm::Error ended =
      api.check(api.streamEndCapture(stream.handle(), &result.graph),
                "cuStreamEndCapture");
  if (enqueued) {
    llvm::consumeError(std::move(ended));
    return enqueued;
  }
  if (ended)
    return ended;
  if (llvm::Error error =
          api.check(api.graphInstantiate(&result.exec, result.graph, 0),
                    "cuGraphInstantiate"))
    return error;
  return result;
}

Graph::~Graph() {
  if (exec)
    device->driver().graphExecDestroy(exec);
  if (graph)
    device->driver().graphDestroy(graph);
}

llvm::Error Graph::launch(const Stream &stream) const {
  const Driver &api = device->driver();
  return api.check(api.graphLaunch(exec, stream.handle()), "cuGraphLaunch");
}
