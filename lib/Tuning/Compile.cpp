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
  std::optional<llvm::Error> error;
};
} // namespace

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
    Matrix named = *weight;
    if (options.layouts.size() > 1)
      named.name += "@" + name(layout).str();
    auto layer = compileLayer(named, *report, layout, options, cache);
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
sparseditto::compilePackage(const CompileOptions &options) {
  CompileResult result;
  std::vector<std::unique_ptr<TensorFile>> files;
  std::vector<Job> jobs;
  if (llvm::Error error = collectJobs(options, files, jobs, result))
    return error;

  KernelCache cache(options.ptxas);
  {
    llvm::DefaultThreadPool pool(options.jobs
                                     ? llvm::hardware_concurrency(options.jobs)
                                     : llvm::hardware_concurrency());
    for (Job &job : jobs)
      pool.async([&job, &options, &cache] {
        if (llvm::Error error = runJob(job, options, cache))
          job.error.emplace(std::move(error));
      });
    pool.wait();
  }

  // The first error in file order, whatever finished first.
  llvm::Error firstError = llvm::Error::success();
  for (Job &job : jobs)
    if (job.error) {
      if (!firstError)
        firstError = std::move(*job.error);
      else
        llvm::consumeError(std::move(*job.error));
    }
  if (firstError)
    return firstError;

  Package package;
  package.sourceVersion = SPARSEDITTO_VERSION;
  std::vector<std::pair<std::string, std::string>> contents;
  std::set<std::string> written;
  std::string records;
  for (Job &job : jobs) {
    result.notes.insert(result.notes.end(), job.notes.begin(), job.notes.end());
    if (!job.skipped.empty())
      result.skipped.push_back({job.name, job.file->path(), job.skipped});
    for (CompiledLayer &compiled : job.layers) {
      for (auto [manifest, kernel] :
           llvm::zip_equal(compiled.layer.kernels, compiled.kernels)) {
        if (!written.insert(manifest.ptxFile).second)
          continue;
        ++result.kernelsBuilt;
        contents.emplace_back(manifest.ptxFile, kernel->ptx);
        if (!manifest.cubinFile.empty())
          contents.emplace_back(manifest.cubinFile, kernel->cubin);
        if (written.insert(manifest.mlirFile).second)
          contents.emplace_back(manifest.mlirFile, kernel->mlir);
      }
      result.packedBytes += compiled.memory.packedBytes;
      result.denseBytes += compiled.memory.denseBytes;
      result.memory.push_back(std::move(compiled.memory));
      for (const std::string &record : compiled.records)
        records += record + "\n";
      result.rows.insert(result.rows.end(), compiled.rows.begin(),
                         compiled.rows.end());
      package.layers.push_back(std::move(compiled.layer));
    }
  }
  if (package.layers.empty())
    return llvm::createStringError("no tensor can be compiled; the first, '" +
                                   result.skipped.front().layer +
                                   "': " + result.skipped.front().reason);
  contents.emplace_back("records.jsonl", std::move(records));
  contents.emplace_back("plan.mlir", planText(package));
  contents.emplace_back("report.html", reportHTML(result));
  if (llvm::Error error =
          writePackage(package, contents, options.outputDirectory))
    return error;
  return result;
}
