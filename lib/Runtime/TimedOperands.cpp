//===- TimedOperands.cpp - What a timed kernel reads and writes -----------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TimedOperands.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

using namespace sparseditto;

// Of one audited copy: rows and tokens that go through the oracle.
static constexpr int64_t maxRows = 16, maxTokens = 64;
// Copies looked at in one audit.
static constexpr unsigned auditCopies = 4;

llvm::Expected<TimedOperands>
TimedOperands::create(DeviceRef device, const KernelManifest &kernel,
                      const Matrix &weight, const PackedWeight &packed,
                      int64_t n, const TimingOptions &options, Random &random) {
  llvm::Expected<Oracle> oracle = Oracle::create(weight, kernel.problem);
  if (!oracle)
    return oracle.takeError();
  TimedOperands operands(std::move(device), kernel, std::move(*oracle), n,
                         random);
  if (llvm::Error error = operands.fill(packed, options))
    return error;
  return operands;
}

std::vector<uint8_t> TimedOperands::randomBytes(ElementType type,
                                                size_t count) {
  const size_t size = byteSize(type);
  std::vector<uint8_t> bytes(count * size);
  for (size_t i = 0; i < count; ++i)
    storeFromDouble(type, random->normal() * (isFloat(type) ? 1 : 16),
                    &bytes[i * size]);
  return bytes;
}

llvm::Error TimedOperands::fill(const PackedWeight &packed,
                                const TimingOptions &options) {
  const size_t tokens = size_t(n), m = size_t(problem->m),
               k = size_t(problem->k);
  std::vector<size_t> sizes;
  for (const KernelArg &arg : kernel->args) {
    if (arg.kind != ArgKind::Packed)
      continue;
    const PackedBuffer *buffer = packed.find(arg.name);
    if (!buffer)
      return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                     "no packed buffer '" + arg.name + "'");
    buffers.push_back(buffer);
    sizes.push_back(buffer->bytes.size());
  }
  packedCount = buffers.size();
  auto add = [&](size_t bytes) {
    sizes.push_back(bytes);
    return sizes.size() - 1;
  };
  const size_t outputBytes = m * tokens * byteSize(problem->outputType);
  xAt = add(k * tokens * byteSize(problem->type));
  yAt = add(outputBytes);
  if (problem->epilogue.bias)
    biasAt = add(m * 4);
  if (problem->epilogue.residual)
    residualAt = add(outputBytes);
  operandCount = sizes.size();

  llvm::Expected<RotatingOperands> allocated =
      RotatingOperands::allocate(device, sizes, options);
  if (!allocated)
    return allocated.takeError();
  rotating.emplace(std::move(*allocated));

  auto everywhere = [&](size_t operand,
                        llvm::ArrayRef<uint8_t> bytes) -> llvm::Error {
    if (llvm::Error error = rotating->upload(0, operand, bytes))
      return error;
    return rotating->replicate(operand);
  };
  for (size_t i = 0; i < buffers.size(); ++i)
    if (llvm::Error error = everywhere(i, buffers[i]->bytes))
      return error;
  if (biasAt) {
    bias = randomBytes(ElementType::F32, m);
    if (llvm::Error error = everywhere(*biasAt, bias))
      return error;
  }
  if (residualAt) {
    residual = randomBytes(problem->outputType, m * tokens);
    if (llvm::Error error = everywhere(*residualAt, residual))
      return error;
  }
  baseX = randomBytes(problem->type, k * tokens);
  if (llvm::Error error = fillReservoir())
    return error;
  for (unsigned copy = 0; copy < copies(); ++copy) {
    std::vector<cuda::DevicePtr> pointers;
    for (size_t i = 0; i < packedCount; ++i)
      pointers.push_back(rotating->pointer(copy, i));
    packedPointers.push_back(std::move(pointers));
  }
  return refresh();
}

