//===- Compile.cpp - From weight files to a package -----------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Tuning/Compile.h"
#include "Layer.h"
#include "PackageText.h"
#include "sparseditto/Agent/Transcript.h"
#include "sparseditto/Analysis/Analyze.h"
#include "sparseditto/IO/TensorFile.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/ThreadPool.h"
#include <map>
#include <set>

using namespace sparseditto;

namespace {
/// One matching tensor; filled in by a worker.
struct Job {
  TensorFile *file = nullptr;
  size_t index = 0;
  std::string name; ///< Unique in the package.
  std::vector<CompiledLayer> layers;
  std::vector<std::string> notes;
  std::string skipped; ///< Why there is no layer.
  EventBuffer events;  ///< Where jobs are done in parallel.
};

/// Puts layers together as a package, and says what it holds.
class PackageAssembler {
public:
  PackageAssembler(CompileResult &result, const CompileOptions &options)
      : result(result) {
    package.sourceVersion = SPARSEDITTO_VERSION;
    package.production = options.production;
  }
  void add(CompiledLayer compiled);
  bool empty() const { return package.layers.empty(); }
  llvm::Error write(llvm::StringRef directory);

private:
  CompileResult &result;
  Package package;
  std::vector<std::pair<std::string, std::string>> contents;
  std::set<std::string> written;
  std::string records;
};
} // namespace

void PackageAssembler::add(CompiledLayer compiled) {
  for (auto [manifest, kernel] :
       llvm::zip_equal(compiled.layer.kernels, compiled.kernels)) {
    if (!written.insert(manifest.ptxFile).second)
      continue;
    ++result.kernelsBuilt;
    contents.emplace_back(manifest.ptxFile, kernel->ptx);
    if (!manifest.cubinFile.empty())
      contents.emplace_back(manifest.cubinFile, kernel->cubin);
    if (written.insert(manifest.mlirFile).second) {
      contents.emplace_back(manifest.mlirFile, kernel->mlir);
      if (manifest.custom)
        contents.emplace_back(manifest.custom->diffFile, kernel->diff);
    }
  }
  result.packedBytes += compiled.memory.packedBytes;
  result.denseBytes += compiled.memory.denseBytes;
  result.memory.push_back(std::move(compiled.memory));
  llvm::append_range(result.notes, compiled.notes);
  for (std::string &record : compiled.records) {
    records += record + "\n";
    result.records.push_back(std::move(record));
  }
  result.rows.insert(result.rows.end(), compiled.rows.begin(),
                     compiled.rows.end());
  package.layers.push_back(std::move(compiled.layer));
}

llvm::Error PackageAssembler::write(llvm::StringRef directory) {
  contents.emplace_back("records.jsonl", std::move(records));
  contents.emplace_back("plan.mlir", planText(package));
  contents.emplace_back("report.html", reportHTML(result));
  return writePackage(package, contents, directory);
}

/// Calls `work` for 0 ... count - 1 on the threads that `options` allow. The
/// first error in that order is returned, whatever finished first.
static llvm::Error inParallel(size_t count, const CompileOptions &options,
                              llvm::function_ref<llvm::Error(size_t)> work) {
  std::vector<std::optional<llvm::Error>> errors(count);
  {
    llvm::DefaultThreadPool pool(options.jobs
                                     ? llvm::hardware_concurrency(options.jobs)
                                     : llvm::hardware_concurrency());
    for (size_t i = 0; i < count; ++i)
      pool.async([&, i] {
        if (llvm::Error error = work(i))
          errors[i].emplace(std::move(error));
      });
    pool.wait();
  }
  llvm::Error first = llvm::Error::success();
  for (std::optional<llvm::Error> &error : errors)
    if (error) {
      if (!first)
        first = std::move(*error);
      else
        llvm::consumeError(std::move(*error));
    }
  return first;
}

