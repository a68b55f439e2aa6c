//===- Diagnostics.h - MLIR diagnostics as errors ---------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_TARGET_DIAGNOSTICS_H
#define SPARSEDITTO_LIB_TARGET_DIAGNOSTICS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/Threading.h"
#include <string>

namespace sparseditto {

/// Collects the errors that MLIR reports on this thread while it lives; other
/// diagnostics go on to the handlers below.
class ErrorCollector {
public:
  explicit ErrorCollector(mlir::MLIRContext *context)
      : handler(context, [this, thread = llvm::get_threadid()](
                             mlir::Diagnostic &diagnostic) {
          if (llvm::get_threadid() != thread ||
              diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error)
            return mlir::failure();
          llvm::raw_string_ostream os(text);
          if (!text.empty())
            os << "; ";
          mlir::Location location = diagnostic.getLocation();
          // The spelling of compilers, which tools and authors know.
          if (auto place = mlir::dyn_cast<mlir::FileLineColLoc>(location))
            os << place.getFilename().getValue() << ":" << place.getLine()
               << ":" << place.getColumn() << ": ";
          else if (!mlir::isa<mlir::UnknownLoc>(location))
            os << location << ": ";
          os << diagnostic.str();
          return mlir::success();
        }) {}

  /// "<what> failed" with what was reported.
  llvm::Error error(const llvm::Twine &what) const {
    return llvm::createStringError(text.empty() ? what + " failed"
                                                : what + " failed: " + text);
  }

private:
  std::string text;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_TARGET_DIAGNOSTICS_H
