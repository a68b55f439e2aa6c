//===- ReaderSupport.h - What all readers share -----------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Error construction, checked sizes, and the entry points of the readers that
// TensorFile::open dispatches to.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_IO_READERSUPPORT_H
#define SPARSEDITTO_LIB_IO_READERSUPPORT_H

#include "FileBytes.h"
#include "sparseditto/IO/TensorFile.h"
#include "sparseditto/Support/Printable.h"
#include "llvm/Support/FormatVariadic.h"
#include <optional>

namespace sparseditto {

/// "<path>: <message>".
inline llvm::Error readError(llvm::StringRef path, const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 path + ": " + message);
}
/// The same with a formatv format string.
template <typename... Ts>
llvm::Error readErrorV(llvm::StringRef path, const char *format,
                       Ts &&...values) {
  return readError(path, llvm::formatv(format, std::forward<Ts>(values)...));
}

/// "[2, 3, 4]".
std::string shapeText(llvm::ArrayRef<int64_t> shape);

/// a * b, or nothing if it exceeds 2^63 - 1.
std::optional<int64_t> checkedProduct(int64_t a, int64_t b);

/// Sets info.rows and info.cols from info.shape (dimensions not negative), or
/// returns false if the number of bytes overflows 2^63 - 1.
bool flattenShape(TensorInfo &info);

/// Fails if building the tensor in memory would exceed the limit. `why` says
/// what needs the memory ("as a dense matrix", "decompressed", ...).
llvm::Error checkDenseLimit(llvm::StringRef path, const TensorInfo &info,
                            const ReadOptions &options, llvm::StringRef why);

/// A matrix over `data` inside `file`, copied only if `data` is not aligned to
/// the element size.
llvm::Expected<Matrix> borrowMatrix(const std::shared_ptr<FileBytes> &file,
                                    const TensorInfo &info,
                                    const uint8_t *data);

/// An owned zero matrix for the tensor.
llvm::Expected<Matrix> allocateMatrix(llvm::StringRef path,
                                      const TensorInfo &info);

using OpenedFile = llvm::Expected<std::unique_ptr<TensorFile>>;
OpenedFile openSafetensors(std::shared_ptr<FileBytes>, const ReadOptions &);
OpenedFile openNpy(std::shared_ptr<FileBytes>, const ReadOptions &);
OpenedFile openNpz(std::shared_ptr<FileBytes>, const ReadOptions &);
OpenedFile openMatrixMarket(std::shared_ptr<FileBytes>, const ReadOptions &);
OpenedFile openSmtx(std::shared_ptr<FileBytes>, const ReadOptions &);

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_IO_READERSUPPORT_H
