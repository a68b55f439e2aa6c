//===- Tune.cpp - sd-tune tune -------------------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileSpelling.h"
#include "Subcommands.h"
#include "sparseditto/Agent/Transcript.h"
#include "sparseditto/Runtime/Device.h"
#include "sparseditto/Runtime/ProfileJob.h"
#include "sparseditto/Support/Printable.h"
#include "sparseditto/Support/Table.h"
#include "sparseditto/Tuning/Evaluators.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>
#include <mutex>
#include <thread>

using namespace sparseditto;
using namespace sparseditto::tool;

static std::atomic<bool> interrupted = false;

/// The first Ctrl-C ends the search, the second the program.
static void onInterrupt(int) {
  interrupted = true;
  std::signal(SIGINT, SIG_DFL);
}

namespace {
struct Spelling : CompileSpelling {
  std::string targetSpeedup, transcript, measure = "auto", database;
  std::string llmConfig, calls, tokens, money;
  unsigned seconds = 0, batch = 4, patience = 2, device = 0, timeout = 600;
  bool emulate = false, requireAgent = false, dumpPrompt = false;
  bool rewrite = false, profile = false;
};

/// The device that candidates are measured on, or why there is none.
struct Measuring {
  std::optional<DeviceInfo> device;
  std::string why;
};
} // namespace

static llvm::Expected<double> parseSpeedup(const std::string &text) {
  double value = 0;
  if (!text.empty() &&
      (!llvm::to_float(text, value) || !(value > 0) || value > 1e6))
    return invalidOption("--target-speedup", text, "a number above 0");
  return value;
}

static llvm::Expected<Measuring> findDevice(const Spelling &spelling) {
  Measuring measuring;
  if (spelling.measure == "off") {
    measuring.why = "--measure off";
    return measuring;
  }
  if (spelling.profile && findNcu().empty())
    return llvm::createStringError(
        "--profile: ncu not found in $SPARSEDITTO_NCU, $CUDA_HOME, PATH or "
        "/usr/local/cuda");
  if (spelling.measure != "auto" && spelling.measure != "on")
    return invalidOption("--measure", spelling.measure, "auto, on or off");
  // Given back before the first worker starts: only what it is is needed.
  llvm::Expected<DeviceRef> opened = Device::open(int(spelling.device));
  if (opened) {
    measuring.device = (*opened)->info();
    return measuring;
  }
  if (spelling.measure == "on")
    return opened.takeError();
  measuring.why = llvm::toString(opened.takeError());
  return measuring;
}

static void printProgress(const LoopProgress &line) {
  static std::mutex mutex;
  std::string text = llvm::formatv(
      "{0}, {1}, N = {2}: round {3}, {4} candidates, best {5}, {6:F2} us {7}",
      line.label, line.chip, line.n, line.round, line.candidates, line.best,
      line.microseconds, name(line.times));
  if (line.microseconds > 0)
    text += llvm::formatv(", {0:F2}x dense, {1:F0} % of the floor",
                          line.denseMicroseconds / line.microseconds,
                          100 * line.floorMicroseconds / line.microseconds);
  if (!line.cost.empty())
    text += ", spent " + line.cost;
  std::lock_guard<std::mutex> lock(mutex);
  llvm::errs() << text << "\n";
}

static void printPrompt(const ProposalState &state, llvm::StringRef prompt) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  llvm::outs() << llvm::formatv("=== {0}, N = {1}, {2}\n",
                                printableLine(state.report.matrixName),
                                state.problem.tuneN, state.chip)
               << prompt;
}