/// Twice the larger of X and Y, so that each can begin anywhere in the first
/// half.
llvm::Error TimedOperands::fillReservoir() {
  const size_t larger =
      std::max(rotating->operandBytes(xAt), rotating->operandBytes(yAt));
  std::vector<uint8_t> bytes;
  bytes.reserve(2 * larger + baseX.size());
  while (bytes.size() < 2 * larger)
    bytes.insert(bytes.end(), baseX.begin(), baseX.end());
  llvm::Expected<DeviceBuffer> buffer =
      DeviceBuffer::allocate(device, bytes.size());
  if (!buffer)
    return buffer.takeError();
  if (llvm::Error error = buffer->upload(bytes))
    return error;
  reservoir = std::move(*buffer);
  return llvm::Error::success();
}

llvm::Error TimedOperands::refresh() {
  // Copies are fast at 16-byte boundaries; small operands have too few of them.
  auto place = [&](size_t size) {
    size_t step = size >= 4096 ? 16 : byteSize(problem->type);
    return size_t(random->below(std::max<uint64_t>(1, size / step))) * step;
  };
  xPlaces.resize(copies());
  for (unsigned copy = 0; copy < copies(); ++copy) {
    xPlaces[copy] = place(rotating->operandBytes(xAt));
    const size_t yPlace = place(rotating->operandBytes(yAt));
    if (llvm::Error error =
            rotating->copyFrom(copy, xAt, reservoir, xPlaces[copy]))
      return error;
    if (llvm::Error error = rotating->copyFrom(copy, yAt, reservoir, yPlace))
      return error;
  }
  if (llvm::Error error = device->resetPersistingCache())
    return error;
  return device->synchronize();
}

/// The bytes of X from `bytes` on, and those before it after them.
std::vector<uint8_t> TimedOperands::rotatedX(size_t bytes) const {
  const auto begin = baseX.begin() + ptrdiff_t(bytes % baseX.size());
  std::vector<uint8_t> rotated(begin, baseX.end());
  rotated.insert(rotated.end(), baseX.begin(), begin);
  return rotated;
}

std::vector<uint8_t> TimedOperands::activations(unsigned copy) const {
  return rotatedX(size_t(copy) * 7919 * byteSize(problem->type));
}

std::string TimedOperands::operandName(size_t operand) const {
  if (operand < packedCount)
    return "packed buffer '" + buffers[operand]->name + "'";
  if (operand == xAt)
    return "X";
  if (operand == yAt)
    return "Y";
  return biasAt && operand == *biasAt ? "the bias" : "the residual";
}

llvm::Expected<std::optional<TimedOperands::Damage>>
TimedOperands::findDamage() const {
  std::vector<llvm::ArrayRef<uint8_t>> expected(operandCount);
  for (size_t i = 0; i < packedCount; ++i)
    expected[i] = buffers[i]->bytes;
  if (biasAt)
    expected[*biasAt] = bias;
  if (residualAt)
    expected[*residualAt] = residual;
  for (unsigned copy = 0; copy < copies(); ++copy) {
    // The reservoir is X over and over.
    const std::vector<uint8_t> x = rotatedX(xPlaces[copy]);
    expected[xAt] = x;
    llvm::Expected<std::optional<RotatingOperands::Change>> change =
        rotating->findChange(copy, expected);
    if (!change)
      return change.takeError();
    if (!*change)
      continue;
    const size_t operand = (*change)->operand;
    return Damage{
        (*change)->inGuard ? CheckStatus::OutOfBounds
                           : CheckStatus::InputModified,
        "a timed launch wrote at byte " + std::to_string((*change)->byte) +
            " of " + operandName(operand) + ", which has " +
            std::to_string(rotating->operandBytes(operand)) + " bytes"};
  }
  return std::nullopt;
}

LaunchArguments TimedOperands::arguments(unsigned copy) const {
  const bool tokens = problem->layout == Layout::TokenMajor;
  LaunchArguments arguments;
  arguments.packed = packedPointers[copy];
  arguments.x = rotating->pointer(copy, xAt);
  arguments.y = rotating->pointer(copy, yAt);
  if (biasAt)
    arguments.bias = rotating->pointer(copy, *biasAt);
  arguments.n = n;
  arguments.ldx = tokens ? problem->k : n;
  arguments.ldy = tokens ? problem->m : n;
  if (residualAt) {
    arguments.residual = rotating->pointer(copy, *residualAt);
    arguments.ldr = arguments.ldy;
  }
  return arguments;
}

