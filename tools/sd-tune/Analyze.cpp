//===- Analyze.cpp - sd-tune analyze --------------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Analysis/Analyze.h"
#include "CommandLine.h"
#include "Subcommands.h"
#include "sparseditto/Analysis/Picture.h"
#include "sparseditto/IO/TensorFile.h"
#include "sparseditto/Support/Table.h"
#include "sparseditto/Target/Chips.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace sparseditto;
using namespace sparseditto::tool;

namespace {

struct Options {
  std::string tensor, picture, target;
  bool json = false;
  unsigned threads = 0;
};

/// What was found in one file. The reports are printed only after every file
/// was read, so that a bad file leaves no half of an answer behind.
struct FileResult {
  std::string path;
  std::vector<PatternReport> reports;
  size_t skippedVectors = 0;
};

class Analyzer {
public:
  Analyzer(const Options &options, std::optional<llvm::GlobPattern> glob)
      : options(options), glob(std::move(glob)) {}

  llvm::Error file(llvm::StringRef path);
  /// Draws what was asked for, once it is known how many tensors there are.
  llvm::Error pictures();

  std::vector<FileResult> results;
  size_t total() const {
    size_t count = 0;
    for (const FileResult &result : results)
      count += result.reports.size();
    return count;
  }

private:
  std::vector<size_t> select(const TensorFile &file, FileResult &result);

  const Options &options;
  std::optional<llvm::GlobPattern> glob;
};

} // namespace

/// Matrices, unless names were asked for or there is nothing but vectors.
std::vector<size_t> Analyzer::select(const TensorFile &file,
                                     FileResult &result) {
  std::vector<size_t> selected;
  llvm::ArrayRef<TensorInfo> infos = file.tensors();
  const bool matrices = llvm::any_of(
      infos, [](const TensorInfo &info) { return info.rank() >= 2; });
  for (size_t i = 0; i < infos.size(); ++i) {
    if (glob ? glob->match(infos[i].name) : infos[i].rank() >= 2 || !matrices)
      selected.push_back(i);
    else if (!glob)
      ++result.skippedVectors;
  }
  return selected;
}

llvm::Error Analyzer::file(llvm::StringRef path) {
  llvm::Expected<std::unique_ptr<TensorFile>> file = TensorFile::open(path);
  if (!file)
    return file.takeError();
  FileResult result;
  result.path = path.str();
  for (size_t index : select(**file, result)) {
    llvm::Expected<Matrix> matrix = (*file)->load(index);
    if (!matrix)
      return matrix.takeError();
    llvm::Expected<PatternReport> report =
        analyze(*matrix, {.threads = options.threads});
    if (!report)
      return llvm::createStringError("%s: tensor '%s': %s", path.str().c_str(),
                                     matrix->name.c_str(),
                                     toString(report.takeError()).c_str());
    result.reports.push_back(std::move(*report));
    (*file)->release(index);
  }
  results.push_back(std::move(result));
  return llvm::Error::success();
}

/// OUT.svg for a single tensor, OUT-NAME.svg for one of several.
static std::string picturePath(llvm::StringRef path, llvm::StringRef tensor,
                               bool several) {
  if (!several)
    return path.str();
  std::string clean = tensor.str();
  for (char &c : clean)
    if (!llvm::isAlnum(c) && c != '.' && c != '_' && c != '-')
      c = '_';
  llvm::StringRef extension = llvm::sys::path::extension(path);
  return (path.drop_back(extension.size()) + "-" + clean + extension).str();
}

llvm::Error Analyzer::pictures() {
  const bool several = total() > 1;
  for (const FileResult &result : results) {
    llvm::Expected<std::unique_ptr<TensorFile>> file =
        TensorFile::open(result.path);
    if (!file)
      return file.takeError();
    for (const PatternReport &report : result.reports) {
      std::optional<size_t> index = (*file)->find(report.matrixName);
      if (!index)
        return llvm::createStringError("%s: tensor '%s' is gone",
                                       result.path.c_str(),
                                       report.matrixName.c_str());
      llvm::Expected<Matrix> matrix = (*file)->load(*index);
      if (!matrix)
        return matrix.takeError();
      if (llvm::Error error = writePicture(
              *matrix, report,
              picturePath(options.picture, report.matrixName, several)))
        return error;
      (*file)->release(*index);
    }
  }
  return llvm::Error::success();
}