static void printTable(const CompileResult &result) {
  Table table({"tensor", "shape", "pattern", "N", "chip", "choice", "status",
               "us", "dense us", "x dense", "floor us", "search ended", "why"});
  for (size_t column : {7, 8, 9, 10})
    table.alignRight(column);
  for (const CompiledRow &row : result.rows) {
    const Choice &choice = row.choice;
    const bool isMeasured = choice.microseconds > 0;
    double us = isMeasured ? choice.microseconds : choice.predictedMicroseconds;
    double dense =
        isMeasured ? choice.denseMicroseconds : choice.libraryMicroseconds;
    auto number = [](double value) {
      return llvm::formatv("{0:F2}", value).str();
    };
    table.row({row.layer, std::to_string(row.m) + "x" + std::to_string(row.k),
               row.pattern, choice.rangeText(), row.chip, choice.text(),
               choice.useLibrary ? "-"
               : isMeasured      ? "measured"
                                 : name(choice.status).str(),
               number(us), number(dense), number(us > 0 ? dense / us : 0),
               number(choice.floorMicroseconds),
               choice.stop.empty() ? "-" : choice.stop, choice.reason});
  }
  table.print(llvm::outs());
}

/// What stands at the end, whichever way the run ended.
static std::vector<std::string> endNotes(const CompileOptions &options,
                                         const Measuring &measuring,
                                         bool profile) {
  std::vector<std::string> notes;
  if (options.choose.replay)
    notes.push_back("replayed from '" + options.choose.replay->path +
                    "'; times are those of the recorded run");
  else if (measuring.device)
    notes.push_back("times are measured on " + measuring.device->name +
                    " where the chip is its own, else predicted");
  else
    notes.push_back("times are predicted, not measured: " + measuring.why);
  if (profile && !measuring.device)
    notes.push_back("no counters are read: nothing is measured");
  if (interrupted)
    notes.push_back("interrupted: the best until then stands, the rest is the "
                    "heuristic's plan");
  if (options.choose.sources) {
    for (const std::string &end : options.choose.sources->ended())
      notes.push_back("agent " + end);
    std::string spent = options.choose.sources->spentText();
    if (!spent.empty())
      notes.push_back("spent: " + spent);
  }
  if (options.choose.database)
    for (std::string &message : options.choose.database->messages())
      notes.push_back(std::move(message));
  return notes;
}

/// Where candidates are run: on the device or the emulator, or nowhere.
static void chooseEvaluator(CompileOptions &options, const Spelling &spelling,
                            const Measuring &measuring) {
  static int anchor;
  std::string program = llvm::sys::fs::getMainExecutable("sd-tune", &anchor);
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  JobSettings settings;
  JobOptions jobOptions;
  jobOptions.timeoutSeconds = spelling.timeout;
  jobOptions.cancelled = &interrupted;
  settings.run = [program, jobOptions](const Job &job) {
    return runJob(program, job, jobOptions);
  };
  if (spelling.profile)
    settings.profile = [program, jobOptions](const Job &job) {
      return profileJob(program, job, jobOptions);
    };
  settings.emulate = !measuring.device;
  settings.device = int(spelling.device);
  settings.interrupted = &interrupted;
  if (measuring.device)
    settings.runs = [info = *measuring.device](const Chip &chip) {
      return info.runs(chip.name);
    };
  const bool isRun = measuring.device || spelling.emulate;
  options.makeEvaluator =
      [=](const Matrix &weight, const Problem &problem,
          CandidateBuilder &builder) -> std::unique_ptr<Evaluator> {
    if (isRun)
      return std::make_unique<JobEvaluator>(weight, problem, builder, settings,
                                            threads);
    return std::make_unique<CompiledEvaluator>(problem, builder, threads);
  };
}

