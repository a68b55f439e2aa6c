//===- Selftest.cpp - Does this harness refuse what it must? --------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Runs every candidate of test/Attacks the way a real one is run: as a package,
// in a worker, under the checker and, on a GPU, the timing.
//

#include "AttackCorpus.h"
#include "CommandLine.h"
#include "Subcommands.h"
#include "sparseditto/Runtime/Device.h"
#include "sparseditto/Runtime/Package.h"
#include "sparseditto/Support/Error.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

using namespace sparseditto;
using namespace sparseditto::tool;
namespace json = llvm::json;

static constexpr int noGpu = 3;

namespace {
enum class Verdict {
  AsExpected,  ///< Refused for the reason given, or a control verified.
  Accepted,    ///< An attack was verified.
  OtherReason, ///< Refused, but not as the file says.
  Refused,     ///< A control was.
};

class Selftest {
public:
  Selftest(bool emulate, bool asJson, unsigned device, const Chip &chip)
      : emulate(emulate), asJson(asJson), device(int(device)), chip(chip) {}
  void run(const Attack &attack);
  /// The exit code.
  int finish();

private:
  JobResult execute(const Attack &attack, const AttackRun &run) const;
  JobResult inPackage(const Attack &attack, const AttackRun &run,
                      llvm::StringRef directory) const;
  void report(const Attack &attack, const AttackRun &run,
              const JobResult &result, Verdict verdict);

  bool emulate, asJson;
  int device;
  const Chip &chip;
  json::Array rows;
  unsigned refused = 0, accepted = 0, otherwise = 0, elsewhere = 0;
  unsigned controls = 0, controlsRefused = 0;
};
} // namespace

static llvm::StringRef word(Verdict verdict, const Attack &attack) {
  switch (verdict) {
  case Verdict::AsExpected:
    return attack.mode == 0 ? "accepted" : "refused";
  case Verdict::Accepted:
    return "ACCEPTED";
  case Verdict::OtherReason:
    return "OTHER REASON";
  case Verdict::Refused:
    return "CONTROL REFUSED";
  }
  llvm_unreachable("unknown verdict");
}

JobResult Selftest::inPackage(const Attack &attack, const AttackRun &run,
                              llvm::StringRef directory) const {
  JobResult failed;
  if (llvm::Error error =
          writeAttackPackage(attack, chip, run.gpu, directory)) {
    failed.message = llvm::toString(std::move(error));
    return failed;
  }
  llvm::Expected<Package> package = readPackage(directory);
  if (!package) {
    failed.message = llvm::toString(package.takeError());
    return failed;
  }
  Job job;
  job.layer = "attack";
  job.device = device;
  job.policy = run.policy;
  if (run.gpu) {
    job.checkN = {attack.manifest.problem.tuneN};
    if (attack.timeN != 0)
      job.timeN = {attack.timeN};
  } else {
    job.emulateBriefly();
  }
  JobOptions options;
  options.timeoutSeconds = attack.timeoutSeconds;
  return runPackageJob(programPath(), *package,
                       package->layers.front().kernels.front(), job, options);
}

JobResult Selftest::execute(const Attack &attack, const AttackRun &run) const {
  llvm::SmallString<128> folder;
  if (std::error_code code = llvm::sys::fs::createUniqueDirectory(
          "sparseditto-selftest", folder)) {
    JobResult failed;
    failed.message = "cannot make a directory: " + code.message();
    return failed;
  }
  llvm::scope_exit cleanUp([&] { llvm::sys::fs::remove_directories(folder); });
  return inPackage(attack, run, (folder + "/package").str());
}

static Verdict judge(const Attack &attack, const AttackRun &run,
                     const JobResult &result) {
  bool expected =
      llvm::is_contained(run.statuses, result.status) &&
      (run.pattern.empty() || llvm::Regex(run.pattern).match(result.message));
  if (expected)
    return Verdict::AsExpected;
  if (attack.mode == 0)
    return Verdict::Refused;
  return result.status == RunStatus::Verified ? Verdict::Accepted
                                              : Verdict::OtherReason;
}

void Selftest::run(const Attack &attack) {
  bool ran = false, good = true, verified = false;
  for (const AttackRun &run : attack.runs) {
    if (run.gpu == emulate)
      continue;
    ran = true;
    JobResult result = execute(attack, run);
    Verdict verdict = judge(attack, run, result);
    good &= verdict == Verdict::AsExpected;
    verified |= verdict == Verdict::Accepted;
    report(attack, run, result, verdict);
  }
  if (!ran)
    elsewhere += attack.mode != 0;
  else if (attack.mode == 0)
    ++(good ? controls : controlsRefused);
  else
    ++(good ? refused : verified ? accepted : otherwise);
}

