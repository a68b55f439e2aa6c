//===- GemmFamily.cpp - Base of the tensor-core families ------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Kernels/Common/GemmFamily.h"
#include "mlir/IR/BuiltinOps.h"
#include "sparseditto/Kernels/Limits.h"
#include "sparseditto/Support/Error.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

using namespace sparseditto;
using llvm::support::endian::read16le;
using llvm::support::endian::write16le;

//===----------------------------------------------------------------------===//
// Packed buffers
//===----------------------------------------------------------------------===//

static ElementType withoutSign(ElementType type) {
  switch (type) {
  case ElementType::U64:
    return ElementType::I64;
  case ElementType::U32:
    return ElementType::I32;
  case ElementType::U16:
    return ElementType::I16;
  case ElementType::U8:
    return ElementType::I8;
  default:
    return type;
  }
}

llvm::Expected<const PackedBuffer *>
sparseditto::checkedBuffer(const PackedWeight &packed, llvm::StringRef name,
                           ElementType type, llvm::ArrayRef<int64_t> shape,
                           PackedCheck check) {
  const PackedBuffer *buffer = packed.find(name);
  if (!buffer)
    return makeError("packed format '{0}': buffer '{1}' is missing",
                     packed.format, name);
  // MLIR's buffers have integers without a sign.
  bool hasType =
      buffer->type == type || (check == PackedCheck::Shapes &&
                               withoutSign(buffer->type) == withoutSign(type));
  if (!hasType)
    return makeError("packed format '{0}': buffer '{1}' has type {2}, expected "
                     "{3}",
                     packed.format, name, sparseditto::name(buffer->type),
                     sparseditto::name(type));
  uint64_t bytes = byteSize(type);
  for (int64_t extent : shape) {
    if (extent < 0 || (extent > 0 && bytes > UINT64_MAX / uint64_t(extent)))
      return makeError("packed format '{0}': buffer '{1}' is too large",
                       packed.format, name);
    bytes *= uint64_t(extent);
  }
  bool hasShape =
      buffer->shape == std::vector<int64_t>(shape.begin(), shape.end());
  if (check == PackedCheck::Shapes && !hasShape)
    return makeError(
        "packed format '{0}': buffer '{1}' has shape [{2}], expected [{3}]",
        packed.format, name,
        llvm::make_range(buffer->shape.begin(), buffer->shape.end()),
        llvm::make_range(shape.begin(), shape.end()));
  if (!hasShape ||
      (check == PackedCheck::Contents && buffer->bytes.size() != bytes))
    return makeError(
        "packed format '{0}': buffer '{1}' has shape [{2}] and {3} "
        "bytes, expected [{4}] and {5} bytes",
        packed.format, name,
        llvm::make_range(buffer->shape.begin(), buffer->shape.end()),
        buffer->bytes.size(), llvm::make_range(shape.begin(), shape.end()),
        bytes);
  return buffer;
}

llvm::Error sparseditto::checkPackedHeader(const PackedWeight &packed,
                                           llvm::StringRef format,
                                           int version) {
  if (packed.format != format)
    return makeError("packed format is '{0}', expected '{1}'", packed.format,
                     format);
  if (packed.version != version)
    return makeError("packed format '{0}' has version {1}, expected {2}",
                     format, packed.version, version);
  constexpr int64_t limit = int64_t(1) << 30;
  if (packed.m < 1 || packed.k < 1 || packed.m > limit || packed.k > limit)
    return makeError("packed format '{0}': shape {1}x{2} is outside of 1..2^30",
                     format, packed.m, packed.k);
  if (packed.type != ElementType::F16 && packed.type != ElementType::BF16)
    return makeError("packed format '{0}': type {1}, expected f16 or bf16",
                     format, name(packed.type));
  return llvm::Error::success();
}

