//===- Measure.cpp - A verified kernel's time beside dense ----------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/Measure.h"
#include "TimedOperands.h"
#include "sparseditto/Runtime/CublasLt.h"
#include "sparseditto/Support/JSONFields.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cstring>

using namespace sparseditto;

// A kernel may beat the instrument's own shape a little; not by this much.
static constexpr double believable = 0.7;
static constexpr double believableSlack = 0.5; // Microseconds.
// Replays of a timing that are audited, on average, besides the last.
static constexpr unsigned audits = 8;

namespace {
class Measuring {
public:
  Measuring(DeviceRef device, const LoadedKernel &kernel, const Matrix &weight,
            const PackedWeight &packed, int64_t n,
            const MeasureOptions &options)
      : device(std::move(device)), kernel(kernel),
        problem(kernel.manifest().problem), weight(weight), packed(packed),
        options(options), timing(options.timing),
        random(options.seed * 7919 + uint64_t(n)) {
    result.n = n;
  }
  llvm::Expected<Measurement> run();

private:
  llvm::Error prepare();
  llvm::Error prepareDense();
  llvm::Expected<double> timeDense();
  llvm::Error timeKernel();
  llvm::Error measureFloor();

  DeviceRef device;
  const LoadedKernel &kernel;
  const Problem &problem;
  const Matrix &weight;
  const PackedWeight &packed;
  const MeasureOptions &options;
  TimingOptions timing; ///< The options' with the sweep.
  Random random;
  Measurement result;

  std::optional<CacheSweep> sweep;
  std::optional<TimedOperands> operands;
  std::optional<DenseProduct> dense;
  std::optional<RotatingOperands> denseOperands;
  std::optional<TimedGraph> denseGraph;
};
} // namespace

llvm::Error Measuring::prepare() {
  llvm::Expected<CacheSweep> created = CacheSweep::create(device, timing);
  if (!created)
    return created.takeError();
  sweep.emplace(std::move(*created));
  timing.sweep = &*sweep;
  llvm::Expected<TimedOperands> made = TimedOperands::create(
      device, kernel.manifest(), weight, packed, result.n, timing, random);
  if (!made)
    return made.takeError();
  operands.emplace(std::move(*made));
  result.bytes = double(operands->bytes());
  result.cold = operands->cold();
  return llvm::Error::success();
}

llvm::Error Measuring::prepareDense() {
  llvm::Expected<DenseProduct> product =
      DenseProduct::create(device, problem, result.n);
  if (!product)
    return product.takeError();
  dense.emplace(std::move(*product));
  result.denseAlgorithms = int(dense->algorithms());
  const CublasLt *library = llvm::cantFail(CublasLt::get());
  result.denseNote =
      "cuBLASLt " + library->version() + " (" + library->path().str() + ")";

  const size_t n = size_t(result.n);
  llvm::Expected<RotatingOperands> allocated = RotatingOperands::allocate(
      device,
      {weight.numBytes(), size_t(problem.k) * n * byteSize(problem.type),
       size_t(problem.m) * n * byteSize(problem.outputType)},
      timing, /*memoryShare=*/0.6);
  if (!allocated)
    return allocated.takeError();
  denseOperands.emplace(std::move(*allocated));
  if (llvm::Error error = denseOperands->upload(0, 0, weight.bytes()))
    return error;
  if (llvm::Error error = denseOperands->replicate(0))
    return error;
  for (unsigned copy = 0; copy < denseOperands->copies(); ++copy)
    if (llvm::Error error =
            denseOperands->upload(copy, 1, operands->activations(copy)))
      return error;
  if (llvm::Error error = device->synchronize())
    return error;

  // The search: a few replays each, the best is measured properly.
  TimingOptions quick = timing;
  quick.replays = 7;
  quick.warmUp = 2;
  double best = 0;
  std::string lastFault;
  for (size_t algorithm = 0; algorithm < dense->algorithms(); ++algorithm) {
    llvm::Expected<TimedGraph> graph = TimedGraph::create(
        device, denseOperands->launches(quick),
        [&](unsigned i, cuda::StreamHandle stream) {
          unsigned copy = i % denseOperands->copies();
          return dense->run(algorithm, denseOperands->pointer(copy, 0),
                            denseOperands->pointer(copy, 1),
                            denseOperands->pointer(copy, 2), stream);
        });
    if (!graph) {
      // An algorithm may refuse the shape after all.
      lastFault = llvm::toString(graph.takeError());
      continue;
    }
    llvm::Expected<Timing> timing = graph->time(quick);
    if (!timing)
      return timing.takeError();
    if (!denseGraph || timing->median < best) {
      best = timing->median;
      denseGraph.reset();
      denseGraph.emplace(std::move(*graph));
    }
  }
  if (!denseGraph)
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   "no cuBLASLt algorithm ran: " + lastFault);
  return llvm::Error::success();
}

llvm::Expected<double> Measuring::timeDense() {
  if (!denseGraph)
    return 0.0;
  llvm::Expected<Timing> timed = denseGraph->time(timing);
  if (!timed)
    return timed.takeError();
  return timed->median;
}

