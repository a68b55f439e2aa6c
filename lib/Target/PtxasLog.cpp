//===- PtxasLog.cpp - Reading what ptxas -v prints ------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Target/Ptxas.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace sparseditto;

const KernelResources *PtxasReport::find(llvm::StringRef kernel,
                                         llvm::StringRef chip) const {
  auto it = llvm::find_if(kernels, [&](const KernelResources &candidate) {
    return candidate.kernel == kernel &&
           (chip.empty() || candidate.chip == chip);
  });
  return it == kernels.end() ? nullptr : &*it;
}

bool PtxasReport::hasPerformanceFault() const {
  return llvm::any_of(messages, [](const PtxasMessage &message) {
    return llvm::is_contained<llvm::StringRef>(
        {"C7510", "C7511", "C7512", "C7513", "C7514", "C7515", "C7517", "C7519",
         "ordered-metadata"},
        message.code);
  });
}

std::string PtxasReport::firstError() const {
  // "Aborted due to errors" comes as a fatal one; what it is due to as errors.
  for (PtxasSeverity severity : {PtxasSeverity::Error, PtxasSeverity::Fatal})
    for (const PtxasMessage &message : messages)
      if (message.severity == severity)
        return message.line == 0 ? message.text
                                 : "line " + std::to_string(message.line) +
                                       ": " + message.text;
  return "";
}

namespace {
/// The part of a line behind the program's name: where, how bad, what.
struct Line {
  PtxasSeverity severity;
  unsigned number = 0;
  llvm::StringRef text;
};

class LogParser {
public:
  explicit LogParser(PtxasReport &report) : report(report) {}
  void parse(llvm::StringRef line);

private:
  void parseInfo(llvm::StringRef text, unsigned number);
  void parseProperties(llvm::StringRef text);
  void parseUsed(llvm::StringRef text);
  void addMessage(PtxasSeverity severity, llvm::StringRef text,
                  unsigned number);
  /// The entry that the line at hand is about: the one being compiled, or, in a
  /// log that announces none, the function whose properties came last. Null for
  /// a device function, whose properties may follow the end of the entry.
  KernelResources *openEntry();

  PtxasReport &report;
  bool entryOpen = false;
  bool announced = false; ///< "Compiling entry function" was seen.
  std::string function;   ///< Of the last "Function properties for".
};
} // namespace

/// More than a run of ours can need; a flood must not fill the memory twice.
static constexpr size_t maxMessages = 1000;

/// "info    : text", with the number of blanks that the severity leaves.
static std::optional<Line> parseSeverity(llvm::StringRef rest) {
  auto [word, text] = rest.split(':');
  auto severity = llvm::StringSwitch<std::optional<PtxasSeverity>>(word.trim())
                      .Case("info", PtxasSeverity::Info)
                      .Case("warning", PtxasSeverity::Warning)
                      .Case("error", PtxasSeverity::Error)
                      .Case("fatal", PtxasSeverity::Fatal)
                      .Default(std::nullopt);
  if (!severity)
    return std::nullopt;
  return Line{*severity, 0, text.trim()};
}

/// "ptxas info : text" or "ptxas FILE, line N; error : text". nvJitLink leaves
/// the program's name out.
static std::optional<Line> parseHead(llvm::StringRef line) {
  if (!line.consume_front("ptxas "))
    line.consume_front("nvlink ");
  line = line.ltrim();
  if (auto parsed = parseSeverity(line))
    return parsed;
  static constexpr llvm::StringLiteral mark = ", line ";
  for (size_t at = line.find(mark); at != llvm::StringRef::npos;
       at = line.find(mark, at + 1)) {
    llvm::StringRef rest = line.drop_front(at + mark.size());
    unsigned number;
    if (rest.consumeInteger(10, number) || !rest.consume_front(";"))
      continue;
    if (auto parsed = parseSeverity(rest.ltrim())) {
      parsed->number = number;
      return parsed;
    }
  }
  return std::nullopt;
}

/// The text between the quotes after `mark`, or nothing.
static llvm::StringRef quotedAfter(llvm::StringRef text, llvm::StringRef mark) {
  size_t at = text.find(mark);
  if (at == llvm::StringRef::npos)
    return "";
  llvm::StringRef rest = text.drop_front(at + mark.size());
  size_t end = rest.find('\'');
  return end == llvm::StringRef::npos ? "" : rest.take_front(end);
}

void LogParser::parse(llvm::StringRef line) {
  // MSBuild puts the project's number in front: "  1>ptxas info : ...".
  llvm::StringRef trimmed = line.trim();
  llvm::StringRef behind = trimmed.drop_while(llvm::isDigit);
  if (behind.size() != trimmed.size() && behind.consume_front(">"))
    trimmed = behind.ltrim();
  if (auto head = parseHead(trimmed)) {
    if (head->severity == PtxasSeverity::Info)
      parseInfo(head->text, head->number);
    else
      addMessage(head->severity, head->text, head->number);
    return;
  }
  if (trimmed.contains("bytes stack frame"))
    parseProperties(trimmed);
}

