//===- Record.cpp - Measure a pool of candidates for offline policies -----===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each weight and N: every candidate that the families themselves name, and
// legal strategies drawn at random, are built, run and timed once on the GPU
// beside the dense library. What comes out, a JSON object a line, is what
// policies replay against without a GPU (replay.py).
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Agent/MachineModel.h"
#include "sparseditto/Agent/ProposalSource.h"
#include "sparseditto/Analysis/Analyze.h"
#include "sparseditto/IO/TensorFile.h"
#include "sparseditto/Runtime/Device.h"
#include "sparseditto/Runtime/Measure.h"
#include "sparseditto/Target/Chips.h"
#include "sparseditto/Tuning/Choose.h"
#include "sparseditto/Tuning/KernelCache.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <optional>
#include <set>
#include <tuple>

using namespace sparseditto;
namespace json = llvm::json;

namespace {
struct Options {
  std::vector<int64_t> ns = {1, 16, 64};
  unsigned named = 24;  ///< Candidates that the families name, a case.
  unsigned random = 12; ///< Drawn from all legal strategies, a case.
  uint64_t seed = 1;
  std::string chip = "sm_90a";
};

/// One weight with everything that is built for it.
struct Weight {
  std::string name;
  Matrix matrix;
  PatternReport report;
  Problem problem;
  std::map<std::string, PackedWeight> packed;  ///< By packingKey().
  std::map<std::string, std::string> unpacked; ///< Why there is none.
};

/// A candidate of one case.
struct Entry {
  Proposal proposal;
  std::string origin; ///< "family" or "random".
};
} // namespace

[[noreturn]] static void fail(const llvm::Twine &message) {
  llvm::errs() << "agent-record: " << message << "\n";
  std::exit(1);
}

template <typename T> static T take(llvm::Expected<T> value) {
  if (!value)
    fail(llvm::toString(value.takeError()));
  return std::move(*value);
}

static ProposalState stateOf(const Weight &weight, int64_t n,
                             const Chip &chip) {
  ProposalState state{weight.report, weight.problem};
  state.problem.tuneN = n;
  state.computeCapability = chip.computeCapability;
  state.chip = chip.name.str();
  state.families = allFamilies();
  return state;
}

/// The pool of a case: what the families name, the best predicted first, then
/// random ones. Without repetition and without the library.
static std::vector<Entry> poolOf(const Weight &weight, int64_t n,
                                 const Chip &chip, const Options &options) {
  std::vector<Entry> pool;
  std::set<std::string> known;
  auto add = [&](ProposalSource &source, unsigned wanted, unsigned ask,
                 llvm::StringRef origin) {
    ProposalState state = stateOf(weight, n, chip);
    for (Proposal &proposal : take(source.propose(state, ask))) {
      if (wanted == 0)
        return;
      if (proposal.useLibrary || !known.insert(proposal.key()).second)
        continue;
      pool.push_back({std::move(proposal), origin.str()});
      --wanted;
    }
  };
  add(*createHeuristicSource(), options.named, 1 << 12, "family");
  // The library and illegal numbers leave some of what is asked for out.
  add(*createRandomSource(options.seed + uint64_t(n)), options.random,
      options.random * 4, "random");
  return pool;
}

/// The place of a strategy in the order in which `exhaustive` proposes.
static uint64_t exhaustiveNumber(const Weight &weight, const Problem &problem,
                                 const Strategy &strategy) {
  uint64_t number = 1;
  for (const KernelFamily *family : allFamilies()) {
    if (llvm::Error error = family->accepts(weight.report, problem)) {
      llvm::consumeError(std::move(error));
      continue;
    }
    uint64_t combinations = 1, place = 0;
    for (const KnobDeclaration &knob : family->declaration().knobs) {
      combinations *= knob.values.size();
      place *= knob.values.size();
      if (strategy.family == family->name())
        place += uint64_t(llvm::find(knob.values, *strategy.get(knob.name)) -
                          knob.values.begin());
    }
    if (strategy.family == family->name())
      return number + place;
    number += combinations;
  }
  return number;
}

