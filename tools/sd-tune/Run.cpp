//===- Run.cpp - Check and time the kernels of a package ------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"
#include "RunModule.h"
#include "Subcommands.h"
#include "sparseditto/Runtime/Device.h"
#include "sparseditto/Runtime/Job.h"
#include "sparseditto/Runtime/Package.h"
#include "sparseditto/Runtime/ResultLog.h"
#include "sparseditto/Runtime/Review.h"
#include "sparseditto/Runtime/SanitizeJob.h"
#include "sparseditto/Runtime/WorkerProcess.h"
#include "sparseditto/Support/Error.h"
#include "sparseditto/Support/Table.h"
#include "sparseditto/Target/ComputeSanitizer.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/raw_ostream.h"

using namespace sparseditto;
using namespace sparseditto::tool;
namespace json = llvm::json;

// Besides the codes of Subcommands.h.
static constexpr int noGpu = 3;

namespace {
struct Options {
  bool json = false, emulate = false, noTime = false, requireSandbox = false;
  bool production = false;
  bool resume = false, sanitize = false;
  std::string layer, sizes, csv, chip, results;
  unsigned timeout = 600, device = 0, seed = 0, memory = 0;

  JobOptions job() const {
    JobOptions job;
    job.timeoutSeconds = timeout;
    job.memoryBytes = uint64_t(memory) << 20;
    job.requireSandbox = requireSandbox;
    return job;
  }
};

/// One kernel of the package and what became of it.
struct Entry {
  const PackageLayer *layer;
  const KernelManifest *kernel;
  JobResult result;
};

/// One line of the table: a kernel at one N.
struct Row {
  const Entry *entry;
  const Measurement *measurement; ///< Null without a time.
};

class Runner {
public:
  Runner(const Package &package, const Options &options,
         std::vector<int64_t> sizes, std::string subject)
      : package(package), options(options), sizes(std::move(sizes)),
        subject(std::move(subject)) {}

  void select(const DeviceInfo *device,
              const std::optional<llvm::GlobPattern> &glob);
  /// With `log`, each result is kept there before the next kernel's turn. With
  /// `sanitizer`, verified kernels run under it as well.
  llvm::Error run(ResultLog *log, const std::string &sanitizer);
  void printTable(llvm::raw_ostream &os) const;
  void writeCsv(llvm::raw_ostream &os) const;
  json::Value toJSON(llvm::StringRef device) const;

  size_t selected() const { return entries.size(); }
  size_t skipped() const { return skippedKernels; }
  size_t failed() const {
    return size_t(llvm::count_if(entries, [](const Entry &entry) {
      return entry.result.status != RunStatus::Verified;
    }));
  }

private:
  Job jobFor(const Entry &entry) const;
  std::vector<Row> rows() const;
  std::vector<std::string> cells(const Row &row) const;

  const Package &package;
  const Options &options;
  std::vector<int64_t> sizes;
  std::string subject; ///< The package, or the module it was made from.
  std::vector<Entry> entries;
  size_t skippedKernels = 0;
};
} // namespace

void Runner::select(const DeviceInfo *device,
                    const std::optional<llvm::GlobPattern> &glob) {
  for (const PackageLayer &layer : package.layers) {
    if (glob && !glob->match(layer.name))
      continue;
    llvm::StringSet<> emulated;
    for (const KernelManifest &kernel : layer.kernels) {
      bool wanted = options.chip.empty() || kernel.chip == options.chip;
      // The emulator runs the MLIR, which chips of one level share.
      if (device)
        wanted &= device->runs(kernel.chip);
      else
        wanted = wanted && emulated.insert(kernel.symbol).second;
      if (wanted)
        entries.push_back({&layer, &kernel, {}});
      else
        ++skippedKernels;
    }
  }
}

