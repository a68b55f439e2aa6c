//===- Explain.cpp - What a transcript says, in words --------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"
#include "Subcommands.h"
#include "sparseditto/Agent/Transcript.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace sparseditto;
using namespace sparseditto::tool;
namespace json = llvm::json;

namespace {
using Event = Transcript::Event;

/// Everything about one N of one product on one chip.
struct Searched {
  std::string chip;
  int64_t n = 0;
  std::vector<const Event *> events;
};

/// Writes the story. Every text of the transcript comes from elsewhere: what a
/// terminal would obey is shown instead.
class Story {
public:
  Story(const Transcript &transcript, llvm::raw_ostream &os)
      : transcript(transcript), os(os) {}
  void tell();

private:
  void tellProduct(llvm::ArrayRef<const Event *> events);
  void tellSearch(const Searched &searched);
  void tellCandidate(const Event &event);
  void tellComparison(const Event &event);
  void tellDecision(const Event &event);
  void tellEnd();

  const Transcript &transcript;
  llvm::raw_ostream &os;
  int64_t requests = 0, replies = 0;
};
} // namespace

static std::string shown(llvm::StringRef text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char c = static_cast<unsigned char>(text[i]);
    // The C1 controls are two bytes in UTF-8.
    const bool isC1 = c == 0xC2 && i + 1 < text.size() &&
                      static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (c < 0x20 || c == 0x7F || isC1)
      result += "\\" + llvm::toHex(text.substr(i, 1));
    else
      result += char(c);
  }
  return result;
}

static std::string string(const Event &event, llvm::StringRef key) {
  return shown(event.fields.getString(key).value_or(""));
}

/// "strategy", or what names a rewritten kernel.
static std::string chosen(const Event &event) {
  if (const json::Object *rewrite = event.fields.getObject("rewrite"))
    return "rewritten " + shown(rewrite->getString("key").value_or(""));
  return string(event, "strategy");
}

static double number(const Event &event, llvm::StringRef key) {
  return event.fields.getNumber(key).value_or(0);
}

static int64_t integer(const Event &event, llvm::StringRef key) {
  return event.fields.getInteger(key).value_or(0);
}

void Story::tellCandidate(const Event &event) {
  const bool isMeasured = number(event, "us") > 0;
  const double time =
      isMeasured ? number(event, "us") : number(event, "predicted_us");
  const double dense = number(event, "dense_us");
  const int64_t round = integer(event, "round");
  os << "    " << (round ? "round " + std::to_string(round) : "at first");
  if (std::string source = string(event, "source"); !source.empty())
    os << ", " << source;
  os << ": " << chosen(event) << ": " << string(event, "status");
  std::string message = string(event, "message");
  if (time > 0)
    os << llvm::formatv(", {0:F2} us {1}", time,
                        isMeasured ? "measured" : "predicted");
  if (isMeasured && dense > 0)
    os << llvm::formatv(", {0:F2}x dense", dense / time);
  if (std::string same = string(event, "same_as"); !same.empty())
    os << ", the same binary as " << same;
  if (!message.empty())
    os << " (" << message << ")";
  os << "\n";
}

void Story::tellComparison(const Event &event) {
  const double us = number(event, "us"), other = number(event, "incumbent_us");
  os << "    side by side: " << string(event, "challenger")
     << llvm::formatv(" {0:F2} us, ", us) << string(event, "incumbent")
     << llvm::formatv(" {0:F2} us ({1:F2}x, {2:F2}x asked): ", other,
                      us > 0 ? other / us : 0.0, number(event, "required"))
     << (event.fields.getBoolean("taken").value_or(false) ? "taken"
                                                          : "not taken")
     << "\n";
}

void Story::tellSearch(const Searched &searched) {
  os << "  N = " << searched.n << " on " << searched.chip << "\n";
  std::map<std::string, unsigned> statuses;
  unsigned tried = 0;
  for (const Event *event : searched.events) {
    if (event->type == "candidate") {
      ++tried;
      ++statuses[string(*event, "status")];
      tellCandidate(*event);
    } else if (event->type == "comparison") {
      tellComparison(*event);
    } else if (event->type == "note") {
      os << "    " << string(*event, "text") << "\n";
    } else if (event->type == "stop") {
      os << "    ended: "
         << (string(*event, "text").empty() ? string(*event, "reason")
                                            : string(*event, "text"));
      if (std::string budget = string(*event, "ended_budget"); !budget.empty())
        os << "; the budget of " << budget << " ended a source";
      os << "\n";
    }
  }
  os << "    " << tried << " tried";
  for (const auto &[status, count] : statuses)
    os << ", " << count << " " << status;
  os << "\n";
}

