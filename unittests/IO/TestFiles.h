//===- TestFiles.h - Files for the reader tests -----------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_UNITTESTS_IO_TESTFILES_H
#define SPARSEDITTO_UNITTESTS_IO_TESTFILES_H

#include "sparseditto/IO/TensorFile.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <string>

namespace sparseditto::test {

/// A directory that is removed with everything in it.
class TempDir {
public:
  TempDir() {
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("sparseditto-io", dir));
  }
  ~TempDir() { llvm::sys::fs::remove_directories(dir); }

  std::string path(llvm::StringRef name) const {
    llvm::SmallString<128> result(dir);
    llvm::sys::path::append(result, name);
    return result.str().str();
  }
  /// Writes a file and returns its path.
  std::string write(llvm::StringRef name, llvm::StringRef content) const {
    std::string file = path(name);
    std::error_code error;
    llvm::raw_fd_ostream os(file, error);
    EXPECT_FALSE(error) << error.message();
    os << content;
    return file;
  }

private:
  llvm::SmallString<128> dir;
};

/// A file of the real test data, or an empty string where there is none:
/// $SPARSEDITTO_TEST_DATA, by default beside the source tree.
inline std::string realData(llvm::StringRef relative) {
  const char *variable = std::getenv("SPARSEDITTO_TEST_DATA");
  llvm::SmallString<128> file(variable ? variable
                                       : SPARSEDITTO_DEFAULT_TEST_DATA);
  llvm::sys::path::append(file, relative);
  return llvm::sys::fs::exists(file) ? file.str().str() : std::string();
}

#define REQUIRE_REAL_DATA(variable, relative)                                  \
  const std::string variable = ::sparseditto::test::realData(relative);        \
  if (variable.empty())                                                        \
  GTEST_SKIP() << "no test data: " << relative

/// What opening the file, or loading all of its tensors, says: the message of
/// the first error, or "" if there is none.
inline std::string errorOf(llvm::Expected<std::unique_ptr<TensorFile>> file) {
  if (!file)
    return llvm::toString(file.takeError());
  for (size_t i = 0; i < (*file)->tensors().size(); ++i) {
    llvm::Expected<Matrix> matrix = (*file)->load(i);
    if (!matrix)
      return llvm::toString(matrix.takeError());
  }
  return "";
}

/// The same for bytes in memory under the name "f<extension>".
inline std::string errorOf(llvm::StringRef content, llvm::StringRef extension,
                           const ReadOptions &options = {}) {
  return errorOf(TensorFile::openBuffer(
      std::vector<uint8_t>(content.begin(), content.end()),
      ("f" + extension).str(), options));
}

/// Loads one tensor; an error fails the test and gives an empty matrix.
inline Matrix loadOrFail(TensorFile &file, size_t index) {
  llvm::Expected<Matrix> matrix = file.load(index);
  if (!matrix) {
    ADD_FAILURE() << llvm::toString(matrix.takeError());
    return Matrix();
  }
  return std::move(*matrix);
}

inline std::unique_ptr<TensorFile> openOrFail(llvm::StringRef path,
                                              const ReadOptions &options = {}) {
  auto file = TensorFile::open(path, options);
  if (!file) {
    ADD_FAILURE() << llvm::toString(file.takeError());
    return nullptr;
  }
  return std::move(*file);
}

inline std::unique_ptr<TensorFile>
openBytesOrFail(llvm::StringRef content, llvm::StringRef name,
                const ReadOptions &options = {}) {
  auto file =
      TensorFile::openBuffer({content.begin(), content.end()}, name, options);
  if (!file) {
    ADD_FAILURE() << llvm::toString(file.takeError());
    return nullptr;
  }
  return std::move(*file);
}

inline int64_t countNonZeros(const Matrix &matrix) {
  int64_t count = 0;
  for (int64_t r = 0; r < matrix.rows; ++r)
    for (int64_t c = 0; c < matrix.cols; ++c)
      count += matrix.value(r, c) != 0;
  return count;
}

} // namespace sparseditto::test

#endif // SPARSEDITTO_UNITTESTS_IO_TESTFILES_H