static json::Object describe(const Weight &weight, int64_t n) {
  const PatternReport &report = weight.report;
  return json::Object{{"kind", "case"},
                      {"weight", weight.name},
                      {"n", n},
                      {"m", weight.problem.m},
                      {"k", weight.problem.k},
                      {"type", name(weight.problem.type)},
                      {"layout", name(weight.problem.layout)},
                      {"pattern", report.patternText()},
                      {"density", report.density()},
                      {"fingerprint", report.fingerprint}};
}

namespace {
class Recorder {
public:
  Recorder(const Options &options, llvm::raw_ostream &os)
      : options(options), os(os), chip(*take(findChip(options.chip))),
        device(take(Device::open(0))), cache(PtxasOptions{}) {}

  void record(Weight &weight);

private:
  void build(Weight &weight, llvm::ArrayRef<std::vector<Entry>> pools);
  void measureCase(Weight &weight, int64_t n, llvm::ArrayRef<Entry> pool);
  json::Object measureCandidate(Weight &weight, int64_t n, const Entry &entry,
                                bool withDense, double *dense);
  void line(json::Object object) {
    os << json::Value(std::move(object)) << "\n";
    os.flush();
  }

  const Options &options;
  llvm::raw_ostream &os;
  const Chip &chip;
  DeviceRef device;
  KernelCache cache;
};
} // namespace

/// Packs every format once, then builds every kernel, a core each.
void Recorder::build(Weight &weight, llvm::ArrayRef<std::vector<Entry>> pools) {
  for (const std::vector<Entry> &pool : pools)
    for (const Entry &entry : pool) {
      const Strategy &strategy = entry.proposal.strategy;
      std::string key = packingKey(strategy);
      if (weight.packed.count(key) || weight.unpacked.count(key))
        continue;
      auto packed =
          packChecked(*findFamily(strategy.family), weight.matrix, strategy);
      if (packed)
        weight.packed.try_emplace(key, std::move(*packed));
      else
        weight.unpacked.try_emplace(key, llvm::toString(packed.takeError()));
    }
  llvm::DefaultThreadPool threads(llvm::hardware_concurrency());
  for (const std::vector<Entry> &pool : pools)
    for (const Entry &entry : pool) {
      auto it = weight.packed.find(packingKey(entry.proposal.strategy));
      if (it == weight.packed.end())
        continue;
      threads.async([this, &weight, &entry, packed = &it->second] {
        const Strategy &strategy = entry.proposal.strategy;
        cache.get(*findFamily(strategy.family), weight.problem, strategy,
                  *packed, chip);
      });
    }
  threads.wait();
}

json::Object Recorder::measureCandidate(Weight &weight, int64_t n,
                                        const Entry &entry, bool withDense,
                                        double *dense) {
  const Strategy &strategy = entry.proposal.strategy;
  Problem problem = weight.problem;
  problem.tuneN = n;
  json::Object row{{"kind", "candidate"},
                   {"weight", weight.name},
                   {"n", n},
                   {"strategy", strategy.str()},
                   {"family", strategy.family},
                   {"origin", entry.origin},
                   {"exhaustive_number",
                    int64_t(exhaustiveNumber(weight, problem, strategy))},
                   {"predicted_us", entry.proposal.predictedMicroseconds}};
  json::Object knobs;
  for (const KnobDeclaration &knob :
       findFamily(strategy.family)->declaration().knobs)
    knobs[knob.name] = *strategy.get(knob.name);
  row["knobs"] = std::move(knobs);
  auto ended = [&](CandidateStatus status, std::string message) {
    row["status"] = name(status);
    row["message"] = json::fixUTF8(message);
    return std::move(row);
  };
  auto packed = weight.packed.find(packingKey(strategy));
  if (packed == weight.packed.end())
    return ended(CandidateStatus::Illegal,
                 weight.unpacked[packingKey(strategy)]);
  auto built = cache.get(*findFamily(strategy.family), weight.problem, strategy,
                         packed->second, chip);
  row["registers"] = int64_t(built->resources.registers);
  if (built->status != CandidateStatus::Compiled)
    return ended(built->status, built->message);
  auto kernel =
      LoadedKernel::load(device, built->manifest, built->cubin, built->ptx);
  if (!kernel)
    return ended(CandidateStatus::Crashed, llvm::toString(kernel.takeError()));
  MeasureOptions measure;
  measure.timing.replays = 11;
  measure.timing.warmUp = 2;
  measure.dense = withDense;
  measure.floor = false;
  auto measured =
      measureKernel(device, *kernel, weight.matrix, packed->second, n, measure);
  if (!measured)
    return ended(CandidateStatus::Crashed,
                 llvm::toString(measured.takeError()));
  if (withDense && measured->dense() > 0)
    *dense = measured->dense();
  row["cold"] = measured->cold;
  if (!measured->fault.empty())
    return ended(CandidateStatus::WrongResult, measured->fault);
  row["us"] = measured->kernel.median;
  row["us_least"] = measured->kernel.least;
  row["us_greatest"] = measured->kernel.greatest;
  row["bytes"] = measured->bytes;
  return ended(CandidateStatus::Verified, "");
}

