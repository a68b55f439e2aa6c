//===- CudaLibraries.cpp - Where the toolkit's libraries are --------------===//
//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/CudaLibraries.h"
#include <cstdlib>
#include <glob.h>

using namespace sparseditto;

static void addMatches(const std::string &pattern,
                       std::vector<std::string> &names) {
  glob_t matches = {};
  if (glob(pattern.c_str(), 0, nullptr, &matches) == 0)
    for (size_t i = 0; i < matches.gl_pathc; ++i)
      names.push_back(matches.gl_pathv[i]);
  globfree(&matches);
}

std::vector<std::string>
sparseditto::cudaLibraryNames(llvm::StringRef stem,
                              llvm::ArrayRef<int> majors) {
  std::vector<std::string> names;
  auto environment = [](const char *name) {
    const char *value = std::getenv(name);
    return std::string(value ? value : "");
  };
  for (int major : majors) {
    std::string file = "lib" + stem.str() + ".so." + std::to_string(major);
    for (const char *variable : {"CUDA_HOME", "CUDA_PATH"}) {
      std::string root = environment(variable);
      if (!root.empty())
        for (const char *folder : {"/lib64/", "/lib/"})
          addMatches(root + folder + file, names);
    }
    names.push_back(file);
    addMatches("/usr/local/cuda/lib64/" + file, names);
    std::vector<std::string> prefixes = {"/usr/local/lib", "/usr/lib"};
    for (const char *variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
      if (std::string root = environment(variable); !root.empty())
        prefixes.insert(prefixes.begin(), root + "/lib");
    if (std::string home = environment("HOME"); !home.empty())
      prefixes.push_back(home + "/.local/lib");
    for (const std::string &prefix : prefixes)
      for (const char *folder :
           {"/python3*/site-packages/", "/python3*/dist-packages/",
            "/python3/dist-packages/"}) {
        addMatches(prefix + folder + "nvidia/*/lib/" + file, names);
        addMatches(prefix + folder + "*/lib/" + file, names);
      }
  }
  return names;
}
