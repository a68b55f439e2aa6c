//===- MatrixMarketReader.cpp - .mtx files --------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// "%%MatrixMarket matrix <layout> <field> <symmetry>", comments, a size line,
// then one entry a line. A comment "%%GraphBLAS type <C type>" narrows the
// element type; values must fit it.
//
//===----------------------------------------------------------------------===//

#include "MatrixMarketValue.h"
#include "TextCursor.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Path.h"
#include <cstdlib>
#include <cstring>

using namespace sparseditto;

namespace {

enum class Symmetry { General, Symmetric, Skew };

class MatrixMarketFile final : public TensorFile {
public:
  MatrixMarketFile(std::shared_ptr<FileBytes> bytes, const ReadOptions &options)
      : TensorFile(bytes->path(), FileFormat::MatrixMarket, options),
        file(std::move(bytes)), body(filePath, file->text()) {}

  llvm::Error readHeader();

protected:
  llvm::Expected<Matrix> read(size_t index) override;

private:
  llvm::Error readBanner();
  llvm::Error readTypeComment();
  llvm::Error readSizes();
  llvm::Error readCoordinates(Matrix &matrix, TextCursor &cursor) const;
  llvm::Error readArray(Matrix &matrix, TextCursor &cursor) const;
  llvm::Error parseValue(llvm::StringRef token, const TextCursor &cursor,
                         uint8_t *dst) const;
  llvm::Error mirror(Matrix &matrix, int64_t row, int64_t col,
                     const TextCursor &cursor) const;

  std::shared_ptr<FileBytes> file;
  TextCursor body; ///< On the size line, once that is read.
  bool array = false;
  MatrixMarketField field = MatrixMarketField::Real;
  Symmetry symmetry = Symmetry::General;
  std::optional<ElementType> declaredType;
  int64_t entries = 0; ///< Lines of values that the size line promises.
};

} // namespace

/// Comments and blank lines may stand anywhere after the banner.
static bool isSkipped(llvm::StringRef line) {
  line = line.ltrim();
  return line.empty() || line.starts_with("%");
}

static bool nextContent(TextCursor &cursor) {
  while (cursor.next())
    if (!isSkipped(cursor.line()))
      return true;
  return false;
}

llvm::Error MatrixMarketFile::readBanner() {
  body.next();
  llvm::StringRef rest = body.line();
  rest.consume_front("\xef\xbb\xbf"); // UTF-8 byte order mark
  auto wrong = [&](llvm::StringRef word, llvm::StringRef what,
                   llvm::StringRef want) {
    return body.error("{0} is '{1}'; want {2}", what, printable(word), want);
  };
  llvm::StringRef word = takeToken(rest);
  if (!word.equals_insensitive("%%MatrixMarket"))
    return body.error("got '{0}'; want a banner '%%MatrixMarket matrix ...' on "
                      "the first line",
                      printable(body.line()));
  word = takeToken(rest);
  if (!word.equals_insensitive("matrix"))
    return wrong(word, "object", "matrix");
  word = takeToken(rest);
  array = word.equals_insensitive("array");
  if (!array && !word.equals_insensitive("coordinate"))
    return wrong(word, "layout", "coordinate or array");

  word = takeToken(rest);
  std::optional<MatrixMarketField> parsedField =
      llvm::StringSwitch<std::optional<MatrixMarketField>>(word)
          .CaseLower("real", MatrixMarketField::Real)
          .CaseLower("double", MatrixMarketField::Real)
          .CaseLower("integer", MatrixMarketField::Integer)
          .CaseLower("pattern", MatrixMarketField::Pattern)
          .Default(std::nullopt);
  if (!parsedField)
    return wrong(word, "field",
                 word.equals_insensitive("complex")
                     ? "real, integer or pattern: complex weights are not "
                       "supported"
                     : "real, integer or pattern");
  field = *parsedField;

  word = takeToken(rest);
  std::optional<Symmetry> parsedSymmetry =
      llvm::StringSwitch<std::optional<Symmetry>>(word)
          .CaseLower("general", Symmetry::General)
          .CaseLower("symmetric", Symmetry::Symmetric)
          .CaseLower("skew-symmetric", Symmetry::Skew)
          .Default(std::nullopt);
  if (!parsedSymmetry)
    return wrong(word, "symmetry",
                 word.equals_insensitive("hermitian")
                     ? "general, symmetric or skew-symmetric: hermitian is for "
                       "complex values"
                     : "general, symmetric or skew-symmetric");
  symmetry = *parsedSymmetry;
  if (!takeToken(rest).empty())
    return body.error("got '{0}' after the banner's five words",
                      printable(rest.empty() ? body.line() : rest));
  if (field == MatrixMarketField::Pattern &&
      (array || symmetry == Symmetry::Skew))
    return body.error("pattern cannot be combined with {0}: there are no "
                      "values",
                      array ? "array" : "skew-symmetric");
  return llvm::Error::success();
}