void Story::tellDecision(const Event &event) {
  const int64_t from = integer(event, "n_min"), to = integer(event, "n_max");
  os << "  N " << from << (to ? ".." + std::to_string(to) : " and more")
     << " on " << string(event, "chip") << ": ";
  const bool isLibrary = event.fields.getString("choice") == "library";
  os << (isLibrary ? "the dense library" : chosen(event));
  const bool isMeasured = number(event, "us") > 0;
  const double time =
      isMeasured ? number(event, "us") : number(event, "predicted_us");
  const double dense =
      number(event, isMeasured ? "measured_dense_us" : "dense_us");
  const double floor = number(event, "floor_us");
  os << llvm::formatv(", {0:F2} us {1}", time,
                      isMeasured ? "measured" : "predicted");
  if (time > 0 && !isLibrary)
    os << llvm::formatv(", {0:F2}x dense, {1:F0} % of the floor", dense / time,
                        100 * floor / time);
  os << "\n    because: " << string(event, "reason") << "\n";
}

void Story::tellProduct(llvm::ArrayRef<const Event *> events) {
  std::vector<Searched> searches;
  std::map<std::pair<std::string, int64_t>, size_t> places;
  for (const Event *event : events) {
    if (event->type == "product") {
      std::string name = string(*event, "name");
      os << "\n"
         << (name.empty() ? "a weight" : name) << ": " << string(*event, "op")
         << ", " << string(*event, "pattern")
         << llvm::formatv(", density {0:F3}", number(*event, "density"))
         << "\n";
      continue;
    }
    if (event->type == "request")
      ++requests;
    else if (event->type == "reply")
      ++replies;
    // Nor what a source says of itself, which is of no chip.
    if (event->type == "decision" || event->type == "kernel" ||
        string(*event, "chip").empty())
      continue;
    std::pair<std::string, int64_t> key = {string(*event, "chip"),
                                           integer(*event, "n")};
    auto [it, isNew] = places.try_emplace(key, searches.size());
    if (isNew)
      searches.push_back({key.first, key.second, {}});
    searches[it->second].events.push_back(event);
  }
  for (const Searched &searched : searches)
    if (searched.n > 0)
      tellSearch(searched);
  for (const Event *event : events)
    if (event->type == "decision")
      tellDecision(*event);
}

void Story::tellEnd() {
  os << "\n";
  for (const Event &event : transcript.events) {
    if (event.type != "end")
      continue;
    if (const json::Array *notes = event.fields.getArray("notes"))
      for (const json::Value &note : *notes)
        if (std::optional<llvm::StringRef> text = note.getAsString())
          os << shown(*text) << "\n";
    if (const json::Object *spent = event.fields.getObject("spent"))
      if (!spent->empty())
        os << "cost: "
           << shown(
                  llvm::formatv("{0}", json::Value(json::Object(*spent))).str())
           << "\n";
  }
  os << (requests ? llvm::formatv("{0} requests to a language model, {1} "
                                  "replies\n",
                                  requests, replies)
                        .str()
                  : std::string("no language model was asked\n"));
  if (transcript.isTorn)
    os << "the last line is cut off: the run was killed\n";
}

void Story::tell() {
  os << shown(transcript.tool) << ", agent " << shown(transcript.agent)
     << ", SparseDitto " << shown(transcript.version);
  if (const json::Array *chips = transcript.header.getArray("chips")) {
    llvm::StringRef separator = ", for ";
    for (const json::Value &chip : *chips)
      if (std::optional<llvm::StringRef> text = chip.getAsString()) {
        os << separator << shown(*text);
        separator = ", ";
      }
  }
  os << "\ntimes are "
     << shown(
            transcript.header.getString("times").value_or("of unknown origin"));
  if (std::optional<llvm::StringRef> device =
          transcript.header.getString("device");
      device && !device->empty())
    os << " on " << shown(*device);
  os << "\n";
  std::vector<std::string> order;
  std::map<std::string, std::vector<const Event *>> products;
  for (const Event &event : transcript.events) {
    std::string id = string(event, "product");
    if (id.empty())
      continue;
    auto [it, isNew] = products.try_emplace(id);
    if (isNew)
      order.push_back(id);
    it->second.push_back(&event);
  }
  for (const std::string &id : order)
    tellProduct(products[id]);
  if (order.empty())
    os << "\nno product was decided on\n";
  tellEnd();
}

int tool::explainMain(llvm::ArrayRef<const char *> args) {
  CommandLine command("explain", "TRANSCRIPT",
                      "tells in words what a transcript says: what was tried, "
                      "what it measured,\nwhy the winner won, which budget "
                      "ended the search and what it cost");
  if (std::optional<int> code = command.parse(args))
    return *code;
  if (command.positional.size() != 1)
    return command.usageError("expected one TRANSCRIPT");
  auto transcript = Transcript::read(command.positional[0]);
  if (!transcript)
    return command.fail(transcript.takeError());
  Story(*transcript, llvm::outs()).tell();
  return 0;
}
