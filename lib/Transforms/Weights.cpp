//===- Weights.cpp - Weights of a module as matrices ----------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Transforms/Weights.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "sparseditto/Analysis/PatternReport.h"
#include "sparseditto/IO/TensorFile.h"
#include "sparseditto/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include <cstring>

using namespace sparseditto;
using namespace mlir;
using llvm::Expected;
using sparsepattern::EncodingAttr;
using sparsepattern::PatternAxis;

//===----------------------------------------------------------------------===//
// Encodings
//===----------------------------------------------------------------------===//

/// Kept blocks of a block claim; the statistics of the claimed shape exist.
static EncodingAttr toBlockEncoding(MLIRContext *context,
                                    const PatternReport &report,
                                    EncodingAttr::Numbers numbers) {
  if (const BlockStats *stats =
          report.findBlock(report.blockR, report.blockC)) {
    if (stats->blocks > 0)
      numbers.kept = double(stats->nonZeroBlocks) / double(stats->blocks);
    numbers.fill = stats->fill;
  }
  return EncodingAttr::getBlock(context, report.blockR, report.blockC, numbers);
}

static EncodingAttr toPart(MLIRContext *context, const PatternReport &report,
                           const AlmostPattern &part) {
  using Kind = sparseditto::Pattern;
  PatternAxis axis =
      report.nmAxis == Axis::Rows ? PatternAxis::Rows : PatternAxis::Cols;
  switch (part.kind) {
  case Kind::NM:
    return EncodingAttr::getNM(context, part.first, part.second, axis);
  case Kind::Block:
    return EncodingAttr::getBlock(context, part.first, part.second);
  default:
    return EncodingAttr::getBanded(context, part.first, part.first);
  }
}

EncodingAttr sparseditto::toEncoding(MLIRContext *context,
                                     const PatternReport &report) {
  EncodingAttr::Numbers numbers;
  numbers.density = report.density();
  using Kind = sparseditto::Pattern;
  switch (report.pattern) {
  case Kind::Dense:
    return EncodingAttr::getDense(context, numbers);
  case Kind::Unstructured:
    return EncodingAttr::getUnstructured(context, numbers);
  case Kind::NM:
    return EncodingAttr::getNM(context, report.nmN, report.nmM,
                               report.nmAxis == Axis::Rows ? PatternAxis::Rows
                                                           : PatternAxis::Cols,
                               numbers);
  case Kind::Block:
    return toBlockEncoding(context, report, numbers);
  case Kind::Zero:
    numbers.kept = 0;
    return EncodingAttr::getChannel(context, PatternAxis::Rows, numbers);
  case Kind::Channel: {
    bool rows = report.rowCounts.zeros > 0, cols = report.colCounts.zeros > 0;
    numbers.kept =
        double(report.rows - report.rowCounts.zeros) / double(report.rows) *
        double(report.cols - report.colCounts.zeros) / double(report.cols);
    return EncodingAttr::getChannel(context,
                                    rows && cols ? PatternAxis::Both
                                    : rows       ? PatternAxis::Rows
                                                 : PatternAxis::Cols,
                                    numbers);
  }
  case Kind::Banded:
    return EncodingAttr::getBanded(context, report.lowerBandwidth,
                                   report.upperBandwidth, numbers);
  case Kind::Hybrid: {
    if (!report.structuredPart || report.nnz == 0)
      return EncodingAttr::getUnstructured(context, numbers);
    double inside = double(report.structuredPart->inside) / double(report.nnz);
    return EncodingAttr::getHybrid(
        context,
        {toPart(context, report, *report.structuredPart),
         EncodingAttr::getUnstructured(context)},
        {inside, 1 - inside}, numbers);
  }
  }
  llvm_unreachable("unknown pattern");
}

//===----------------------------------------------------------------------===//
// ConstantTensor
//===----------------------------------------------------------------------===//

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

int64_t ConstantTensor::numElements() const { return product(shape); }

