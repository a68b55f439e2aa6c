//===- NcuReport.cpp - Counters from Nsight Compute -----------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/NcuReport.h"
#include "sparseditto/Support/Counters.h"
#include "sparseditto/Support/Error.h"
#include "sparseditto/Support/Printable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <optional>

using namespace sparseditto;

static constexpr size_t maxLaunches = 10000, maxMessages = 20;

/// What ncu calls a counter: metric names, then titles of the details page.
static constexpr struct {
  llvm::StringLiteral counter, metric;
  bool ask; ///< Part of ncuMetrics().
} metrics[] = {
    {counter::memoryThroughput,
     "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", true},
    {counter::memoryThroughput, "Memory Throughput", false},
    {counter::computeThroughput,
     "sm__throughput.avg.pct_of_peak_sustained_elapsed", true},
    {counter::computeThroughput, "Compute (SM) Throughput", false},
    {counter::computeThroughput, "Compute (SM) [%]", false},
    {counter::tensorPipe,
     "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", true},
    {counter::tensorPipe,
     "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active",
     false},
    {counter::tensorPipe,
     "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active", false},
    {counter::occupancy, "sm__warps_active.avg.pct_of_peak_sustained_active",
     true},
    {counter::occupancy, "Achieved Occupancy", false},
    {counter::waves, "launch__waves_per_multiprocessor", true},
    {counter::waves, "Waves Per SM", false},
    {counter::l2HitRate, "lts__t_sector_hit_rate.pct", true},
    {counter::l2HitRate, "L2 Hit Rate", false},
    {counter::sharedConflicts,
     "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", true},
};

static constexpr llvm::StringLiteral stallBegin =
                                         "smsp__average_warps_issue_stalled_",
                                     stallEnd = "_per_issue_active.ratio";
static constexpr llvm::StringLiteral stalls[] = {"long_scoreboard",
                                                 "short_scoreboard",
                                                 "barrier",
                                                 "mio_throttle",
                                                 "lg_throttle",
                                                 "math_pipe_throttle",
                                                 "wait",
                                                 "no_instruction",
                                                 "membar",
                                                 "drain"};

/// Our name of ncu's metric; empty for others.
static std::string counterOf(llvm::StringRef metric) {
  for (const auto &known : metrics)
    if (metric == known.metric)
      return known.counter.str();
  if (metric.consume_front(stallBegin) && metric.consume_back(stallEnd))
    // "..._not_issued" counts the same once more.
    if (!metric.empty() && metric.size() < 40 && !metric.contains('.') &&
        metric != "selected")
      return (counter::stallPrefix + metric).str();
  return "";
}

std::string sparseditto::ncuMetrics() {
  std::string text = "gpu__time_duration.sum";
  for (const auto &known : metrics)
    if (known.ask)
      text += "," + known.metric.str();
  for (llvm::StringRef stall : stalls)
    text += "," + stallBegin.str() + stall.str() + stallEnd.str();
  return text;
}

std::vector<std::string> sparseditto::absentCounters(const NcuKernel &kernel) {
  std::vector<std::string> absent;
  for (llvm::StringRef key : counter::all)
    if (!kernel.counters.count(key.str()))
      absent.push_back(key.str());
  if (llvm::none_of(kernel.counters, [](const auto &entry) {
        return llvm::StringRef(entry.first).starts_with(counter::stallPrefix);
      }))
    absent.push_back("stall reasons");
  return absent;
}

const NcuKernel *NcuReport::find(llvm::StringRef symbol) const {
  for (const NcuKernel &kernel : llvm::reverse(kernels)) {
    llvm::StringRef name = kernel.name;
    if (name.consume_front(symbol) && (name.empty() || name.front() == '('))
      return &kernel;
  }
  return nullptr;
}

/// "4,963,609,951.19" or "61.71"; none for "", "n/a", "nan", "(256, 1, 1)".
static std::optional<double> numberOf(llvm::StringRef text) {
  std::string digits;
  for (char c : text.trim())
    if (c != ',')
      digits += c;
  double value = 0;
  if (digits.empty() || !llvm::to_float(digits, value) || !std::isfinite(value))
    return std::nullopt;
  return value;
}

/// Microseconds of a duration with its unit.
static double microsecondsOf(double value, llvm::StringRef unit) {
  for (auto [name, scale] : {std::pair("ns", 1e-3),
                             {"nsecond", 1e-3},
                             {"us", 1.0},
                             {"usecond", 1.0},
                             {"ms", 1e3},
                             {"msecond", 1e3},
                             {"s", 1e6},
                             {"second", 1e6}})
    if (unit == name)
      return value * scale;
  return 0;
}