static llvm::Expected<CompileOptions> interpret(const Spelling &spelling,
                                                const CommandLine &command) {
  AgentOptions agents;
  agents.configFile = spelling.llmConfig;
  agents.cancelled = &interrupted;
  agents.allowRewrites = spelling.rewrite;
  auto limit = [&](llvm::StringRef field, const std::string &value) {
    if (!value.empty())
      agents.fields.emplace_back(field.str(), value);
  };
  limit("max_calls", spelling.calls);
  limit("max_tokens", spelling.tokens);
  limit("max_money", spelling.money);
  for (auto [name, value] : {std::pair("--budget-calls", &spelling.calls),
                             std::pair("--budget-tokens", &spelling.tokens),
                             std::pair("--budget-money", &spelling.money)})
    if (double number;
        !value->empty() && (!llvm::to_float(*value, number) || !(number >= 0)))
      return invalidOption(name, *value, "a number of at least 0");
  agents.warn = [](llvm::StringRef warning) {
    llvm::errs() << "sd-tune tune: warning: " << warning << "\n";
  };
  if (spelling.dumpPrompt)
    agents.onPrompt = printPrompt;
  auto options = spelling.interpret(command, std::move(agents));
  if (!options)
    return options.takeError();
  auto speedup = parseSpeedup(spelling.targetSpeedup);
  if (!speedup)
    return speedup.takeError();
  if (spelling.batch == 0)
    return invalidOption("--batch", "0", "at least 1");
  if (spelling.patience == 0)
    return invalidOption("--patience", "0", "at least 1");
  if (spelling.rewrite && spelling.production)
    return llvm::createStringError(
        "--rewrite and --production: nobody has approved a kernel that is "
        "written now");
  if (spelling.timeout == 0)
    return invalidOption("--timeout", "0", "at least 1");
  LoopOptions &loop = options->choose.loop;
  loop.targetSpeedup = *speedup;
  loop.batch = spelling.batch;
  loop.patience = spelling.patience;
  loop.requireAgent = spelling.requireAgent;
  loop.allowRewrites = spelling.rewrite;
  if (spelling.seconds)
    loop.seconds = spelling.seconds;
  loop.clock = secondsFromNow();
  loop.interrupted = &interrupted;
  options->choose.progress = printProgress;
  // Facts of the machine code are for those who can read them.
  options->readSass =
      options->choose.sources && options->choose.sources->learns();
  // Kernels are timed one at a time; those of a round compile side by side.
  if (options->jobs == 0)
    options->jobs = 1;
  return options;
}

