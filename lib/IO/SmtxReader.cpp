//===- SmtxReader.cpp - .smtx files ---------------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layout of the Deep Learning Matrix Collection, three lines:
// "rows, columns, nonzeros", rows + 1 row offsets, and one column index for
// each non-zero (an empty line if there are none). There are no values; they
// are made up from a seed.
//
//===----------------------------------------------------------------------===//

#include "TextCursor.h"
#include "llvm/Support/Path.h"
#include <cstring>

using namespace sparseditto;

namespace {
class SmtxFile final : public TensorFile {
public:
  SmtxFile(std::shared_ptr<FileBytes> bytes, const ReadOptions &options)
      : TensorFile(bytes->path(), FileFormat::Smtx, options),
        file(std::move(bytes)), body(filePath, file->text()) {}

  llvm::Error readHeader();

protected:
  llvm::Expected<Matrix> read(size_t index) override;

private:
  std::shared_ptr<FileBytes> file;
  TextCursor body; ///< On the header line, once that is read.
  int64_t nonZeros = 0;
};
} // namespace

llvm::Error SmtxFile::readHeader() {
  body.next();
  llvm::StringRef rest = body.line();
  std::optional<int64_t> counts[3];
  for (std::optional<int64_t> &count : counts)
    count = parseCount(takeToken(rest, ", \t"));
  if (!counts[0] || !counts[1] || !counts[2] || !rest.ltrim(", \t").empty())
    return body.error("got '{0}'; want three counts 'rows, columns, nonzeros'",
                      printable(body.line()));
  TensorInfo info;
  info.name = llvm::sys::path::stem(filePath).str();
  info.type = ElementType::F32;
  info.shape = {*counts[0], *counts[1]};
  info.valuesGenerated = true;
  if (!flattenShape(info))
    return body.error("size of shape {0} overflows", shapeText(info.shape));
  nonZeros = *counts[2];
  if (nonZeros > info.rows * info.cols)
    return body.error("{0} nonzeros do not fit in {1} x {2} elements", nonZeros,
                      info.rows, info.cols);
  infos.push_back(std::move(info));
  return llvm::Error::success();
}

/// A value that depends on nothing but the seed and the element's place: of
/// either sign and magnitude 1/16 to 1, so that no element type rounds it to
/// zero.
static float generatedValue(uint64_t seed, uint64_t place) {
  // SplitMix64's finalizer over the pair.
  uint64_t bits = seed * 0x9e3779b97f4a7c15 + place;
  for (uint64_t multiplier : {0xbf58476d1ce4e5b9, 0x94d049bb133111eb}) {
    bits ^= bits >> 30;
    bits *= multiplier;
  }
  bits ^= bits >> 31;
  float magnitude = 0.0625f + 0.9375f * float(bits >> 41) / float(1 << 23);
  return bits & 1 ? -magnitude : magnitude;
}

llvm::Expected<Matrix> SmtxFile::read(size_t index) {
  const TensorInfo &info = infos[index];
  if (llvm::Error error = file->checkUnchanged())
    return error;
  if (llvm::Error error =
          checkDenseLimit(filePath, info, options, "as a dense matrix"))
    return error;

  TextCursor cursor = body;
  if (!cursor.next())
    return cursor.error("file ends here; want {0} row offsets on the next line",
                        info.rows + 1);
  // Every offset takes a digit and a separator: so much for the allocation.
  if (uint64_t(info.rows) > cursor.line().size() / 2)
    return cursor.error("line is too short for {0} row offsets", info.rows + 1);
  llvm::StringRef rest = cursor.line();
  std::vector<int64_t> offsets;
  offsets.reserve(size_t(info.rows) + 1);
  for (llvm::StringRef token; !(token = takeToken(rest)).empty();) {
    std::optional<int64_t> offset = parseCount(token);
    const int64_t least = offsets.empty() ? 0 : offsets.back();
    if (!offset || *offset < least || *offset > nonZeros)
      return cursor.error("row offset {0} is '{1}'; want a number from {2} to "
                          "{3}",
                          offsets.size(), printable(token), least, nonZeros);
    if (offsets.size() > size_t(info.rows))
      return cursor.error("got more than {0} row offsets", info.rows + 1);
    offsets.push_back(*offset);
  }
  if (offsets.size() != size_t(info.rows) + 1)
    return cursor.error("got {0} row offsets, want {1}", offsets.size(),
                        info.rows + 1);
  if (offsets.front() != 0 || offsets.back() != nonZeros)
    return cursor.error("row offsets run from {0} to {1}; want 0 to {2}",
                        offsets.front(), offsets.back(), nonZeros);

  llvm::Expected<Matrix> matrix = allocateMatrix(filePath, info);
  if (!matrix)
    return matrix;
  // Without non-zeros the third line is empty, or absent.
  rest = cursor.next() ? cursor.line() : llvm::StringRef();
  for (int64_t row = 0; row < info.rows; ++row)
    for (int64_t i = offsets[row]; i < offsets[row + 1]; ++i) {
      llvm::StringRef token = takeToken(rest);
      if (token.empty())
        return cursor.error("got {0} column indices, want {1}", i, nonZeros);
      std::optional<int64_t> column = parseCount(token);
      if (!column || *column >= info.cols)
        return cursor.error("column index {0} (row {1}) is '{2}'; want a "
                            "number from 0 to {3}",
                            i, row, printable(token), info.cols - 1);
      float value = generatedValue(options.valuesSeed,
                                   uint64_t(row * info.cols + *column));
      float *slot = reinterpret_cast<float *>(matrix->mutableData()) +
                    row * info.cols + *column;
      if (*slot != 0)
        return cursor.error("column index {0} repeats column {1} of row {2}", i,
                            *column, row);
      *slot = value;
    }
  if (!takeToken(rest).empty())
    return cursor.error("got more than {0} column indices", nonZeros);
  while (cursor.next())
    if (!cursor.line().trim().empty())
      return cursor.error("got '{0}' after the column indices",
                          printable(cursor.line()));
  return matrix;
}

OpenedFile sparseditto::openSmtx(std::shared_ptr<FileBytes> file,
                                 const ReadOptions &options) {
  auto result = std::make_unique<SmtxFile>(std::move(file), options);
  if (llvm::Error error = result->readHeader())
    return error;
  return result;
}