void Selftest::report(const Attack &attack, const AttackRun &run,
                      const JobResult &result, Verdict verdict) {
  llvm::StringRef first = llvm::StringRef(result.message).split('\n').first;
  if (asJson) {
    rows.push_back(json::Object{{"attack", attack.name},
                                {"mode", int64_t(attack.mode)},
                                {"title", attack.title},
                                {"place", run.place},
                                {"status", name(result.status)},
                                {"message", json::fixUTF8(result.message)},
                                {"seed", int64_t(result.seed)},
                                {"seconds", result.seconds},
                                {"verdict", word(verdict, attack)}});
    return;
  }
  llvm::outs() << llvm::formatv("{0,-8} {1,2}  {2,-37} {3,-18} {4}{5}{6}\n",
                                word(verdict, attack), attack.mode, attack.name,
                                run.place, name(result.status),
                                first.empty() ? "" : ": ", first);
  if (verdict != Verdict::AsExpected)
    llvm::outs() << llvm::formatv("         expected {0}: {1} (seed {2})\n",
                                  name(run.statuses.front()), run.pattern,
                                  result.seed);
  llvm::outs().flush();
}

int Selftest::finish() {
  bool good = accepted == 0 && otherwise == 0 && controlsRefused == 0;
  llvm::StringRef control = controlsRefused != 0 ? "control refused"
                            : controls != 0      ? "control verified"
                                                 : "no control was run";
  if (asJson) {
    llvm::outs() << llvm::formatv(
                        "{0:2}",
                        json::Value(json::Object{
                            {"schema", 1},
                            {"chip", chip.name},
                            {"emulated", emulate},
                            {"runs", std::move(rows)},
                            {"refused", int64_t(refused)},
                            {"accepted", int64_t(accepted)},
                            {"refused_otherwise", int64_t(otherwise)},
                            {"run_elsewhere", int64_t(elsewhere)},
                            {"controls", int64_t(controls)},
                            {"controls_refused", int64_t(controlsRefused)}}))
                 << "\n";
    return good ? 0 : 1;
  }
  if (otherwise != 0)
    llvm::outs() << otherwise << " refused for another reason than expected\n";
  if (elsewhere != 0)
    llvm::outs() << elsewhere << " attacks need "
                 << (emulate ? "a GPU" : "the emulator (--emulate)")
                 << " and were not run\n";
  llvm::outs() << refused << " attacks refused, " << accepted << " accepted, "
               << control << "\n";
  return good ? 0 : 1;
}

/// The chip whose code runs on the GPU.
static llvm::Expected<const Chip *> chipOf(const DeviceInfo &info) {
  for (const Chip &chip : knownChips())
    if (info.runs(chip.name))
      return &chip;
  return makeError("no known chip is {0} (sm_{1})", info.name,
                   info.computeCapability);
}

int tool::selftestMain(llvm::ArrayRef<const char *> args) {
  bool emulate = false, asJson = false;
  std::string only;
  unsigned device = 0;
  CommandLine commandLine("selftest", "",
                          "run malicious and broken candidates, which must all "
                          "be refused, and right ones, which must not");
  commandLine.flag("--emulate", emulate, "on the CPU, without a GPU");
  commandLine.value("--only", "GLOB", only, "only attacks whose name matches");
  commandLine.flag("--json", asJson, "print one JSON object");
  commandLine.value("--device", "NUMBER", device, "which GPU");
  if (std::optional<int> code = commandLine.parse(args))
    return *code;
  if (!commandLine.positional.empty())
    return commandLine.usageError("expected no operands");
  std::optional<llvm::GlobPattern> glob;
  if (!only.empty()) {
    llvm::Expected<llvm::GlobPattern> parsed = llvm::GlobPattern::create(only);
    if (!parsed)
      return commandLine.usageError("--only: " +
                                    llvm::toString(parsed.takeError()));
    glob = std::move(*parsed);
  }
  llvm::Expected<std::vector<Attack>> corpus = readAttackCorpus();
  if (!corpus)
    return commandLine.fail(corpus.takeError());
  if (glob)
    llvm::erase_if(*corpus, [&](const Attack &attack) {
      return !glob->match(attack.name);
    });
  if (corpus->empty())
    return commandLine.fail("no attack is named '" + only + "'");

  llvm::Expected<const Chip *> chip = findChip("sm_80");
  if (!emulate) {
    // Given back before the first worker starts: only what it is is needed.
    llvm::Expected<DeviceRef> opened = Device::open(int(device));
    if (!opened) {
      llvm::consumeError(chip.takeError());
      return commandLine.fail(
          llvm::toString(opened.takeError()) +
              "; nothing was run (--emulate runs what needs no GPU)",
          noGpu);
    }
    chip = chipOf((*opened)->info());
  }
  if (!chip)
    return commandLine.fail(chip.takeError());
  Selftest selftest(emulate, asJson, device, **chip);
  for (const Attack &attack : *corpus)
    selftest.run(attack);
  return selftest.finish();
}