llvm::Error MatrixMarketFile::readTypeComment() {
  llvm::StringRef rest = body.line();
  if (takeToken(rest) != "%%GraphBLAS" || takeToken(rest) != "type")
    return llvm::Error::success();
  llvm::StringRef text = rest.trim();
  std::optional<ElementType> type =
      llvm::StringSwitch<std::optional<ElementType>>(text)
          .Case("bool", ElementType::Bool)
          .Case("int8_t", ElementType::I8)
          .Case("int16_t", ElementType::I16)
          .Case("int32_t", ElementType::I32)
          .Case("int64_t", ElementType::I64)
          .Case("uint8_t", ElementType::U8)
          .Case("uint16_t", ElementType::U16)
          .Case("uint32_t", ElementType::U32)
          .Case("uint64_t", ElementType::U64)
          .Case("float", ElementType::F32)
          .Case("double", ElementType::F64)
          .Default(std::nullopt);
  if (!type)
    return body.error("GraphBLAS type is '{0}'; want bool, int8_t to int64_t, "
                      "uint8_t to uint64_t, float or double",
                      printable(text));
  if (declaredType)
    return body.error("second GraphBLAS type");
  declaredType = type;
  return llvm::Error::success();
}

llvm::Error MatrixMarketFile::readSizes() {
  llvm::StringRef rest = body.line();
  std::optional<int64_t> rows = parseCount(takeToken(rest));
  std::optional<int64_t> cols = parseCount(takeToken(rest));
  std::optional<int64_t> count = array ? 0 : parseCount(takeToken(rest));
  if (!rows || !cols || !count || !rest.trim().empty())
    return body.error("size line is '{0}'; want {1}", printable(body.line()),
                      array ? "'rows columns'" : "'rows columns entries'");
  TensorInfo info;
  info.name = llvm::sys::path::stem(filePath).str();
  info.type = declaredType ? *declaredType : defaultType(field);
  info.shape = {*rows, *cols};
  if (!flattenShape(info))
    return body.error("size of shape {0} overflows", shapeText(info.shape));
  if (symmetry != Symmetry::General && *rows != *cols)
    return body.error("a {0} matrix is square; got {1} x {2}",
                      symmetry == Symmetry::Skew ? "skew-symmetric"
                                                 : "symmetric",
                      *rows, *cols);
  if (symmetry == Symmetry::Skew && !isSigned(info.type))
    return body.error("a skew-symmetric matrix has negative values, which {0} "
                      "does not hold",
                      name(info.type));
  // Half of n * n, without or with the diagonal; n * n does not overflow.
  int64_t most = info.rows * info.cols;
  if (symmetry == Symmetry::Symmetric)
    most = (most - info.rows) / 2 + info.rows;
  else if (symmetry == Symmetry::Skew)
    most = (most - info.rows) / 2;
  if (*count > most)
    return body.error("got {0} entries; {1} x {2} has room for {3}", *count,
                      *rows, *cols, most);
  entries = array ? most : *count;
  infos.push_back(std::move(info));
  return llvm::Error::success();
}

llvm::Error MatrixMarketFile::readHeader() {
  if (llvm::Error error = readBanner())
    return error;
  while (body.next()) {
    if (!isSkipped(body.line()))
      return readSizes();
    if (llvm::Error error = readTypeComment())
      return error;
  }
  return body.error("file ends before its size line");
}

llvm::Error MatrixMarketFile::parseValue(llvm::StringRef token,
                                         const TextCursor &cursor,
                                         uint8_t *dst) const {
  const ElementType type = infos[0].type;
  switch (parseMatrixMarketValue(token, field, type, dst)) {
  case ValueStatus::Ok:
    return llvm::Error::success();
  case ValueStatus::NotANumber:
    return cursor.error("value is '{0}'; want {1}", printable(token),
                        field == MatrixMarketField::Integer ? "an integer"
                                                            : "a number");
  case ValueStatus::OutOfRange:
    return cursor.error("value '{0}' does not fit in {1}", printable(token),
                        name(type));
  }
  llvm_unreachable("unknown status");
}

/// Copies element (row, col) to (col, row), negated in a skew matrix.
llvm::Error MatrixMarketFile::mirror(Matrix &matrix, int64_t row, int64_t col,
                                     const TextCursor &cursor) const {
  const uint8_t *src = matrix.at(row, col);
  uint8_t *dst = const_cast<uint8_t *>(matrix.at(col, row));
  if (symmetry == Symmetry::Symmetric)
    std::memcpy(dst, src, byteSize(matrix.type));
  else if (!negateValue(matrix.type, src, dst))
    return cursor.error("the negative of entry ({0}, {1}) does not fit in {2}",
                        row + 1, col + 1, name(matrix.type));
  return llvm::Error::success();
}

