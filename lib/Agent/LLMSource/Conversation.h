//===- Conversation.h - One round with a model ------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_AGENT_LLMSOURCE_CONVERSATION_H
#define SPARSEDITTO_LIB_AGENT_LLMSOURCE_CONVERSATION_H

#include "Logged.h"
#include "sparseditto/Agent/LLMSource.h"
#include <set>

namespace sparseditto {

class Conversation {
public:
  /// All arguments outlive this.
  Conversation(ChatProvider &provider, const ChatControl &control,
               const ProposalState &state, const LLMSourceOptions &options);

  /// From the prompt to proposals that are legal and new; none means stop.
  llvm::Expected<std::vector<Proposal>> run();

private:
  /// What an answer or "evaluate" asks for, by what can be done with it.
  struct Sorted {
    std::vector<Proposal> fresh;
    std::string refusals; ///< A line each, with the reason.
    bool onlyRepeats = true;
  };
  Sorted sort(std::vector<Proposal> proposals);

  void restart(const std::string &remark);
  /// Counts `by` invalid answers; an error after three.
  llvm::Error invalid(unsigned by, const std::string &why);
  void sendBack(const ChatMessage &said, const std::string &why);

  void runTools(const ChatMessage &message);
  std::string runTool(const ToolCall &call);
  std::string evaluate(const llvm::json::Object &arguments,
                       llvm::StringRef text);
  std::string showKernel(const llvm::json::Object &arguments);
  /// The kernel's name, out of the base's MLIR.
  void nameKernel(Proposal &proposal);

  LoggedProvider provider;
  const ChatControl control;
  const ProposalState &state;
  const LLMSourceOptions &options;
  std::vector<const KernelFamily *> families;
  ChatRequest request;
  unsigned toolCalls = 0, invalidAnswers = 0, ignoredLimits = 0;
  std::set<std::string> evaluatedHere;
};

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_AGENT_LLMSOURCE_CONVERSATION_H
