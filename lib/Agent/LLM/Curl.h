//===- Curl.h - libcurl, found at run time ----------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// By dlopen, in shared and static builds alike: the tools then start without
// libcurl's thirty libraries, and a static one runs where there is no libcurl.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_AGENT_LLM_CURL_H
#define SPARSEDITTO_LIB_AGENT_LLM_CURL_H

#include "llvm/Support/Error.h"
#include <curl/curl.h>

namespace sparseditto::chat {

struct Curl {
  decltype(&::curl_global_init) globalInit;
  decltype(&::curl_easy_init) easyInit;
  decltype(&::curl_easy_cleanup) easyCleanup;
  decltype(&::curl_easy_reset) easyReset;
  decltype(&::curl_easy_setopt) setOption;
  decltype(&::curl_easy_getinfo) getInfo;
  decltype(&::curl_easy_strerror) errorText;
  decltype(&::curl_multi_init) multiInit;
  decltype(&::curl_multi_cleanup) multiCleanup;
  decltype(&::curl_multi_add_handle) multiAdd;
  decltype(&::curl_multi_remove_handle) multiRemove;
  decltype(&::curl_multi_perform) multiPerform;
  decltype(&::curl_multi_poll) multiPoll;
  decltype(&::curl_multi_info_read) multiInfoRead;
  decltype(&::curl_slist_append) listAppend;
  decltype(&::curl_slist_free_all) listFree;

  /// Loads it once; the error says which file is missing.
  static llvm::Expected<const Curl *> get();
};

} // namespace sparseditto::chat

#endif // SPARSEDITTO_LIB_AGENT_LLM_CURL_H
