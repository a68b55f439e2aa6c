//===- Conversation.cpp - One round with a model --------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conversation.h"
#include "sparseditto/Agent/Feedback.h"
#include "sparseditto/Agent/MachineModel.h"
#include "sparseditto/Agent/PromptText.h"
#include "sparseditto/Agent/StructuredReply.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using namespace sparseditto;
namespace json = llvm::json;

static constexpr unsigned maxInvalidAnswers = 3;
// Of one tool result, and of all messages of a conversation.
static constexpr int64_t maxResultTokens = 1500, maxConversationTokens = 16000;
static constexpr size_t maxReason = 400;

Conversation::Conversation(ChatProvider &provider, const ChatControl &control,
                           const ProposalState &state,
                           const LLMSourceOptions &options)
    : provider(provider, state.events, state.round, state.problem.tuneN),
      control(control), state(state), options(options),
      families(acceptingFamilies(state)) {
  Prompt prompt = buildPrompt(state, options.prompt);
  request.messages = {ChatMessage::system(std::move(prompt.system)),
                      ChatMessage::user(std::move(prompt.user))};
  request.tools = std::move(prompt.tools);
  request.response = std::move(prompt.response);
  request.maxOutputTokens = options.maxOutputTokens;
  request.temperature = options.temperature;
}

void Conversation::restart(const std::string &remark) {
  request.messages.resize(2);
  request.messages[1].text += "\n" + remark;
  // The rest of the conversation is gone: nothing refers to a tool.
  request.tools.clear();
}

llvm::Error Conversation::invalid(unsigned by, const std::string &why) {
  invalidAnswers += by;
  if (invalidAnswers < maxInvalidAnswers)
    return llvm::Error::success();
  return llvm::make_error<ChatError>(
      ChatErrorKind::InvalidReply,
      provider.name() + " gave " + std::to_string(invalidAnswers) +
          " invalid answers, the last one: " + escaped(why, 300));
}

void Conversation::sendBack(const ChatMessage &said, const std::string &why) {
  request.messages.push_back(said);
  request.messages.push_back(ChatMessage::user(
      "That answer cannot be used:\n" + why +
      "Answer again, with the JSON object only; an empty list of proposals "
      "stops."));
}

static bool isTried(const ProposalState &state, const std::string &key) {
  return llvm::any_of(state.history, [&](const Candidate &candidate) {
    return candidate.n == state.problem.tuneN &&
           candidate.proposal.key() == key;
  });
}

void Conversation::nameKernel(Proposal &proposal) {
  if (!proposal.rewrite || !state.tools)
    return;
  llvm::Expected<std::string> listing = state.tools->showKernel(
      proposal.rewrite->base, AgentTools::Text::MLIR, /*line=*/0,
      /*context=*/0);
  if (!listing) {
    llvm::consumeError(listing.takeError());
    return;
  }
  llvm::StringRef text = *listing;
  size_t at = text.find("gpu.func @");
  if (at == llvm::StringRef::npos)
    return;
  proposal.rewrite->symbol =
      text.drop_front(at + 10)
          .take_while([](char c) { return llvm::isAlnum(c) || c == '_'; })
          .str();
}

Conversation::Sorted Conversation::sort(std::vector<Proposal> proposals) {
  Sorted sorted;
  const MachineModel &model = MachineModel::forChip(state.chip);
  std::set<std::string> keys;
  for (Proposal &proposal : proposals) {
    proposal.reason = escaped(proposal.reason, maxReason);
    const std::string key = proposal.key(), text = shortText(proposal);
    if (!keys.insert(key).second || isTried(state, key)) {
      sorted.refusals += "- " + text + " was tried before\n";
      continue;
    }
    if (proposal.useLibrary) {
      proposal.predictedMicroseconds =
          model.predictDenseLibrary(state.problem, state.problem.tuneN);
      sorted.fresh.push_back(std::move(proposal));
      continue;
    }
    const KernelFamily &family =
        **llvm::find_if(families, [&](const KernelFamily *known) {
          return known->name() == proposal.strategy.family;
        });
    if (llvm::Error error = family.check(proposal.strategy, state.problem,
                                         state.computeCapability)) {
      std::string why = escaped(llvm::toString(std::move(error)), 300);
      sorted.refusals += "- " + text + " is illegal: " + why + "\n";
      sorted.onlyRepeats = false;
      if (state.events)
        state.events->event(
            "illegal", json::Object{{"source", "llm"},
                                    {"round", state.round},
                                    {"n", state.problem.tuneN},
                                    {"status", name(CandidateStatus::Illegal)},
                                    {"key", key},
                                    {"message", why}});
      continue;
    }
    proposal.predictedMicroseconds =
        model.predict(family.cost(state.report, state.problem,
                                  proposal.strategy, state.problem.tuneN),
                      family.name());
    sorted.fresh.push_back(std::move(proposal));
  }
  return sorted;
}