static void printJSON(const Analyzer &analyzer, llvm::StringRef target) {
  llvm::json::Array reports;
  for (const FileResult &result : analyzer.results)
    for (const PatternReport &report : result.reports)
      reports.push_back(report.toJSON(target));
  llvm::outs() << llvm::formatv("{0:2}\n",
                                llvm::json::Value(std::move(reports)));
}

static std::string shapeText(const PatternReport &report) {
  return llvm::join(
      llvm::map_range(report.originalShape,
                      [](int64_t d) { return std::to_string(d); }),
      "x");
}

static void printTables(const Analyzer &analyzer) {
  llvm::raw_ostream &os = llvm::outs();
  for (const FileResult &result : analyzer.results) {
    if (analyzer.results.size() > 1)
      os << (&result == &analyzer.results.front() ? "" : "\n") << result.path
         << ":\n";
    Table table(
        {"tensor", "shape", "dtype", "nnz", "sparsity", "pattern", "why"});
    table.alignRight(3);
    table.alignRight(4);
    for (const PatternReport &report : result.reports)
      table.row({report.matrixName, shapeText(report), name(report.type).str(),
                 std::to_string(report.nnz),
                 llvm::formatv("{0:F2} %", 100 * report.sparsity()).str(),
                 name(report.pattern).str(), report.reason});
    table.print(os);
    if (result.skippedVectors != 0)
      os << result.skippedVectors << " tensor"
         << (result.skippedVectors == 1 ? "" : "s")
         << " of rank 0 or 1 skipped; --tensor selects them too\n";
  }
}

int tool::analyzeMain(llvm::ArrayRef<const char *> args) {
  Options options;
  CommandLine command(
      "analyze", "FILE...",
      "Finds the sparsity pattern of every tensor of .safetensors, .npy, "
      ".npz,\n"
      ".mtx and .smtx files. Tensors of rank 0 and 1 are skipped unless "
      "--tensor\nselects them or the file holds nothing else.");
  command.value("--tensor", "GLOB", options.tensor,
                "only the tensors whose name matches");
  command.flag("--json", options.json,
               "print one JSON array, an object a tensor "
               "(docs/schema/pattern-report.schema.json)");
  command.value("--picture", "OUT", options.picture,
                "draw the non-zeros to OUT.svg or OUT.png; with several "
                "tensors to OUT-NAME.svg");
  command.value("--target", "CHIP", options.target,
                "the chip to name as target_gpu in the JSON, sm_90a");
  command.value("--threads", "N", options.threads,
                "worker threads; 0, the default, takes every core");
  if (std::optional<int> code = command.parse(args))
    return *code;
  if (command.positional.empty())
    return command.usageError("expected at least one file");
  if (!options.picture.empty())
    if (llvm::Error error = checkPicturePath(options.picture))
      return command.fail(std::move(error), 2);
  if (!options.target.empty())
    if (llvm::Expected<const Chip *> chip = findChip(options.target); !chip)
      return command.fail(chip.takeError(), 2);
  std::optional<llvm::GlobPattern> glob;
  if (!options.tensor.empty()) {
    llvm::Expected<llvm::GlobPattern> parsed =
        llvm::GlobPattern::create(options.tensor);
    if (!parsed)
      return command.fail(parsed.takeError(), 2);
    glob = std::move(*parsed);
  }

  Analyzer analyzer(options, std::move(glob));
  for (const std::string &path : command.positional)
    if (llvm::Error error = analyzer.file(path))
      return command.fail(std::move(error));
  if (!options.tensor.empty() && analyzer.total() == 0)
    return command.fail("no tensor matches '" + options.tensor + "'");
  if (!options.picture.empty())
    if (llvm::Error error = analyzer.pictures())
      return command.fail(std::move(error));
  if (options.json)
    printJSON(analyzer, options.target);
  else
    printTables(analyzer);
  return 0;
}
