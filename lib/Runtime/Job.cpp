//===- Job.cpp - One kernel to check and time, as files -------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/Job.h"
#include "sparseditto/Runtime/JSONFile.h"
#include "sparseditto/Runtime/WorkerProcess.h"
#include "sparseditto/Support/JSONFields.h"
#include "sparseditto/Support/Printable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>
#include <csignal>
#include <cstring>
#include <limits>
#include <sys/random.h>
#include <thread>

using namespace sparseditto;
namespace json = llvm::json;

static constexpr int64_t maxExtent = std::numeric_limits<int32_t>::max();
static constexpr int64_t maxInt64 = std::numeric_limits<int64_t>::max();
static constexpr uint64_t maxResultBytes = uint64_t(16) << 20;

static constexpr struct {
  RunStatus status;
  const char *name;
} statusNames[] = {
    {RunStatus::Verified, "verified"},
    {RunStatus::Executed, "executed"},
    {RunStatus::Illegal, "illegal"},
    {RunStatus::WrongResult, "wrong_result"},
    {RunStatus::Nondeterministic, "nondeterministic"},
    {RunStatus::InputModified, "input_modified"},
    {RunStatus::OutOfBounds, "out_of_bounds"},
    {RunStatus::LaunchFailed, "launch_failed"},
    {RunStatus::LoadFailed, "load_failed"},
    {RunStatus::FasterThanFloor, "faster_than_floor"},
    {RunStatus::Crashed, "crashed"},
    {RunStatus::TimedOut, "timed_out"},
    {RunStatus::OverLimits, "over_limits"},
    {RunStatus::Sanitizer, "sanitizer"},
    {RunStatus::NoResult, "no_result"},
    {RunStatus::Error, "error"},
};

llvm::StringRef sparseditto::name(RunStatus status) {
  for (const auto &entry : statusNames)
    if (entry.status == status)
      return entry.name;
  llvm_unreachable("unknown run status");
}

std::optional<RunStatus> sparseditto::parseRunStatus(llvm::StringRef text) {
  for (const auto &entry : statusNames)
    if (text == entry.name)
      return entry.status;
  return std::nullopt;
}

