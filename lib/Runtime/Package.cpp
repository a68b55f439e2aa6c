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
#include "sparseditto/Support/JSONFields.h"
#include "sparseditto/Verify/Tolerance.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <limits>
#include <map>

using namespace sparseditto;
namespace json = llvm::json;
namespace fs = llvm::sys::fs;

static constexpr int64_t schemaVersion = 1;
static constexpr uint64_t maxManifestBytes = uint64_t(256) << 20;
static constexpr int64_t maxExtent = std::numeric_limits<int32_t>::max();
static constexpr size_t maxItems = 1 << 16;
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

//===----------------------------------------------------------------------===//
// Consistency
//===----------------------------------------------------------------------===//

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
      "layer '" + layer.name + "': packed format '" + packed.format + "'";
  if (packed.format.empty() || packed.version < 1)
    return fail("layer '" + layer.name + "': a packed weight has no format");
  if (packed.m != layer.problem.m || packed.k != layer.problem.k)
    return fail(where + " is " + llvm::Twine(packed.m) + " x " +
                llvm::Twine(packed.k) + ", the layer is " +
                llvm::Twine(layer.problem.m) + " x " +
                llvm::Twine(layer.problem.k));
  llvm::StringSet<> names;
  for (const PackedBuffer &buffer : packed.buffers) {
    if (buffer.name.empty() || !names.insert(buffer.name).second)
      return fail(where + ": buffer name '" + buffer.name +
                  "' is empty or used twice");
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
  std::string what = "kernel '" + kernel.symbol + "' of layer '" + layer.name +
                     "' reads format '" + kernel.format + "' v" +
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
                name(problem.type) + ", layer '" + layer.name + "' is " +
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
                  "' of layer '" + layer.name + "' has " +
                  (buffer ? name(buffer->type) : "no such buffer"));
  }
  return llvm::Error::success();
}

static llvm::Error verifyPlan(const PackageLayer &layer) {
  // The last N served so far, by chip; -1 once a range is open-ended.
  std::map<std::string, int64_t> served;
  for (const PlanEntry &entry : layer.plan) {
    std::string where =
        "plan of layer '" + layer.name + "' on " + entry.chip + ": ";
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
    const KernelManifest *kernel = nullptr;
    for (const KernelManifest &candidate : layer.kernels)
      if (candidate.symbol == entry.symbol && candidate.chip == entry.chip)
        kernel = &candidate;
    if (!kernel)
      return fail(where + "kernel '" + entry.symbol + "' is not in the layer");
    if (entry.nMin < kernel->nMin ||
        (kernel->nMax != 0 && (entry.nMax == 0 || entry.nMax > kernel->nMax)))
      return fail(where + "kernel '" + entry.symbol + "' serves N in [" +
                  llvm::Twine(kernel->nMin) + ", " + llvm::Twine(kernel->nMax) +
                  "], the entry asks for [" + llvm::Twine(entry.nMin) + ", " +
                  llvm::Twine(entry.nMax) + "]");
  }
  for (const auto &[chip, last] : served)
    if (last >= 0)
      return fail("plan of layer '" + layer.name + "' on " + chip +
                  ": nothing serves N > " + llvm::Twine(last));
  return llvm::Error::success();
}