llvm::Error sparseditto::checkPackable(const Matrix &weight) {
  if (weight.type != ElementType::F16 && weight.type != ElementType::BF16)
    return makeError("tensor '{0}': type {1} cannot be packed, expected f16 or "
                     "bf16",
                     weight.name, name(weight.type));
  if (weight.rows < 1 || weight.cols < 1)
    return makeError("tensor '{0}': cannot pack an empty matrix of {1}x{2}",
                     weight.name, weight.rows, weight.cols);
  return llvm::Error::success();
}

PackedBuffer sparseditto::makeBuffer(llvm::StringRef name, ElementType type,
                                     llvm::ArrayRef<int64_t> shape) {
  PackedBuffer buffer;
  buffer.name = name.str();
  buffer.type = type;
  buffer.shape.assign(shape.begin(), shape.end());
  size_t bytes = byteSize(type);
  for (int64_t extent : shape)
    bytes *= size_t(extent);
  buffer.bytes.resize(bytes);
  return buffer;
}

/// Row and column, inside a fragment, of element `e` (0..7) of `lane`.
static std::pair<int64_t, int64_t> fragmentPosition(unsigned lane, unsigned e) {
  unsigned reg = e / 2;
  return {lane / 4 + (reg & 1) * 8, lane % 4 * 2 + e % 2 + (reg >> 1) * 8};
}

void sparseditto::packFragment(const Matrix &weight, int64_t row,
                               int64_t column, uint8_t *dst) {
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 8; ++i) {
      auto [r, c] = fragmentPosition(lane, i);
      if (row + r >= weight.rows || column + c >= weight.cols)
        continue;
      uint16_t bits = read16le(weight.at(row + r, column + c));
      if (bits & 0x7fff)
        write16le(dst + (lane * 8 + i) * 2, bits);
    }
}

llvm::Error sparseditto::unpackFragment(const uint8_t *src, Matrix &weight,
                                        int64_t row, int64_t column,
                                        llvm::StringRef format) {
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 8; ++i) {
      auto [r, c] = fragmentPosition(lane, i);
      uint16_t bits = read16le(src + (lane * 8 + i) * 2);
      if ((bits & 0x7fff) == 0)
        continue;
      if (row + r >= weight.rows || column + c >= weight.cols)
        return makeError("packed format '{0}': a non-zero at row {1}, column "
                         "{2} outside of {3}x{4}",
                         format, row + r, column + c, weight.rows, weight.cols);
      write16le(weight.mutableData() +
                    (size_t(row + r) * weight.cols + size_t(column + c)) * 2,
                bits);
    }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

FamilyDeclaration sparseditto::gemmDeclaration(llvm::StringRef name,
                                               llvm::StringRef summary,
                                               llvm::StringRef accepts) {
  FamilyDeclaration decl;
  decl.name = name.str();
  decl.summary = summary.str();
  decl.accepts = accepts.str();
  decl.types = {ElementType::F16, ElementType::BF16};
  GemmConfig defaults;
  defaults.blocksPerSm = 2;
  defaults.bandRows = 64;
  decl.knobs = gemmKnobs(defaults);
  return decl;
}

llvm::Error GemmFamily::checkOwn(const GemmConfig &, const Strategy &,
                                 const Problem &) const {
  return llvm::Error::success();
}

llvm::Error GemmFamily::checkPackedFor(const PackedWeight &,
                                       const Strategy &) const {
  return llvm::Error::success();
}

llvm::Error GemmFamily::check(const Strategy &strategy, const Problem &problem,
                              unsigned computeCapability) const {
  if (llvm::Error error =
          KernelFamily::check(strategy, problem, computeCapability))
    return error;
  if (llvm::Error error = checkType(decl, problem))
    return error;
  if (llvm::Error error = checkOutputType(decl, problem))
    return error;
  constexpr int64_t limit = int64_t(1) << 30;
  if (problem.m < 1 || problem.k < 1 || problem.m > limit || problem.k > limit)
    return makeError("{0}: expected M and K from 1 to 2^30, got {1}x{2}",
                     decl.name, problem.m, problem.k);
  GemmConfig config = GemmConfig::read(strategy, decl);
  if (llvm::Error error = checkOwn(config, strategy, problem))
    return error;
  return checkGemm(config, sourceShape(problem, strategy, nullptr), problem,
                   computeCapability);
}