Job Runner::jobFor(const Entry &entry) const {
  const KernelManifest &kernel = *entry.kernel;
  Job job;
  job.package = package.directory;
  job.layer = entry.layer->name;
  job.symbol = kernel.symbol;
  job.chip = kernel.chip;
  job.device = int(options.device);
  job.seed = options.seed;
  std::vector<int64_t> wanted = sizes;
  if (wanted.empty())
    for (const PlanEntry &plan : entry.layer->plan)
      if (plan.chip == kernel.chip && plan.symbol == kernel.symbol &&
          !plan.useLibrary)
        wanted.push_back(plan.tuneN);
  if (wanted.empty())
    wanted.push_back(kernel.problem.tuneN);
  llvm::sort(wanted);
  wanted.erase(llvm::unique(wanted), wanted.end());
  llvm::erase_if(wanted, [&](int64_t n) {
    return n < kernel.nMin || (kernel.nMax != 0 && n > kernel.nMax);
  });
  if (options.emulate) {
    if (!sizes.empty())
      job.checkN = wanted;
    job.emulateBriefly();
    return job;
  }
  job.checkN = wanted;
  if (!options.noTime)
    job.timeN = wanted;
  return job;
}

llvm::Error Runner::run(ResultLog *log, const std::string &sanitizer) {
  std::string program = programPath();
  const JobOptions jobOptions = options.job();
  // Sanitized or not are different results.
  JobOptions logged = jobOptions;
  if (!sanitizer.empty())
    logged.wrapper = {sanitizer};
  removeAbandonedJobDirectories();
  for (size_t i = 0; i < entries.size(); ++i) {
    Entry &entry = entries[i];
    const Job job = jobFor(entry);
    const JobResult *known = log ? log->find(job, logged) : nullptr;
    entry.result =
        known ? *known
              : runPackageJob(program, package, *entry.kernel, job, jobOptions);
    if (!known && !sanitizer.empty() &&
        entry.result.status == RunStatus::Verified) {
      JobResult sanitized = sanitizeJob(program, job, jobOptions, sanitizer);
      entry.result.status = sanitized.status;
      entry.result.message = sanitized.message;
    }
    if (log && !known)
      if (llvm::Error error = log->append(job, logged, entry.result))
        return error;
    if (!options.json)
      llvm::errs() << llvm::formatv("[{0}/{1}] {2}: {3} in {4:f1} s\n", i + 1,
                                    entries.size(), entry.kernel->symbol,
                                    name(entry.result.status),
                                    entry.result.seconds);
  }
  return llvm::Error::success();
}

std::vector<Row> Runner::rows() const {
  std::vector<Row> result;
  for (const Entry &entry : entries) {
    if (entry.result.measurements.empty())
      result.push_back({&entry, nullptr});
    for (const Measurement &measurement : entry.result.measurements)
      result.push_back({&entry, &measurement});
  }
  return result;
}

static const std::vector<std::string> columns = {
    "layer",  "shape",     "pattern", "family",   "chip",  "N",       "layout",
    "status", "err/bound", "us",      "dense us", "ratio", "floor us"};

std::vector<std::string> Runner::cells(const Row &row) const {
  const Entry &entry = *row.entry;
  const Problem &problem = entry.kernel->problem;
  const JobResult &result = entry.result;
  auto number = [](double value) {
    return value > 0 ? llvm::formatv("{0:f2}", value).str() : std::string("-");
  };
  std::string pattern = "-";
  if (const json::Object *report = entry.layer->report.getAsObject())
    if (std::optional<llvm::StringRef> text = report->getString("pattern"))
      pattern = text->str();
  const Measurement *m = row.measurement;
  std::string n;
  if (m)
    n = std::to_string(m->n);
  else
    for (int64_t size : result.n) {
      if (!n.empty())
        n += ',';
      n += std::to_string(size);
    }
  // The whole hostile list is no column.
  if (!m && result.n.size() > 6)
    n = std::to_string(result.n.front()) + ".." +
        std::to_string(result.n.back());
  return {entry.layer->name,
          std::to_string(problem.m) + "x" + std::to_string(problem.k),
          pattern,
          entry.kernel->strategy.family,
          entry.kernel->chip,
          n.empty() ? "-" : n,
          name(problem.layout).str(),
          name(result.status).str(),
          result.elements
              ? llvm::formatv("{0:f3}", result.maxErrorOverBound).str()
              : std::string("-"),
          number(m ? m->kernel.median : 0),
          number(m ? m->dense() : 0),
          number(m && m->kernel.median > 0 ? m->dense() / m->kernel.median : 0),
          number(m ? m->floorMicroseconds : 0)};
}