llvm::Error MatrixMarketFile::readCoordinates(Matrix &matrix,
                                              TextCursor &cursor) const {
  // Zeros may be stored, so the matrix itself cannot tell a repeated entry.
  std::unique_ptr<uint8_t, decltype(&std::free)> seen(
      static_cast<uint8_t *>(
          std::calloc(size_t(matrix.numElements()) / 8 + 1, 1)),
      std::free);
  if (!seen)
    return readErrorV(filePath, "cannot allocate {0} bytes",
                      matrix.numElements() / 8 + 1);
  auto mark = [&](int64_t row, int64_t col) {
    const uint64_t place = uint64_t(row) * uint64_t(matrix.cols) + col;
    uint8_t &byte = seen.get()[place / 8];
    const uint8_t bit = uint8_t(1u << (place % 8));
    const bool fresh = !(byte & bit);
    byte |= bit;
    return fresh;
  };

  for (int64_t i = 0; i < entries; ++i) {
    if (!nextContent(cursor))
      return cursor.error("file ends after {0} entries; want {1}", i, entries);
    llvm::StringRef rest = cursor.line();
    int64_t place[2];
    for (int axis = 0; axis < 2; ++axis) {
      llvm::StringRef token = takeToken(rest);
      const int64_t size = axis == 0 ? matrix.rows : matrix.cols;
      std::optional<int64_t> index = parseCount(token);
      if (!index || *index < 1 || *index > size)
        return cursor.error("{0} index is '{1}'; want a number from 1 to {2}",
                            axis == 0 ? "row" : "column", printable(token),
                            size);
      place[axis] = *index - 1;
    }
    auto [row, col] = place;
    if (symmetry == Symmetry::Skew && row == col)
      return cursor.error("entry ({0}, {0}) is on the diagonal, which is zero "
                          "in a skew-symmetric matrix",
                          row + 1);
    if (!mark(row, col) ||
        (symmetry != Symmetry::General && row != col && !mark(col, row)))
      return cursor.error("entry ({0}, {1}) occurs twice", row + 1, col + 1);

    uint8_t *dst = const_cast<uint8_t *>(matrix.at(row, col));
    if (field == MatrixMarketField::Pattern)
      storeFromDouble(matrix.type, 1, dst);
    else if (llvm::Error error = parseValue(takeToken(rest), cursor, dst))
      return error;
    if (!rest.trim().empty())
      return cursor.error("got '{0}' after the entry", printable(rest.trim()));
    if (symmetry != Symmetry::General && row != col)
      if (llvm::Error error = mirror(matrix, row, col, cursor))
        return error;
  }
  return llvm::Error::success();
}

/// Column by column; of a symmetric matrix the lower triangle, of a skew one
/// that without the diagonal.
llvm::Error MatrixMarketFile::readArray(Matrix &matrix,
                                        TextCursor &cursor) const {
  int64_t done = 0;
  for (int64_t col = 0; col < matrix.cols; ++col) {
    const int64_t first = symmetry == Symmetry::General     ? 0
                          : symmetry == Symmetry::Symmetric ? col
                                                            : col + 1;
    for (int64_t row = first; row < matrix.rows; ++row, ++done) {
      if (!nextContent(cursor))
        return cursor.error("file ends after {0} values; want {1}", done,
                            entries);
      llvm::StringRef rest = cursor.line();
      if (llvm::Error error =
              parseValue(takeToken(rest), cursor,
                         const_cast<uint8_t *>(matrix.at(row, col))))
        return error;
      if (!rest.trim().empty())
        return cursor.error("got '{0}' after the value",
                            printable(rest.trim()));
      if (symmetry != Symmetry::General && row != col)
        if (llvm::Error error = mirror(matrix, row, col, cursor))
          return error;
    }
  }
  return llvm::Error::success();
}

llvm::Expected<Matrix> MatrixMarketFile::read(size_t index) {
  if (llvm::Error error = file->checkUnchanged())
    return error;
  if (llvm::Error error =
          checkDenseLimit(filePath, infos[index], options, "as a dense matrix"))
    return error;
  llvm::Expected<Matrix> matrix = allocateMatrix(filePath, infos[index]);
  if (!matrix)
    return matrix;
  TextCursor cursor = body;
  if (llvm::Error error =
          array ? readArray(*matrix, cursor) : readCoordinates(*matrix, cursor))
    return error;
  if (nextContent(cursor))
    return cursor.error("got '{0}' after the last of {1} entries",
                        printable(cursor.line()), entries);
  return matrix;
}

OpenedFile sparseditto::openMatrixMarket(std::shared_ptr<FileBytes> file,
                                         const ReadOptions &options) {
  auto result = std::make_unique<MatrixMarketFile>(std::move(file), options);
  if (llvm::Error error = result->readHeader())
    return error;
  return result;
}
