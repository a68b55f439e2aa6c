//===- EncodingAttr.cpp - What is known of a weight's zeros ---------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <charconv>
#include <cmath>

using namespace mlir;
using namespace mlir::sparsepattern;

//===----------------------------------------------------------------------===//
// Construction and queries
//===----------------------------------------------------------------------===//

static FloatAttr toFloatAttr(MLIRContext *context,
                             std::optional<double> value) {
  return value ? FloatAttr::get(Float64Type::get(context), *value)
               : FloatAttr();
}

static std::optional<double> fromFloatAttr(FloatAttr value) {
  if (!value)
    return std::nullopt;
  return value.getValueAsDouble();
}

/// The one place that orders the parameters.
static EncodingAttr makeEncoding(MLIRContext *context, PatternKind kind,
                                 PatternAxis axis, ArrayRef<int64_t> sizes,
                                 EncodingAttr::Numbers numbers,
                                 ArrayRef<Attribute> parts = {},
                                 ArrayRef<FloatAttr> shares = {}) {
  return EncodingAttr::get(context, kind, axis, sizes,
                           toFloatAttr(context, numbers.density),
                           toFloatAttr(context, numbers.kept),
                           toFloatAttr(context, numbers.fill), parts, shares);
}

EncodingAttr EncodingAttr::getDense(MLIRContext *context, Numbers numbers) {
  return makeEncoding(context, PatternKind::Dense, PatternAxis::Rows, {},
                      numbers);
}

EncodingAttr EncodingAttr::getUnstructured(MLIRContext *context,
                                           Numbers numbers) {
  return makeEncoding(context, PatternKind::Unstructured, PatternAxis::Rows, {},
                      numbers);
}

EncodingAttr EncodingAttr::getNM(MLIRContext *context, int64_t n, int64_t m,
                                 PatternAxis axis, Numbers numbers) {
  return makeEncoding(context, PatternKind::NM, axis, {n, m}, numbers);
}

EncodingAttr EncodingAttr::getBlock(MLIRContext *context, int64_t rows,
                                    int64_t cols, Numbers numbers) {
  return makeEncoding(context, PatternKind::Block, PatternAxis::Rows,
                      {rows, cols}, numbers);
}

EncodingAttr EncodingAttr::getChannel(MLIRContext *context, PatternAxis axis,
                                      Numbers numbers) {
  return makeEncoding(context, PatternKind::Channel, axis, {}, numbers);
}

EncodingAttr EncodingAttr::getBanded(MLIRContext *context, int64_t lower,
                                     int64_t upper, Numbers numbers) {
  return makeEncoding(context, PatternKind::Banded, PatternAxis::Rows,
                      {lower, upper}, numbers);
}

EncodingAttr EncodingAttr::getHybrid(MLIRContext *context,
                                     ArrayRef<EncodingAttr> parts,
                                     ArrayRef<double> shares, Numbers numbers) {
  SmallVector<FloatAttr> shareAttrs;
  for (double share : shares)
    shareAttrs.push_back(toFloatAttr(context, share));
  return makeEncoding(context, PatternKind::Hybrid, PatternAxis::Rows, {},
                      numbers, llvm::to_vector_of<Attribute>(parts),
                      shareAttrs);
}

EncodingAttr::Numbers EncodingAttr::getNumbers() const {
  return {fromFloatAttr(getDensityAttr()), fromFloatAttr(getKeptAttr()),
          fromFloatAttr(getFillAttr())};
}

EncodingAttr EncodingAttr::getTransposed() const {
  SmallVector<int64_t> sizes(getSizes());
  PatternAxis axis = getAxis();
  switch (getKind()) {
  case PatternKind::NM:
  case PatternKind::Channel:
    if (axis != PatternAxis::Both)
      axis = axis == PatternAxis::Rows ? PatternAxis::Cols : PatternAxis::Rows;
    break;
  case PatternKind::Block:
  case PatternKind::Banded:
    std::swap(sizes[0], sizes[1]);
    break;
  case PatternKind::Dense:
  case PatternKind::Unstructured:
  case PatternKind::Hybrid:
    break;
  }
  SmallVector<Attribute> parts;
  for (Attribute part : getParts())
    parts.push_back(cast<EncodingAttr>(part).getTransposed());
  return makeEncoding(getContext(), getKind(), axis, sizes, getNumbers(), parts,
                      getShares());
}