llvm::Error Measuring::timeKernel() {
  llvm::Expected<TimedGraph> graph = TimedGraph::create(
      device, operands->launches(timing),
      [&](unsigned i, cuda::StreamHandle stream) {
        return kernel.launch(operands->arguments(i % operands->copies()),
                             stream);
      });
  if (!graph)
    return graph.takeError();
  // All replays are alike, so a kernel cannot know which of them count. How
  // many come before the first that does is drawn.
  TimingOptions drawn = timing;
  drawn.warmUp += unsigned(random.below(4));
  drawn.replays = std::max(2u, drawn.replays);
  const unsigned replays = drawn.warmUp + drawn.replays;
  auto audit = [&]() -> llvm::Error {
    if (!result.fault.empty())
      return llvm::Error::success(); // The first one is told.
    llvm::Expected<std::string> fault = operands->audit();
    if (!fault)
      return fault.takeError();
    result.fault = std::move(*fault);
    return llvm::Error::success();
  };
  llvm::Expected<Timing> measured =
      graph->time(drawn, [&](unsigned replay) -> llvm::Error {
        // What the replay before left.
        if (replay != 0 && random.below(replays) < audits)
          if (llvm::Error error = audit())
            return error;
        return operands->refresh();
      });
  if (!measured)
    return measured.takeError();
  result.kernel = *measured;
  if (llvm::Error error = audit())
    return error;
  if (!result.fault.empty())
    return llvm::Error::success();
  llvm::Expected<std::optional<TimedOperands::Damage>> damage =
      operands->findDamage();
  if (!damage)
    return damage.takeError();
  if (*damage) {
    result.fault = (*damage)->text;
    result.faultStatus = (*damage)->status;
  }
  return llvm::Error::success();
}

llvm::Error Measuring::measureFloor() {
  // Memory of the other operands is still held; a quick look suffices.
  TimingOptions quick = timing;
  quick.replays = 9;
  quick.warmUp = 2;
  llvm::Expected<double> floor =
      measureColdRead(device, size_t(result.bytes), quick);
  if (!floor)
    return floor.takeError();
  result.floorMicroseconds = *floor;
  auto suspicious = [&](double limit) {
    return result.kernel.median < believable * limit &&
           limit - result.kernel.median > believableSlack;
  };
  if (!result.cold || !result.fault.empty() || !suspicious(*floor))
    return llvm::Error::success();
  // A kernel that gathers may leave much of X alone. The packed weight and Y
  // it cannot avoid.
  double unavoidable = double(operands->unavoidableBytes());
  llvm::Expected<double> least =
      measureColdRead(device, size_t(unavoidable), quick);
  if (!least)
    return least.takeError();
  if (suspicious(*least)) {
    result.fasterThanFloor = true;
    llvm::raw_string_ostream(result.fault)
        << llvm::format("%.2f us is faster than one launch can read its %.0f "
                        "bytes (%.2f us)",
                        result.kernel.median, unavoidable, *least);
  }
  return llvm::Error::success();
}

llvm::Expected<Measurement> Measuring::run() {
  if (llvm::Error error = prepare())
    return error;
  if (options.dense)
    if (llvm::Error error = prepareDense()) {
      // No peer is no failure of the kernel; the report says why.
      result.denseNote = llvm::toString(std::move(error));
      denseGraph.reset();
    }
  llvm::Expected<double> before = timeDense();
  if (!before)
    return before.takeError();
  if (llvm::Error error = timeKernel())
    return error;
  llvm::Expected<double> after = timeDense();
  if (!after)
    return after.takeError();
  result.denseBefore = *before;
  result.denseAfter = *after;
  denseGraph.reset();
  denseOperands.reset();
  if (options.floor)
    if (llvm::Error error = measureFloor())
      return error;
  return result;
}

llvm::Expected<Measurement>
sparseditto::measureKernel(DeviceRef device, const LoadedKernel &kernel,
                           const Matrix &weight, const PackedWeight &packed,
                           int64_t n, const MeasureOptions &options) {
  return Measuring(std::move(device), kernel, weight, packed, n, options).run();
}

llvm::json::Value Measurement::toJSON() const {
  return llvm::json::Object{{"n", n},
                            {"us", kernel.median},
                            {"us_least", kernel.least},
                            {"us_greatest", kernel.greatest},
                            {"launches", int64_t(kernel.launches)},
                            {"replays", int64_t(kernel.replays)},
                            {"cold", cold},
                            {"bytes", bytes},
                            {"floor_us", floorMicroseconds},
                            {"dense_us_before", denseBefore},
                            {"dense_us_after", denseAfter},
                            {"dense_algorithms", denseAlgorithms},
                            {"dense_note", llvm::json::fixUTF8(denseNote)},
                            {"fault", fault},
                            {"fault_status", name(faultStatus)},
                            {"faster_than_floor", fasterThanFloor}};
}

llvm::Expected<Measurement>
Measurement::fromJSON(const llvm::json::Value &value) {
  Measurement m;
  JSONFields fields(value, "measurement");
  fields.integer("n", 1, INT32_MAX, m.n);
  fields.number("us", m.kernel.median);
  fields.number("us_least", m.kernel.least);
  fields.number("us_greatest", m.kernel.greatest);
  fields.integer("launches", 0, INT32_MAX, m.kernel.launches);
  fields.integer("replays", 0, INT32_MAX, m.kernel.replays);
  fields.boolean("cold", m.cold);
  fields.number("bytes", m.bytes);
  fields.number("floor_us", m.floorMicroseconds);
  fields.number("dense_us_before", m.denseBefore);
  fields.number("dense_us_after", m.denseAfter);
  fields.integer("dense_algorithms", 0, INT32_MAX, m.denseAlgorithms);
  fields.string("dense_note", m.denseNote);
  fields.string("fault", m.fault);
  fields.word("fault_status", parseCheckStatus, m.faultStatus);
  fields.boolean("faster_than_floor", m.fasterThanFloor);
  if (llvm::Error error = fields.finish())
    return error;
  return m;
}
