//===- Checker.cpp - Is this kernel right? --------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Verify/Checker.h"
#include "sparseditto/Verify/Inputs.h"
#include "sparseditto/Verify/Oracle.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Parallel.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>

using namespace sparseditto;

Executor::~Executor() = default;

llvm::StringRef sparseditto::name(CheckStatus status) {
  switch (status) {
  case CheckStatus::Verified:
    return "verified";
  case CheckStatus::WrongResult:
    return "wrong_result";
  case CheckStatus::Nondeterministic:
    return "nondeterministic";
  case CheckStatus::InputModified:
    return "input_modified";
  case CheckStatus::OutOfBounds:
    return "out_of_bounds";
  case CheckStatus::LaunchFailed:
    return "launch_failed";
  }
  llvm_unreachable("unknown check status");
}

std::optional<CheckStatus> sparseditto::parseCheckStatus(llvm::StringRef text) {
  for (auto status : {CheckStatus::Verified, CheckStatus::WrongResult,
                      CheckStatus::Nondeterministic, CheckStatus::InputModified,
                      CheckStatus::OutOfBounds, CheckStatus::LaunchFailed})
    if (text == name(status))
      return status;
  return std::nullopt;
}

llvm::ArrayRef<int64_t> sparseditto::hostileN() {
  static const int64_t list[] = {1,  2,  3,  7,  8,  9,  15,  16,  17,  24,
                                 31, 32, 33, 63, 64, 65, 100, 127, 128, 129};
  return list;
}

//===----------------------------------------------------------------------===//
// Allocations with guard zones
//===----------------------------------------------------------------------===//

// Wide enough that a tile that runs past an edge lands in it.
static constexpr size_t guardBytes = 4096;

static void fillPattern(llvm::MutableArrayRef<uint8_t> bytes, uint64_t seed) {
  Random random(seed);
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t word = random.next();
    std::memcpy(bytes.data() + i, &word, 8);
  }
  for (; i < bytes.size(); ++i)
    bytes[i] = uint8_t(random.next());
}

/// `size` zero bytes between guard zones, `shift` bytes off alignment.
static BufferImage makeImage(size_t size, size_t shift, uint64_t seed) {
  BufferImage image;
  image.offset = guardBytes + shift;
  image.size = size;
  image.bytes.resize(image.offset + size + guardBytes);
  fillPattern(image.bytes, seed);
  std::memset(image.payload(), 0, size);
  return image;
}

namespace {
/// How one launch's matrices lie in memory.
struct Variant {
  const char *name;
  int64_t padding; ///< Extra elements a row.
  int64_t shift;   ///< Elements off 256-byte alignment.
};

/// A matrix with a row stride.
struct MatrixShape {
  int64_t rows, cols, ld;
  unsigned size; ///< Bytes an element.
  size_t bytes() const { return size_t((rows - 1) * ld + cols) * size; }
  size_t at(int64_t r, int64_t c) const { return size_t(r * ld + c) * size; }
};

/// Results of one variant at one N, in the output type.
struct Output {
  const Variant *variant;
  MatrixShape shape;
  std::vector<uint8_t> bytes;
  /// The poison the payload held before the first run, to tell an element
  /// that was never written.
  std::vector<uint8_t> poison;
};
} // namespace

// Padding that keeps 16-byte rows, and padding with a pointer that only has
// element alignment.
static const Variant variants[] = {
    {"tight", 0, 0}, {"padded", 64, 0}, {"unaligned", 5, 1}};