std::string Conversation::evaluate(const json::Object &arguments,
                                   llvm::StringRef text) {
  if (llvm::Error error =
          validateJSON(evaluateSchema(families, options.prompt), text))
    return "not evaluated: " + escaped(llvm::toString(std::move(error)), 300) +
           "\n";
  llvm::Expected<std::vector<Proposal>> proposals =
      readProposals(json::Object(arguments), families);
  if (!proposals)
    return "not evaluated: " +
           escaped(llvm::toString(proposals.takeError()), 300) + "\n";
  llvm::for_each(*proposals, [&](Proposal &p) { nameKernel(p); });
  Sorted sorted = sort(std::move(*proposals));
  std::vector<Candidate> candidates = state.tools->evaluate(sorted.fresh);
  std::string result;
  for (const Candidate &candidate : candidates) {
    evaluatedHere.insert(candidate.proposal.key());
    result += feedbackText(candidate, state);
  }
  if (candidates.size() < sorted.fresh.size())
    result += "the budget of candidates is spent: " +
              std::to_string(sorted.fresh.size() - candidates.size()) +
              " were not evaluated\n";
  return result + sorted.refusals;
}

std::string Conversation::showKernel(const json::Object &arguments) {
  llvm::Expected<Strategy> strategy = readStrategy(arguments, families);
  if (!strategy)
    return escaped(llvm::toString(strategy.takeError()), 300) + "\n";
  auto number = [&](llvm::StringRef key, int64_t otherwise, int64_t most) {
    return unsigned(std::clamp<int64_t>(
        arguments.getInteger(key).value_or(otherwise), 0, most));
  };
  const unsigned line = number("line", 0, 1 << 24);
  const bool isPtx = arguments.getString("text") == "ptx";
  llvm::Expected<std::string> listing = state.tools->showKernel(
      *strategy, isPtx ? AgentTools::Text::PTX : AgentTools::Text::MLIR, line,
      number("context", 15, 30));
  if (!listing)
    return escaped(llvm::toString(listing.takeError()), 300) + "\n";
  std::string outline;
  if (line == 0 && !isPtx)
    outline = kernelOutline(*listing, maxResultTokens - 100);
  return outline.empty() ? dataBlock(*listing, 64) : outline;
}

/// Whole lines of `text` within the tokens of a result.
static std::string bounded(const std::string &text, int64_t tokens) {
  llvm::StringRef rest = text;
  std::string result;
  while (!rest.empty()) {
    llvm::StringRef line = rest.take_front(
        std::min(rest.size(), rest.find('\n') + (rest.contains('\n') ? 1 : 0)));
    tokens -= estimatePromptTokens(line);
    if (tokens < 0)
      return result + "(cut here)\n";
    result += line;
    rest = rest.drop_front(line.size());
  }
  return result;
}

std::string Conversation::runTool(const ToolCall &call) {
  if (!state.tools)
    return "there are no tools\n";
  if (llvm::none_of(request.tools, [&](const ToolDeclaration &tool) {
        return tool.name == call.name;
      }))
    return "there is no tool " + quoted(call.name, 60) + "; there are " +
           llvm::join(llvm::map_range(request.tools,
                                      [](const ToolDeclaration &tool) {
                                        return tool.name;
                                      }),
                      ", ") +
           "\n";
  llvm::Expected<json::Value> arguments =
      json::parse(call.arguments.empty() ? "{}" : call.arguments);
  const json::Object *object = nullptr;
  if (arguments)
    object = arguments->getAsObject();
  else
    llvm::consumeError(arguments.takeError());
  if (!object)
    return "the arguments are not a JSON object\n";
  if (call.name == "evaluate")
    return evaluate(*object, call.arguments);
  if (call.name == "show_kernel")
    return showKernel(*object);
  if (call.name == "look_up_op")
    return lookUpOp(object->getString("op").value_or(""));
  llvm::Expected<std::string> text = state.tools->describeFamily(
      object->getString("family").value_or("").take_front(60));
  if (!text)
    return escaped(llvm::toString(text.takeError()), 300) + "\n";
  return *text;
}