void Recorder::measureCase(Weight &weight, int64_t n,
                           llvm::ArrayRef<Entry> pool) {
  double dense = 0;
  unsigned verified = 0;
  std::vector<json::Object> rows;
  for (const Entry &entry : pool) {
    rows.push_back(
        measureCandidate(weight, n, entry, /*withDense=*/dense == 0, &dense));
    verified += *rows.back().getString("status") == "verified";
  }
  json::Object head = describe(weight, n);
  Problem problem = weight.problem;
  problem.tuneN = n;
  head["chip"] = chip.name;
  head["device"] = device->info().name;
  head["dense_us"] = dense;
  head["dense_predicted_us"] =
      MachineModel::forChip(chip.name).predictDenseLibrary(problem, n);
  line(std::move(head));
  for (json::Object &row : rows)
    line(std::move(row));
  llvm::errs() << llvm::formatv("{0}, N = {1}: {2} of {3} verified\n",
                                weight.name, n, verified, pool.size());
}

void Recorder::record(Weight &weight) {
  std::vector<std::vector<Entry>> pools;
  for (int64_t n : options.ns)
    pools.push_back(poolOf(weight, n, chip, options));
  build(weight, pools);
  for (auto [n, pool] : llvm::zip_equal(options.ns, pools))
    measureCase(weight, n, pool);
}

/// Copies a record with the predictions of today's machine model, which needs
/// the weights but no GPU: what was measured stays.
static void repredict(llvm::StringRef from, llvm::raw_ostream &os,
                      std::map<std::string, Weight> &weights,
                      const Options &options) {
  auto buffer = llvm::MemoryBuffer::getFile(from);
  if (!buffer)
    fail(from + ": " + buffer.getError().message());
  const Chip &chip = *take(findChip(options.chip));
  const MachineModel &model = MachineModel::forChip(chip.name);
  for (llvm::line_iterator it(**buffer); !it.is_at_eof(); ++it) {
    json::Value value = take(json::parse(*it));
    auto refuse = [&] {
      fail(from + ":" + llvm::Twine(it.line_number()) + ": not a record");
    };
    json::Object *row = value.getAsObject();
    if (!row)
      refuse();
    auto name = row->getString("weight");
    auto n = row->getInteger("n");
    if (!name || !n)
      refuse();
    auto weight = weights.find(name->str());
    if (weight == weights.end())
      fail(from + ": no file holds weight '" + *name + "'");
    Problem problem = weight->second.problem;
    problem.tuneN = *n;
    if (row->getString("kind") == "case") {
      (*row)["dense_predicted_us"] = model.predictDenseLibrary(problem, *n);
    } else {
      auto family = row->getString("family");
      const json::Object *knobs = row->getObject("knobs");
      const KernelFamily *known = family ? findFamily(*family) : nullptr;
      if (!known || !knobs)
        refuse();
      Strategy strategy;
      strategy.family = family->str();
      for (const KnobDeclaration &knob : known->declaration().knobs)
        strategy.set(knob.name,
                     knobs->getInteger(knob.name).value_or(knob.defaultValue));
      (*row)["predicted_us"] = model.predict(
          known->cost(weight->second.report, problem, strategy, *n), *family);
    }
    os << value << "\n";
  }
}