/// Elements of a matrix with lines of `length` that lie beyond a band which
/// leaves out the last `beyond` diagonals on one side: 1 + 2 + ..., at most
/// `length` each.
static double elementsBeyondBand(double beyond, double length) {
  if (beyond <= 0)
    return 0;
  double growing = std::min(beyond, length);
  return growing * (growing + 1) / 2 + (beyond - growing) * length;
}

double EncodingAttr::getCapacity(int64_t rows, int64_t cols) const {
  // In double: shapes come from the input and their product may overflow.
  double all = double(rows) * double(cols);
  switch (getKind()) {
  case PatternKind::NM: {
    int64_t n = getSizes()[0], m = getSizes()[1];
    bool alongRows = getAxis() == PatternAxis::Rows;
    int64_t lines = alongRows ? rows : cols, length = alongRows ? cols : rows;
    return double(lines) *
           (double(length / m) * double(n) + double(std::min(n, length % m)));
  }
  case PatternKind::Banded: {
    double below = double(rows) - 1 - double(getSizes()[0]);
    double above = double(cols) - 1 - double(getSizes()[1]);
    return all - elementsBeyondBand(below, double(cols)) -
           elementsBeyondBand(above, double(rows));
  }
  case PatternKind::Dense:
  case PatternKind::Unstructured:
  case PatternKind::Block:
  case PatternKind::Channel:
  case PatternKind::Hybrid:
    return all;
  }
  llvm_unreachable("unknown pattern kind");
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

using EmitError = function_ref<InFlightDiagnostic()>;

static LogicalResult verifyFraction(EmitError emitError, FloatAttr value,
                                    StringRef what) {
  if (!value)
    return success();
  double number = value.getValueAsDouble();
  if (number >= 0 && number <= 1)
    return success();
  return emitError() << what << " must be in [0, 1], got " << number << " (C4)";
}

LogicalResult EncodingAttr::verify(EmitError emitError, PatternKind kind,
                                   PatternAxis axis, ArrayRef<int64_t> sizes,
                                   FloatAttr density, FloatAttr kept,
                                   FloatAttr fill, ArrayRef<Attribute> parts,
                                   ArrayRef<FloatAttr> shares) {
  bool hasSizes = kind == PatternKind::NM || kind == PatternKind::Block ||
                  kind == PatternKind::Banded;
  if (sizes.size() != (hasSizes ? 2u : 0u))
    return emitError() << "pattern " << stringifyPatternKind(kind) << " takes "
                       << (hasSizes ? 2 : 0) << " sizes, got " << sizes.size();
  if (kind == PatternKind::NM && !(0 < sizes[0] && sizes[0] < sizes[1]))
    return emitError() << "nm needs 0 < n < m, got " << sizes[0] << ":"
                       << sizes[1] << " (C1)";
  if (axis == PatternAxis::Both && kind != PatternKind::Channel)
    return emitError() << "only channel runs along both axes, not "
                       << stringifyPatternKind(kind) << " (C1)";
  if (kind == PatternKind::Block &&
      (sizes[0] < 1 || sizes[1] < 1 || (sizes[0] == 1 && sizes[1] == 1)))
    return emitError() << "block needs positive sizes of more than one element,"
                          " got "
                       << sizes[0] << "x" << sizes[1] << " (C2)";
  if (kind == PatternKind::Banded && (sizes[0] < 0 || sizes[1] < 0))
    return emitError() << "banded needs non-negative bandwidths, got "
                       << sizes[0] << ":" << sizes[1] << " (C3)";
  if (failed(verifyFraction(emitError, density, "density")) ||
      failed(verifyFraction(emitError, kept, "kept")) ||
      failed(verifyFraction(emitError, fill, "fill")))
    return failure();
  if (kept && kind != PatternKind::Block && kind != PatternKind::Channel)
    return emitError() << "'kept' is for block and channel, not "
                       << stringifyPatternKind(kind) << " (C5)";
  if (fill && kind != PatternKind::Block)
    return emitError() << "'fill' is for block, not "
                       << stringifyPatternKind(kind) << " (C5)";

  if (kind != PatternKind::Hybrid) {
    if (!parts.empty() || !shares.empty())
      return emitError() << "only hybrid has parts (C6)";
    return success();
  }
  if (parts.size() < 2)
    return emitError() << "hybrid needs at least two parts, got "
                       << parts.size() << " (C6)";
  if (parts.size() != shares.size())
    return emitError() << "hybrid needs one share a part, got " << shares.size()
                       << " shares for " << parts.size() << " parts (C6)";
  double sum = 0;
  for (auto [part, share] : llvm::zip_equal(parts, shares)) {
    auto encoding = dyn_cast<EncodingAttr>(part);
    if (!encoding || encoding.getKind() == PatternKind::Hybrid ||
        encoding.getKind() == PatternKind::Dense)
      return emitError() << "a part of hybrid is neither dense nor hybrid, got "
                         << part << " (C7)";
    if (failed(verifyFraction(emitError, share, "share")))
      return failure();
    sum += share.getValueAsDouble();
  }
  if (!(std::abs(sum - 1) <= 1e-6))
    return emitError() << "shares of hybrid must sum to 1, got " << sum
                       << " (C8)";
  return success();
}

LogicalResult EncodingAttr::verifyEncoding(ArrayRef<int64_t> shape,
                                           Type elementType,
                                           EmitError emitError) const {
  // The parser asks about types whose element type it has just refused.
  if (!elementType)
    return failure();
  if (shape.size() != 2)
    return emitError() << "encoded weight must have rank 2, got rank "
                       << shape.size() << " (C9)";
  if (!elementType.isIntOrFloat() ||
      elementType.getIntOrFloatBitWidth() % 8 != 0)
    return emitError()
           << "encoded weight must have float or whole-byte integer "
              "elements, got "
           << elementType << " (C10)";
  if (ShapedType::isDynamicShape(shape))
    return success();
  int64_t needRows = 1, needCols = 1;
  if (getKind() == PatternKind::NM)
    (getAxis() == PatternAxis::Rows ? needCols : needRows) = getSizes()[1];
  if (getKind() == PatternKind::Block) {
    needRows = getSizes()[0];
    needCols = getSizes()[1];
  }
  if (shape[0] < needRows || shape[1] < needCols)
    return emitError() << "pattern needs at least " << needRows << "x"
                       << needCols << " elements, got " << shape[0] << "x"
                       << shape[1] << " (C11)";
  if (std::optional<double> density = getDensity()) {
    double elements = double(shape[0]) * double(shape[1]);
    double capacity = getCapacity(shape[0], shape[1]);
    // Densities are quotients of integers; a part in 10^9 covers their
    // rounding and stays below one element of any weight in memory.
    if (*density * elements > capacity * (1 + 1e-9))
      return emitError() << "density " << *density
                         << " exceeds what the pattern allows in " << shape[0]
                         << "x" << shape[1] << ", " << capacity / elements
                         << " (C11)";
  }
  for (Attribute part : getParts())
    if (failed(cast<EncodingAttr>(part).verifyEncoding(shape, elementType,
                                                       emitError)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

static ParseResult parseIntegerPair(AsmParser &parser, int64_t &first,
                                    int64_t &second) {
  return failure(parser.parseInteger(first) || parser.parseColon() ||
                 parser.parseInteger(second));
}

static ParseResult parseAxis(AsmParser &parser, PatternAxis &axis) {
  SMLoc location = parser.getCurrentLocation();
  StringRef word;
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<PatternAxis> parsed = symbolizePatternAxis(word);
  if (!parsed)
    return parser.emitError(location, "expected rows, cols or both, got '")
           << word << "'";
  axis = *parsed;
  return success();
}

static Attribute parseEncoding(AsmParser &parser, bool isPart);

/// `[` share `:` `<` encoding `>` `,` ... `]`
static ParseResult parseParts(AsmParser &parser,
                              SmallVectorImpl<Attribute> &parts,
                              SmallVectorImpl<FloatAttr> &shares) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        double share;
        if (parser.parseFloat(share) || parser.parseColon())
          return failure();
        Attribute part = parseEncoding(parser, /*isPart=*/true);
        if (!part)
          return failure();
        parts.push_back(part);
        shares.push_back(toFloatAttr(parser.getContext(), share));
        return success();
      });
}

/// `isPart` for a part of a hybrid, which is checked here and not only by the
/// verifier: text that nests hybrids deep would exhaust the stack.
static Attribute parseEncoding(AsmParser &parser, bool isPart) {
  MLIRContext *context = parser.getContext();
  SMLoc location = parser.getCurrentLocation();
  StringRef word;
  if (parser.parseLess() || parser.parseKeyword(&word))
    return {};
  std::optional<PatternKind> kind = symbolizePatternKind(word);
  if (!kind) {
    parser.emitError(location, "unknown sparsity pattern '")
        << word
        << "', expected dense, unstructured, nm, block, channel, banded or "
           "hybrid";
    return {};
  }
  if (isPart && (*kind == PatternKind::Hybrid || *kind == PatternKind::Dense)) {
    parser.emitError(location, "a part of hybrid is neither dense nor hybrid, "
                               "got ")
        << word << " (C7)";
    return {};
  }
  PatternAxis axis = PatternAxis::Rows;
  SmallVector<int64_t> sizes;
  SmallVector<Attribute> parts;
  SmallVector<FloatAttr> shares;
  switch (*kind) {
  case PatternKind::Dense:
  case PatternKind::Unstructured:
    break;
  case PatternKind::NM:
    sizes.resize(2);
    if (parser.parseEqual() || parseIntegerPair(parser, sizes[0], sizes[1]))
      return {};
    if (succeeded(parser.parseOptionalKeyword("along")) &&
        parseAxis(parser, axis))
      return {};
    break;
  case PatternKind::Block:
    if (parser.parseEqual() ||
        parser.parseDimensionList(sizes, /*allowDynamic=*/false,
                                  /*withTrailingX=*/false))
      return {};
    break;
  case PatternKind::Channel:
    if (parser.parseEqual() || parseAxis(parser, axis))
      return {};
    break;
  case PatternKind::Banded:
    sizes.resize(2);
    if (parser.parseEqual() || parseIntegerPair(parser, sizes[0], sizes[1]))
      return {};
    break;
  case PatternKind::Hybrid:
    if (parser.parseEqual() || parseParts(parser, parts, shares))
      return {};
    break;
  }

  FloatAttr density, kept, fill;
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc keyLocation = parser.getCurrentLocation();
    double value;
    if (parser.parseKeyword(&word) || parser.parseEqual() ||
        parser.parseFloat(value))
      return {};
    FloatAttr *slot = word == "density" ? &density
                      : word == "kept"  ? &kept
                      : word == "fill"  ? &fill
                                        : nullptr;
    if (!slot || *slot) {
      parser.emitError(keyLocation)
          << (slot ? "repeated" : "unknown") << " key '" << word
          << "', expected density, kept or fill";
      return {};
    }
    *slot = toFloatAttr(context, value);
  }
  if (parser.parseGreater())
    return {};
  // getChecked() is a template over the storage, which only the file with the
  // generated definitions knows.
  auto emitError = [&] { return parser.emitError(location); };
  if (failed(EncodingAttr::verify(emitError, *kind, axis, sizes, density, kept,
                                  fill, parts, shares)))
    return {};
  return EncodingAttr::get(context, *kind, axis, sizes, density, kept, fill,
                           parts, shares);
}