static llvm::Error fail(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

//===----------------------------------------------------------------------===//
// The check
//===----------------------------------------------------------------------===//

namespace {
class Check {
public:
  Check(const KernelManifest &manifest, Oracle &oracle, Executor &executor,
        const CheckOptions &options)
      : manifest(manifest), problem(manifest.problem), oracle(oracle),
        executor(executor), options(options), turn(size_t(options.seed - 1)) {}

  llvm::Error upload(const PackedWeight &packed);
  CheckResult run();

private:
  bool inRange(int64_t n) const {
    return n >= manifest.nMin && (manifest.nMax == 0 || n <= manifest.nMax);
  }
  int64_t clamp(int64_t n) const {
    n = std::max(n, manifest.nMin);
    return manifest.nMax == 0 ? n : std::min(n, manifest.nMax);
  }
  bool tokenMajor() const { return problem.layout == Layout::TokenMajor; }

  /// Launches every wanted variant twice and compares with the oracle.
  bool checkInputs(InputSet set, const ProductInputs &inputs,
                   llvm::ArrayRef<Variant> wanted);
  bool runVariant(InputSet set, const ProductInputs &inputs,
                  const Variant &variant, Output &output);
  bool compare(InputSet set, const ProductInputs &inputs,
               llvm::ArrayRef<Output> outputs);
  bool checkPacked(InputSet set, int64_t n);
  bool oneHotSweep();
  std::vector<int64_t> chooseSizes() const;

  BufferImage makeMatrix(const MatrixShape &shape, ElementType type,
                         llvm::ArrayRef<float> values, bool transposed,
                         size_t shift, uint64_t seed) const;
  bool report(CheckStatus status, InputSet set, const char *variant, int64_t n,
              const llvm::Twine &what);

  const KernelManifest &manifest;
  const Problem &problem;
  Oracle &oracle;
  Executor &executor;
  const CheckOptions &options;
  std::vector<BufferImage> packedImages;
  CheckResult result;
  size_t turn; ///< Which variant is next when not all are run.
};
} // namespace

bool Check::report(CheckStatus status, InputSet set, const char *variant,
                   int64_t n, const llvm::Twine &what) {
  CheckFailure failure;
  failure.status = status;
  failure.inputSet = name(set).str();
  failure.variant = variant;
  failure.n = n;
  failure.message =
      (what + " (input set " + failure.inputSet + ", N = " + llvm::Twine(n) +
       ", " + failure.variant + " buffers)")
          .str();
  result.status = status;
  result.failure = std::move(failure);
  return false;
}

llvm::Error Check::upload(const PackedWeight &packed) {
  if (packed.format != manifest.format ||
      packed.version != manifest.formatVersion)
    return fail("kernel '" + manifest.symbol + "' reads format " +
                manifest.format + " v" + llvm::Twine(manifest.formatVersion) +
                ", the packed weight is " + packed.format + " v" +
                llvm::Twine(packed.version));
  if (packed.m != problem.m || packed.k != problem.k)
    return fail("packed weight is " + llvm::Twine(packed.m) + " x " +
                llvm::Twine(packed.k) + ", kernel '" + manifest.symbol +
                "' wants " + llvm::Twine(problem.m) + " x " +
                llvm::Twine(problem.k));
  for (const KernelArg &arg : manifest.args) {
    if (arg.kind != ArgKind::Packed)
      continue;
    const PackedBuffer *buffer = packed.find(arg.name);
    if (!buffer)
      return fail("kernel '" + manifest.symbol + "' reads buffer '" + arg.name +
                  "', format " + packed.format + " has none of that name");
    if (buffer->type != arg.type)
      return fail("buffer '" + arg.name + "' holds " + name(buffer->type) +
                  ", kernel '" + manifest.symbol + "' reads " + name(arg.type));
    BufferImage image =
        makeImage(buffer->bytes.size(), 0, options.seed + packedImages.size());
    llvm::copy(buffer->bytes, image.payload());
    packedImages.push_back(std::move(image));
  }
  return executor.upload(packedImages);
}

BufferImage Check::makeMatrix(const MatrixShape &shape, ElementType type,
                              llvm::ArrayRef<float> values, bool transposed,
                              size_t shift, uint64_t seed) const {
  BufferImage image = makeImage(shape.bytes(), shift * shape.size, seed);
  // What lies beyond a row or the matrix may be loaded but not used: as NaN it
  // shows in any result that it reaches.
  std::fill(image.bytes.begin(), image.bytes.end(), 0xff);
  for (int64_t r = 0; r < shape.rows; ++r)
    for (int64_t c = 0; c < shape.cols; ++c) {
      size_t index =
          transposed ? size_t(c * shape.rows + r) : size_t(r * shape.cols + c);
      storeFromDouble(type, values[index], image.payload() + shape.at(r, c));
    }
  return image;
}

bool Check::runVariant(InputSet set, const ProductInputs &inputs,
                       const Variant &variant, Output &output) {
  const int64_t n = inputs.n, m = problem.m, k = problem.k;
  const bool tokens = tokenMajor();
  auto shapeOf = [&](int64_t features, ElementType type, int64_t extra) {
    int64_t rows = tokens ? n : features, cols = tokens ? features : n;
    return MatrixShape{rows, cols, cols + variant.padding + extra,
                       byteSize(type)};
  };
  // Distinct strides for each matrix, so that one used for another shows.
  int64_t distinct = variant.padding == 0 ? 0 : variant.padding == 64 ? 8 : 2;
  MatrixShape xShape = shapeOf(k, problem.type, 0);
  output.variant = &variant;
  output.shape = shapeOf(m, problem.outputType, distinct);
  MatrixShape rShape = shapeOf(m, problem.outputType, 2 * distinct);

  const size_t shift = size_t(variant.shift);
  BufferImage x = makeMatrix(xShape, problem.type, inputs.x, tokens, shift,
                             options.seed ^ 0x11);
  BufferImage bias, residual;
  LaunchRequest request;
  request.n = n;
  request.ldx = xShape.ld;
  request.ldy = output.shape.ld;
  request.x = &x;
  if (problem.epilogue.bias) {
    MatrixShape shape{1, m, m, 4};
    bias = makeMatrix(shape, ElementType::F32, inputs.bias, false, shift,
                      options.seed ^ 0x22);
    request.bias = &bias;
  }
  if (problem.epilogue.residual) {
    residual = makeMatrix(rShape, problem.outputType, inputs.residual, tokens,
                          shift, options.seed ^ 0x33);
    request.residual = &residual;
    request.ldr = rShape.ld;
  }

  struct Input {
    const char *name;
    BufferImage *image;
    std::vector<uint8_t> before;
  };
  Input readOnly[] = {{"X", &x, x.bytes},
                      {"the bias", request.bias, bias.bytes},
                      {"the residual", request.residual, residual.bytes}};

  // NaN first: what is never written then fails against the oracle. The second
  // poison is finite, and any bit that differs between the runs was read from
  // uninitialised memory, raced, or was never written.
  for (int pass = 0; pass < 2; ++pass) {
    BufferImage y = makeImage(output.shape.bytes(), shift * output.shape.size,
                              options.seed + 77 + uint64_t(pass));
    if (pass == 0)
      std::memset(y.payload(), 0xff, y.size);
    else
      fillPattern({y.payload(), y.size}, options.seed ^ 0x5a5a);
    const std::vector<uint8_t> before = y.bytes;
    request.y = &y;
    ++result.launches;
    if (llvm::Error error = executor.launch(request))
      return report(CheckStatus::LaunchFailed, set, variant.name, n,
                    "launch failed: " + llvm::toString(std::move(error)));
    for (const Input &input : readOnly)
      if (input.image && input.image->bytes != input.before)
        return report(CheckStatus::InputModified, set, variant.name, n,
                      llvm::Twine("the kernel wrote to ") + input.name);
    if (y.bytes.size() != before.size())
      return report(CheckStatus::LaunchFailed, set, variant.name, n,
                    "the executor returned " + llvm::Twine(y.bytes.size()) +
                        " bytes of Y, expected " + llvm::Twine(before.size()));
    // Everything that is not an element: guards and the ends of rows.
    auto untouched = [&](size_t begin, size_t end) -> bool {
      if (std::memcmp(y.bytes.data() + begin, before.data() + begin,
                      end - begin) == 0)
        return true;
      while (y.bytes[begin] == before[begin])
        ++begin;
      int64_t distance = int64_t(begin) - int64_t(y.offset);
      return report(CheckStatus::OutOfBounds, set, variant.name, n,
                    "the kernel wrote outside Y, at byte " +
                        llvm::Twine(distance) + " of a matrix of " +
                        llvm::Twine(y.size) + " bytes");
    };
    size_t end = 0;
    for (int64_t r = 0; r < output.shape.rows; ++r) {
      size_t rowBegin = y.offset + output.shape.at(r, 0);
      if (rowBegin > end && !untouched(end, rowBegin))
        return false;
      end = y.offset + output.shape.at(r, output.shape.cols);
    }
    if (!untouched(end, y.bytes.size()))
      return false;
    std::vector<uint8_t> payload(y.payload(), y.payload() + y.size);
    if (pass == 0) {
      output.bytes = std::move(payload);
      output.poison.assign(before.begin() + ptrdiff_t(y.offset),
                           before.begin() + ptrdiff_t(y.offset + y.size));
      continue;
    }
    for (int64_t r = 0; r < output.shape.rows; ++r) {
      size_t begin = output.shape.at(r, 0);
      size_t size = size_t(output.shape.cols) * output.shape.size;
      if (std::memcmp(payload.data() + begin, output.bytes.data() + begin,
                      size) == 0)
        continue;
      // A wrong element is the better report: let the oracle find it first.
      if (!compare(set, inputs, output))
        return false;
      size_t byte = 0;
      while (payload[begin + byte] == output.bytes[begin + byte])
        ++byte;
      int64_t c = int64_t(byte / output.shape.size);
      int64_t row = tokens ? c : r, token = tokens ? r : c;
      double first = loadAsDouble(problem.outputType,
                                  &output.bytes[output.shape.at(r, c)]);
      double second =
          loadAsDouble(problem.outputType, &payload[output.shape.at(r, c)]);
      std::string text;
      llvm::raw_string_ostream(text)
          << "output (row " << row << ", token " << token << ") is "
          << llvm::format("%.9g in one run and %.9g", first, second)
          << " in the next on the same input";
      report(CheckStatus::Nondeterministic, set, variant.name, n, text);
      result.failure->row = row;
      result.failure->token = token;
      result.failure->expected = first;
      result.failure->got = second;
      return false;
    }
  }
  return true;
}

bool Check::compare(InputSet set, const ProductInputs &inputs,
                    llvm::ArrayRef<Output> outputs) {
  const int64_t m = problem.m, n = inputs.n;
  const bool tokens = tokenMajor();
  const ElementType type = problem.outputType;
  // Large enough to amortise the scratch, small enough to spread.
  const int64_t chunk = std::clamp<int64_t>(m / 64, 1, 64);
  std::mutex mutex;
  struct Wrong {
    const Output *output;
    int64_t row, token;
    OracleValue expected;
    double got;
    bool unwritten;
  };
  std::optional<Wrong> first;
  llvm::parallelFor(0, size_t((m + chunk - 1) / chunk), [&](size_t task) {
    Oracle::Scratch scratch;
    std::vector<OracleValue> expected;
    expected.resize(size_t(n));
    double worst = 0;
    int64_t exact = 0, compared = 0;
    std::optional<Wrong> mine;
    int64_t begin = int64_t(task) * chunk, end = std::min(m, begin + chunk);
    for (int64_t row = begin; row < end && !mine; ++row) {
      oracle.row(row, scratch, expected);
      for (const Output &output : outputs)
        for (int64_t token = 0; token < n; ++token) {
          const OracleValue &value = expected[size_t(token)];
          size_t at = tokens ? output.shape.at(token, row)
                             : output.shape.at(row, token);
          double got = loadAsDouble(type, &output.bytes[at]);
          ++compared;
          exact += value.exact;
          if (accepts(value, type, got)) {
            if (!value.exact)
              worst = std::max(worst, errorOverBound(value, type, got));
            continue;
          }
          if (!mine) {
            bool unwritten = std::memcmp(&output.bytes[at], &output.poison[at],
                                         output.shape.size) == 0;
            mine = Wrong{&output, row, token, value, got, unwritten};
          }
        }
    }
    std::lock_guard<std::mutex> lock(mutex);
    result.maxErrorOverBound = std::max(result.maxErrorOverBound, worst);
    result.elements += compared;
    result.exactElements += exact;
    if (mine && (!first || mine->row < first->row))
      first = mine;
  });
  if (!first)
    return true;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "output (row " << first->row << ", token " << first->token << ") is ";
  os << llvm::format("%.9g, expected %.9g", first->got, first->expected.value);
  if (first->expected.exact)
    os << " exactly";
  else
    os << llvm::format(" within %.3g",
                       first->expected.bound +
                           halfUlp(type, first->expected.value));
  if (first->unwritten)
    os << "; it still holds its poison, so it was never written";
  report(CheckStatus::WrongResult, set, first->output->variant->name, n, text);
  result.failure->row = first->row;
  result.failure->token = first->token;
  result.failure->expected = first->expected.value;
  result.failure->got = first->got;
  result.failure->bound = first->expected.bound;
  return false;
}

bool Check::checkInputs(InputSet set, const ProductInputs &inputs,
                        llvm::ArrayRef<Variant> wanted) {
  oracle.bind(inputs);
  std::vector<Output> outputs(wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i)
    if (!runVariant(set, inputs, wanted[i], outputs[i]))
      return false;
  return compare(set, inputs, outputs);
}

bool Check::checkPacked(InputSet set, int64_t n) {
  std::vector<BufferImage> now = packedImages;
  for (BufferImage &image : now)
    std::memset(image.bytes.data(), 0, image.bytes.size());
  if (llvm::Error error = executor.download(now))
    return report(CheckStatus::LaunchFailed, set, "packed", n,
                  "reading back failed: " + llvm::toString(std::move(error)));
  size_t index = 0;
  for (const KernelArg &arg : manifest.args) {
    if (arg.kind != ArgKind::Packed)
      continue;
    if (now[index].bytes != packedImages[index].bytes)
      return report(CheckStatus::InputModified, set, "packed", n,
                    "the kernel wrote to packed buffer '" + arg.name + "'");
    ++index;
  }
  return true;
}

bool Check::oneHotSweep() {
  const int64_t k = problem.k, n = clamp(64);
  const bool both = problem.epilogue.activation == Activation::Relu;
  int64_t perSign =
      std::max<int64_t>(1, options.maxOneHotLaunches / (both ? 2 : 1));
  int64_t chunks = std::min((k + n - 1) / n, perSign);
  int64_t probes = std::min(k, chunks * n);
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    std::vector<int64_t> columns;
    // The last chunk wraps round to stay full. Probes spread over all of K.
    for (int64_t t = 0; t < n; ++t) {
      int64_t probe = (chunk * n + t) % probes;
      columns.push_back(
          probes == k ? probe
                      : int64_t(double(probe) * double(k) / double(probes)));
    }
    for (int sign = 0; sign < (both ? 2 : 1); ++sign)
      if (!checkInputs(InputSet::OneHot, makeOneHot(oracle, columns, sign == 1),
                       variants[0]))
        return false;
  }
  result.columnsProbed = probes;
  return true;
}

