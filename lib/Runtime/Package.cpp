//===- Package.cpp - A compiled package on disk ---------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/Package.h"
#include "sparseditto/IO/SafetensorsWriter.h"
#include "sparseditto/IO/TensorFile.h"
#include "sparseditto/Runtime/JSONFile.h"
#include "sparseditto/Runtime/Review.h"
#include "sparseditto/Support/JSONFields.h"
#include "sparseditto/Support/Printable.h"
#include "sparseditto/Verify/Tolerance.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <limits>

using namespace sparseditto;
namespace json = llvm::json;
namespace fs = llvm::sys::fs;

static constexpr int64_t schemaVersion = 1;
static constexpr uint64_t maxManifestBytes = uint64_t(256) << 20;
static constexpr int64_t maxExtent = std::numeric_limits<int32_t>::max();
static constexpr uint64_t maxFileBytes = uint64_t(256) << 20;
static constexpr size_t maxLayers = 1 << 16, maxItems = 4096;
/// Packed weights of a layer, buffers and attributes of one of them.
static constexpr size_t maxParts = 256;
static constexpr const char *manifestName = "manifest.json";
static constexpr const char *weightsName = "weights.safetensors";

static llvm::Error fail(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

static std::string join(llvm::StringRef directory, llvm::StringRef file) {
  llvm::SmallString<256> path(directory);
  llvm::sys::path::append(path, llvm::sys::path::Style::posix, file);
  return std::string(path);
}

static std::vector<const std::string *> filesOf(const KernelManifest &kernel) {
  std::vector<const std::string *> files = {&kernel.ptxFile, &kernel.cubinFile,
                                            &kernel.mlirFile};
  if (kernel.custom)
    files.push_back(&kernel.custom->diffFile);
  return files;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

namespace {
/// Names of the tensors of one package, all different.
class TensorNames {
public:
  std::string dense(const PackageLayer &layer) {
    return unique(layer.name + "/dense");
  }
  std::string buffer(const PackageLayer &layer, const PackedWeight &packed,
                     const PackedBuffer &buffer) {
    return unique(layer.name + "/" + packed.format + "/" + buffer.name);
  }

private:
  /// One format may be present with several parameters.
  std::string unique(const std::string &base) {
    std::string name = base;
    for (int i = 2; !used.insert(name).second; ++i)
      name = base + "#" + std::to_string(i);
    return name;
  }
  llvm::StringSet<> used;
};
} // namespace

static json::Value planToJSON(const PlanEntry &entry) {
  return json::Object{{"chip", entry.chip},
                      {"n_min", entry.nMin},
                      {"n_max", entry.nMax},
                      {"tune_n", entry.tuneN},
                      {"use_library", entry.useLibrary},
                      {"symbol", entry.symbol},
                      {"strategy", toJSON(entry.strategy)},
                      {"reason", entry.reason},
                      {"predicted_us", entry.predictedMicroseconds},
                      {"floor_us", entry.floorMicroseconds}};
}

/// The layer's JSON; appends its tensors to `entries`.
static json::Value layerToJSON(const PackageLayer &layer, TensorNames &names,
                               std::vector<SafetensorsEntry> &entries) {
  auto add = [&](std::string name, ElementType type, std::vector<int64_t> shape,
                 llvm::ArrayRef<uint8_t> bytes) {
    entries.push_back({name, type, std::move(shape), bytes});
    return name;
  };
  std::string dense =
      add(names.dense(layer), layer.weight.type,
          {layer.weight.rows, layer.weight.cols}, layer.weight.bytes());
  json::Array packedJson;
  for (const PackedWeight &packed : layer.packed) {
    json::Array buffers, attributes;
    for (const PackedBuffer &buffer : packed.buffers) {
      std::string tensor = add(names.buffer(layer, packed, buffer), buffer.type,
                               buffer.shape, buffer.bytes);
      buffers.push_back(
          json::Object{{"name", buffer.name}, {"tensor", tensor}});
    }
    for (const auto &[key, value] : packed.attributes)
      attributes.push_back(json::Object{{"name", key}, {"value", value}});
    packedJson.push_back(json::Object{{"format", packed.format},
                                      {"version", packed.version},
                                      {"m", packed.m},
                                      {"k", packed.k},
                                      {"type", name(packed.type)},
                                      {"attributes", std::move(attributes)},
                                      {"buffers", std::move(buffers)}});
  }
  json::Array plan, kernels;
  for (const PlanEntry &entry : layer.plan)
    plan.push_back(planToJSON(entry));
  for (const KernelManifest &kernel : layer.kernels)
    kernels.push_back(kernel.toJSON());
  return json::Object{{"name", layer.name},
                      {"source_file", layer.sourceFile},
                      {"problem", toJSON(layer.problem)},
                      {"dense", dense},
                      {"packed", std::move(packedJson)},
                      {"plan", std::move(plan)},
                      {"kernels", std::move(kernels)},
                      {"report", layer.report}};
}

static llvm::Error writeFile(const std::string &path,
                             llvm::StringRef contents) {
  if (std::error_code code =
          fs::create_directories(llvm::sys::path::parent_path(path)))
    return fail(path + ": " + code.message());
  std::error_code code;
  llvm::raw_fd_ostream os(path, code);
  if (code)
    return fail(path + ": " + code.message());
  os << contents;
  os.close();
  if (os.has_error()) {
    code = os.error();
    os.clear_error();
    return fail(path + ": " + code.message());
  }
  return llvm::Error::success();
}

/// True for a directory that we may replace: a package, or an empty one.
static bool isReplaceable(llvm::StringRef directory) {
  if (!fs::is_directory(directory))
    return false;
  auto manifest = readJSONFile(join(directory, manifestName), maxManifestBytes);
  if (manifest) {
    const json::Object *object = manifest->getAsObject();
    return object && object->getInteger("schema") && object->getArray("layers");
  }
  llvm::consumeError(manifest.takeError());
  std::error_code code;
  return fs::directory_iterator(directory, code) == fs::directory_iterator();
}

llvm::Error sparseditto::writePackage(
    const Package &package,
    const std::vector<std::pair<std::string, std::string>> &files,
    llvm::StringRef directory) {
  while (directory.size() > 1 && directory.ends_with("/"))
    directory = directory.drop_back();
  if (directory.empty())
    return fail("no package directory given");
  if (llvm::Error error = verifyPackage(package))
    return error;
  if (package.production)
    for (const PackageLayer &layer : package.layers)
      for (const KernelManifest &kernel : layer.kernels)
        if (kernel.isUnreviewed())
          return unreviewedError(kernel);
  llvm::StringSet<> given;
  for (const auto &[path, contents] : files) {
    if (!isPackagePath(path) || path == manifestName || path == weightsName)
      return fail("package file name '" + path +
                  "' is not a plain relative path or is reserved");
    if (!given.insert(path).second)
      return fail("package file '" + path + "' is given twice");
  }
  for (const PackageLayer &layer : package.layers)
    for (const KernelManifest &kernel : layer.kernels)
      for (const std::string *file : filesOf(kernel))
        if (!file->empty() && !given.contains(*file))
          return fail("kernel '" + kernel.symbol + "' names file '" + *file +
                      "', which is not given");

  const bool exists = fs::exists(directory);
  if (exists && !isReplaceable(directory))
    return fail(directory + ": exists and is not a package; not replaced");
  if (llvm::StringRef parent = llvm::sys::path::parent_path(directory);
      !parent.empty())
    if (std::error_code code = fs::create_directories(parent))
      return fail(parent + ": " + code.message());

  auto sibling = [&](const char *suffix) {
    llvm::SmallString<256> path;
    fs::createUniquePath(directory + suffix + "-%%%%%%%%", path,
                         /*MakeAbsolute=*/false);
    return std::string(path);
  };
  std::string fresh = sibling(".new");
  if (std::error_code code = fs::create_directory(fresh, false))
    return fail(fresh + ": " + code.message());
  llvm::scope_exit cleanUp([&] { fs::remove_directories(fresh); });

  for (const auto &[path, contents] : files)
    if (llvm::Error error = writeFile(join(fresh, path), contents))
      return error;
  TensorNames names;
  std::vector<SafetensorsEntry> entries;
  json::Array layers;
  for (const PackageLayer &layer : package.layers)
    layers.push_back(layerToJSON(layer, names, entries));
  if (llvm::Error error = writeSafetensors(join(fresh, weightsName), entries))
    return error;
  using T = AccumulationTolerance;
  json::Value manifest = json::Object{
      {"schema", schemaVersion},
      {"generator", package.sourceVersion},
      {"tolerance", json::Object{{"unit", T::unit},
                                 {"constant", T::constant},
                                 {"sqrt_terms", T::sqrtTerms},
                                 {"linear_terms", T::linearTerms}}},
      {"layers", std::move(layers)}};
  if (package.production)
    (*manifest.getAsObject())["production"] = true;
  if (llvm::Error error = writeJSONFile(join(fresh, manifestName), manifest))
    return error;

  // Two renames: a reader sees the old package, nothing, or the new one.
  std::string old;
  if (exists) {
    old = sibling(".old");
    if (std::error_code code = fs::rename(directory, old))
      return fail(directory + ": " + code.message());
  }
  if (std::error_code code = fs::rename(fresh, directory)) {
    if (exists)
      (void)fs::rename(old, directory);
    return fail(directory + ": " + code.message());
  }
  if (exists)
    fs::remove_directories(old);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
class PackageReader {
public:
  PackageReader(llvm::StringRef directory, llvm::StringRef only, PackageUse use)
      : directory(directory), only(only), use(use) {}
  llvm::Expected<Package> read();

private:
  llvm::Expected<PackageLayer> readLayer(const json::Value &value);
  llvm::Expected<PackedWeight> readPacked(const json::Value &value);
  llvm::Expected<PlanEntry> readPlanEntry(const json::Value &value);
  llvm::Expected<Matrix> tensor(const std::string &name,
                                std::vector<int64_t> *shape);

  llvm::StringRef directory, only;
  PackageUse use;
  std::unique_ptr<TensorFile> weights;
  /// Each tensor is copied once, or a small file could ask for any amount of
  /// memory.
  llvm::StringSet<> used;
};
} // namespace

llvm::Expected<Matrix> PackageReader::tensor(const std::string &name,
                                             std::vector<int64_t> *shape) {
  std::optional<size_t> index = weights->find(name);
  if (!index)
    return fail("tensor '" + printable(name) + "' is not in " + weightsName);
  if (!used.insert(name).second)
    return fail("tensor '" + printable(name) + "' is used twice");
  if (shape)
    *shape = weights->tensors()[*index].shape;
  return weights->load(*index);
}

llvm::Expected<PackedWeight>
PackageReader::readPacked(const json::Value &value) {
  PackedWeight packed;
  JSONFields fields(value, "packed weight");
  fields.string("format", packed.format);
  fields.integer("version", 1, maxExtent, packed.version);
  fields.integer("m", 1, maxExtent, packed.m);
  fields.integer("k", 1, maxExtent, packed.k);
  fields.word("type", parseElementType, packed.type);
  if (const json::Array *items = fields.array("attributes", 0, maxParts))
    for (const json::Value &item : *items) {
      std::string name;
      int64_t number = 0;
      JSONFields attribute(item, "attribute");
      attribute.string("name", name);
      attribute.integer("value", std::numeric_limits<int64_t>::min(),
                        std::numeric_limits<int64_t>::max(), number);
      fields.take(attribute.finish());
      packed.setAttribute(name, number);
    }
  if (const json::Array *items = fields.array("buffers", 0, maxParts))
    for (const json::Value &item : *items) {
      PackedBuffer buffer;
      std::string name;
      JSONFields field(item, "buffer");
      field.string("name", buffer.name);
      field.string("tensor", name);
      if (field.ok()) {
        llvm::Expected<Matrix> matrix = tensor(name, &buffer.shape);
        if (matrix) {
          buffer.type = matrix->type;
          buffer.bytes.assign(matrix->bytes().begin(), matrix->bytes().end());
        } else {
          field.take(matrix.takeError());
        }
      }
      fields.take(field.finish());
      packed.buffers.push_back(std::move(buffer));
    }
  if (llvm::Error error = fields.finish())
    return error;
  return packed;
}

llvm::Expected<PlanEntry>
PackageReader::readPlanEntry(const json::Value &value) {
  PlanEntry entry;
  JSONFields fields(value, "plan entry");
  fields.string("chip", entry.chip);
  fields.integer("n_min", 1, maxExtent, entry.nMin);
  fields.integer("n_max", 0, maxExtent, entry.nMax);
  fields.integer("tune_n", 1, maxExtent, entry.tuneN);
  fields.boolean("use_library", entry.useLibrary);
  fields.string("symbol", entry.symbol);
  if (const json::Value *item = fields.get("strategy")) {
    llvm::Expected<Strategy> strategy = strategyFromJSON(*item);
    if (strategy)
      entry.strategy = std::move(*strategy);
    else
      fields.take(strategy.takeError());
  }
  fields.string("reason", entry.reason);
  fields.number("predicted_us", entry.predictedMicroseconds);
  fields.number("floor_us", entry.floorMicroseconds);
  if (llvm::Error error = fields.finish())
    return error;
  return entry;
}

llvm::Expected<PackageLayer>
PackageReader::readLayer(const json::Value &value) {
  PackageLayer layer;
  JSONFields fields(value, "layer");
  fields.string("name", layer.name);
  fields.string("source_file", layer.sourceFile);
  if (const json::Value *item = fields.get("problem")) {
    llvm::Expected<Problem> problem = problemFromJSON(*item);
    if (problem)
      layer.problem = *problem;
    else
      fields.take(problem.takeError());
  }
  std::string dense;
  fields.string("dense", dense);
  auto each = [&](llvm::StringRef key, size_t most, auto read, auto &out) {
    if (const json::Array *items = fields.array(key, 0, most))
      for (const json::Value &item : *items) {
        auto element = read(item);
        if (!element)
          return fields.take(element.takeError());
        out.push_back(std::move(*element));
      }
  };
  each(
      "packed", maxParts,
      [&](const json::Value &item) { return readPacked(item); }, layer.packed);
  each(
      "plan", maxItems,
      [&](const json::Value &item) { return readPlanEntry(item); }, layer.plan);
  each("kernels", maxItems, KernelManifest::fromJSON, layer.kernels);
  if (const json::Value *report = fields.get("report"))
    layer.report = *report;
  if (llvm::Error error = fields.finish())
    return error;
  llvm::Expected<Matrix> weight = tensor(dense, nullptr);
  if (!weight)
    return fail("layer '" + printable(layer.name) +
                "': " + llvm::toString(weight.takeError()));
  layer.weight = std::move(*weight);
  layer.weight.name = layer.name;
  for (const KernelManifest &kernel : layer.kernels)
    for (const std::string *file : filesOf(kernel))
      if (!file->empty() && !fs::is_regular_file(join(directory, *file)))
        return fail("kernel '" + kernel.symbol + "': file '" + *file +
                    "' does not exist");
  return layer;
}

llvm::Expected<Package> PackageReader::read() {
  std::string path = join(directory, manifestName);
  if (!fs::is_directory(directory))
    return fail(directory + ": not a directory, so not a package");
  llvm::Expected<json::Value> manifest = readJSONFile(path, maxManifestBytes);
  if (!manifest)
    return manifest.takeError();
  Package package;
  package.directory = directory.str();
  auto inManifest = [&](llvm::Error error) {
    return fail(path + ": " + llvm::toString(std::move(error)));
  };
  JSONFields fields(*manifest, "package");
  int64_t schema = 0;
  fields.integer("schema", 0, maxExtent, schema);
  // Before the rest: another schema may lack any of it.
  if (fields.ok() && schema != schemaVersion)
    return fail(path + ": schema " + llvm::Twine(schema) +
                ", this version reads " + llvm::Twine(schemaVersion));
  fields.string("generator", package.sourceVersion);
  if (fields.find("production"))
    fields.boolean("production", package.production);
  const json::Array *layers = fields.array("layers", 0, maxLayers);
  if (llvm::Error error = fields.finish())
    return inManifest(std::move(error));
  llvm::Expected<std::unique_ptr<TensorFile>> file =
      TensorFile::open(join(directory, weightsName));
  if (!file)
    return file.takeError();
  weights = std::move(*file);
  for (const json::Value &item : *layers) {
    if (const json::Object *object = item.getAsObject();
        !only.empty() && object && object->getString("name") != only)
      continue;
    llvm::Expected<PackageLayer> layer = readLayer(item);
    if (!layer)
      return inManifest(layer.takeError());
    package.layers.push_back(std::move(*layer));
  }
  if (!only.empty() && package.layers.empty())
    return fail(path + ": no layer '" + printable(only) + "'");
  if (llvm::Error error = verifyPackage(package))
    return inManifest(std::move(error));
  if (package.production && use == PackageUse::Run)
    if (llvm::Error error = checkReviewed(package))
      return inManifest(std::move(error));
  return package;
}

llvm::Expected<Package> sparseditto::readPackage(llvm::StringRef directory,
                                                 llvm::StringRef layer,
                                                 PackageUse use) {
  return PackageReader(directory, layer, use).read();
}

llvm::Expected<std::string> sparseditto::readPackageFile(const Package &package,
                                                         llvm::StringRef file) {
  if (file.empty())
    return std::string();
  if (!isPackagePath(file))
    return fail("file name '" + printable(file) +
                "' is not a plain relative path");
  auto buffer = readRegularFile(join(package.directory, file), maxFileBytes);
  if (!buffer)
    return buffer.takeError();
  return (*buffer)->getBuffer().str();
}
