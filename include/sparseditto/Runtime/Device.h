//===- Device.h - GPU objects that clean up after themselves ----*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_RUNTIME_DEVICE_H
#define SPARSEDITTO_RUNTIME_DEVICE_H

#include "sparseditto/Runtime/Driver.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <memory>
#include <string>
#include <utility>

namespace sparseditto {

struct DeviceInfo {
  int ordinal = 0;
  std::string name;
  int computeCapability = 0; ///< 90.
  int multiprocessors = 0;
  size_t memoryBytes = 0;
  size_t l2Bytes = 0;
  int sharedPerBlockOptin = 0;
  double clockMHz = 0, memoryClockMHz = 0;
  int memoryBusBits = 0;
  int driverVersion = 0; ///< 13000.

  /// True if code for `chip` ("sm_90a", "sm_80") runs here: the same
  /// capability for architecture-specific code, the same major and no newer
  /// minor otherwise.
  bool runs(llvm::StringRef chip) const;
};

/// A GPU with its primary context retained. Shared by all that live on it.
class Device {
public:
  static llvm::Expected<std::shared_ptr<const Device>> open(int ordinal = 0);
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  const Driver &driver() const { return *api; }
  const DeviceInfo &info() const { return properties; }
  /// Makes the context current in the calling thread. Cheap; called by
  /// everything below.
  llvm::Error makeCurrent() const;
  /// Waits for all work; where asynchronous faults surface.
  llvm::Error synchronize() const;
  llvm::Expected<size_t> freeBytes() const;
  /// Makes lines that were set to stay in L2 ordinary ones. Success where the
  /// device has no such lines.
  llvm::Error resetPersistingCache() const;

private:
  Device() = default;
  const Driver *api = nullptr;
  cuda::DeviceHandle handle = 0;
  cuda::ContextHandle context = nullptr;
  DeviceInfo properties;
};
using DeviceRef = std::shared_ptr<const Device>;

/// Device memory.
class DeviceBuffer {
public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer &&other) noexcept { swap(other); }
  DeviceBuffer &operator=(DeviceBuffer &&other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceBuffer();

  static llvm::Expected<DeviceBuffer> allocate(DeviceRef device, size_t bytes);
  /// Bounds-checked, synchronous.
  llvm::Error upload(llvm::ArrayRef<uint8_t> bytes, size_t offset = 0) const;
  llvm::Error download(llvm::MutableArrayRef<uint8_t> bytes,
                       size_t offset = 0) const;
  llvm::Error fill(uint8_t byte) const;
  /// Copies `bytes` bytes inside the buffer.
  llvm::Error copyWithin(size_t from, size_t to, size_t bytes) const {
    return copyFrom(*this, from, to, bytes);
  }
  /// Copies `bytes` bytes at `from` of `source` to `to`.
  llvm::Error copyFrom(const DeviceBuffer &source, size_t from, size_t to,
                       size_t bytes) const;

  cuda::DevicePtr pointer() const { return address; }
  size_t size() const { return length; }

private:
  void swap(DeviceBuffer &other) noexcept {
    std::swap(device, other.device);
    std::swap(address, other.address);
    std::swap(length, other.length);
  }
  llvm::Error bounds(const char *what, size_t offset, size_t bytes) const;

  DeviceRef device;
  cuda::DevicePtr address = 0;
  size_t length = 0;
};

/// A non-blocking stream.
class Stream {
public:
  static llvm::Expected<Stream> create(DeviceRef device);
  Stream(Stream &&other) noexcept
      : device(std::move(other.device)),
        stream(std::exchange(other.stream, nullptr)) {}
  ~Stream();
  llvm::Error synchronize() const;
  cuda::StreamHandle handle() const { return stream; }
  const DeviceRef &on() const { return device; }

private:
  explicit Stream(DeviceRef device) : device(std::move(device)) {}
  DeviceRef device;
  cuda::StreamHandle stream = nullptr;
};

/// A point in a stream, with its time.
class Event {
public:
  static llvm::Expected<Event> create(DeviceRef device);
  Event(Event &&other) noexcept
      : device(std::move(other.device)),
        event(std::exchange(other.event, nullptr)) {}
  ~Event();
  llvm::Error record(const Stream &stream) const;
  /// Waits for both and returns the microseconds between them.
  static llvm::Expected<double> microseconds(const Event &from,
                                             const Event &to);

private:
  explicit Event(DeviceRef device) : device(std::move(device)) {}
  DeviceRef device;
  cuda::EventHandle event = nullptr;
};

/// A captured and instantiated graph.
class Graph {
public:
  /// Captures what `enqueue` puts on the stream. An error of `enqueue` ends
  /// the capture and is returned.
  static llvm::Expected<Graph>
  capture(const Stream &stream, llvm::function_ref<llvm::Error()> enqueue);
  Graph(Graph &&other) noexcept
      : device(std::move(other.device)),
        graph(std::exchange(other.graph, nullptr)),
        exec(std::exchange(other.exec, nullptr)) {}
  ~Graph();
  llvm::Error launch(const Stream &stream) const;

private:
  explicit Graph(DeviceRef device) : device(std::move(device)) {}
  DeviceRef device;
  cuda::GraphHandle graph = nullptr;
  cuda::GraphExecHandle exec = nullptr;
};

} // namespace sparseditto

#endif // SPARSEDITTO_RUNTIME_DEVICE_H
