//===- Answer.cpp - The shape of a model's answer -------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The schema derives from the declarations. Knobs of the same name share one
// list of values, the union over the families: which of them a family takes is
// checked when the answer is read, with a better message than a schema gives,
// and the schema stays a third as long.
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Agent/Prompt.h"
#include "sparseditto/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace sparseditto;
namespace json = llvm::json;

static constexpr int64_t maxReasonLength = 400;
// A kernel's text is 30 to 200 KB.
static constexpr int64_t maxEditLength = 20000, maxModuleLength = 400000;

static json::Object familySchema(llvm::ArrayRef<const KernelFamily *> families,
                                 bool offerLibrary) {
  json::Array names;
  for (const KernelFamily *family : families)
    names.push_back(family->name());
  if (offerLibrary)
    names.push_back("library");
  return json::Object{{"type", "string"}, {"enum", std::move(names)}};
}

static json::Object knobsSchema(llvm::ArrayRef<const KernelFamily *> families) {
  // In order of declaration; enumerations by name.
  struct Union {
    std::string name;
    std::vector<int64_t> values;
    std::vector<std::string> names;
  };
  std::vector<Union> knobs;
  for (const KernelFamily *family : families)
    for (const KnobDeclaration &knob : family->declaration().knobs) {
      auto it = llvm::find_if(
          knobs, [&](const Union &known) { return known.name == knob.name; });
      if (it == knobs.end())
        it = knobs.insert(knobs.end(), Union{knob.name, {}, {}});
      for (auto [i, value] : llvm::enumerate(knob.values)) {
        if (!knob.valueNames.empty()) {
          if (!llvm::is_contained(it->names, knob.valueNames[i]))
            it->names.push_back(knob.valueNames[i]);
        } else if (!llvm::is_contained(it->values, value)) {
          it->values.push_back(value);
        }
      }
    }
  json::Object properties;
  for (Union &knob : knobs) {
    json::Array legal;
    llvm::sort(knob.values);
    for (int64_t value : knob.values)
      legal.push_back(value);
    for (const std::string &value : knob.names)
      legal.push_back(value);
    json::Value type = "integer";
    if (knob.values.empty())
      type = "string";
    else if (!knob.names.empty())
      type = json::Array{"integer", "string"};
    properties[knob.name] =
        json::Object{{"type", std::move(type)}, {"enum", std::move(legal)}};
  }
  return json::Object{{"type", "object"},
                      {"properties", std::move(properties)},
                      {"additionalProperties", false}};
}

static json::Object
proposalsSchema(llvm::ArrayRef<const KernelFamily *> families,
                const PromptOptions &options) {
  auto text = [](int64_t limit) {
    return json::Object{{"type", "string"}, {"maxLength", limit}};
  };
  json::Object properties{
      {"family", familySchema(families, /*offerLibrary=*/true)},
      {"knobs", knobsSchema(families)},
      {"reason", text(maxReasonLength)}};
  if (options.allowRewrites) {
    properties["edits"] = json::Object{
        {"type", "array"},
        {"maxItems", 64},
        {"items", json::Object{{"type", "object"},
                               {"properties",
                                json::Object{{"before", text(maxEditLength)},
                                             {"after", text(maxEditLength)}}},
                               {"required", json::Array{"before", "after"}},
                               {"additionalProperties", false}}}};
    properties["module"] = text(maxModuleLength);
  }
  return json::Object{
      {"type", "array"},
      {"maxItems", int64_t(options.proposals)},
      {"items", json::Object{{"type", "object"},
                             {"properties", std::move(properties)},
                             {"required", json::Array{"family", "reason"}},
                             {"additionalProperties", false}}}};
}

static std::string objectSchema(json::Object properties, json::Array required) {
  json::Value schema = json::Object{{"type", "object"},
                                    {"properties", std::move(properties)},
                                    {"required", std::move(required)},
                                    {"additionalProperties", false}};
  return llvm::formatv("{0}", schema);
}

std::string
sparseditto::answerSchema(llvm::ArrayRef<const KernelFamily *> families,
                          const PromptOptions &options) {
  json::Object summary{{"type", "string"}, {"maxLength", maxReasonLength}};
  return objectSchema(
      json::Object{{"analysis", std::move(summary)},
                   {"proposals", proposalsSchema(families, options)}},
      json::Array{"analysis", "proposals"});
}

std::string
sparseditto::evaluateSchema(llvm::ArrayRef<const KernelFamily *> families,
                            const PromptOptions &options) {
  return objectSchema(
      json::Object{{"proposals", proposalsSchema(families, options)}},
      json::Array{"proposals"});
}

