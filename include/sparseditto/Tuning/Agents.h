//===- Agents.h - Every source by its name ----------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TUNING_AGENTS_H
#define SPARSEDITTO_TUNING_AGENTS_H

#include "sparseditto/Tuning/SourceChain.h"
#include <atomic>
#include <functional>

namespace sparseditto {

struct AgentOptions {
  /// Of language models (docs/Agent.md); empty: the environment alone.
  std::string configFile;
  /// Fields of the configuration that are stronger than file and environment,
  /// for every model: {"max_calls", "10"}.
  std::vector<std::pair<std::string, std::string>> fields;
  const std::atomic<bool> *cancelled = nullptr;
  /// If set, receives the prompt that a model would be sent; none is asked, and
  /// none has to be configured.
  std::function<void(const ProposalState &state, llvm::StringRef prompt)>
      onPrompt;
  /// Receives what is doubtful about a configuration, a line each. May be
  /// empty.
  std::function<void(llvm::StringRef)> warn;
  /// Ask models for rewritten kernels as well (LoopOptions::allowRewrites).
  bool allowRewrites = false;
};

/// Makes the sources of createProposalSource(), and the language models "llm"
/// and "local", which are the providers of these names in the configuration. A
/// model whose configuration is wrong or missing is a source that fails when it
/// is asked, so that the next of a chain takes over. Touches no network.
SourceChain::Factory agentFactory(AgentOptions options);

} // namespace sparseditto

#endif // SPARSEDITTO_TUNING_AGENTS_H
