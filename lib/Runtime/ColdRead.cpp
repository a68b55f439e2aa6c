//===- ColdRead.cpp - The floor, measured ---------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/ColdRead.h"
#include "sparseditto/Runtime/Timing.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

using namespace sparseditto;

// Enough loads in flight a thread to reach the memory's bandwidth.
static constexpr unsigned unroll = 8;
static constexpr unsigned threads = 256;
static constexpr const char *symbol = "sd_cold_read";

std::string sparseditto::coldReadPtx() {
  // A measuring instrument, the same on every chip: PTX that any driver takes.
  // Parameters: source, 16-byte words to read, and a sink that keeps the loads
  // alive (written only if the words' sum is an unlikely value).
  std::string text;
  llvm::raw_string_ostream os(text);
  os << ".version 7.0\n.target sm_80\n.address_size 64\n"
     << ".visible .entry " << symbol
     << "(.param .u64 source, .param .u64 words, .param .u64 sink)\n{\n"
     << "  .reg .pred %more;\n  .reg .b32 %sum, %t<4>;\n"
     << "  .reg .b32 %v<" << 4 * unroll << ">;\n"
     << "  .reg .b64 %src, %n, %out, %i, %step, %last, %address, %w;\n"
     << "  ld.param.u64 %src, [source];\n  ld.param.u64 %n, [words];\n"
     << "  ld.param.u64 %out, [sink];\n"
     << "  cvta.to.global.u64 %src, %src;\n"
     << "  cvta.to.global.u64 %out, %out;\n"
     << "  mov.u32 %t0, %ctaid.x;\n  mov.u32 %t1, %ntid.x;\n"
     << "  mov.u32 %t2, %tid.x;\n  mov.u32 %t3, %nctaid.x;\n"
     << "  mul.wide.u32 %i, %t0, %t1;\n  cvt.u64.u32 %w, %t2;\n"
     << "  add.u64 %i, %i, %w;\n  mul.wide.u32 %step, %t3, %t1;\n"
     << "  mov.b32 %sum, 0;\n"
     << "unrolled:\n"
     << "  mul.lo.u64 %last, %step, " << unroll - 1 << ";\n"
     << "  add.u64 %last, %last, %i;\n"
     << "  setp.ge.u64 %more, %last, %n;\n  @%more bra single;\n"
     << "  shl.b64 %address, %i, 4;\n  add.u64 %address, %address, %src;\n"
     << "  shl.b64 %w, %step, 4;\n";
  for (unsigned u = 0; u < unroll; ++u) {
    os << "  ld.global.cs.v4.u32 {%v" << 4 * u << ", %v" << 4 * u + 1 << ", %v"
       << 4 * u + 2 << ", %v" << 4 * u + 3 << "}, [%address];\n";
    if (u + 1 < unroll)
      os << "  add.u64 %address, %address, %w;\n";
  }
  for (unsigned v = 0; v < 4 * unroll; ++v)
    os << "  xor.b32 %sum, %sum, %v" << v << ";\n";
  os << "  shl.b64 %w, %step, 3;\n  add.u64 %i, %i, %w;\n"
     << "  bra unrolled;\n"
     << "single:\n"
     << "  setp.ge.u64 %more, %i, %n;\n  @%more bra done;\n"
     << "  shl.b64 %address, %i, 4;\n  add.u64 %address, %address, %src;\n"
     << "  ld.global.cs.v4.u32 {%v0, %v1, %v2, %v3}, [%address];\n";
  for (unsigned v = 0; v < 4; ++v)
    os << "  xor.b32 %sum, %sum, %v" << v << ";\n";
  os << "  add.u64 %i, %i, %step;\n  bra single;\n"
     << "done:\n"
     << "  setp.ne.u32 %more, %sum, 0x12345678;\n  @%more ret;\n"
     << "  st.global.u32 [%out], %sum;\n  ret;\n}\n";
  static_assert(unroll == 8, "the step above is shifted by 3");
  return text;
}

namespace {
/// The instrument, loaded.
struct Reader {
  DeviceRef device;
  cuda::ModuleHandle module = nullptr;
  cuda::FunctionHandle function = nullptr;
  DeviceBuffer sink;

  explicit Reader(DeviceRef device) : device(std::move(device)) {}
  Reader(Reader &&other) noexcept
      : device(std::move(other.device)),
        module(std::exchange(other.module, nullptr)), function(other.function),
        sink(std::move(other.sink)) {}
  ~Reader() {
    if (module)
      device->driver().moduleUnload(module);
  }

  static llvm::Expected<Reader> load(DeviceRef device) {
    if (llvm::Error error = device->makeCurrent())
      return error;
    const Driver &api = device->driver();
    Reader reader(device);
    std::string ptx = coldReadPtx();
    if (llvm::Error error =
            api.check(api.moduleLoadDataEx(&reader.module, ptx.c_str(), 0,
                                           nullptr, nullptr),
                      "loading the cold-read kernel"))
      return error;
    if (llvm::Error error = api.check(
            api.moduleGetFunction(&reader.function, reader.module, symbol),
            "cuModuleGetFunction"))
      return error;
    llvm::Expected<DeviceBuffer> sink = DeviceBuffer::allocate(device, 256);
    if (!sink)
      return sink.takeError();
    reader.sink = std::move(*sink);
    return reader;
  }