static llvm::Expected<int64_t> readKnob(const FamilyDeclaration &declaration,
                                        const KnobDeclaration &knob,
                                        const json::Value &value) {
  if (std::optional<int64_t> number = value.getAsInteger())
    return *number;
  if (std::optional<llvm::StringRef> word = value.getAsString()) {
    for (auto [i, name] : llvm::enumerate(knob.valueNames))
      if (name == *word)
        return knob.values[i];
    int64_t number;
    if (knob.valueNames.empty() && llvm::to_integer(*word, number, 10))
      return number;
    return makeError(
        "family {0}: knob '{1}' got '{2}', expected one of {3}",
        declaration.name, knob.name, word->take_front(40),
        knob.valueNames.empty()
            ? llvm::join(
                  llvm::map_range(knob.values,
                                  [](int64_t v) { return std::to_string(v); }),
                  ", ")
            : llvm::join(knob.valueNames, ", "));
  }
  return makeError("family {0}: knob '{1}' is neither a number nor a word",
                   declaration.name, knob.name);
}

llvm::Expected<Strategy>
sparseditto::readStrategy(const json::Object &object,
                          llvm::ArrayRef<const KernelFamily *> families) {
  std::optional<llvm::StringRef> name = object.getString("family");
  if (!name)
    return makeError("\"family\" is missing");
  auto it = llvm::find_if(families, [&](const KernelFamily *family) {
    return family->name() == *name;
  });
  if (it == families.end())
    return makeError("unknown family '{0}', expected one of {1}",
                     name->take_front(40),
                     llvm::join(llvm::map_range(families,
                                                [](const KernelFamily *family) {
                                                  return family->name();
                                                }),
                                ", "));
  const FamilyDeclaration &declaration = (*it)->declaration();
  Strategy strategy = declaration.defaults();
  const json::Object *knobs = object.getObject("knobs");
  for (const auto &[key, value] : knobs ? *knobs : json::Object()) {
    const KnobDeclaration *knob = declaration.find(key);
    if (!knob)
      return makeError(
          "family {0} has no knob '{1}', expected one of {2}", declaration.name,
          llvm::StringRef(key).take_front(40),
          llvm::join(llvm::map_range(declaration.knobs,
                                     [](const KnobDeclaration &declared) {
                                       return declared.name;
                                     }),
                     ", "));
    llvm::Expected<int64_t> number = readKnob(declaration, *knob, value);
    if (!number)
      return number.takeError();
    strategy.set(knob->name, *number);
  }
  return strategy;
}

llvm::Expected<std::vector<Proposal>>
sparseditto::readProposals(const json::Value &value,
                           llvm::ArrayRef<const KernelFamily *> families) {
  const json::Object *answer = value.getAsObject();
  const json::Array *items = answer ? answer->getArray("proposals") : nullptr;
  if (!items)
    return makeError("\"proposals\" is missing");
  std::vector<Proposal> proposals;
  for (auto [i, item] : llvm::enumerate(*items)) {
    const json::Object *object = item.getAsObject();
    if (!object)
      return makeError("proposal {0} is not an object", i + 1);
    Proposal proposal;
    if (auto reason = object->getString("reason"))
      proposal.reason = reason->str();
    if (object->getString("family") == "library") {
      proposal.useLibrary = true;
      proposal.strategy.family = "library";
      proposals.push_back(std::move(proposal));
      continue;
    }
    llvm::Expected<Strategy> strategy = readStrategy(*object, families);
    if (!strategy)
      return makeError("proposal {0}: {1}", i + 1,
                       llvm::toString(strategy.takeError()));
    proposal.strategy = std::move(*strategy);
    const json::Array *edits = object->getArray("edits");
    std::optional<llvm::StringRef> module = object->getString("module");
    if (module && module->empty())
      module.reset();
    if ((edits && !edits->empty()) || module) {
      if (edits && !edits->empty() && module)
        return makeError("proposal {0} has both \"edits\" and \"module\"",
                         i + 1);
      Rewrite rewrite;
      rewrite.base = proposal.strategy;
      if (module)
        rewrite.text = module->str();
      else
        for (const json::Value &edit : *edits) {
          const json::Object *pair = edit.getAsObject();
          auto before = pair ? pair->getString("before") : std::nullopt;
          auto after = pair ? pair->getString("after") : std::nullopt;
          if (!before || !after || before->empty())
            return makeError("proposal {0}: an edit needs a \"before\" that "
                             "is not empty and an \"after\"",
                             i + 1);
          rewrite.edits.push_back({before->str(), after->str()});
        }
      proposal.rewrite = std::move(rewrite);
    }
    proposals.push_back(std::move(proposal));
  }
  return proposals;
}