Attribute EncodingAttr::parse(AsmParser &parser, Type) {
  return parseEncoding(parser, /*isPart=*/false);
}

/// Prints the shortest decimal that reads back as the same double; MLIR's own
/// form of 0.95 is 0.94999999999999996. Its lexer wants a point in every float.
static void printNumber(AsmPrinter &printer, FloatAttr value) {
  double number = value.getValueAsDouble();
  char text[32];
  char *end = std::to_chars(text, text + sizeof(text), number).ptr;
  StringRef digits(text, end - text);
  auto [mantissa, exponent] = digits.split('e');
  printer << mantissa;
  if (!mantissa.contains('.'))
    printer << ".0";
  if (!exponent.empty())
    printer << "e" << exponent;
}

void EncodingAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyPatternKind(getKind());
  switch (getKind()) {
  case PatternKind::Dense:
  case PatternKind::Unstructured:
    break;
  case PatternKind::NM:
    printer << " = " << getSizes()[0] << ":" << getSizes()[1] << " along "
            << stringifyPatternAxis(getAxis());
    break;
  case PatternKind::Block:
    printer << " = " << getSizes()[0] << "x" << getSizes()[1];
    break;
  case PatternKind::Channel:
    printer << " = " << stringifyPatternAxis(getAxis());
    break;
  case PatternKind::Banded:
    printer << " = " << getSizes()[0] << ":" << getSizes()[1];
    break;
  case PatternKind::Hybrid:
    printer << " = [";
    llvm::interleaveComma(
        llvm::zip_equal(getParts(), getShares()), printer, [&](auto pair) {
          printNumber(printer, std::get<1>(pair));
          printer << " : ";
          cast<EncodingAttr>(std::get<0>(pair)).print(printer);
        });
    printer << "]";
    break;
  }
  std::pair<StringRef, FloatAttr> numbers[] = {{"kept", getKeptAttr()},
                                               {"fill", getFillAttr()},
                                               {"density", getDensityAttr()}};
  for (auto [key, value] : numbers) {
    if (!value)
      continue;
    printer << ", " << key << " = ";
    printNumber(printer, value);
  }
  printer << ">";
}