std::vector<int64_t> Check::chooseSizes() const {
  std::vector<int64_t> sizes = options.n;
  if (!options.onlyGivenN)
    for (int64_t n : hostileN())
      sizes.push_back(n);
  Random random(options.seed ^ 0x68696464656e);
  unsigned hidden = 0;
  // Bounded: a narrow range may hold nothing that is not known.
  for (unsigned i = 0; i < 1000 && hidden < options.hiddenN; ++i) {
    int64_t n = 1 + int64_t(random.below(uint64_t(options.hiddenLimit)));
    if (!inRange(n) || llvm::is_contained(sizes, n) ||
        llvm::is_contained(hostileN(), n))
      continue;
    sizes.push_back(n);
    ++hidden;
  }
  llvm::erase_if(sizes, [&](int64_t n) { return !inRange(n); });
  if (sizes.empty())
    sizes.push_back(clamp(1));
  llvm::sort(sizes);
  sizes.erase(llvm::unique(sizes), sizes.end());
  return sizes;
}

CheckResult Check::run() {
  const std::vector<int64_t> sizes = chooseSizes();
  bool first = true;
  for (int64_t n : sizes) {
    llvm::ArrayRef<Variant> wanted(variants);
    if (!options.allVariants)
      wanted = wanted.slice(turn++ % wanted.size(), 1);
    uint64_t seed = options.seed + uint64_t(n);
    if (!checkInputs(InputSet::Random,
                     makeInputs(InputSet::Random, oracle, n, seed), wanted))
      return result;
    if (first && !checkPacked(InputSet::Random, n))
      return result;
    // Nearly the same again at once: what was remembered by N, addresses, or
    // part of X is now wrong.
    if (first || n == sizes.back())
      if (!checkInputs(InputSet::Altered,
                       makeInputs(InputSet::Altered, oracle, n, seed),
                       variants[0]))
        return result;
    first = false;
    result.n.push_back(n);
    // Large N repeat the same tiles; the small sets keep their cost down.
    if (n > 129)
      continue;
    if (!checkInputs(InputSet::Integers,
                     makeInputs(InputSet::Integers, oracle, n, seed),
                     variants[0]))
      return result;
  }
  // Enough launches to show every kind of token, whatever N is allowed.
  int64_t n = clamp(9);
  for (unsigned kind = 0; kind < specialTokenKinds(); kind += unsigned(n))
    if (!checkInputs(InputSet::Special,
                     makeInputs(InputSet::Special, oracle, n,
                                options.seed * specialTokenKinds() + kind),
                     variants[0]))
      return result;
  if (!oneHotSweep())
    return result;
  checkPacked(InputSet::OneHot, n);
  return result;
}

llvm::Expected<CheckResult>
sparseditto::checkKernel(const KernelManifest &manifest, const Matrix &weight,
                         const PackedWeight &packed, Executor &executor,
                         const CheckOptions &options) {
  if (llvm::Error error = manifest.verify())
    return error;
  llvm::Expected<Oracle> oracle = Oracle::create(weight, manifest.problem);
  if (!oracle)
    return oracle.takeError();
  Check check(manifest, *oracle, executor, options);
  if (llvm::Error error = check.upload(packed))
    return error;
  return check.run();
}
