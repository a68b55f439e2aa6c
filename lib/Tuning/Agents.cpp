//===- Agents.cpp - Every source by its name -----------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Tuning/Agents.h"
#include "sparseditto/Agent/LLMSource.h"
#include "sparseditto/Agent/Prompt.h"
#include "sparseditto/Support/Error.h"

using namespace sparseditto;

namespace {
/// A model that cannot be asked, for a reason that was found before.
class UnavailableSource : public ProposalSource {
public:
  explicit UnavailableSource(std::string reason) : reason(std::move(reason)) {}
  llvm::StringRef name() const override { return "unavailable"; }
  bool learns() const override { return true; }
  llvm::Expected<std::vector<Proposal>> propose(const ProposalState &,
                                                unsigned) override {
    return makeError("{0}", reason);
  }

private:
  std::string reason;
};

/// In the place of a model: shows what that would be asked.
class PromptSource : public ProposalSource {
public:
  explicit PromptSource(const AgentOptions &options)
      : onPrompt(options.onPrompt), allowRewrites(options.allowRewrites) {}
  llvm::StringRef name() const override { return "prompt"; }
  bool learns() const override { return true; }
  llvm::Expected<std::vector<Proposal>> propose(const ProposalState &state,
                                                unsigned k) override {
    PromptOptions options;
    options.proposals = std::min(options.proposals, k);
    options.allowRewrites = allowRewrites;
    onPrompt(state, buildPrompt(state, options).text());
    return std::vector<Proposal>();
  }

private:
  std::function<void(const ProposalState &, llvm::StringRef)> onPrompt;
  bool allowRewrites;
};
} // namespace

SourceChain::Factory sparseditto::agentFactory(AgentOptions options) {
  return [options = std::move(options)](llvm::StringRef spec)
             -> llvm::Expected<std::unique_ptr<ProposalSource>> {
    const llvm::StringRef kind = spec.split(':').first;
    if (kind == "heuristic" || kind == "exhaustive" || kind == "random")
      return createProposalSource(spec);
    if (spec != "llm" && spec != "local")
      return makeError("unknown agent '{0}', expected heuristic, exhaustive, "
                       "random[:SEED], llm or local",
                       spec);
    if (options.onPrompt)
      return std::make_unique<PromptSource>(options);
    auto unavailable = [](llvm::Error error) {
      return std::make_unique<UnavailableSource>(
          llvm::toString(std::move(error)));
    };
    auto config = loadProviderConfig(spec, options.configFile, options.fields);
    if (!config)
      return unavailable(config.takeError());
    LLMSourceOptions source;
    source.cancelled = options.cancelled;
    source.prompt.allowRewrites = options.allowRewrites;
    std::vector<std::string> warnings;
    auto made = createLLMSource(*config, source, warnings);
    if (options.warn)
      for (const std::string &warning : warnings)
        options.warn(warning);
    if (!made)
      return unavailable(made.takeError());
    return std::move(*made);
  };
}
