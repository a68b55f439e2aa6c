//===- Timing.cpp - Cold, graph-replayed times ----------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/Timing.h"
#include <algorithm>

using namespace sparseditto;

// A graph of more launches than this is slow to build and no colder.
static constexpr unsigned maxCopies = 4096;
static constexpr size_t operandAlignment = 256;
static constexpr size_t guardBytes = 256;
static constexpr uint8_t guardByte = 0xa5;

static llvm::Error fail(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

llvm::Expected<TimedGraph> TimedGraph::create(
    DeviceRef device, unsigned launches,
    llvm::function_ref<llvm::Error(unsigned, cuda::StreamHandle)> enqueue) {
  if (launches == 0)
    return fail("a timed graph needs at least one launch");
  llvm::Expected<Stream> stream = Stream::create(device);
  if (!stream)
    return stream.takeError();
  // Once outside the graph: lazy loading and first-use set-up may not be
  // captured, and a fault shows here with its own name.
  if (llvm::Error error = enqueue(0, stream->handle()))
    return error;
  if (llvm::Error error = stream->synchronize())
    return error;
  llvm::Expected<Graph> graph = Graph::capture(*stream, [&]() -> llvm::Error {
    for (unsigned i = 0; i < launches; ++i)
      if (llvm::Error error = enqueue(i, stream->handle()))
        return error;
    return llvm::Error::success();
  });
  if (!graph)
    return graph.takeError();
  return TimedGraph(std::move(device), std::move(*stream), std::move(*graph),
                    launches);
}

llvm::Expected<Timing>
TimedGraph::time(const TimingOptions &options,
                 llvm::function_ref<llvm::Error(unsigned)> between) const {
  llvm::Expected<Event> begin = Event::create(device);
  if (!begin)
    return begin.takeError();
  llvm::Expected<Event> end = Event::create(device);
  if (!end)
    return end.takeError();
  std::vector<double> times;
  const unsigned replays = options.warmUp + std::max(1u, options.replays);
  for (unsigned i = 0; i < replays; ++i) {
    if (between)
      if (llvm::Error error = between(i))
        return error;
    if (options.sweep)
      if (llvm::Error error = options.sweep->enqueue(stream))
        return error;
    if (llvm::Error error = begin->record(stream))
      return error;
    if (llvm::Error error = graph.launch(stream))
      return error;
    if (llvm::Error error = end->record(stream))
      return error;
    llvm::Expected<double> elapsed = Event::microseconds(*begin, *end);
    if (!elapsed)
      return elapsed.takeError();
    if (i >= options.warmUp)
      times.push_back(*elapsed / launches);
  }
  std::sort(times.begin(), times.end());
  Timing timing;
  timing.median = times[times.size() / 2];
  timing.least = times.front();
  timing.greatest = times.back();
  timing.launches = launches;
  timing.replays = unsigned(times.size());
  return timing;
}

//===----------------------------------------------------------------------===//
// RotatingOperands
//===----------------------------------------------------------------------===//

size_t sparseditto::coldThreshold(const Device &device,
                                  const TimingOptions &options) {
  return std::max(options.coldBytes, device.info().l2Bytes * 22 / 10);
}

llvm::Expected<RotatingOperands>
RotatingOperands::allocate(DeviceRef device, llvm::ArrayRef<size_t> sizes,
                           const TimingOptions &options, double memoryShare) {
  RotatingOperands result;
  result.sizes.assign(sizes.begin(), sizes.end());
  // The zone before the first operand of each copy.
  result.stride = guardBytes;
  size_t used = 0;
  for (size_t size : sizes) {
    result.starts.push_back(result.stride);
    result.stride +=
        (size + operandAlignment - 1) / operandAlignment * operandAlignment +
        guardBytes;
    used += size;
  }
  // The last zone of a copy is the first of the next.
  result.stride -= guardBytes;
  if (used == 0)
    return fail("nothing to rotate: the operands have no bytes");
  const size_t threshold = coldThreshold(*device, options);
  const size_t wanted = threshold / used + 1;
  llvm::Expected<size_t> available = device->freeBytes();
  if (!available)
    return available.takeError();
  const size_t affordable =
      size_t(double(*available) * memoryShare) / result.stride;
  if (affordable == 0)
    return fail("one copy of the operands takes " +
                llvm::Twine(uint64_t(result.stride)) + " bytes, the GPU has " +
                llvm::Twine(uint64_t(*available)) + " free");
  result.count = unsigned(
      std::min<size_t>({std::max<size_t>(2, wanted), affordable, maxCopies}));
  result.isCold = result.count >= 2 && size_t(result.count) * used > threshold;
  llvm::Expected<DeviceBuffer> memory =
      DeviceBuffer::allocate(device, result.stride * result.count + guardBytes);
  if (!memory)
    return memory.takeError();
  if (llvm::Error error = memory->fill(guardByte))
    return error;
  result.memory = std::move(*memory);
  return result;
}

llvm::Error RotatingOperands::upload(unsigned copy, size_t operand,
                                     llvm::ArrayRef<uint8_t> bytes) const {
  if (bytes.size() != sizes[operand])
    return fail("operand of " + llvm::Twine(uint64_t(sizes[operand])) +
                " bytes given " + llvm::Twine(uint64_t(bytes.size())));
  return memory.upload(bytes, offset(copy, operand));
}

llvm::Error
RotatingOperands::download(unsigned copy, size_t operand,
                           llvm::MutableArrayRef<uint8_t> bytes) const {
  if (bytes.size() != sizes[operand])
    return fail("operand of " + llvm::Twine(uint64_t(sizes[operand])) +
                " bytes read into " + llvm::Twine(uint64_t(bytes.size())));
  return memory.download(bytes, offset(copy, operand));
}

llvm::Error RotatingOperands::replicate(size_t operand) const {
  for (unsigned copy = 1; copy < count; ++copy)
    if (llvm::Error error = memory.copyWithin(
            offset(0, operand), offset(copy, operand), sizes[operand]))
      return error;
  return llvm::Error::success();
}

llvm::Expected<std::optional<RotatingOperands::Change>>
RotatingOperands::findChange(
    unsigned copy, llvm::ArrayRef<llvm::ArrayRef<uint8_t>> expected) const {
  std::vector<uint8_t> bytes(stride + guardBytes);
  if (llvm::Error error = memory.download(bytes, size_t(copy) * stride))
    return error;
  size_t end = 0; // Of the operand before.
  for (size_t operand = 0; operand <= sizes.size(); ++operand) {
    const bool last = operand == sizes.size();
    const size_t begin = last ? bytes.size() : starts[operand];
    for (size_t i = end; i < begin; ++i)
      if (bytes[i] != guardByte) {
        const size_t nearest = operand == 0 ? 0 : operand - 1;
        return Change{nearest, int64_t(i) - int64_t(starts[nearest]), true};
      }
    if (last)
      break;
    end = begin + sizes[operand];
    llvm::ArrayRef<uint8_t> now(&bytes[begin], sizes[operand]);
    llvm::ArrayRef<uint8_t> before = expected[operand];
    if (before.empty() || now == before)
      continue;
    auto different = std::mismatch(now.begin(), now.end(), before.begin());
    return Change{operand, different.first - now.begin(), false};
  }
  return std::nullopt;
}
