//===- Measure.cpp - A verified kernel's time beside dense ----------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/Measure.h"
#include "sparseditto/Runtime/CublasLt.h"
#include "sparseditto/Support/JSONFields.h"
#include "sparseditto/Verify/Inputs.h"
#include "sparseditto/Verify/Oracle.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cstring>

using namespace sparseditto;

// A kernel may beat the instrument's own shape a little; not by this much.
static constexpr double believable = 0.7;
static constexpr double believableSlack = 0.5; // Microseconds.
// Rows of the timed output that go through the oracle.
static constexpr int64_t auditRows = 64;

namespace {
/// Operands of the kernel in RotatingOperands, by position.
struct Operands {
  size_t packed = 0; ///< Number of packed buffers, which come first.
  size_t x = 0, y = 0;
  std::optional<size_t> bias, residual;
  std::vector<size_t> sizes;
};

class Measuring {
public:
  Measuring(DeviceRef device, const LoadedKernel &kernel, const Matrix &weight,
            const PackedWeight &packed, int64_t n,
            const MeasureOptions &options)
      : device(std::move(device)), kernel(kernel),
        problem(kernel.manifest().problem), weight(weight), packed(packed),
        options(options), random(options.seed * 7919 + uint64_t(n)) {
    result.n = n;
  }
  llvm::Expected<Measurement> run();

private:
  llvm::Error prepareOperands();
  llvm::Error prepareDense();
  llvm::Expected<double> timeDense();
  llvm::Error timeKernel();
  llvm::Error audit(unsigned copy);
  llvm::Error measureFloor();
  std::vector<uint8_t> activationsOf(unsigned copy) const;
  LaunchArguments argumentsOf(unsigned copy) const;

  DeviceRef device;
  const LoadedKernel &kernel;
  const Problem &problem;
  const Matrix &weight;
  const PackedWeight &packed;
  const MeasureOptions &options;
  Random random;
  Measurement result;

  Operands operands;
  std::optional<RotatingOperands> rotating;
  /// Pointers of every copy: launches must not allocate.
  std::vector<std::vector<cuda::DevicePtr>> packedPointers;
  std::vector<uint8_t> baseX;

  std::optional<DenseProduct> dense;
  std::optional<RotatingOperands> denseOperands;
  std::optional<TimedGraph> denseGraph;
};
} // namespace

/// Copy c has the elements of X rotated by a stride of its own, so that no two
/// launches in a row see the same data.
std::vector<uint8_t> Measuring::activationsOf(unsigned copy) const {
  const size_t size = byteSize(problem.type);
  const size_t count = baseX.size() / size;
  const size_t shift = size_t(copy) * 7919 % count * size;
  std::vector<uint8_t> bytes(baseX.begin() + ptrdiff_t(shift), baseX.end());
  bytes.insert(bytes.end(), baseX.begin(), baseX.begin() + ptrdiff_t(shift));
  return bytes;
}

LaunchArguments Measuring::argumentsOf(unsigned copy) const {
  const bool tokens = problem.layout == Layout::TokenMajor;
  LaunchArguments arguments;
  arguments.packed = packedPointers[copy];
  arguments.x = rotating->pointer(copy, operands.x);
  arguments.y = rotating->pointer(copy, operands.y);
  if (operands.bias)
    arguments.bias = rotating->pointer(copy, *operands.bias);
  arguments.n = result.n;
  arguments.ldx = tokens ? problem.k : result.n;
  arguments.ldy = tokens ? problem.m : result.n;
  if (operands.residual) {
    arguments.residual = rotating->pointer(copy, *operands.residual);
    arguments.ldr = arguments.ldy;
  }
  return arguments;
}

