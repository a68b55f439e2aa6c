//===- Providers.h - The providers ------------------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_AGENT_LLM_PROVIDERS_H
#define SPARSEDITTO_LIB_AGENT_LLM_PROVIDERS_H

#include "Secret.h"
#include "Url.h"
#include "sparseditto/Agent/ProviderConfig.h"

namespace sparseditto::chat {

llvm::Expected<std::unique_ptr<ChatProvider>>
createHttpProvider(const ProviderConfig &config, ChatDialect dialect,
                   const Url &endpoint, Secret secret);
/// `commandLine` is split as a shell would, without running one.
llvm::Expected<std::unique_ptr<ChatProvider>>
createCommandProvider(const ProviderConfig &config,
                      llvm::StringRef commandLine);
/// Makes the folder if it is not there.
llvm::Expected<std::unique_ptr<ChatProvider>>
createMailboxProvider(const ProviderConfig &config, llvm::StringRef folder);

} // namespace sparseditto::chat

#endif // SPARSEDITTO_LIB_AGENT_LLM_PROVIDERS_H
