//===- SharedLibrary.cpp - Libraries found at run time --------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Support/SharedLibrary.h"
#include "llvm/ADT/StringExtras.h"
#include <dlfcn.h>
#include <link.h>

using namespace sparseditto;

SharedLibrary &SharedLibrary::operator=(SharedLibrary &&other) noexcept {
  std::swap(handle, other.handle);
  std::swap(name, other.name);
  return *this;
}

SharedLibrary::~SharedLibrary() {
  if (handle)
    dlclose(handle);
}

llvm::Expected<SharedLibrary>
SharedLibrary::open(llvm::ArrayRef<std::string> names) {
  std::string last = "no name to try";
  for (const std::string &candidate : names) {
    SharedLibrary library;
    library.handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library.handle) {
      if (const char *text = dlerror())
        last = text;
      continue;
    }
    library.name = candidate;
    link_map *map = nullptr;
    if (dlinfo(library.handle, RTLD_DI_LINKMAP, &map) == 0 && map &&
        map->l_name && *map->l_name)
      library.name = map->l_name;
    return library;
  }
  std::string tried = names.empty() ? std::string() : llvm::join(names, ", ");
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 "cannot load any of " + tried + ": " + last);
}

void *SharedLibrary::find(const char *symbol) const {
  return handle ? dlsym(handle, symbol) : nullptr;
}