llvm::Error Measuring::prepareOperands() {
  const size_t n = size_t(result.n), m = size_t(problem.m),
               k = size_t(problem.k);
  std::vector<const PackedBuffer *> buffers;
  for (const KernelArg &arg : kernel.manifest().args) {
    if (arg.kind != ArgKind::Packed)
      continue;
    const PackedBuffer *buffer = packed.find(arg.name);
    if (!buffer)
      return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                     "no packed buffer '" + arg.name + "'");
    buffers.push_back(buffer);
    operands.sizes.push_back(buffer->bytes.size());
  }
  operands.packed = buffers.size();
  auto add = [&](size_t bytes) {
    operands.sizes.push_back(bytes);
    return operands.sizes.size() - 1;
  };
  const size_t outputBytes = m * n * byteSize(problem.outputType);
  operands.x = add(k * n * byteSize(problem.type));
  operands.y = add(outputBytes);
  if (problem.epilogue.bias)
    operands.bias = add(m * 4);
  if (problem.epilogue.residual)
    operands.residual = add(outputBytes);
  for (size_t size : operands.sizes)
    result.bytes += double(size);

  llvm::Expected<RotatingOperands> allocated =
      RotatingOperands::allocate(device, operands.sizes, options.timing);
  if (!allocated)
    return allocated.takeError();
  rotating.emplace(std::move(*allocated));
  result.cold = rotating->cold();

  for (size_t i = 0; i < buffers.size(); ++i) {
    if (llvm::Error error = rotating->upload(0, i, buffers[i]->bytes))
      return error;
    if (llvm::Error error = rotating->replicate(i))
      return error;
  }
  auto randomBytes = [&](ElementType type, size_t count) {
    const size_t size = byteSize(type);
    std::vector<uint8_t> bytes(count * size);
    for (size_t i = 0; i < count; ++i)
      storeFromDouble(type, random.normal() * (isFloat(type) ? 1 : 16),
                      &bytes[i * size]);
    return bytes;
  };
  baseX = randomBytes(problem.type, k * n);
  for (unsigned copy = 0; copy < rotating->copies(); ++copy)
    if (llvm::Error error =
            rotating->upload(copy, operands.x, activationsOf(copy)))
      return error;
  if (operands.bias) {
    if (llvm::Error error = rotating->upload(0, *operands.bias,
                                             randomBytes(ElementType::F32, m)))
      return error;
    if (llvm::Error error = rotating->replicate(*operands.bias))
      return error;
  }
  if (operands.residual) {
    if (llvm::Error error = rotating->upload(
            0, *operands.residual, randomBytes(problem.outputType, m * n)))
      return error;
    if (llvm::Error error = rotating->replicate(*operands.residual))
      return error;
  }
  for (unsigned copy = 0; copy < rotating->copies(); ++copy) {
    std::vector<cuda::DevicePtr> pointers;
    for (size_t i = 0; i < operands.packed; ++i)
      pointers.push_back(rotating->pointer(copy, i));
    packedPointers.push_back(std::move(pointers));
  }
  return device->synchronize();
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
      options.timing, /*memoryShare=*/0.6);
  if (!allocated)
    return allocated.takeError();
  denseOperands.emplace(std::move(*allocated));
  if (llvm::Error error = denseOperands->upload(0, 0, weight.bytes()))
    return error;
  if (llvm::Error error = denseOperands->replicate(0))
    return error;
  for (unsigned copy = 0; copy < denseOperands->copies(); ++copy)
    if (llvm::Error error = denseOperands->upload(copy, 1, activationsOf(copy)))
      return error;
  if (llvm::Error error = device->synchronize())
    return error;

  // The search: a few replays each, the best is measured properly.
  TimingOptions quick = options.timing;
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
  llvm::Expected<Timing> timing = denseGraph->time(options.timing);
  if (!timing)
    return timing.takeError();
  return timing->median;
}

