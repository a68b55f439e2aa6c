//===- FileKind.h - Recognise a file by its content -------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_IO_FILEKIND_H
#define SPARSEDITTO_LIB_IO_FILEKIND_H

#include "FileBytes.h"
#include "sparseditto/IO/TensorFile.h"

namespace sparseditto {

/// The reader for this file. Fails with what the file really is and what to do
/// about it if none of the readers takes it.
llvm::Expected<FileFormat> recognizeFormat(const FileBytes &file);

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_IO_FILEKIND_H