/// With one chain of sources for all layers.
static llvm::Expected<CompileOptions> withSources(CompileOptions options) {
  if (options.choose.sources || options.choose.replay)
    return options;
  auto sources = SourceChain::create(options.choose.agent);
  if (!sources)
    return sources.takeError();
  options.choose.sources = std::move(*sources);
  return options;
}

static ElementType packageType(ElementType stored,
                               std::optional<ElementType> asked) {
  if (asked)
    return *asked;
  return stored == ElementType::F32 || stored == ElementType::F64
             ? ElementType::F16
             : stored;
}

/// Converts, saying what the conversion changed. A value that would overflow
/// keeps the tensor in f32: a wrong weight is worse than a slow one.
static llvm::Expected<Matrix> convertWeight(const Matrix &stored,
                                            ElementType target, Job &job) {
  if (stored.type == target)
    return stored;
  int64_t changedZeros = 0, overflowed = 0;
  auto converted = stored.convertedTo(target, &changedZeros, &overflowed);
  if (!converted)
    return converted.takeError();
  if (overflowed) {
    job.notes.push_back(job.name + ": " + std::to_string(overflowed) +
                        " values do not fit in " + name(target).str() +
                        ", kept in f32");
    if (stored.type == ElementType::F32)
      return stored;
    return stored.convertedTo(ElementType::F32);
  }
  if (changedZeros)
    job.notes.push_back(job.name + ": " + std::to_string(changedZeros) +
                        " non-zeros became zero in " + name(target).str());
  return converted;
}

static llvm::Error runJob(Job &job, const CompileOptions &options,
                          KernelCache &cache) {
  EventSink *events = options.choose.events;
  // One after the other they need no buffer, and a killed run leaves more.
  if (events && options.jobs != 1)
    events = &job.events;
  auto stored = job.file->load(job.index);
  if (!stored)
    return stored.takeError();
  // What the package keeps is a copy, or the mapping itself: either way the
  // pages need not stay resident.
  llvm::scope_exit releasePages([&] { job.file->release(job.index); });
  if (stored->rows == 0 || stored->cols == 0) {
    job.skipped = "empty";
    return llvm::Error::success();
  }
  ElementType target = packageType(stored->type, options.type);
  if (target != ElementType::F16 && target != ElementType::BF16 &&
      target != ElementType::F32) {
    job.skipped = "element type " + name(target).str() +
                  ", expected f16, bf16 or f32 (--type converts)";
    return llvm::Error::success();
  }
  auto weight = convertWeight(*stored, target, job);
  if (!weight)
    return weight.takeError();
  weight->name = job.name;
  weight->sourceFile = stored->sourceFile;
  AnalyzeOptions analyzeOptions;
  analyzeOptions.threads = 1; // Tensors are the unit of parallelism here.
  auto report = analyze(*weight, analyzeOptions);
  if (!report)
    return report.takeError();
  for (Layout layout : options.layouts) {
    ModelProduct product;
    product.weight = *weight;
    if (options.layouts.size() > 1)
      product.weight.name += "@" + name(layout).str();
    Problem &problem = product.problem;
    problem.m = weight->rows;
    problem.k = weight->cols;
    problem.type = problem.outputType = weight->type;
    problem.layout = layout;
    problem.epilogue = options.epilogue;
    auto layer = compileLayer(product, *report, options, cache, events);
    if (!layer)
      return layer.takeError();
    job.layers.push_back(std::move(*layer));
  }
  return llvm::Error::success();
}

