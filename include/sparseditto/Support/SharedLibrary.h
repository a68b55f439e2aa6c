//===- SharedLibrary.h - Libraries found at run time ------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_SUPPORT_SHAREDLIBRARY_H
#define SPARSEDITTO_SUPPORT_SHAREDLIBRARY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <utility>

namespace sparseditto {

/// A library opened with dlopen and closed with the object.
class SharedLibrary {
public:
  SharedLibrary() = default;
  SharedLibrary(SharedLibrary &&other) noexcept
      : handle(std::exchange(other.handle, nullptr)),
        name(std::move(other.name)) {}
  SharedLibrary &operator=(SharedLibrary &&other) noexcept;
  ~SharedLibrary();

  /// Tries each path or soname in turn. The error lists what was tried and the
  /// loader's last word.
  static llvm::Expected<SharedLibrary> open(llvm::ArrayRef<std::string> names);

  /// Null if there is no such symbol.
  void *find(const char *symbol) const;
  /// Fills `function`; false if there is no such symbol.
  template <typename F> bool find(const char *symbol, F &function) const {
    function = reinterpret_cast<F>(find(symbol));
    return function != nullptr;
  }
  /// File that was loaded, as the loader knows it.
  llvm::StringRef path() const { return name; }

private:
  void *handle = nullptr;
  std::string name;
};

} // namespace sparseditto

#endif // SPARSEDITTO_SUPPORT_SHAREDLIBRARY_H