void Runner::printTable(llvm::raw_ostream &os) const {
  Table table(columns);
  for (size_t i : {5, 8, 9, 10, 11, 12})
    table.alignRight(i);
  for (const Row &row : rows())
    table.row(cells(row));
  table.print(os);
  for (const Entry &entry : entries)
    if (entry.result.status != RunStatus::Verified)
      os << "\n"
         << entry.kernel->symbol << " (" << entry.kernel->chip << ", "
         << entry.kernel->strategy.str() << "): " << name(entry.result.status)
         << ": " << entry.result.message << " (seed " << entry.result.seed
         << ")\n";
  for (const Row &row : rows())
    if (row.measurement && !row.measurement->cold)
      os << "\n"
         << row.entry->kernel->symbol << ", N = " << row.measurement->n
         << ": operands too small to be timed cold\n";
  llvm::StringSet<> notes;
  for (const Row &row : rows())
    if (row.measurement && !row.measurement->denseNote.empty() &&
        notes.insert(row.measurement->denseNote).second)
      os << "\ndense: " << row.measurement->denseNote << "\n";
  for (const Entry &entry : entries)
    if (!entry.result.sandboxMissing.empty() &&
        notes.insert(entry.result.sandboxMissing).second)
      os << "\nsandbox: without " << entry.result.sandboxMissing << "\n";
  for (const Entry &entry : entries)
    if (entry.kernel->isUnreviewed() &&
        notes.insert(entry.kernel->symbol).second)
      os << "\n"
         << entry.kernel->symbol
         << ": unreviewed, written by an agent (sd-tune approve --list)\n";
  os << "\n"
     << entries.size() - failed() << " verified, " << failed() << " failed, "
     << skippedKernels << " skipped (other chips)\n";
}

void Runner::writeCsv(llvm::raw_ostream &os) const {
  auto line = [&](const std::vector<std::string> &cells) {
    llvm::StringRef separator = "";
    for (const std::string &cell : cells) {
      std::string quoted;
      for (char c : cell)
        quoted += c == '"' ? "\"\"" : std::string(1, c);
      os << separator;
      if (llvm::StringRef(cell).find_first_of(",\"\r\n") !=
          llvm::StringRef::npos)
        os << '"' << quoted << '"';
      else
        os << cell;
      separator = ",";
    }
    os << "\n";
  };
  line(columns);
  for (const Row &row : rows())
    line(cells(row));
}

json::Value Runner::toJSON(llvm::StringRef device) const {
  json::Array kernels;
  for (const Entry &entry : entries) {
    json::Value result = entry.result.toJSON();
    json::Object &object = *result.getAsObject();
    object.erase("schema");
    object.erase("nonce");
    object["layer"] = entry.layer->name;
    object["symbol"] = entry.kernel->symbol;
    object["chip"] = entry.kernel->chip;
    object["strategy"] = sparseditto::toJSON(entry.kernel->strategy);
    object["problem"] = sparseditto::toJSON(entry.kernel->problem);
    if (entry.kernel->isUnreviewed())
      object["unreviewed"] = true;
    kernels.push_back(std::move(result));
  }
  return json::Object{
      {"schema", 1},
      {"package", json::fixUTF8(subject)},
      {"device", device},
      {"kernels", std::move(kernels)},
      {"summary", json::Object{{"verified", int64_t(entries.size() - failed())},
                               {"failed", int64_t(failed())},
                               {"skipped", int64_t(skippedKernels)}}}};
}

/// "1,16,512"; none if it is not a list of N.
static std::optional<std::vector<int64_t>> parseSizes(llvm::StringRef text) {
  std::vector<int64_t> sizes;
  while (!text.empty()) {
    auto [item, rest] = text.split(',');
    int64_t n = 0;
    if (item.trim().getAsInteger(10, n) || n < 1 || n > INT32_MAX)
      return std::nullopt;
    sizes.push_back(n);
    text = rest;
  }
  return sizes;
}

/// Before the first worker is started: what its sandbox would be without, where
/// all of it is wanted. Also an error: a layer to turn off that does not exist.
static llvm::Error checkSandbox(const Options &options) {
  llvm::Expected<SandboxOptions> sandbox =
      workerSandbox("", !options.emulate, /*cpuSeconds=*/0);
  if (!sandbox)
    return sandbox.takeError();
  if (!options.requireSandbox)
    return llvm::Error::success();
  llvm::Expected<SandboxReport> report = probeSandbox(*sandbox);
  if (!report)
    return report.takeError();
  std::string missing = report->missingText();
  if (missing.empty())
    return llvm::Error::success();
  return makeError("nothing was run: --require-sandbox, and the sandbox is "
                   "without {0}",
                   missing);
}

