//===- Curl.cpp - libcurl, found at run time ------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Curl.h"
#include "Fail.h"
#include "sparseditto/Support/SharedLibrary.h"
#include <memory>
#include <mutex>

using namespace sparseditto;
using namespace sparseditto::chat;

static llvm::Error load(Curl &curl) {
  // 4 is the soname since 2006; Debian's GnuTLS flavour has its own name.
  llvm::Expected<SharedLibrary> library = SharedLibrary::open(
      {std::string("libcurl.so.4"), std::string("libcurl-gnutls.so.4")});
  if (!library)
    return fail(ChatErrorKind::Config,
                "a model behind http needs libcurl (Debian: libcurl4): {0}",
                llvm::toString(library.takeError()));
  // Never closed: libcurl and its TLS library keep state in the process.
  static SharedLibrary *kept = new SharedLibrary(std::move(*library));
  const SharedLibrary &lib = *kept;
  bool complete = lib.find("curl_global_init", curl.globalInit) &&
                  lib.find("curl_easy_init", curl.easyInit) &&
                  lib.find("curl_easy_cleanup", curl.easyCleanup) &&
                  lib.find("curl_easy_reset", curl.easyReset) &&
                  lib.find("curl_easy_setopt", curl.setOption) &&
                  lib.find("curl_easy_getinfo", curl.getInfo) &&
                  lib.find("curl_easy_strerror", curl.errorText) &&
                  lib.find("curl_multi_init", curl.multiInit) &&
                  lib.find("curl_multi_cleanup", curl.multiCleanup) &&
                  lib.find("curl_multi_add_handle", curl.multiAdd) &&
                  lib.find("curl_multi_remove_handle", curl.multiRemove) &&
                  lib.find("curl_multi_perform", curl.multiPerform) &&
                  lib.find("curl_multi_poll", curl.multiPoll) &&
                  lib.find("curl_multi_info_read", curl.multiInfoRead) &&
                  lib.find("curl_slist_append", curl.listAppend) &&
                  lib.find("curl_slist_free_all", curl.listFree);
  if (!complete)
    return fail(ChatErrorKind::Config,
                "{0} is older than libcurl 7.66: curl_multi_poll is missing",
                lib.path());
  if (CURLcode code = curl.globalInit(CURL_GLOBAL_DEFAULT))
    return fail(ChatErrorKind::Config, "libcurl does not start: {0}",
                curl.errorText(code));
  return llvm::Error::success();
}

llvm::Expected<const Curl *> Curl::get() {
  static std::mutex mutex;
  static std::unique_ptr<Curl> loaded;
  std::lock_guard<std::mutex> lock(mutex);
  if (!loaded) {
    auto curl = std::make_unique<Curl>();
    if (llvm::Error error = load(*curl))
      return error;
    loaded = std::move(curl);
  }
  return loaded.get();
}