RunStatus sparseditto::runStatus(CheckStatus status) {
  switch (status) {
  case CheckStatus::Verified:
    return RunStatus::Verified;
  case CheckStatus::WrongResult:
    return RunStatus::WrongResult;
  case CheckStatus::Nondeterministic:
    return RunStatus::Nondeterministic;
  case CheckStatus::InputModified:
    return RunStatus::InputModified;
  case CheckStatus::OutOfBounds:
    return RunStatus::OutOfBounds;
  case CheckStatus::LaunchFailed:
    return RunStatus::LaunchFailed;
  }
  llvm_unreachable("unknown check status");
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static json::Array toArray(llvm::ArrayRef<int64_t> numbers) {
  json::Array array;
  for (int64_t number : numbers)
    array.push_back(number);
  return array;
}

static void readSizes(JSONFields &fields, llvm::StringRef key,
                      std::vector<int64_t> &out) {
  const json::Array *items = fields.array(key, 0, 4096);
  if (!items)
    return;
  for (const json::Value &item : *items) {
    std::optional<int64_t> number = item.getAsInteger();
    if (!number || *number < 1 || *number > maxExtent)
      return fields.take(llvm::createStringError(
          llvm::inconvertibleErrorCode(),
          "\"" + key + "\" holds something that is not an N"));
    out.push_back(*number);
  }
}

void Job::shorten() {
  if (checkN.size() > 1)
    checkN.erase(checkN.begin() + 1, checkN.end());
  onlyGivenN = !checkN.empty();
  allVariants = false;
  maxOneHotLaunches = 1;
  timeN.clear();
  rival.clear();
}

void Job::emulateBriefly() {
  emulate = true;
  onlyGivenN = true;
  hiddenN = checkN.empty() ? 1 : 0;
  hiddenLimit = 50;
  allVariants = false;
  maxOneHotLaunches = 4;
  timeN.clear();
  if (checkN.empty())
    checkN = {1, 3, 8, 17};
}

json::Value Job::toJSON() const {
  json::Object object{{"schema", 1},
                      {"nonce", nonce},
                      {"package", package},
                      {"layer", layer},
                      {"symbol", symbol},
                      {"chip", chip},
                      {"emulate", emulate},
                      {"device", device},
                      {"check_n", toArray(checkN)},
                      {"only_given_n", onlyGivenN},
                      {"hidden_n", int64_t(hiddenN)},
                      {"hidden_limit", hiddenLimit},
                      {"all_variants", allVariants},
                      {"max_one_hot_launches", maxOneHotLaunches},
                      {"time_n", toArray(timeN)},
                      {"rival", rival},
                      {"seed", int64_t(seed)},
                      {"policy", policy}};
  if (module)
    object["module"] = module->toJSON();
  return object;
}

llvm::Expected<Job> Job::fromJSON(const json::Value &value) {
  Job job;
  int64_t schema = 0;
  JSONFields fields(value, "job");
  fields.integer("schema", 1, 1, schema);
  fields.string("nonce", job.nonce);
  fields.string("package", job.package);
  fields.string("layer", job.layer);
  fields.string("symbol", job.symbol);
  fields.string("chip", job.chip);
  fields.boolean("emulate", job.emulate);
  fields.integer("device", 0, 1024, job.device);
  readSizes(fields, "check_n", job.checkN);
  fields.boolean("only_given_n", job.onlyGivenN);
  fields.integer("hidden_n", 0, 64, job.hiddenN);
  fields.integer("hidden_limit", 1, maxExtent, job.hiddenLimit);
  fields.boolean("all_variants", job.allVariants);
  fields.integer("max_one_hot_launches", 1, maxExtent, job.maxOneHotLaunches);
  readSizes(fields, "time_n", job.timeN);
  fields.string("rival", job.rival);
  fields.integer("seed", 0, maxInt64, job.seed);
  fields.boolean("policy", job.policy);
  if (const json::Value *module = fields.find("module")) {
    llvm::Expected<ModuleJob> read = ModuleJob::fromJSON(*module);
    if (read)
      job.module = std::move(*read);
    else
      fields.take(read.takeError());
  }
  if (llvm::Error error = fields.finish())
    return error;
  return job;
}

static json::Array toArray(llvm::ArrayRef<Measurement> measurements) {
  json::Array times;
  for (const Measurement &measurement : measurements)
    times.push_back(measurement.toJSON());
  return times;
}

static void readMeasurements(JSONFields &fields, llvm::StringRef key,
                             std::vector<Measurement> &out) {
  const json::Array *items = fields.array(key, 0, 4096);
  if (!items)
    return;
  for (const json::Value &item : *items) {
    llvm::Expected<Measurement> measurement = Measurement::fromJSON(item);
    if (measurement)
      out.push_back(std::move(*measurement));
    else
      fields.take(measurement.takeError());
  }
}

json::Value JobResult::toJSON() const {
  json::Object object{{"schema", 1},
                      {"nonce", nonce},
                      {"status", name(status)},
                      {"message", json::fixUTF8(message)},
                      {"executor", executor},
                      {"seed", int64_t(seed)},
                      {"launches", launches},
                      {"elements", elements},
                      {"exact_elements", exactElements},
                      {"columns_probed", columnsProbed},
                      {"max_error_over_bound", maxErrorOverBound},
                      {"n", toArray(n)},
                      {"registers", registers},
                      {"local_bytes", localBytes},
                      {"static_shared_bytes", staticSharedBytes},
                      {"compiled_by_driver", compiledByDriver},
                      {"measurements", toArray(measurements)},
                      {"rivals", toArray(rivals)},
                      {"seconds", seconds},
                      {"sandbox_missing", json::fixUTF8(sandboxMissing)}};
  if (module)
    object["module"] = module->toJSON();
  return object;
}

llvm::Expected<JobResult> JobResult::fromJSON(const json::Value &value) {
  JobResult result;
  int64_t schema = 0;
  JSONFields fields(value, "result");
  fields.integer("schema", 1, 1, schema);
  fields.string("nonce", result.nonce);
  fields.word("status", parseRunStatus, result.status);
  fields.string("message", result.message);
  fields.string("executor", result.executor);
  fields.integer("seed", 0, maxInt64, result.seed);
  fields.integer("launches", 0, maxInt64, result.launches);
  fields.integer("elements", 0, maxInt64, result.elements);
  fields.integer("exact_elements", 0, maxInt64, result.exactElements);
  fields.integer("columns_probed", 0, maxInt64, result.columnsProbed);
  fields.number("max_error_over_bound", result.maxErrorOverBound);
  readSizes(fields, "n", result.n);
  fields.integer("registers", 0, maxExtent, result.registers);
  fields.integer("local_bytes", 0, maxExtent, result.localBytes);
  fields.integer("static_shared_bytes", 0, maxExtent, result.staticSharedBytes);
  fields.boolean("compiled_by_driver", result.compiledByDriver);
  readMeasurements(fields, "measurements", result.measurements);
  readMeasurements(fields, "rivals", result.rivals);
  fields.number("seconds", result.seconds);
  fields.string("sandbox_missing", result.sandboxMissing);
  if (const json::Value *module = fields.find("module")) {
    llvm::Expected<ModuleJobResult> read = ModuleJobResult::fromJSON(*module);
    if (read)
      result.module = std::move(*read);
    else
      fields.take(read.takeError());
  }
  if (llvm::Error error = fields.finish())
    return error;
  return result;
}

//===----------------------------------------------------------------------===//
// The parent's side
//===----------------------------------------------------------------------===//

/// Numbers nobody can foresee; false if the system has none.
static bool drawSecret(llvm::MutableArrayRef<uint8_t> bytes) {
  // Blocks only before the system's generator is seeded; a short read cannot
  // happen for so few bytes.
  return getrandom(bytes.data(), bytes.size(), 0) == ssize_t(bytes.size());
}

static std::string makeNonce() {
  uint8_t bytes[16];
  if (!drawSecret(bytes))
    return "";
  return llvm::toHex(llvm::ArrayRef<uint8_t>(bytes), /*LowerCase=*/true);
}

/// In [1, 2^31): small enough to be typed, and for any arithmetic on it.
static uint64_t makeSeed() {
  uint8_t bytes[4] = {};
  if (!drawSecret(bytes))
    return 0;
  return 1 + llvm::support::endian::read32le(bytes) % 0x7fffffff;
}

/// The end of what a worker said, on one line.
static std::string lastWords(llvm::StringRef output) {
  output = output.trim();
  if (output.empty())
    return "";
  return ": " +
         printableLine(output.size() > 400 ? output.take_back(400) : output);
}

JobResult sparseditto::runJob(llvm::StringRef program, Job job,
                              const JobOptions &options) {
  JobResult failed;
  auto failure = [&](RunStatus status, const llvm::Twine &message) {
    failed.status = status;
    failed.message = message.str();
    return failed;
  };
  job.nonce = makeNonce();
  if (job.nonce.empty())
    return failure(RunStatus::Error, "no random numbers for a nonce");
  if (job.seed == 0)
    job.seed = makeSeed();
  if (job.seed == 0)
    return failure(RunStatus::Error, "no random numbers for a seed");
  failed.seed = job.seed;
  llvm::Expected<JobDirectory> directory = JobDirectory::create();
  if (!directory)
    return failure(RunStatus::Error, llvm::toString(directory.takeError()));
  std::string jobFile = directory->file("job.json");
  std::string resultFile = directory->file("result.json");
  if (llvm::Error error = writeJSONFile(jobFile, job.toJSON()))
    return failure(RunStatus::Error, llvm::toString(std::move(error)));

  std::vector<std::string> args = options.wrapper;
  args.insert(args.end(), {program.str(), "worker", jobFile, resultFile});
  // Not less than the wall time allows: only a worker whose parent no longer
  // watches it gets there.
  uint64_t cores = std::max(1u, std::thread::hardware_concurrency());
  args.push_back(
      "--cpu-seconds=" +
      std::to_string((options.timeoutSeconds + uint64_t(1)) * cores));
  if (options.requireSandbox)
    args.push_back("--require-sandbox");
  if (!options.wrapper.empty())
    args.push_back("--sanitized");
  std::vector<std::string> environment = workerEnvironment(directory->path());
  ProcessOptions processOptions = workerOptions(
      directory->path(), options.timeoutSeconds,
      options.memoryBytes ? options.memoryBytes : defaultWorkerMemory());
  processOptions.limits.directoryBytes = options.directoryBytes;
  processOptions.limits.directoryFiles = options.directoryFiles;
  processOptions.environment = &environment;
  processOptions.cancelled = options.cancelled;
  llvm::Expected<ProcessResult> process = runProcess(args, processOptions);
  if (!process)
    return failure(RunStatus::Error, llvm::toString(process.takeError()));
  if (options.output)
    *options.output = process->output;
  failed.seconds = process->seconds;
  failed.exitCode = process->exitCode;
  std::string words = lastWords(process->output);
  if (process->cancelled)
    return failure(RunStatus::NoResult, "the worker was cancelled");
  if (process->timedOut)
    return failure(RunStatus::TimedOut,
                   "the worker was killed after " +
                       llvm::Twine(options.timeoutSeconds) + " s" + words);
  if (!process->overLimit.empty())
    return failure(RunStatus::OverLimits,
                   "the worker was killed for " + process->overLimit + words);
  if (process->signal == SIGXCPU)
    return failure(RunStatus::TimedOut,
                   "the worker was ended for its CPU time" + words);
  if (process->signal == SIGXFSZ)
    return failure(RunStatus::OverLimits,
                   "the worker was ended for the size of a file" + words);
  if (process->signal != 0)
    return failure(RunStatus::Crashed, "the worker was ended by signal " +
                                           llvm::Twine(process->signal) + " (" +
                                           strsignal(process->signal) + ")" +
                                           words);
  if (process->exitCode != 0)
    return failure(RunStatus::Crashed, "the worker exited with code " +
                                           llvm::Twine(process->exitCode) +
                                           words);
  // What it left may be a link to anything that we can read and it cannot.
  auto isFile = [](const std::string &path) {
    return llvm::sys::fs::get_file_type(path, /*Follow=*/false) ==
           llvm::sys::fs::file_type::regular_file;
  };
  if (!isFile(resultFile))
    return failure(RunStatus::NoResult,
                   "the worker left no result file" + words);
  llvm::Expected<json::Value> value = readJSONFile(resultFile, maxResultBytes);
  if (!value)
    return failure(RunStatus::NoResult, "the worker left no result: " +
                                            llvm::toString(value.takeError()));
  llvm::Expected<JobResult> result = JobResult::fromJSON(*value);
  if (!result)
    return failure(RunStatus::NoResult, "the worker's result is not one: " +
                                            llvm::toString(result.takeError()));
  if (result->nonce != job.nonce)
    return failure(RunStatus::NoResult,
                   "the worker's result is not of this job");
  result->seconds = process->seconds;
  if (result->module && result->status == RunStatus::Executed) {
    std::string file = directory->file(moduleTensorsFile);
    if (!isFile(file))
      return failure(RunStatus::NoResult, "the worker left no tensors");
    auto tensors = llvm::MemoryBuffer::getFile(
        file, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!tensors)
      return failure(RunStatus::NoResult, "the worker left no tensors: " +
                                              tensors.getError().message());
    result->module->tensors = (*tensors)->getBuffer().str();
  }
  return std::move(*result);
}