int tool::runMain(llvm::ArrayRef<const char *> args) {
  Options options;
  LoweredOptions lowered;
  CommandLine commandLine(
      "run", "PACKAGE|MODULE",
      "check every kernel of a package against the f64 oracle and time it "
      "beside the dense product;\nwith --emulate also those of an MLIR module, "
      "a .mlir file or - for standard input");
  commandLine.flag("--json", options.json, "print one JSON object");
  commandLine.flag("--emulate", options.emulate,
                   "check on the CPU, without a GPU and without times");
  commandLine.value("--layer", "GLOB", options.layer,
                    "only layers whose name matches");
  commandLine.value("--n", "LIST", options.sizes,
                    "N to check and time, \"1,16,512\" (default: the plan's)");
  commandLine.flag("--no-time", options.noTime, "check only");
  commandLine.value("--csv", "FILE", options.csv, "write the table as CSV");
  commandLine.value("--chip", "CHIP", options.chip,
                    "only kernels for this chip");
  commandLine.value("--device", "NUMBER", options.device, "which GPU");
  commandLine.value("--timeout", "SECONDS", options.timeout,
                    "limit of one kernel's worker (default 600)");
  commandLine.value("--seed", "NUMBER", options.seed,
                    "of all inputs, to repeat a run (default: drawn anew)");
  commandLine.value("--memory", "MIB", options.memory,
                    "limit of one kernel's worker (default three quarters of "
                    "the machine's)");
  commandLine.value("--results", "FILE", options.results,
                    "append each result to this file as it comes");
  commandLine.flag("--resume", options.resume,
                   "take finished results of the same work from that file");
  commandLine.flag("--sanitize", options.sanitize,
                   "run verified kernels under compute-sanitizer as well");
  commandLine.flag("--production", options.production,
                   "refuse kernels that an agent wrote and nobody approved, as "
                   "packages marked production do");
  commandLine.flag("--require-sandbox", options.requireSandbox,
                   "refuse to run without every layer of the sandbox");
  commandLine.value("--entry", "NAME", lowered.entry,
                    "function of a lowered module to call (default: the only "
                    "public one)");
  commandLine.values("--input", "FILE[#TENSOR]", lowered.inputs,
                     "an argument of that function, in their order (default: "
                     "random)");
  commandLine.value("--output", "FILE", lowered.output,
                    "write its results, .npy or .safetensors");
  if (std::optional<int> code = commandLine.parse(args))
    return *code;
  if (commandLine.positional.size() != 1)
    return commandLine.usageError("expected one PACKAGE or MODULE");
  std::string subject = commandLine.positional[0];
  if (isModulePath(subject) && !options.emulate)
    return commandLine.usageError(
        "a module runs in the emulator only: give --emulate");
  std::optional<std::vector<int64_t>> sizes = parseSizes(options.sizes);
  if (!sizes)
    return commandLine.usageError("--n expects numbers >= 1 with commas "
                                  "between, got '" +
                                  options.sizes + "'");
  if (std::string wrong = lowered.check(); !wrong.empty())
    return commandLine.usageError(wrong);
  if (!lowered.inputs.empty() && !sizes->empty())
    return commandLine.usageError(
        "--n is for random inputs, --input gives their sizes");
  if (options.resume && options.results.empty())
    return commandLine.usageError("--resume expects --results FILE");
  if (options.sanitize && options.emulate)
    return commandLine.usageError("--sanitize needs a GPU, --emulate has none");
  if (options.timeout == 0)
    return commandLine.usageError("--timeout expects at least 1");
  std::optional<llvm::GlobPattern> glob;
  if (!options.layer.empty()) {
    llvm::Expected<llvm::GlobPattern> parsed =
        llvm::GlobPattern::create(options.layer);
    if (!parsed)
      return commandLine.usageError("--layer: " +
                                    llvm::toString(parsed.takeError()));
    glob = std::move(*parsed);
  }
  if (llvm::Error error = checkSandbox(options))
    return commandLine.fail(std::move(error));
  std::optional<ModuleSubject> module;
  if (isModulePath(subject)) {
    PrepareModuleOptions prepare;
    prepare.timeoutSeconds = options.timeout;
    if (!options.chip.empty())
      prepare.chip = options.chip;
    if (!sizes->empty())
      prepare.choose.ns = *sizes;
    llvm::Expected<ModuleSubject> opened = openModule(subject, prepare);
    if (!opened)
      return commandLine.fail(opened.takeError());
    module.emplace(std::move(*opened));
  }
  if (module && module->prepared.stage == ModuleStage::Lowered) {
    if (sizes->size() > 1)
      return commandLine.usageError("a lowered module runs for one N, got " +
                                    options.sizes);
    if (!options.layer.empty() || !options.csv.empty())
      return commandLine.usageError(
          "--layer and --csv are for packages and products");
    if (!options.results.empty())
      return commandLine.usageError("--results is for packages and products");
    if (!sizes->empty())
      lowered.n = sizes->front();
    lowered.seed = options.seed;
    lowered.job = options.job();
    lowered.json = options.json;
    return runLowered(commandLine, *module, lowered);
  }
  if (lowered.isGiven())
    return commandLine.usageError(
        "--entry, --input and --output are for lowered modules");
  llvm::Expected<Package> package =
      readPackage(module ? module->package : subject);
  if (!package)
    return commandLine.fail(package.takeError());
  if (options.production)
    if (llvm::Error error = checkReviewed(*package))
      return commandLine.fail(std::move(error));

  std::string sanitizer;
  if (options.sanitize) {
    sanitizer = findComputeSanitizer();
    if (sanitizer.empty())
      return commandLine.fail("--sanitize: no compute-sanitizer in "
                              "$SPARSEDITTO_COMPUTE_SANITIZER, $CUDA_HOME, "
                              "PATH or /usr/local/cuda");
  }
  std::optional<DeviceInfo> device;
  if (!options.emulate) {
    // Given back before the first worker starts: only what it is is needed.
    llvm::Expected<DeviceRef> opened = Device::open(int(options.device));
    if (!opened)
      return commandLine.fail(
          llvm::toString(opened.takeError()) +
              "; nothing was checked (--emulate checks on the CPU, sd-tune "
              "doctor says what is missing)",
          noGpu);
    device = (*opened)->info();
  }
  Runner runner(*package, options, std::move(*sizes),
                module ? module->name : package->directory);
  runner.select(device ? &*device : nullptr, glob);
  std::string where = device
                          ? device->name + " (sm_" +
                                std::to_string(device->computeCapability) + ")"
                          : "emulator";
  if (runner.selected() == 0 && runner.skipped() != 0)
    return commandLine.fail("no kernel of the package is for " +
                            (device ? where : "the emulator") + "; " +
                            llvm::Twine(uint64_t(runner.skipped())) +
                            " are for other chips");
  std::optional<ResultLog> log;
  if (!options.results.empty()) {
    llvm::Expected<std::string> digest = packageDigest(package->directory);
    if (!digest)
      return commandLine.fail(digest.takeError());
    std::string environment =
        *digest + "\n" + where + "\nsd-tune " + SPARSEDITTO_VERSION;
    if (device)
      environment += "\ndriver " + std::to_string(device->driverVersion);
    llvm::Expected<ResultLog> opened =
        ResultLog::open(options.results, environment, options.resume);
    if (!opened)
      return commandLine.fail(opened.takeError());
    log.emplace(std::move(*opened));
  }
  if (llvm::Error error = runner.run(log ? &*log : nullptr, sanitizer))
    return commandLine.fail(std::move(error));
  if (!options.csv.empty()) {
    std::error_code code;
    llvm::raw_fd_ostream os(options.csv, code);
    if (code)
      return commandLine.fail(options.csv + ": " + code.message());
    runner.writeCsv(os);
    os.close();
    if (os.has_error()) {
      code = os.error();
      os.clear_error();
      return commandLine.fail(options.csv + ": " + code.message());
    }
  }
  if (options.json)
    llvm::outs() << llvm::formatv("{0:2}", runner.toJSON(where)) << "\n";
  else
    runner.printTable(llvm::outs());
  return runner.failed() == 0 ? 0 : 1;
}
