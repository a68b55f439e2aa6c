//===- FuzzPackage.cpp - The package reader on arbitrary files ------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The input is manifest.json up to the first zero byte, and then
// weights.safetensors. They are written into a folder in memory beside kernel
// files that do not change. Beside what the sanitizers see, an error must be
// one printable line, a package holds no more than its files do, and one that
// was accepted must survive being written and read again.
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "Mutators.h"
#include "sparseditto/Runtime/Package.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/xxhash.h"
#include <fcntl.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

using namespace sparseditto;
using namespace sparseditto::fuzz;
namespace fs = llvm::sys::fs;

namespace {
/// A package directory whose two changing files stay open.
class Folder {
public:
  Folder() {
    const char *memory = fs::is_directory("/dev/shm") ? "/dev/shm" : "/tmp";
    root =
        std::string(memory) + "/sparseditto-fuzz-" + std::to_string(getpid());
    check(!fs::create_directories(path() + "/kernels"), "a folder in memory");
    for (const char *name : {"a.ptx", "a.cubin", "a.mlir"})
      write(::open((path() + "/kernels/" + name).c_str(), flags, 0600), name);
    // Whoever opens this one waits for ever.
    check(::mkfifo((path() + "/kernels/pipe").c_str(), 0600) == 0, "a pipe");
    manifest = ::open((path() + "/manifest.json").c_str(), flags, 0600);
    weights = ::open((path() + "/weights.safetensors").c_str(), flags, 0600);
  }
  ~Folder() { fs::remove_directories(root); }

  void fill(llvm::StringRef manifestText, llvm::StringRef weightBytes) {
    write(manifest, manifestText);
    write(weights, weightBytes);
  }
  std::string path() const { return root + "/package"; }
  std::string copy() const { return root + "/copy"; }

private:
  static constexpr int flags = O_RDWR | O_CREAT | O_CLOEXEC;
  static void write(int file, llvm::StringRef bytes) {
    check(::ftruncate(file, 0) == 0 &&
              ::pwrite(file, bytes.data(), bytes.size(), 0) ==
                  ssize_t(bytes.size()),
          "memory for the input");
  }
  std::string root;
  int manifest, weights;
};
} // namespace

static std::string contents(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  check(bool(buffer), "a written package is complete");
  return (*buffer)->getBuffer().str();
}

/// Writes the package, reads that and writes it again.
static void checkRoundTrip(const Package &package, const Folder &folder) {
  std::set<std::string> names;
  for (const PackageLayer &layer : package.layers)
    for (const KernelManifest &kernel : layer.kernels)
      for (const std::string *file :
           {&kernel.ptxFile, &kernel.cubinFile, &kernel.mlirFile})
        if (!file->empty())
          names.insert(*file);
  std::vector<std::pair<std::string, std::string>> files;
  for (const std::string &name : names) {
    auto text = readPackageFile(package, name);
    check(bool(text), "the files of a package can be read");
    files.emplace_back(name, *text);
  }
  std::string texts[2], weights[2];
  Package current = package;
  for (int i = 0; i < 2; ++i) {
    if (llvm::Error error = writePackage(current, files, folder.copy())) {
      // A name such as "manifest.json" for a kernel is refused here.
      checkError(std::move(error));
      return;
    }
    auto again = readPackage(folder.copy());
    check(bool(again), "a written package is accepted");
    texts[i] = contents(folder.copy() + "/manifest.json");
    weights[i] = contents(folder.copy() + "/weights.safetensors");
    current = std::move(*again);
  }
  check(texts[0] == texts[1] && weights[0] == weights[1],
        "writing again changes nothing");
}

static void checkPackage(const Package &package, size_t weightBytes) {
  check(!llvm::errorToBool(verifyPackage(package)),
        "a package that was read holds");
  size_t held = 0;
  for (const PackageLayer &layer : package.layers) {
    held += layer.weight.bytes().size();
    for (const PackedWeight &packed : layer.packed)
      held += packed.numBytes();
    for (const KernelManifest &kernel : layer.kernels)
      check(bool(findPacked(layer, kernel)), "a kernel has its weight");
  }
  check(held <= weightBytes, "a package is no larger than its files");
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maxSize, unsigned seed) {
  auto *zero = static_cast<uint8_t *>(std::memchr(data, 0, size));
  if (!zero || seed % 4 == 0)
    return mutateJSON(data, size, maxSize, seed);
  const std::vector<uint8_t> weights(zero, data + size);
  const size_t length =
      mutateJSON(data, size_t(zero - data), maxSize - weights.size(), seed);
  std::memcpy(data + length, weights.data(), weights.size());
  return length + weights.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static Folder folder;
  auto [manifest, weights] =
      llvm::StringRef(reinterpret_cast<const char *>(data), size).split('\0');
  folder.fill(manifest, weights);
  llvm::Expected<Package> package = readPackage(folder.path());
  if (!package) {
    checkError(package.takeError(), folder.path());
    return 0;
  }
  checkPackage(*package, weights.size());
  for (const PackageLayer &layer : package->layers)
    check(bool(readPackage(folder.path(), layer.name)),
          "a layer can be read alone");
  // A dozen system calls a file: not for each.
  if (llvm::xxh3_64bits(llvm::ArrayRef(data, size)) % 4 == 0)
    checkRoundTrip(*package, folder);
  return 0;
}