static llvm::Error collectJobs(const CompileOptions &options,
                               std::vector<std::unique_ptr<TensorFile>> &files,
                               std::vector<Job> &jobs, CompileResult &result) {
  auto glob = llvm::GlobPattern::create(options.tensorGlob);
  if (!glob)
    return llvm::createStringError("--tensor '" + options.tensorGlob +
                                   "': " + llvm::toString(glob.takeError()));
  std::map<std::string, int> names;
  for (const std::string &path : options.files) {
    auto file = TensorFile::open(path, ReadOptions());
    if (!file)
      return file.takeError();
    for (auto [index, info] : llvm::enumerate((*file)->tensors())) {
      if (!glob->match(info.name))
        continue;
      if (!info.unsupported.empty()) {
        result.skipped.push_back({info.name, path, info.unsupported});
        continue;
      }
      if (info.rank() < 2) {
        result.skipped.push_back(
            {info.name, path,
             "rank " + std::to_string(info.rank()) + ", not a matrix"});
        continue;
      }
      Job job;
      job.file = file->get();
      job.index = index;
      job.name = info.name;
      // Two files may hold tensors of one name; a package may not.
      if (int count = names[job.name]++)
        job.name += "#" + std::to_string(count + 1);
      jobs.push_back(std::move(job));
    }
    files.push_back(std::move(*file));
  }
  if (jobs.empty())
    return llvm::createStringError(
        "no matrix matches --tensor '" + options.tensorGlob + "' in " +
        std::to_string(options.files.size()) + " file" +
        (options.files.size() == 1 ? "" : "s"));
  return llvm::Error::success();
}

llvm::Expected<CompileResult>
sparseditto::compilePackage(const CompileOptions &asked) {
  auto prepared = withSources(asked);
  if (!prepared)
    return prepared.takeError();
  const CompileOptions &options = *prepared;
  CompileResult result;
  std::vector<std::unique_ptr<TensorFile>> files;
  std::vector<Job> jobs;
  if (llvm::Error error = collectJobs(options, files, jobs, result))
    return error;

  KernelCache cache(options.ptxas, options.readSass);
  llvm::Error failed = inParallel(jobs.size(), options, [&](size_t i) {
    return runJob(jobs[i], options, cache);
  });
  if (options.choose.events)
    for (Job &job : jobs)
      job.events.flushTo(*options.choose.events);
  if (failed)
    return failed;

  PackageAssembler assembler(result, options);
  for (Job &job : jobs) {
    result.notes.insert(result.notes.end(), job.notes.begin(), job.notes.end());
    if (!job.skipped.empty())
      result.skipped.push_back({job.name, job.file->path(), job.skipped});
    for (CompiledLayer &compiled : job.layers)
      assembler.add(std::move(compiled));
  }
  if (assembler.empty())
    return llvm::createStringError("no tensor can be compiled; the first, '" +
                                   result.skipped.front().layer +
                                   "': " + result.skipped.front().reason);
  if (!options.outputDirectory.empty())
    if (llvm::Error error = assembler.write(options.outputDirectory))
      return error;
  return result;
}

llvm::Expected<CompileResult>
sparseditto::compileProducts(llvm::ArrayRef<ModelProduct> products,
                             const CompileOptions &asked) {
  auto prepared = withSources(asked);
  if (!prepared)
    return prepared.takeError();
  const CompileOptions &options = *prepared;
  KernelCache cache(options.ptxas, options.readSass);
  std::vector<EventBuffer> events(products.size());
  std::vector<CompiledLayer> layers(products.size());
  auto compileOne = [&](size_t i) -> llvm::Error {
    AnalyzeOptions analyzeOptions;
    analyzeOptions.threads = 1; // Products are the unit of parallelism here.
    auto report = analyze(products[i].weight, analyzeOptions);
    if (!report)
      return report.takeError();
    auto layer = compileLayer(products[i], *report, options, cache,
                              options.choose.events ? &events[i] : nullptr);
    if (!layer)
      return layer.takeError();
    layers[i] = std::move(*layer);
    return llvm::Error::success();
  };
  llvm::Error failed = inParallel(products.size(), options, compileOne);
  if (options.choose.events)
    for (EventBuffer &buffer : events)
      buffer.flushTo(*options.choose.events);
  if (failed)
    return failed;
  CompileResult result;
  PackageAssembler assembler(result, options);
  for (CompiledLayer &layer : layers)
    assembler.add(std::move(layer));
  if (llvm::Error error = assembler.write(options.outputDirectory))
    return error;
  return result;
}