Matrix ConstantTensor::asMatrix() const {
  Matrix matrix;
  matrix.name = name;
  matrix.sourceFile = sourceFile;
  matrix.type = type;
  matrix.rows = shape.empty() ? 1 : shape.front();
  matrix.cols = shape.empty() ? 1 : product(ArrayRef(shape).drop_front());
  matrix.originalShape.assign(shape.begin(), shape.end());
  matrix.data = data;
  matrix.owner = owner;
  return matrix;
}

/// Offsets, in elements, of all positions that running through `dims` visits.
static std::vector<int64_t> offsetsOf(ArrayRef<int64_t> shape,
                                      ArrayRef<int64_t> dims) {
  std::vector<int64_t> offsets = {0};
  for (int64_t dim : dims) {
    int64_t stride = product(shape.drop_front(dim + 1));
    std::vector<int64_t> next;
    next.reserve(offsets.size() * size_t(shape[dim]));
    for (int64_t base : offsets)
      for (int64_t i = 0; i < shape[dim]; ++i)
        next.push_back(base + i * stride);
    offsets = std::move(next);
  }
  return offsets;
}

Expected<Matrix> ConstantTensor::asMatrix(ArrayRef<int64_t> rowDims,
                                          ArrayRef<int64_t> colDims) const {
  Matrix matrix = asMatrix();
  auto sizeOf = [&](int64_t dim) { return shape[dim]; };
  matrix.rows = product(llvm::map_to_vector(rowDims, sizeOf));
  matrix.cols = product(llvm::map_to_vector(colDims, sizeOf));
  SmallVector<int64_t> order(rowDims);
  llvm::append_range(order, colDims);
  llvm::erase_if(order, [&](int64_t dim) { return shape[dim] == 1; });
  if (llvm::is_sorted(order))
    return matrix;

  // The plain transpose is the usual case and has a blocked implementation.
  if (shape.size() == 2 && order == ArrayRef<int64_t>{1, 0}) {
    Expected<Matrix> transposed = asMatrix().transposed();
    if (transposed)
      transposed->originalShape = matrix.originalShape;
    return transposed;
  }
  Expected<Matrix> copy =
      Matrix::allocate(name, type, matrix.rows, matrix.cols);
  if (!copy)
    return copy.takeError();
  copy->sourceFile = sourceFile;
  copy->originalShape = matrix.originalShape;
  std::vector<int64_t> rowOffsets = offsetsOf(shape, rowDims);
  std::vector<int64_t> colOffsets = offsetsOf(shape, colDims);
  unsigned bytes = byteSize(type);
  uint8_t *out = copy->mutableData();
  for (int64_t row : rowOffsets)
    for (int64_t col : colOffsets) {
      std::memcpy(out, data + size_t(row + col) * bytes, bytes);
      out += bytes;
    }
  return copy;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// Bytes of a tensor of this type; none if the product overflows.
static std::optional<uint64_t> byteCount(ShapedType type, ElementType element) {
  uint64_t bytes = byteSize(element);
  for (int64_t size : type.getShape()) {
    bool overflow = false;
    bytes = llvm::SaturatingMultiply(bytes, uint64_t(size), &overflow);
    if (overflow)
      return std::nullopt;
  }
  return bytes;
}

Expected<ConstantTensor> sparseditto::readConstant(ElementsAttr value,
                                                   StringRef name) {
  ShapedType type = value.getShapedType();
  std::optional<ElementType> element = toElementType(type.getElementType());
  if (!element)
    return makeError("constant '{0}' has an unsupported element type", name);
  std::optional<uint64_t> bytes = byteCount(type, *element);
  if (!bytes)
    return makeError("constant '{0}' has too many elements", name);
  ConstantTensor tensor;
  tensor.name = name.str();
  tensor.type = *element;
  tensor.shape = llvm::to_vector(type.getShape());

  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    StringRef key = resource.getRawHandle().getKey();
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob)
      return makeError("resource '{0}' has no data", key);
    if (blob->getData().size() != *bytes)
      return makeError(
          "resource '{0}' has {1} bytes, expected {2} for its type", key,
          blob->getData().size(), *bytes);
    tensor.data = reinterpret_cast<const uint8_t *>(blob->getData().data());
    return tensor;
  }
  auto dense = dyn_cast<DenseIntOrFPElementsAttr>(value);
  if (!dense)
    return makeError("constant '{0}' is neither dense nor dense_resource",
                     name);
  const auto *raw =
      reinterpret_cast<const uint8_t *>(dense.getRawData().data());
  if (!dense.isSplat()) {
    tensor.data = raw;
    return tensor;
  }
  Expected<Matrix> expanded =
      Matrix::allocate(name, *element, 1, type.getNumElements());
  if (!expanded)
    return expanded.takeError();
  unsigned size = byteSize(*element);
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    std::memcpy(expanded->mutableData() + size_t(i) * size, raw, size);
  tensor.data = expanded->data;
  tensor.owner = expanded->owner;
  return tensor;
}