int tool::tuneMain(llvm::ArrayRef<const char *> args) {
  Spelling spelling;
  CommandLine command(
      "tune", "FILE...",
      "Searches the best kernel for every matrix of weight files and every N: "
      "proposes,\ncompiles, checks and times candidates until a budget or the "
      "floor is reached, and\nwrites a package. Without a GPU times are "
      "predicted.");
  spelling.declare(command, "--budget-candidates",
                   "a list of heuristic (default), exhaustive, random[:SEED], "
                   "llm and local, the next one where one fails; or "
                   "replay:TRANSCRIPT");
  command.value("--budget-seconds", "SECONDS", spelling.seconds,
                "propose nothing new after this time (default: no limit)");
  command.value("--llm-config", "FILE", spelling.llmConfig,
                "where the language models llm and local are (docs/Agent.md)");
  command.value("--budget-calls", "COUNT", spelling.calls,
                "calls of a language model (default: as configured)");
  command.value("--budget-tokens", "COUNT", spelling.tokens,
                "tokens of a language model (default: as configured)");
  command.value("--budget-money", "X", spelling.money,
                "money for a language model (default: as configured)");
  command.value("--target-speedup", "X", spelling.targetSpeedup,
                "stop at this speed-up over the dense library");
  command.value("--batch", "COUNT", spelling.batch,
                "candidates proposed in a round (default 4)");
  command.value("--patience", "ROUNDS", spelling.patience,
                "stop after this many rounds without a gain (default 2)");
  command.flag("--rewrite", spelling.rewrite,
               "take kernels that the agent rewrites as well; one that wins is "
               "kept, unreviewed (sd-tune approve)");
  command.flag(
      "--require-agent", spelling.requireAgent,
      "fail if the agent does, instead of taking the heuristic's plan");
  command.flag(
      "--dump-prompt", spelling.dumpPrompt,
      "print what a language model would be asked first, and ask none; "
      "writes no package");
  command.value("--transcript", "FILE", spelling.transcript,
                "write what happens, as JSON lines");
  command.value("--measure", "WHEN", spelling.measure,
                "auto (default: where there is a GPU), on or off");
  command.flag("--emulate", spelling.emulate,
               "check candidates on the CPU where they are not measured");
  command.value("--db", "FILE", spelling.database,
                "tuning records: verified ones are applied, new ones added");
  command.flag(
      "--profile", spelling.profile,
      "read the counters of what is measured with Nsight Compute's ncu "
      "as well: seconds a candidate");
  command.value("--device", "NUMBER", spelling.device, "which GPU");
  command.value("--timeout", "SECONDS", spelling.timeout,
                "limit of one candidate's worker (default 600)");
  if (std::optional<int> code = command.parse(args))
    return *code;
  if (command.positional.empty())
    return command.usageError("expected at least one weight file");
  if (spelling.dumpPrompt)
    spelling.agent = "llm";
  else if (spelling.output.empty())
    return command.usageError("expected -o PACKAGE");
  auto options = interpret(spelling, command);
  if (!options)
    return command.usageError(llvm::toString(options.takeError()));

  std::optional<Transcript> recorded;
  Measuring measuring;
  if (llvm::StringRef path = spelling.agent; path.consume_front("replay:")) {
    auto read = Transcript::read(path);
    if (!read)
      return command.fail(read.takeError());
    recorded = std::move(*read);
    options->choose.replay = &*recorded;
  } else {
    auto found = findDevice(spelling);
    if (!found)
      return command.fail(found.takeError());
    measuring = std::move(*found);
    chooseEvaluator(*options, spelling, measuring);
  }
  options->environment = environmentHere();
  if (measuring.device) {
    options->environment.device = measuring.device->name;
    int version = measuring.device->driverVersion;
    options->environment.driver = std::to_string(version / 1000) + "." +
                                  std::to_string(version % 1000 / 10);
  }
  std::unique_ptr<TuningDatabase> database;
  if (!spelling.database.empty()) {
    auto opened = TuningDatabase::open(spelling.database, options->environment);
    if (!opened)
      return command.fail(opened.takeError());
    database = std::move(*opened);
    options->choose.database = database.get();
  }
  std::unique_ptr<TranscriptWriter> transcript;
  if (!spelling.transcript.empty()) {
    llvm::json::Array chips;
    for (const Chip *chip : options->chips)
      chips.push_back(chip->name);
    auto opened = TranscriptWriter::create(
        spelling.transcript, "sd-tune tune",
        llvm::json::Object{
            {"agent", spelling.agent},
            {"chips", std::move(chips)},
            {"times", name(measuring.device ? TimeSource::Measured
                                            : TimeSource::Predicted)},
            {"device", options->environment.device},
            {"ptxas", options->environment.ptxas}});
    if (!opened)
      return command.fail(opened.takeError());
    transcript = std::move(*opened);
    options->choose.events = transcript.get();
  }

  std::signal(SIGINT, onInterrupt);
  auto result = compilePackage(*options);
  std::vector<std::string> notes =
      endNotes(*options, measuring, spelling.profile);
  if (transcript) {
    llvm::json::Object end{{"interrupted", interrupted.load()},
                           {"failed", !result},
                           {"notes", llvm::json::Array(notes)}};
    if (options->choose.sources)
      end["spent"] = options->choose.sources->spent();
    transcript->event("end", std::move(end));
    if (llvm::Error error = transcript->finish()) {
      if (!result)
        llvm::consumeError(result.takeError());
      return command.fail(std::move(error));
    }
  }
  if (!result)
    return command.fail(result.takeError());
  if (spelling.dumpPrompt) {
    // Where no model would be asked, why.
    for (const CompiledRow &row : result->rows)
      llvm::outs() << llvm::formatv(
          "=== {0}, N {1}, {2}: {3}\n", printableLine(row.layer),
          row.choice.rangeText(), row.chip, row.choice.stop);
    return 0;
  }
  if (database && !recorded)
    if (llvm::Error error = database->append(result->records))
      return command.fail(std::move(error));
  if (spelling.json) {
    printCompileJSON(*result, spelling.output,
                     llvm::json::Object{{"remarks", llvm::json::Array(notes)}});
    return 0;
  }
  printTable(*result);
  printSkipped(llvm::outs(), *result);
  for (const std::string &note : notes)
    llvm::outs() << note << "\n";
  llvm::outs() << llvm::formatv(
      "{0}: {1} kernels, packed {2:F2} MB beside {3:F2} MB dense\n",
      spelling.output, result->kernelsBuilt, result->packedBytes / 1e6,
      result->denseBytes / 1e6);
  return 0;
}