void Conversation::runTools(const ChatMessage &message) {
  request.messages.push_back(message);
  int64_t used = 0;
  for (const ChatMessage &sent : request.messages)
    used += estimatePromptTokens(sent.text);
  for (const ToolCall &call : message.toolCalls) {
    std::string result;
    if (toolCalls >= options.prompt.toolCalls || used > maxConversationTokens) {
      result = "no more tools in this round: answer now\n";
      ++ignoredLimits;
    } else {
      ++toolCalls;
      result = bounded(runTool(call), maxResultTokens);
      if (toolCalls == options.prompt.toolCalls)
        result += "That was the last call: answer now.\n";
    }
    used += estimatePromptTokens(result);
    if (state.events)
      state.events->event(
          "tool", json::Object{{"source", "llm"},
                               {"round", state.round},
                               {"n", state.problem.tuneN},
                               {"name", escaped(call.name, 60)},
                               {"arguments", json::fixUTF8(call.arguments)},
                               {"result", result}});
    request.messages.push_back(ChatMessage::toolResult(call.id, result));
  }
}

llvm::Expected<std::vector<Proposal>> Conversation::run() {
  // Each pass is an answer, which is bounded by invalidAnswers, or tool calls,
  // bounded by the limit and the patience with those who pass it.
  while (true) {
    llvm::Expected<StructuredReply> reply =
        completeStructured(provider, request, control);
    if (!reply) {
      llvm::Error error = reply.takeError();
      std::string why;
      error = llvm::handleErrors(
          std::move(error),
          [&](std::unique_ptr<ChatError> failed) -> llvm::Error {
            if (failed->kind != ChatErrorKind::InvalidReply)
              return llvm::Error(std::move(failed));
            why = failed->message;
            return llvm::Error::success();
          });
      if (error)
        return error;
      // An answer and its repair.
      if (llvm::Error error = invalid(2, why))
        return error;
      restart("Your last answers were not valid (" + escaped(why, 200) +
              "). Answer with one JSON object that matches the schema, "
              "nothing before or after it.");
      continue;
    }
    if (!reply->reply.message.toolCalls.empty()) {
      runTools(reply->reply.message);
      if (ignoredLimits >= maxInvalidAnswers)
        return llvm::make_error<ChatError>(
            ChatErrorKind::InvalidReply,
            provider.name() + " goes on calling tools after the limit of " +
                std::to_string(options.prompt.toolCalls));
      continue;
    }
    invalidAnswers += reply->repaired;
    std::string why;
    bool onlyRepeats = false;
    llvm::Expected<json::Value> value = json::parse(reply->json);
    if (!value)
      return value.takeError();
    llvm::Expected<std::vector<Proposal>> proposals =
        readProposals(*value, families);
    if (proposals) {
      if (proposals->empty())
        return std::vector<Proposal>();
      llvm::for_each(*proposals, [&](Proposal &p) { nameKernel(p); });
      // What it evaluated in this round and now submits: nothing more to do.
      if (!evaluatedHere.empty() &&
          llvm::all_of(*proposals, [&](const Proposal &proposal) {
            return evaluatedHere.count(proposal.key()) != 0;
          }))
        return std::vector<Proposal>();
      Sorted sorted = sort(std::move(*proposals));
      if (!sorted.fresh.empty()) {
        if (sorted.fresh.size() > options.prompt.proposals)
          sorted.fresh.resize(options.prompt.proposals);
        return std::move(sorted.fresh);
      }
      why = sorted.refusals;
      onlyRepeats = sorted.onlyRepeats;
    } else {
      why = "- " + escaped(llvm::toString(proposals.takeError()), 300) + "\n";
    }
    // Somebody without new ideas has finished, not failed.
    if (onlyRepeats && invalidAnswers + 1 >= maxInvalidAnswers)
      return std::vector<Proposal>();
    if (llvm::Error error = invalid(1, why))
      return error;
    sendBack(reply->reply.message, why);
  }
}