llvm::Error sparseditto::verifyPackage(const Package &package) {
  llvm::StringSet<> names;
  for (const PackageLayer &layer : package.layers) {
    if (layer.name.empty() || layer.name.size() > 4096 ||
        !json::isUTF8(layer.name) || !names.insert(layer.name).second)
      return fail("layer name '" + json::fixUTF8(layer.name) +
                  "' is empty, too long, not UTF-8 or used twice");
    const Problem &problem = layer.problem;
    if (layer.weight.rows != problem.m || layer.weight.cols != problem.k ||
        layer.weight.type != problem.type || problem.m < 1 || problem.k < 1)
      return fail("layer '" + layer.name + "': weight is " +
                  llvm::Twine(layer.weight.rows) + " x " +
                  llvm::Twine(layer.weight.cols) + " " +
                  name(layer.weight.type) + ", the problem is " +
                  llvm::Twine(problem.m) + " x " + llvm::Twine(problem.k) +
                  " " + name(problem.type));
    for (const PackedWeight &packed : layer.packed)
      if (llvm::Error error = verifyPacked(layer, packed))
        return error;
    llvm::StringSet<> kernels;
    for (const KernelManifest &kernel : layer.kernels) {
      if (llvm::Error error = verifyKernel(layer, kernel))
        return error;
      if (!kernels.insert(kernel.symbol + "@" + kernel.chip).second)
        return fail("layer '" + layer.name + "': kernel '" + kernel.symbol +
                    "' is given twice for " + kernel.chip);
    }
    if (llvm::Error error = verifyPlan(layer))
      return error;
  }
  return llvm::Error::success();
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
      for (const std::string *file :
           {&kernel.ptxFile, &kernel.cubinFile, &kernel.mlirFile})
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
  PackageReader(llvm::StringRef directory, llvm::StringRef only)
      : directory(directory), only(only) {}
  llvm::Expected<Package> read();

private:
  llvm::Expected<PackageLayer> readLayer(const json::Value &value);
  llvm::Expected<PackedWeight> readPacked(const json::Value &value);
  llvm::Expected<PlanEntry> readPlanEntry(const json::Value &value);
  llvm::Expected<Matrix> tensor(const std::string &name,
                                std::vector<int64_t> *shape);

  llvm::StringRef directory, only;
  std::unique_ptr<TensorFile> weights;
};
} // namespace

llvm::Expected<Matrix> PackageReader::tensor(const std::string &name,
                                             std::vector<int64_t> *shape) {
  std::optional<size_t> index = weights->find(name);
  if (!index)
    return fail("tensor '" + name + "' is not in " + weightsName);
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
  if (const json::Array *items = fields.array("attributes", 0, maxItems))
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
  if (const json::Array *items = fields.array("buffers", 0, 64))
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
  auto each = [&](llvm::StringRef key, auto read, auto &out) {
    if (const json::Array *items = fields.array(key, 0, maxItems))
      for (const json::Value &item : *items) {
        auto element = read(item);
        if (!element)
          return fields.take(element.takeError());
        out.push_back(std::move(*element));
      }
  };
  each(
      "packed", [&](const json::Value &item) { return readPacked(item); },
      layer.packed);
  each(
      "plan", [&](const json::Value &item) { return readPlanEntry(item); },
      layer.plan);
  each("kernels", KernelManifest::fromJSON, layer.kernels);
  if (const json::Value *report = fields.get("report"))
    layer.report = *report;
  if (llvm::Error error = fields.finish())
    return error;
  llvm::Expected<Matrix> weight = tensor(dense, nullptr);
  if (!weight)
    return fail("layer '" + layer.name +
                "': " + llvm::toString(weight.takeError()));
  layer.weight = std::move(*weight);
  layer.weight.name = layer.name;
  for (const KernelManifest &kernel : layer.kernels)
    for (const std::string *file :
         {&kernel.ptxFile, &kernel.cubinFile, &kernel.mlirFile})
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
  const json::Array *layers = fields.array("layers", 0, maxItems);
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
    return fail(path + ": no layer '" + only + "'");
  if (llvm::Error error = verifyPackage(package))
    return inManifest(std::move(error));
  return package;
}

llvm::Expected<Package> sparseditto::readPackage(llvm::StringRef directory,
                                                 llvm::StringRef layer) {
  return PackageReader(directory, layer).read();
}

llvm::Expected<std::string> sparseditto::readPackageFile(const Package &package,
                                                         llvm::StringRef file) {
  if (file.empty())
    return std::string();
  if (!isPackagePath(file))
    return fail("file name '" + file + "' is not a plain relative path");
  std::string path = join(package.directory, file);
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return fail(path + ": " + buffer.getError().message());
  return (*buffer)->getBuffer().str();
}
