//===- Review.cpp - Kernels that a person has to look at ------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/Review.h"
#include "sparseditto/Runtime/JSONFile.h"
#include "sparseditto/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"

using namespace sparseditto;
namespace json = llvm::json;

static constexpr uint64_t maxManifestBytes = uint64_t(256) << 20;
static constexpr size_t maxNameBytes = 200;

llvm::StringRef sparseditto::name(Review review) {
  switch (review) {
  case Review::NotNeeded:
    return "not_needed";
  case Review::Unreviewed:
    return "unreviewed";
  case Review::Approved:
    return "approved";
  case Review::Changed:
    return "changed";
  }
  llvm_unreachable("unknown review");
}

llvm::Expected<std::string>
sparseditto::reviewHash(const Package &package, const KernelManifest &kernel) {
  llvm::SHA256 hash;
  const std::string noDiff;
  for (const std::string *file :
       {&kernel.mlirFile, &kernel.ptxFile, &kernel.cubinFile,
        kernel.custom ? &kernel.custom->diffFile : &noDiff}) {
    auto text = readPackageFile(package, *file);
    if (!text)
      return text.takeError();
    // Lengths first: no byte can move from one file to the next.
    hash.update(std::to_string(text->size()) + ":");
    hash.update(*text);
  }
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

llvm::Expected<Review> sparseditto::reviewOf(const Package &package,
                                             const KernelManifest &kernel) {
  if (kernel.strategy.family != customFamily)
    return Review::NotNeeded;
  if (kernel.isUnreviewed())
    return Review::Unreviewed;
  auto hash = reviewHash(package, kernel);
  if (!hash)
    return hash.takeError();
  return *hash == kernel.custom->approvedHash ? Review::Approved
                                              : Review::Changed;
}

llvm::Error sparseditto::unreviewedError(const KernelManifest &kernel) {
  return makeError(
      "kernel '{0}' is unreviewed: an agent wrote it and no person "
      "approved it (sd-tune approve)",
      kernel.symbol);
}

llvm::Error sparseditto::checkReviewed(const Package &package) {
  for (const PackageLayer &layer : package.layers)
    for (const KernelManifest &kernel : layer.kernels) {
      auto review = reviewOf(package, kernel);
      if (!review)
        return review.takeError();
      if (*review == Review::Unreviewed)
        return unreviewedError(kernel);
      if (*review == Review::Changed)
        return makeError("kernel '{0}' has changed since {1} approved it "
                         "(sd-tune approve)",
                         kernel.symbol, kernel.custom->approvedBy);
    }
  return llvm::Error::success();
}

llvm::Expected<unsigned> sparseditto::approveKernel(llvm::StringRef directory,
                                                    llvm::StringRef symbol,
                                                    llvm::StringRef by) {
  if (by.trim().empty() || by.size() > maxNameBytes || !json::isUTF8(by) ||
      llvm::any_of(by, [](char c) { return uint8_t(c) < ' ' || c == 127; }))
    return makeError("the name of who approves is empty, longer than {0} bytes "
                     "or not printable",
                     maxNameBytes);
  llvm::SmallString<256> path(directory);
  llvm::sys::path::append(path, "manifest.json");
  auto manifest = readJSONFile(path, maxManifestBytes);
  if (!manifest)
    return manifest.takeError();
  Package package;
  package.directory = directory.str();
  unsigned approved = 0;
  // The JSON itself is edited: what this version does not know of stays.
  json::Object *object = manifest->getAsObject();
  json::Array *layers = object ? object->getArray("layers") : nullptr;
  if (!layers)
    return makeError("{0}: no layers, so not a package", path);
  for (json::Value &layer : *layers) {
    json::Object *fields = layer.getAsObject();
    json::Array *kernels = fields ? fields->getArray("kernels") : nullptr;
    if (!kernels)
      return makeError("{0}: a layer has no kernels", path);
    for (json::Value &value : *kernels) {
      auto kernel = KernelManifest::fromJSON(value);
      if (!kernel)
        return makeError("{0}: {1}", path, llvm::toString(kernel.takeError()));
      if (kernel->symbol != symbol)
        continue;
      if (!kernel->custom)
        return makeError("kernel '{0}' needs no approval: no agent wrote it",
                         symbol);
      auto hash = reviewHash(package, *kernel);
      if (!hash)
        return hash.takeError();
      kernel->custom->approvedBy = by.str();
      kernel->custom->approvedHash = std::move(*hash);
      (*value.getAsObject()->getObject("custom"))["review"] =
          reviewToJSON(*kernel->custom);
      ++approved;
    }
  }
  if (approved == 0)
    return makeError("{0}: no kernel '{1}'", path, symbol);
  if (llvm::Error error = writeJSONFile(path, *manifest))
    return error;
  return approved;
}