llvm::Error GemmFamily::checkPacked(const PackedWeight &packed,
                                    const Problem &problem) const {
  if (llvm::Error error = checkPackedHeader(packed, format, version))
    return error;
  if (packed.m != problem.m || packed.k != problem.k ||
      packed.type != problem.type)
    return makeError("packed weight is {0}x{1} {2}, the problem wants {3}x{4} "
                     "{5}",
                     packed.m, packed.k, sparseditto::name(packed.type),
                     problem.m, problem.k, sparseditto::name(problem.type));
  return checkBuffers(packed);
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

bool GemmFamily::completeCandidate(Strategy &, const PatternReport &,
                                   const Problem &) const {
  return true;
}

namespace {
/// A shape of thread block worth trying.
struct StreamGuess {
  unsigned tileM, warpsM, warpsK, blocksPerSm;
};
struct TileGuess {
  unsigned tileM, tileN, warpsM, warpsN, stages, blocksPerSm;
};
} // namespace

/// Best guesses first, from measurements at 4096 x 4096 on an H200: one m-tile
/// and two blocks an SM for 8 tokens, more rows a block as tokens grow, since
/// each block reads all of X.
static std::vector<StreamGuess> streamGuesses(unsigned tileN) {
  if (tileN == 8)
    return {{16, 1, 16, 2}, {16, 1, 8, 2}, {32, 1, 16, 1},
            {16, 1, 8, 4},  {32, 2, 8, 1}, {16, 1, 4, 4}};
  if (tileN == 16)
    return {{32, 1, 16, 1}, {16, 1, 16, 2}, {32, 2, 8, 1},
            {32, 1, 8, 2},  {16, 1, 8, 2},  {64, 2, 8, 1}};
  if (tileN == 32)
    return {{64, 2, 8, 1},
            {32, 1, 8, 1},
            {64, 4, 4, 1},
            {32, 2, 8, 1},
            {16, 1, 8, 1}};
  return {{64, 4, 2, 1}, {32, 2, 4, 1}, {16, 1, 8, 1}};
}

static std::vector<TileGuess> tileGuesses(int64_t n) {
  if (n <= 64)
    return {{64, 64, 2, 2, 4, 2},
            {32, 64, 2, 2, 5, 2},
            {128, 64, 4, 2, 4, 1},
            {16, 64, 1, 4, 5, 2},
            {64, 32, 4, 1, 5, 2}};
  if (n <= 256)
    return {{64, 64, 2, 2, 5, 2},  {128, 64, 4, 2, 4, 1}, {64, 128, 2, 4, 4, 1},
            {32, 128, 2, 4, 4, 1}, {32, 64, 2, 2, 5, 2},  {16, 64, 1, 4, 5, 2},
            {128, 32, 4, 1, 5, 2}};
  return {
      {128, 128, 2, 4, 4, 1}, {128, 256, 2, 8, 3, 1}, {64, 128, 2, 2, 4, 2},
      {64, 256, 2, 4, 3, 1},  {32, 128, 1, 4, 4, 2},  {16, 128, 1, 4, 4, 2},
      {128, 128, 2, 4, 3, 1}, {64, 128, 2, 2, 3, 1},  {128, 64, 2, 2, 3, 1}};
}

std::vector<Strategy> GemmFamily::candidates(const PatternReport &report,
                                             const Problem &problem,
                                             unsigned computeCapability) const {
  std::vector<Strategy> result;
  auto consider = [&](const GemmConfig &config) {
    Strategy strategy = config.write(decl);
    if (!completeCandidate(strategy, report, problem))
      return false;
    if (llvm::Error error = check(strategy, problem, computeCapability)) {
      llvm::consumeError(std::move(error));
      return false;
    }
    if (!llvm::is_contained(result, strategy))
      result.push_back(std::move(strategy));
    return true;
  };
  auto considerTiles = [&] {
    for (const TileGuess &g : tileGuesses(problem.tuneN)) {
      GemmConfig c;
      c.schedule = Schedule::Tile;
      c.tileM = g.tileM;
      c.tileN = g.tileN;
      c.warpsM = g.warpsM;
      c.warpsN = g.warpsN;
      c.warpsK = 1;
      c.prefetch = 1;
      c.blocksPerSm = g.blocksPerSm;
      c.bandRows = 8;
      // Fewer stages where shared memory is small.
      for (c.stages = g.stages; c.stages >= 2; --c.stages)
        if (consider(c))
          break;
    }
  };
  auto considerStreams = [&](unsigned tileN) {
    for (const StreamGuess &g : streamGuesses(tileN)) {
      GemmConfig c;
      c.schedule = Schedule::Stream;
      c.tileM = g.tileM;
      c.tileN = tileN;
      c.warpsM = g.warpsM;
      c.warpsK = g.warpsK;
      c.blocksPerSm = g.blocksPerSm;
      c.bandRows = 64;
      Strategy probe = c.write(decl);
      if (!completeCandidate(probe, report, problem))
        continue;
      SourceShape shape = sourceShape(problem, probe, nullptr);
      // The two deepest prefetches that K, registers and shared memory allow:
      // if ptxas spills at the first, the second stands by.
      unsigned found = 0;
      for (unsigned prefetch : {8u, 4u, 2u, 1u}) {
        if (found == 2)
          break;
        c.prefetch = prefetch;
        if (prefetch > 1) {
          GemmConfig half = c;
          half.prefetch = prefetch / 2;
          if (streamPasses(half, shape) == 1 && !shape.isList)
            continue;
        }
        bool onePass = !shape.isList && streamPasses(c, shape) == 1;
        c.stages = onePass ? 1 : 3;
        if (consider(c)) {
          ++found;
          continue;
        }
        c.stages = 2;
        if (!onePass && consider(c))
          ++found;
      }
    }
  };
  if (problem.tuneN <= 64) {
    unsigned tileN = 8;
    while (tileN < problem.tuneN)
      tileN *= 2;
    considerStreams(tileN);
    if (problem.tuneN > 16)
      considerTiles();
    // Two passes over X of half the tokens, when W comes from L2.
    if (tileN > 8)
      considerStreams(tileN / 2);
  } else {
    considerTiles();
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Build
//===----------------------------------------------------------------------===//

int64_t GemmFamily::rowTiles(const GemmConfig &config, const Strategy &,
                             const PackedWeight &packed) const {
  return llvm::divideCeil(packed.m, int64_t(config.tileM));
}

llvm::Expected<BuiltKernel>
GemmFamily::build(mlir::MLIRContext &context, const Problem &problem,
                  const Strategy &strategy, const PackedWeight &packed,
                  unsigned computeCapability, llvm::StringRef symbol) const {
  if (llvm::Error error = check(strategy, problem, computeCapability))
    return error;
  if (llvm::Error error = checkPacked(packed, problem))
    return error;
  if (llvm::Error error = checkPackedFor(packed, strategy))
    return error;
  GemmConfig config = GemmConfig::read(strategy, decl);
  SourceShape shape = sourceShape(problem, strategy, &packed);
  KernelFrame frame(context, problem, strategy, packed, symbol,
                    config.threads(), config.blocksPerSm);
  std::unique_ptr<WeightSource> source =
      makeSource(frame, shape, config, strategy, packed);
  return buildGemm(frame, config, *source, rowTiles(config, strategy, packed));
}