llvm::Error Measuring::audit(unsigned copy) {
  const size_t n = size_t(result.n);
  const bool tokens = problem.layout == Layout::TokenMajor;
  llvm::Expected<Oracle> oracle = Oracle::create(weight, problem);
  if (!oracle)
    return oracle.takeError();
  auto read = [&](size_t operand, ElementType type, int64_t features,
                  bool isMatrix, std::vector<float> &out) -> llvm::Error {
    std::vector<uint8_t> bytes(operands.sizes[operand]);
    if (llvm::Error error = rotating->download(copy, operand, bytes))
      return error;
    const size_t size = byteSize(type), rows = size_t(features);
    const size_t columns = isMatrix ? n : 1;
    out.resize(rows * columns);
    for (size_t r = 0; r < rows; ++r)
      for (size_t t = 0; t < columns; ++t) {
        size_t at = isMatrix && tokens ? t * rows + r : r * columns + t;
        out[r * columns + t] = float(loadAsDouble(type, &bytes[at * size]));
      }
    return llvm::Error::success();
  };
  ProductInputs inputs;
  inputs.n = result.n;
  std::vector<float> output;
  if (llvm::Error error =
          read(operands.x, problem.type, problem.k, true, inputs.x))
    return error;
  if (llvm::Error error =
          read(operands.y, problem.outputType, problem.m, true, output))
    return error;
  if (operands.bias)
    if (llvm::Error error = read(*operands.bias, ElementType::F32, problem.m,
                                 false, inputs.bias))
      return error;
  if (operands.residual)
    if (llvm::Error error = read(*operands.residual, problem.outputType,
                                 problem.m, true, inputs.residual))
      return error;
  oracle->bind(inputs);
  Oracle::Scratch scratch;
  std::vector<OracleValue> expected(n);
  const int64_t rows = std::min(problem.m, auditRows);
  for (int64_t i = 0; i < rows; ++i) {
    int64_t row =
        rows == problem.m ? i : int64_t(random.below(uint64_t(problem.m)));
    oracle->row(row, scratch, expected);
    for (size_t t = 0; t < n; ++t) {
      double got = output[size_t(row) * n + t];
      if (accepts(expected[t], problem.outputType, got))
        continue;
      llvm::raw_string_ostream(result.fault)
          << "a timed launch computed output (row " << row << ", token " << t
          << ") as "
          << llvm::format("%.9g, expected %.9g", got, expected[t].value);
      return llvm::Error::success();
    }
  }
  return llvm::Error::success();
}

llvm::Error Measuring::timeKernel() {
  llvm::Expected<TimedGraph> graph = TimedGraph::create(
      device, rotating->launches(options.timing),
      [&](unsigned i, cuda::StreamHandle stream) {
        return kernel.launch(argumentsOf(i % rotating->copies()), stream);
      });
  if (!graph)
    return graph.takeError();
  // At a random replay, a random copy's output is poisoned before and looked
  // at after: work done once in the warm-up and replayed does not pass.
  const unsigned replays = std::max(2u, options.timing.replays);
  const unsigned audited = unsigned(random.below(replays - 1));
  const unsigned copy = unsigned(random.below(rotating->copies()));
  const std::vector<uint8_t> poison(operands.sizes[operands.y], 0xff);
  TimingOptions timing = options.timing;
  timing.replays = replays;
  llvm::Expected<Timing> measured =
      graph->time(timing, [&](unsigned replay) -> llvm::Error {
        if (replay == audited) {
          if (llvm::Error error = rotating->upload(copy, operands.y, poison))
            return error;
          return device->synchronize();
        }
        if (replay == audited + 1)
          return audit(copy);
        return llvm::Error::success();
      });
  if (!measured)
    return measured.takeError();
  result.kernel = *measured;
  return llvm::Error::success();
}

llvm::Error Measuring::measureFloor() {
  // Memory of the other operands is still held; a quick look suffices.
  TimingOptions quick = options.timing;
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
  double unavoidable = double(operands.sizes[operands.y]);
  for (size_t i = 0; i < operands.packed; ++i)
    unavoidable += double(operands.sizes[i]);
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
  if (llvm::Error error = prepareOperands())
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
  fields.boolean("faster_than_floor", m.fasterThanFloor);
  if (llvm::Error error = fields.finish())
    return error;
  return m;
}