ElementsAttr sparseditto::toConstant(MLIRContext *context, const Matrix &matrix,
                                     bool asResource, StringRef key) {
  auto type = RankedTensorType::get({matrix.rows, matrix.cols},
                                    toMLIRType(context, matrix.type));
  ArrayRef<char> bytes(reinterpret_cast<const char *>(matrix.data),
                       matrix.numBytes());
  if (!asResource)
    return DenseElementsAttr::getFromRawBuffer(type, bytes);
  AsmResourceBlob blob(
      bytes, /*dataAlignment=*/byteSize(matrix.type),
      [owner = matrix.owner](void *, size_t, size_t) mutable { owner.reset(); },
      /*dataIsMutable=*/false);
  return DenseResourceElementsAttr::get(type, key, std::move(blob));
}

//===----------------------------------------------------------------------===//
// SourceReader
//===----------------------------------------------------------------------===//

SourceReader::SourceReader(StringRef baseDir) : baseDir(baseDir) {}

SourceReader::~SourceReader() = default;

Expected<ConstantTensor> SourceReader::read(StringRef source, ShapedType type) {
  auto [file, tensorName] = source.split('#');
  llvm::SmallString<128> path(file);
  if (!baseDir.empty() && llvm::sys::path::is_relative(path)) {
    path = baseDir;
    llvm::sys::path::append(path, file);
  }
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<TensorFile> &entry = files[path];
  if (!entry) {
    auto opened = TensorFile::open(path);
    if (!opened)
      return opened.takeError();
    entry = std::move(*opened);
  }
  llvm::Expected<size_t> index = entry->select(tensorName);
  if (!index)
    return index.takeError();
  Expected<Matrix> matrix = entry->load(*index);
  if (!matrix)
    return matrix.takeError();
  std::optional<ElementType> wanted = toElementType(type.getElementType());
  const TensorInfo &info = entry->tensors()[*index];
  auto spell = [](ArrayRef<int64_t> shape, StringRef element) {
    std::string text;
    for (int64_t size : shape)
      text += std::to_string(size) + "x";
    return text + element.str();
  };
  if (!wanted || *wanted != info.type || !type.hasStaticShape() ||
      type.getShape() != ArrayRef<int64_t>(info.shape))
    return makeError("{0}: tensor '{1}' is {2}, but the argument is {3}", path,
                     info.name, spell(info.shape, sparseditto::name(info.type)),
                     spell(type.getShape(), wanted ? sparseditto::name(*wanted)
                                                   : "unsupported"));
  ConstantTensor tensor;
  tensor.name = matrix->name;
  tensor.sourceFile = matrix->sourceFile;
  tensor.type = matrix->type;
  tensor.shape = llvm::to_vector(type.getShape());
  tensor.data = matrix->data;
  tensor.owner = matrix->owner;
  return tensor;
}