size_t TimedOperands::bytes() const {
  size_t sum = 0;
  for (size_t i = 0; i < operandCount; ++i)
    sum += rotating->operandBytes(i);
  return sum;
}

size_t TimedOperands::unavoidableBytes() const {
  size_t sum = rotating->operandBytes(yAt);
  for (size_t i = 0; i < packedCount; ++i)
    sum += rotating->operandBytes(i);
  return sum;
}

/// `tokens` of a matrix, or all of a vector, as values[feature][token].
llvm::Expected<std::vector<float>>
TimedOperands::read(unsigned copy, size_t operand, ElementType type,
                    int64_t features,
                    std::optional<llvm::ArrayRef<int64_t>> tokens) const {
  const bool tokenMajor = problem->layout == Layout::TokenMajor;
  std::vector<uint8_t> bytes(rotating->operandBytes(operand));
  if (llvm::Error error = rotating->download(copy, operand, bytes))
    return error;
  const size_t size = byteSize(type), rows = size_t(features);
  const size_t columns = tokens ? tokens->size() : 1;
  std::vector<float> values(rows * columns);
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c) {
      size_t at = r;
      if (tokens) {
        size_t t = size_t((*tokens)[c]);
        at = tokenMajor ? t * rows + r : r * size_t(n) + t;
      }
      values[r * columns + c] = float(loadAsDouble(type, &bytes[at * size]));
    }
  return values;
}

/// Up to `most` numbers below `count`: all of them, or random ones.
std::vector<int64_t> TimedOperands::sample(int64_t count, int64_t most) {
  std::vector<int64_t> chosen;
  for (int64_t i = 0; i < std::min(count, most); ++i)
    chosen.push_back(count <= most ? i
                                   : int64_t(random->below(uint64_t(count))));
  return chosen;
}

llvm::Error TimedOperands::auditCopy(unsigned copy, std::string &fault) {
  const std::vector<int64_t> tokens = sample(n, maxTokens);
  ProductInputs inputs;
  inputs.n = int64_t(tokens.size());
  auto fetch = [&](size_t operand, ElementType type, int64_t features,
                   bool isMatrix, std::vector<float> &out) -> llvm::Error {
    std::optional<llvm::ArrayRef<int64_t>> columns;
    if (isMatrix)
      columns = tokens;
    llvm::Expected<std::vector<float>> values =
        read(copy, operand, type, features, columns);
    if (!values)
      return values.takeError();
    out = std::move(*values);
    return llvm::Error::success();
  };
  std::vector<float> output;
  if (llvm::Error error = fetch(xAt, problem->type, problem->k, true, inputs.x))
    return error;
  if (llvm::Error error =
          fetch(yAt, problem->outputType, problem->m, true, output))
    return error;
  if (biasAt)
    if (llvm::Error error =
            fetch(*biasAt, ElementType::F32, problem->m, false, inputs.bias))
      return error;
  if (residualAt)
    if (llvm::Error error = fetch(*residualAt, problem->outputType, problem->m,
                                  true, inputs.residual))
      return error;
  oracle.bind(inputs);
  Oracle::Scratch scratch;
  std::vector<OracleValue> expected;
  expected.resize(tokens.size());
  for (int64_t row : sample(problem->m, maxRows)) {
    oracle.row(row, scratch, expected);
    for (size_t c = 0; c < tokens.size(); ++c) {
      double got = output[size_t(row) * tokens.size() + c];
      if (accepts(expected[c], problem->outputType, got))
        continue;
      llvm::raw_string_ostream(fault)
          << "a timed launch computed output (row " << row << ", token "
          << tokens[c] << ") as "
          << llvm::format("%.9g, expected %.9g", got, expected[c].value);
      return llvm::Error::success();
    }
  }
  return llvm::Error::success();
}

llvm::Expected<std::string> TimedOperands::audit() {
  std::string fault;
  for (unsigned i = 0; i < auditCopies && fault.empty(); ++i)
    if (llvm::Error error = auditCopy(unsigned(random->below(copies())), fault))
      return error;
  return fault;
}
