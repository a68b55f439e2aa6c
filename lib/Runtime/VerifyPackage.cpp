//===- VerifyPackage.cpp - Whether a package's parts fit ------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/Package.h"
#include "sparseditto/Support/Printable.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <map>

using namespace sparseditto;
namespace json = llvm::json;

static llvm::Error fail(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

static std::string quote(const PackageLayer &layer) {
  return "layer '" + printable(layer.name) + "'";
}

/// Bytes of a buffer, or none on a negative side or overflow.
static std::optional<uint64_t> byteCount(llvm::ArrayRef<int64_t> shape,
                                         ElementType type) {
  uint64_t bytes = byteSize(type);
  for (int64_t side : shape) {
    if (side < 0 || __builtin_mul_overflow(bytes, uint64_t(side), &bytes))
      return std::nullopt;
  }
  return bytes;
}

static llvm::Error verifyPacked(const PackageLayer &layer,
                                const PackedWeight &packed) {
  std::string where =
      quote(layer) + ": packed format '" + printable(packed.format) + "'";
  if (!isPlainName(packed.format) || packed.version < 1)
    return fail(where + " v" + llvm::Twine(packed.version) +
                " is not 1 to 256 letters, digits and \"_-.\" and a version of "
                "at least 1");
  if (packed.m != layer.problem.m || packed.k != layer.problem.k)
    return fail(where + " is " + llvm::Twine(packed.m) + " x " +
                llvm::Twine(packed.k) + ", the layer is " +
                llvm::Twine(layer.problem.m) + " x " +
                llvm::Twine(layer.problem.k));
  llvm::StringSet<> names;
  for (const PackedBuffer &buffer : packed.buffers) {
    if (!isPlainName(buffer.name) || !names.insert(buffer.name).second)
      return fail(
          where + ": buffer name '" + printable(buffer.name) +
          "' is not 1 to 256 letters, digits and \"_-.\", or used twice");
    std::optional<uint64_t> bytes = byteCount(buffer.shape, buffer.type);
    if (!bytes || *bytes != buffer.bytes.size())
      return fail(
          where + ": buffer '" + buffer.name + "' holds " +
          llvm::Twine(uint64_t(buffer.bytes.size())) +
          " bytes, its shape and type " +
          (bytes ? "need " + llvm::Twine(*bytes) : llvm::Twine("overflow")));
  }
  return llvm::Error::success();
}

llvm::Expected<const PackedWeight *>
sparseditto::findPacked(const PackageLayer &layer,
                        const KernelManifest &kernel) {
  std::string what = "kernel '" + kernel.symbol + "' of " + quote(layer) +
                     " reads format '" + kernel.format + "' v" +
                     std::to_string(kernel.formatVersion);
  auto matches = [&](const PackedWeight &packed) {
    return packed.format == kernel.format &&
           packed.version == kernel.formatVersion;
  };
  if (kernel.packedIndex >= 0) {
    if (size_t(kernel.packedIndex) >= layer.packed.size())
      return fail(what + " as packed weight " +
                  llvm::Twine(kernel.packedIndex) + " of " +
                  llvm::Twine(uint64_t(layer.packed.size())));
    const PackedWeight &packed = layer.packed[size_t(kernel.packedIndex)];
    if (!matches(packed))
      return fail(what + ", packed weight " + llvm::Twine(kernel.packedIndex) +
                  " is '" + packed.format + "' v" +
                  llvm::Twine(packed.version));
    return &packed;
  }
  const PackedWeight *found = nullptr;
  for (const PackedWeight &packed : layer.packed)
    if (matches(packed)) {
      if (found)
        return fail(what + ", which the layer has more than once");
      found = &packed;
    }
  if (!found)
    return fail(what + ", which the layer does not have");
  return found;
}

static llvm::Error verifyKernel(const PackageLayer &layer,
                                const KernelManifest &kernel) {
  if (llvm::Error error = kernel.verify())
    return error;
  const Problem &problem = kernel.problem;
  if (problem.m != layer.problem.m || problem.k != layer.problem.k ||
      problem.type != layer.problem.type)
    return fail("kernel '" + kernel.symbol + "' is for " +
                llvm::Twine(problem.m) + " x " + llvm::Twine(problem.k) + " " +
                name(problem.type) + ", " + quote(layer) + " is " +
                llvm::Twine(layer.problem.m) + " x " +
                llvm::Twine(layer.problem.k) + " " + name(layer.problem.type));
  llvm::Expected<const PackedWeight *> packed = findPacked(layer, kernel);
  if (!packed)
    return packed.takeError();
  for (const KernelArg &arg : kernel.args) {
    if (arg.kind != ArgKind::Packed)
      continue;
    const PackedBuffer *buffer = (*packed)->find(arg.name);
    if (!buffer || buffer->type != arg.type)
      return fail("kernel '" + kernel.symbol + "' reads buffer '" + arg.name +
                  "' of " + name(arg.type) + ", format '" + kernel.format +
                  "' of " + quote(layer) + " has " +
                  (buffer ? name(buffer->type) : "no such buffer"));
  }
  return llvm::Error::success();
}

/// Kernels of a layer by symbol and chip.
using KernelsByName = llvm::StringMap<const KernelManifest *>;

static std::string kernelKey(const std::string &symbol,
                             const std::string &chip) {
  return symbol + "@" + chip;
}

static llvm::Error verifyPlan(const PackageLayer &layer,
                              const KernelsByName &kernels) {
  // The last N served so far, by chip; -1 once a range is open-ended.
  std::map<std::string, int64_t> served;
  for (const PlanEntry &entry : layer.plan) {
    if (!isPlainName(entry.chip))
      return fail("plan of " + quote(layer) + ": chip '" +
                  printable(entry.chip) +
                  "' is not 1 to 256 letters, digits and \"_-.\"");
    std::string where = "plan of " + quote(layer) + " on " + entry.chip + ": ";
    auto [it, first] = served.try_emplace(entry.chip, 0);
    int64_t next = it->second < 0 ? -1 : it->second + 1;
    if (entry.nMin != next || entry.nMax < 0 ||
        (entry.nMax != 0 && entry.nMax < entry.nMin))
      return fail(where + "entry for N in [" + llvm::Twine(entry.nMin) + ", " +
                  llvm::Twine(entry.nMax) + "] does not follow N = " +
                  llvm::Twine(next < 0 ? int64_t(-1) : next - 1));
    it->second = entry.nMax == 0 ? -1 : entry.nMax;
    if (entry.useLibrary)
      continue;
    const KernelManifest *kernel =
        kernels.lookup(kernelKey(entry.symbol, entry.chip));
    if (!kernel)
      return fail(where + "kernel '" + printable(entry.symbol) +
                  "' is not in the layer");
    if (entry.nMin < kernel->nMin ||
        (kernel->nMax != 0 && (entry.nMax == 0 || entry.nMax > kernel->nMax)))
      return fail(where + "kernel '" + entry.symbol + "' serves N in [" +
                  llvm::Twine(kernel->nMin) + ", " + llvm::Twine(kernel->nMax) +
                  "], the entry asks for [" + llvm::Twine(entry.nMin) + ", " +
                  llvm::Twine(entry.nMax) + "]");
  }
  for (const auto &[chip, last] : served)
    if (last >= 0)
      return fail("plan of " + quote(layer) + " on " + chip +
                  ": nothing serves N > " + llvm::Twine(last));
  return llvm::Error::success();
}

llvm::Error sparseditto::verifyPackage(const Package &package) {
  llvm::StringSet<> names;
  for (const PackageLayer &layer : package.layers) {
    if (layer.name.empty() || layer.name.size() > 4096 ||
        !json::isUTF8(layer.name) || !names.insert(layer.name).second)
      return fail("layer name '" + printable(layer.name) +
                  "' is empty, too long, not UTF-8 or used twice");
    const Problem &problem = layer.problem;
    if (layer.weight.rows != problem.m || layer.weight.cols != problem.k ||
        layer.weight.type != problem.type || problem.m < 1 || problem.k < 1)
      return fail(quote(layer) + ": weight is " +
                  llvm::Twine(layer.weight.rows) + " x " +
                  llvm::Twine(layer.weight.cols) + " " +
                  name(layer.weight.type) + ", the problem is " +
                  llvm::Twine(problem.m) + " x " + llvm::Twine(problem.k) +
                  " " + name(problem.type));
    for (const PackedWeight &packed : layer.packed)
      if (llvm::Error error = verifyPacked(layer, packed))
        return error;
    KernelsByName kernels;
    for (const KernelManifest &kernel : layer.kernels) {
      if (llvm::Error error = verifyKernel(layer, kernel))
        return error;
      if (!kernels.try_emplace(kernelKey(kernel.symbol, kernel.chip), &kernel)
               .second)
        return fail(quote(layer) + ": kernel '" + kernel.symbol +
                    "' is given twice for " + kernel.chip);
    }
    if (llvm::Error error = verifyPlan(layer, kernels))
      return error;
  }
  return llvm::Error::success();
}
