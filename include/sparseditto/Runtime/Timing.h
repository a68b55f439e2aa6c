//===- Timing.h - Cold, graph-replayed times --------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All times in the project come from here: a CUDA graph of many launches over
// rotating copies of the operands (so that none is found in L2), replayed after
// a warm-up, the median divided by the launches.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_RUNTIME_TIMING_H
#define SPARSEDITTO_RUNTIME_TIMING_H

#include "sparseditto/Runtime/Device.h"
#include "sparseditto/Runtime/Floor.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <functional>
#include <memory>
#include <optional>

namespace sparseditto {

class CacheSweep;

struct TimingOptions {
  unsigned replays = 21;
  unsigned warmUp = 4;
  unsigned minLaunches = 20;
  /// Operand bytes that a graph must go through before it meets the first copy
  /// again; the larger of this and 2.2 times L2 is used.
  size_t coldBytes = 130'000'000;
  /// Run right before each replay, if given: nothing of what happened before
  /// is left in L2, and the GPU is busy when the replay arrives.
  const CacheSweep *sweep = nullptr;
};

struct Timing {
  /// Microseconds of one launch: median, least and greatest replay.
  double median = 0, least = 0, greatest = 0;
  unsigned launches = 0; ///< A graph.
  unsigned replays = 0;
};

/// A captured sequence of launches that can be timed again later.
class TimedGraph {
public:
  /// `enqueue(i, stream)` enqueues launch i of `launches`.
  static llvm::Expected<TimedGraph>
  create(DeviceRef device, unsigned launches,
         llvm::function_ref<llvm::Error(unsigned, cuda::StreamHandle)> enqueue);

  /// `between(replay)`, if given, runs before each replay, the warm-up ones
  /// included, outside the timed interval, and with the stream idle.
  llvm::Expected<Timing>
  time(const TimingOptions &options,
       llvm::function_ref<llvm::Error(unsigned)> between = nullptr) const;

private:
  TimedGraph(DeviceRef device, Stream stream, Graph graph, unsigned launches)
      : device(std::move(device)), stream(std::move(stream)),
        graph(std::move(graph)), launches(launches) {}
  DeviceRef device;
  Stream stream;
  Graph graph;
  unsigned launches;
};

/// Operands in one device allocation, as many copies as it takes for each
/// launch to find its own cold. Every operand starts at a 256-byte boundary and
/// lies between guard zones of at least as many bytes.
class RotatingOperands {
public:
  /// `sizes` are bytes; `memoryShare` bounds the allocation as a share of the
  /// free device memory.
  static llvm::Expected<RotatingOperands> allocate(DeviceRef device,
                                                   llvm::ArrayRef<size_t> sizes,
                                                   const TimingOptions &options,
                                                   double memoryShare = 0.4);

  unsigned copies() const { return count; }
  /// True if a full turn exceeds the cold threshold.
  bool cold() const { return isCold; }
  /// Launches of one graph: at least the options' and every copy once.
  unsigned launches(const TimingOptions &options) const {
    return std::max(options.minLaunches, count);
  }
  cuda::DevicePtr pointer(unsigned copy, size_t operand) const {
    return memory.pointer() + offset(copy, operand);
  }
  llvm::Error upload(unsigned copy, size_t operand,
                     llvm::ArrayRef<uint8_t> bytes) const;
  llvm::Error download(unsigned copy, size_t operand,
                       llvm::MutableArrayRef<uint8_t> bytes) const;
  /// Copy 0 of the operand to all other copies.
  llvm::Error replicate(size_t operand) const;
  /// The operand's bytes from device memory at `from` of `source`.
  llvm::Error copyFrom(unsigned copy, size_t operand,
                       const DeviceBuffer &source, size_t from) const {
    return memory.copyFrom(source, from, offset(copy, operand), sizes[operand]);
  }

  size_t operandBytes(size_t operand) const { return sizes[operand]; }

  /// Where memory is not as it was left: a byte of an operand, or, negative or
  /// at least its size, of the guard zones around it.
  struct Change {
    size_t operand = 0;
    int64_t byte = 0;
    bool inGuard = false;
  };
  /// The first change of a copy and the zones around it. An operand whose
  /// `expected` bytes are empty is not looked at.
  llvm::Expected<std::optional<Change>>
  findChange(unsigned copy,
             llvm::ArrayRef<llvm::ArrayRef<uint8_t>> expected) const;

private:
  size_t offset(unsigned copy, size_t operand) const {
    return size_t(copy) * stride + starts[operand];
  }
  DeviceBuffer memory;
  std::vector<size_t> starts, sizes;
  size_t stride = 0;
  unsigned count = 0;
  bool isCold = false;
};

/// Enough bytes of operands to be cold: of the options and 2.2 times L2.
size_t coldThreshold(const Device &device, const TimingOptions &options);

/// Fills L2 with memory of its own by reading it.
class CacheSweep {
public:
  static llvm::Expected<CacheSweep> create(DeviceRef device,
                                           const TimingOptions &options);
  CacheSweep(CacheSweep &&) noexcept;
  ~CacheSweep();
  llvm::Error enqueue(const Stream &stream) const;

private:
  struct Parts;
  explicit CacheSweep(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts;
};

/// Microseconds in which one launch reads `bytes` of cold memory: the best over
/// several grid shapes of a kernel that does nothing else. The floor of any
/// launch that needs that many bytes.
llvm::Expected<double> measureColdRead(DeviceRef device, size_t bytes,
                                       const TimingOptions &options = {});

/// The curve at the sizes of the built-in one, as far as memory allows.
llvm::Expected<FloorCurve> measureFloorCurve(DeviceRef device,
                                             const TimingOptions &options = {});

} // namespace sparseditto

#endif // SPARSEDITTO_RUNTIME_TIMING_H
