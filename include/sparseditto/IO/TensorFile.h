//===- TensorFile.h - Weight files of every accepted format -----*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One interface over .safetensors, .npy, .npz, .mtx and .smtx. Opening reads
// and checks headers only; each tensor's data is read, or mapped, when it is
// loaded, so that a file larger than memory is processed tensor by tensor.
// docs/Inputs.md lists what is accepted and every refusal.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_IO_TENSORFILE_H
#define SPARSEDITTO_IO_TENSORFILE_H

#include "sparseditto/IO/Matrix.h"
#include "sparseditto/Support/ElementType.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sparseditto {

/// Limits and choices of the readers.
struct ReadOptions {
  /// Largest tensor, in bytes, that may be built in memory: sparse text that
  /// becomes dense, a compressed member, a transposed or byte-swapped copy.
  /// Mapped tensors are not limited.
  uint64_t maxDenseBytes = uint64_t(8) << 30;
  /// Seed of the values that a file without values (.smtx) is filled with.
  uint64_t valuesSeed = 20200601;
};

enum class FileFormat : uint8_t { Safetensors, Npy, Npz, MatrixMarket, Smtx };

/// "safetensors", "npy", "npz", "mtx", "smtx".
llvm::StringRef name(FileFormat format);

/// What a file says about one tensor, known without reading its data.
struct TensorInfo {
  std::string name;
  ElementType type = ElementType::F32;
  std::vector<int64_t> shape; ///< As stored; empty for a scalar.
  /// The matrix that load() returns: rank >= 2 is shape[0] x the product of
  /// the rest, rank 1 is 1 x n, rank 0 is 1 x 1.
  int64_t rows = 1, cols = 1;
  /// Not empty if load() refuses this tensor (an element type that is not
  /// supported, ...): the reason. Its type and matrix size mean nothing then.
  std::string unsupported;
  /// True if the file has no values and load() makes them up from a seed.
  bool valuesGenerated = false;
  /// The tensor that load() applies as a mask, or empty. A file that holds
  /// "x_orig" and "x_mask" of one shape, as pruning in PyTorch leaves them,
  /// lists one tensor "x" instead: x_orig where x_mask is 1, zero where it is
  /// 0.
  std::string mask;

  size_t rank() const { return shape.size(); }
  uint64_t numBytes() const {
    return uint64_t(rows) * uint64_t(cols) * byteSize(type);
  }
};

class TensorFile {
public:
  virtual ~TensorFile();
  TensorFile(const TensorFile &) = delete;
  TensorFile &operator=(const TensorFile &) = delete;

  /// Opens a file and checks its headers. The format is told from the content;
  /// the extension decides only where content cannot (.smtx, and a file too
  /// damaged to be recognised). Errors start with the path.
  static llvm::Expected<std::unique_ptr<TensorFile>>
  open(llvm::StringRef path, const ReadOptions &options = {});

  /// The same for bytes in memory; `path` is used in names and messages.
  static llvm::Expected<std::unique_ptr<TensorFile>>
  openBuffer(std::vector<uint8_t> bytes, llvm::StringRef path,
             const ReadOptions &options = {});

  const std::string &path() const { return filePath; }
  FileFormat format() const { return fileFormat; }
  /// In the order of the file's data.
  llvm::ArrayRef<TensorInfo> tensors() const { return listed; }
  /// Index of the tensor called `name`.
  std::optional<size_t> find(llvm::StringRef name) const;
  /// The same as the second half of "FILE#NAME": without a name the file must
  /// hold just one tensor.
  llvm::Expected<size_t> select(llvm::StringRef name) const;
  /// Free-form strings of a safetensors header; empty for other formats.
  const std::map<std::string, std::string> &metadata() const { return extra; }

  /// The tensor as a matrix (see TensorInfo). Zero-copy where the format
  /// allows it: the matrix then refers to the mapped file and keeps it mapped.
  /// Its data is aligned to at least the element size.
  llvm::Expected<Matrix> load(size_t index);

  /// Tells the system that the pages of a mapped tensor are not needed any
  /// more. Matrices loaded from it stay valid: their pages are read again when
  /// touched. Nothing to do for tensors that load() copies.
  void release(size_t index);

protected:
  TensorFile(llvm::StringRef path, FileFormat format,
             const ReadOptions &options)
      : filePath(path), fileFormat(format), options(options) {}

  /// Reads infos[index], which is supported.
  virtual llvm::Expected<Matrix> read(size_t index) = 0;
  /// Drops the pages of infos[index], if it is mapped.
  virtual void dropPages(size_t index) {}

  std::string filePath;
  FileFormat fileFormat;
  ReadOptions options;
  std::vector<TensorInfo> infos; ///< As the file has them.
  std::map<std::string, std::string> extra;

private:
  /// Where a listed tensor comes from.
  struct Source {
    size_t values;
    std::optional<size_t> mask;
  };
  /// Fills `listed` from `infos`, pairing values with their masks.
  void listTensors();
  llvm::Expected<Matrix> readMasked(const TensorInfo &info,
                                    const Source &source);

  std::vector<TensorInfo> listed;
  std::vector<Source> sources; ///< Parallel to listed.
};

} // namespace sparseditto

#endif // SPARSEDITTO_IO_TENSORFILE_H