static Weight loadWeight(TensorFile &file, size_t index, llvm::StringRef path) {
  Weight weight;
  Matrix stored = take(file.load(index));
  weight.matrix = take(stored.convertedTo(ElementType::F16));
  // The name of an array in a file of one says little: "weight".
  weight.name = file.tensors().size() == 1 ? llvm::sys::path::stem(path).str()
                                           : file.tensors()[index].name;
  weight.report = take(analyze(weight.matrix, AnalyzeOptions()));
  Problem &problem = weight.problem;
  problem.m = weight.matrix.rows;
  problem.k = weight.matrix.cols;
  problem.type = problem.outputType = ElementType::F16;
  problem.layout = Layout::TokenMajor;
  return weight;
}

static std::vector<int64_t> parseSizes(llvm::StringRef text) {
  std::vector<int64_t> sizes;
  for (llvm::StringRef rest = text; !rest.empty();) {
    llvm::StringRef item;
    std::tie(item, rest) = rest.split(',');
    int64_t n = 0;
    if (item.getAsInteger(10, n) || n < 1 || n > INT32_MAX)
      fail("--n expects numbers >= 1 with commas between, got '" + text + "'");
    sizes.push_back(n);
  }
  return sizes;
}

int main(int argc, char **argv) {
  const char *usage =
      "usage: agent-record OUT.jsonl [--n LIST] [--named COUNT] "
      "[--random COUNT] [--repredict RECORD.jsonl] FILE[#TENSOR]...";
  Options options;
  std::vector<std::string> files;
  std::string out, from;
  auto count = [&](llvm::StringRef text) {
    unsigned value = 0;
    if (text.getAsInteger(10, value))
      fail("expected a number, got '" + text + "'");
    return value;
  };
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef argument = argv[i];
    if (argument.starts_with("--") && i + 1 == argc)
      fail(usage);
    if (argument == "--n")
      options.ns = parseSizes(argv[++i]);
    else if (argument == "--named")
      options.named = count(argv[++i]);
    else if (argument == "--random")
      options.random = count(argv[++i]);
    else if (argument == "--repredict")
      from = argv[++i];
    else if (argument.starts_with("--"))
      fail(usage);
    else if (out.empty())
      out = argument.str();
    else
      files.push_back(argument.str());
  }
  if (files.empty())
    fail(usage);
  std::error_code code;
  llvm::raw_fd_ostream os(out, code);
  if (code)
    fail(out + ": " + code.message());
  std::optional<Recorder> recorder;
  std::map<std::string, Weight> weights;
  if (from.empty())
    recorder.emplace(options, os);
  for (const std::string &argument : files) {
    auto [path, tensor] = llvm::StringRef(argument).split('#');
    auto file = take(TensorFile::open(path.str(), ReadOptions()));
    unsigned matched = 0;
    for (auto [index, info] : llvm::enumerate(file->tensors())) {
      if (!tensor.empty() && info.name != tensor)
        continue;
      if (!info.unsupported.empty() || info.rank() < 2)
        continue;
      ++matched;
      Weight weight = loadWeight(*file, index, path);
      if (!recorder) {
        // The bytes are of the file's mapping, which is not kept.
        weight.matrix = Matrix();
        std::string name = weight.name;
        weights.emplace(std::move(name), std::move(weight));
        continue;
      }
      recorder->record(weight);
    }
    if (!matched)
      fail(argument + ": no such matrix");
  }
  if (!recorder)
    repredict(from, os, weights, options);
  os.close();
  if (os.has_error())
    fail(out + ": " + os.error().message());
  return 0;
}