/// One record of CSV out of `text`: quoted fields may hold commas, line breaks
/// and doubled quotes. False if a quote does not end.
static bool readRecord(llvm::StringRef &text,
                       std::vector<std::string> &fields) {
  fields.assign(1, "");
  bool isQuoted = false;
  while (!text.empty()) {
    char c = text.front();
    text = text.drop_front();
    if (isQuoted) {
      if (c != '"')
        fields.back() += c;
      else if (text.consume_front("\""))
        fields.back() += '"';
      else
        isQuoted = false;
    } else if (c == '"') {
      isQuoted = true;
    } else if (c == ',') {
      fields.emplace_back();
    } else if (c == '\n') {
      return true;
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return !isQuoted;
}

namespace {
/// The columns that matter.
struct Columns {
  explicit Columns(llvm::ArrayRef<std::string> header) {
    for (auto [i, title] : llvm::enumerate(header))
      for (auto [name, place] : {std::pair("ID", &id),
                                 {"Kernel Name", &kernel},
                                 {"Metric Name", &metric},
                                 {"Metric Unit", &unit},
                                 {"Metric Value", &value}})
        if (title == name)
          *place = i;
  }
  static constexpr size_t none = ~size_t(0);
  size_t id = none, kernel = none, metric = none, unit = none, value = none;
  bool isDetails() const { return metric != none && value != none; }
};
} // namespace

static void add(NcuKernel &kernel, llvm::StringRef metric, llvm::StringRef unit,
                llvm::StringRef text) {
  std::optional<double> value = numberOf(text);
  if (!value)
    return;
  if (metric == "gpu__time_duration.sum" || metric == "Duration") {
    kernel.microseconds = microsecondsOf(*value, unit);
    return;
  }
  std::string counter = counterOf(metric);
  // "Memory Throughput" is also a rate, in bytes a second.
  if (counter.empty() || (llvm::StringRef(counter).ends_with("_pct") &&
                          !unit.empty() && unit != "%" && unit != "pct"))
    return;
  kernel.counters.try_emplace(std::move(counter), *value);
}

/// Sets aside ncu's own lines in front of the table and finds its header.
static llvm::StringRef findTable(llvm::StringRef text, NcuReport &report) {
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    if (line.starts_with("\"ID\",") || line.starts_with("ID,"))
      return text;
    if ((line.contains("==ERROR==") || line.contains("==WARNING==")) &&
        report.messages.size() < maxMessages)
      report.messages.push_back(printableLine(line.trim(), 300));
    text = rest;
  }
  return "";
}

llvm::Expected<NcuReport> sparseditto::parseNcuCsv(llvm::StringRef text) {
  NcuReport report;
  llvm::StringRef table = findTable(text, report);
  if (table.empty())
    return makeError("no table of ncu --csv found{0}{1}",
                     report.messages.empty() ? "" : "; ncu says: ",
                     report.messages.empty() ? "" : report.messages.front());
  std::vector<std::string> header, fields, units;
  auto unfinished = [] {
    return makeError("ncu --csv: a quoted field does not end");
  };
  if (!readRecord(table, header))
    return unfinished();
  const Columns columns(header);
  if (columns.kernel == Columns::none || columns.id == Columns::none)
    return makeError("ncu --csv: the table has no \"ID\" or no \"Kernel "
                     "Name\"");
  std::string lastId;
  while (!table.empty()) {
    // Messages may stand behind the table.
    if (table.starts_with("==")) {
      findTable(table, report);
      break;
    }
    if (!readRecord(table, fields))
      return unfinished();
    if (fields.size() == 1 && fields[0].empty())
      continue;
    if (fields.size() <= std::max(columns.id, columns.kernel))
      continue;
    const std::string &id = fields[columns.id];
    if (id.empty()) {
      // The raw page's second row has the units.
      if (units.empty() && report.kernels.empty())
        units = fields;
      continue;
    }
    if (report.kernels.empty() || id != lastId) {
      if (report.kernels.size() == maxLaunches)
        return makeError("ncu --csv: more than {0} launches", maxLaunches);
      report.kernels.emplace_back();
      report.kernels.back().name = fields[columns.kernel];
      lastId = id;
    }
    NcuKernel &kernel = report.kernels.back();
    if (columns.isDetails()) {
      if (fields.size() > std::max(columns.metric, columns.value))
        add(kernel, fields[columns.metric],
            columns.unit < fields.size() ? fields[columns.unit] : "",
            fields[columns.value]);
      continue;
    }
    for (size_t i = 0; i < std::min(fields.size(), header.size()); ++i)
      add(kernel, header[i], i < units.size() ? units[i] : "", fields[i]);
  }
  return report;
}