KernelResources *LogParser::openEntry() {
  if (!entryOpen) {
    if (announced)
      return nullptr;
    report.kernels.emplace_back().kernel = function;
    entryOpen = true;
  }
  KernelResources &entry = report.kernels.back();
  bool same = function.empty() || function == entry.kernel;
  return same ? &entry : nullptr;
}

void LogParser::parseInfo(llvm::StringRef text, unsigned number) {
  if (text.starts_with("Compiling entry function '")) {
    report.kernels.emplace_back();
    report.kernels.back().kernel = quotedAfter(text, "function '").str();
    report.kernels.back().chip = quotedAfter(text, "' for '").str();
    entryOpen = announced = true;
    function.clear();
    return;
  }
  if (text.consume_front("Function properties for ")) {
    function = text.trim(" '").str();
    return;
  }
  if (text.starts_with("Used ")) {
    parseUsed(text);
    return;
  }
  // Sizes of the whole file and timings say nothing about a kernel.
  if (text.contains("bytes gmem") || text.starts_with("Compile time"))
    return;
  addMessage(PtxasSeverity::Info, text, number);
}

/// "32 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads", of the
/// entry or of a device function that it calls.
void LogParser::parseProperties(llvm::StringRef text) {
  KernelResources *entry = openEntry();
  if (!entry)
    return;
  llvm::SmallVector<llvm::StringRef> items;
  text.split(items, ',');
  for (llvm::StringRef item : items) {
    item = item.trim();
    unsigned value;
    if (item.consumeInteger(10, value))
      continue;
    item = item.trim();
    if (item == "bytes stack frame")
      entry->stackFrameBytes = value;
    else if (item == "bytes spill stores")
      entry->spillStoreBytes = value;
    else if (item == "bytes spill loads")
      entry->spillLoadBytes = value;
  }
}

/// "Used 63 registers, used 1 barriers, 712 bytes cumulative stack size, 8192
/// bytes smem, 324 bytes cmem[0], 1 textures". Older versions write "64+16
/// bytes smem" for a kernel's own and the system's share.
void LogParser::parseUsed(llvm::StringRef text) {
  // It ends the entry, whatever device function was spoken of before it.
  if (entryOpen)
    function.clear();
  KernelResources *entry = openEntry();
  if (!entry)
    return;
  llvm::SmallVector<llvm::StringRef> items;
  text.split(items, ',');
  for (llvm::StringRef item : items) {
    item = item.trim();
    if (!item.consume_front("Used "))
      item.consume_front("used ");
    unsigned value, more, bank;
    if (item.consumeInteger(10, value))
      continue;
    while (item.consume_front("+") && !item.consumeInteger(10, more))
      value += more;
    item = item.trim();
    if (item == "registers") {
      entry->registers = value;
    } else if (item == "barriers") {
      entry->barriers = value;
    } else if (item == "bytes cumulative stack size") {
      entry->cumulativeStackBytes = value;
    } else if (item == "bytes smem") {
      entry->sharedBytes = value;
    } else if (item == "bytes lmem") {
      entry->localBytes = value;
    } else if (item.consume_front("bytes cmem[") &&
               !item.consumeInteger(10, bank) && item == "]") {
      entry->constantBanks.push_back({bank, value});
    }
  }
  entryOpen = false;
}

void LogParser::addMessage(PtxasSeverity severity, llvm::StringRef text,
                           unsigned number) {
  // A log alone has no exit code; errors in it mean there was one.
  bool firstError = severity >= PtxasSeverity::Error && report.exitCode == 0;
  if (firstError)
    report.exitCode = 1;
  if (report.messages.size() >= maxMessages) {
    // Behind a flood of remarks the error is still what counts.
    if (!firstError)
      return;
    report.messages.pop_back();
  }
  PtxasMessage message;
  message.severity = severity;
  message.line = number;
  if (text.starts_with("(")) {
    llvm::StringRef code =
        text.drop_front().take_until([](char c) { return c == ')'; });
    if (code.size() > 1 && code.front() == 'C' &&
        llvm::all_of(code.drop_front(), llvm::isDigit)) {
      message.code = code.str();
      text = text.drop_front(code.size() + 1);
      text.consume_front(")");
      text = text.ltrim();
    }
  }
  if (text.consume_front("Advisory:")) {
    text = text.ltrim();
    if (severity == PtxasSeverity::Info)
      message.severity = PtxasSeverity::Advisory;
    if (text.contains(".sp::ordered_metadata"))
      message.code = "ordered-metadata";
  }
  static constexpr llvm::StringLiteral around = "around line ";
  if (size_t at = text.find(around);
      number == 0 && at != llvm::StringRef::npos) {
    llvm::StringRef rest = text.drop_front(at + around.size());
    if (rest.consumeInteger(10, message.line))
      message.line = 0;
  }
  message.kernel = quotedAfter(text, "function '").str();
  message.text = text.empty() ? "no text" : text.str();
  report.messages.push_back(std::move(message));
}

PtxasReport sparseditto::parsePtxasLog(llvm::StringRef log) {
  PtxasReport report;
  report.log = log.str();
  LogParser parser(report);
  while (!log.empty()) {
    auto [line, rest] = log.split('\n');
    parser.parse(line);
    log = rest;
  }
  return report;
}