  llvm::Error launch(cuda::DevicePtr source, size_t bytes, unsigned blocks,
                     cuda::StreamHandle stream) const {
    uint64_t words = bytes / 16;
    cuda::DevicePtr out = sink.pointer();
    void *parameters[] = {&source, &words, &out};
    const Driver &api = device->driver();
    return api.check(api.launchKernel(function, blocks, 1, 1, threads, 1, 1, 0,
                                      stream, parameters, nullptr),
                     "launching the cold-read kernel");
  }
};
} // namespace

static llvm::Expected<double> measureWith(const Reader &reader, size_t bytes,
                                          const TimingOptions &options) {
  const DeviceRef &device = reader.device;
  bytes = std::max<size_t>(16, (bytes + 15) / 16 * 16);
  llvm::Expected<RotatingOperands> pool =
      RotatingOperands::allocate(device, {bytes}, options);
  if (!pool)
    return pool.takeError();
  // Memory never written may be served without reading it.
  std::vector<uint8_t> content(bytes);
  uint32_t state = 1;
  for (uint8_t &byte : content)
    byte = uint8_t((state = state * 1664525 + 1013904223) >> 24);
  if (llvm::Error error = pool->upload(0, 0, content))
    return error;
  if (llvm::Error error = pool->replicate(0))
    return error;
  if (llvm::Error error = device->synchronize())
    return error;
  const unsigned multiprocessors =
      unsigned(std::max(1, device->info().multiprocessors));
  double best = 0;
  for (unsigned perSm : {1u, 2u, 4u, 8u}) {
    unsigned blocks = multiprocessors * perSm;
    llvm::Expected<TimedGraph> graph = TimedGraph::create(
        device, pool->launches(options),
        [&](unsigned i, cuda::StreamHandle stream) {
          return reader.launch(pool->pointer(i % pool->copies(), 0), bytes,
                               blocks, stream);
        });
    if (!graph)
      return graph.takeError();
    llvm::Expected<Timing> timing = graph->time(options);
    if (!timing)
      return timing.takeError();
    if (best == 0 || timing->median < best)
      best = timing->median;
  }
  return best;
}

//===----------------------------------------------------------------------===//
// CacheSweep
//===----------------------------------------------------------------------===//

struct CacheSweep::Parts {
  Reader reader;
  DeviceBuffer memory;
  unsigned blocks;
};

CacheSweep::CacheSweep(std::unique_ptr<Parts> parts)
    : parts(std::move(parts)) {}
CacheSweep::CacheSweep(CacheSweep &&) noexcept = default;
CacheSweep::~CacheSweep() = default;

llvm::Expected<CacheSweep> CacheSweep::create(DeviceRef device,
                                              const TimingOptions &options) {
  llvm::Expected<Reader> reader = Reader::load(device);
  if (!reader)
    return reader.takeError();
  llvm::Expected<DeviceBuffer> memory =
      DeviceBuffer::allocate(device, coldThreshold(*device, options));
  if (!memory)
    return memory.takeError();
  // Memory never written may be served without reading it.
  if (llvm::Error error = memory->fill(0x3c))
    return error;
  if (llvm::Error error = device->synchronize())
    return error;
  unsigned blocks = 8 * unsigned(std::max(1, device->info().multiprocessors));
  return CacheSweep(std::make_unique<Parts>(
      Parts{std::move(*reader), std::move(*memory), blocks}));
}

llvm::Error CacheSweep::enqueue(const Stream &stream) const {
  return parts->reader.launch(parts->memory.pointer(), parts->memory.size(),
                              parts->blocks, stream.handle());
}

llvm::Expected<double>
sparseditto::measureColdRead(DeviceRef device, size_t bytes,
                             const TimingOptions &options) {
  llvm::Expected<Reader> reader = Reader::load(std::move(device));
  if (!reader)
    return reader.takeError();
  return measureWith(*reader, bytes, options);
}

llvm::Expected<FloorCurve>
sparseditto::measureFloorCurve(DeviceRef device, const TimingOptions &options) {
  llvm::Expected<Reader> reader = Reader::load(device);
  if (!reader)
    return reader.takeError();
  llvm::Expected<size_t> available = device->freeBytes();
  if (!available)
    return available.takeError();
  std::vector<FloorPoint> points;
  for (const FloorPoint &point : FloorCurve::h200().points()) {
    if (point.bytes * 6 > double(*available))
      break;
    llvm::Expected<double> time =
        measureWith(*reader, size_t(point.bytes), options);
    if (!time)
      return time.takeError();
    // Noise may put a size below a smaller one; a floor does not fall.
    double last = points.empty() ? 0 : points.back().microseconds;
    points.push_back({point.bytes, std::max(*time, last)});
  }
  return FloorCurve::create(device->info().name, std::move(points));
}
