//===- HttpClient.cpp - POST with limits ----------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HttpClient.h"
#include "Fail.h"
#include "Json.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using namespace sparseditto;
using namespace sparseditto::chat;
using Clock = ChatControl::Clock;

/// Fewer bytes than this in a stall period are no progress: a finished reply
/// comes at once.
static constexpr size_t minProgress = 64;
/// Of one response; libcurl's own limit came late.
static constexpr size_t maxHeaderBytes = size_t(256) << 10;

void HttpHeaders::add(llvm::StringRef line) {
  auto [name, value] = line.split(':');
  fields.emplace_back(name.trim().lower(), value.trim().str());
}

llvm::StringRef HttpHeaders::find(llvm::StringRef name) const {
  for (const auto &[field, value] : llvm::reverse(fields))
    if (field == name)
      return value;
  return "";
}

namespace {
/// What the callbacks see.
struct Transfer {
  HttpResponse &response;
  uint64_t maxBytes;
  size_t headerBytes = 0;
  bool tooLarge = false;
  /// Bytes since the first that is not a blank: servers send those to keep a
  /// connection open while they think.
  size_t contentBytes = 0;
};
} // namespace

static size_t onBody(char *data, size_t size, size_t count, void *user) {
  auto &transfer = *static_cast<Transfer *>(user);
  size_t bytes = size * count;
  std::string &body = transfer.response.body;
  if (bytes >
      transfer.maxBytes - std::min<uint64_t>(transfer.maxBytes, body.size())) {
    transfer.tooLarge = true;
    return 0;
  }
  body.append(data, bytes);
  llvm::StringRef chunk(data, bytes);
  if (transfer.contentBytes != 0)
    transfer.contentBytes += bytes;
  else
    transfer.contentBytes = chunk.ltrim().size();
  return bytes;
}

static size_t onHeader(char *data, size_t size, size_t count, void *user) {
  auto &transfer = *static_cast<Transfer *>(user);
  size_t bytes = size * count;
  transfer.headerBytes += bytes;
  if (transfer.headerBytes > maxHeaderBytes) {
    transfer.tooLarge = true;
    return 0;
  }
  llvm::StringRef line(data, bytes);
  // Each response (100 Continue comes first) begins with a status line.
  if (line.starts_with("HTTP/"))
    transfer.response.headers.clear();
  else
    transfer.response.headers.add(line);
  return bytes;
}

llvm::Expected<std::unique_ptr<HttpClient>>
HttpClient::create(std::string caFile) {
  llvm::Expected<const Curl *> curl = Curl::get();
  if (!curl)
    return curl.takeError();
  std::unique_ptr<HttpClient> client(new HttpClient(**curl, std::move(caFile)));
  client->easy = (*curl)->easyInit();
  client->multi = (*curl)->multiInit();
  if (!client->easy || !client->multi)
    return fail(ChatErrorKind::Config, "libcurl has no memory for a handle");
  return client;
}

HttpClient::~HttpClient() {
  if (easy)
    curl.easyCleanup(easy);
  if (multi)
    curl.multiCleanup(multi);
}

/// What libcurl's code means for a turn.
static HttpFailure translate(CURLcode code, std::string message, bool sent) {
  switch (code) {
  case CURLE_COULDNT_RESOLVE_HOST:
  case CURLE_COULDNT_RESOLVE_PROXY:
  case CURLE_COULDNT_CONNECT:
    return {ChatErrorKind::Unreachable, std::move(message), true, false};
  case CURLE_OPERATION_TIMEDOUT:
    // Our own clock ends transfers, so this is the connection.
    return {ChatErrorKind::Unreachable, std::move(message), true, sent};
  case CURLE_SSL_CONNECT_ERROR:
  case CURLE_PEER_FAILED_VERIFICATION:
  case CURLE_SSL_CERTPROBLEM:
  case CURLE_SSL_CIPHER:
  case CURLE_SSL_CACERT_BADFILE:
  case CURLE_SSL_ISSUER_ERROR:
  case CURLE_SSL_INVALIDCERTSTATUS:
  case CURLE_SSL_ENGINE_INITFAILED:
    return {ChatErrorKind::Tls, std::move(message), false, false};
  case CURLE_WEIRD_SERVER_REPLY:
  case CURLE_UNSUPPORTED_PROTOCOL:
  case CURLE_BAD_CONTENT_ENCODING:
    return {ChatErrorKind::Malformed, std::move(message), false, sent};
  default:
    // Connections that broke: half a reply, none, or a reset.
    return {ChatErrorKind::Unreachable, std::move(message), true, sent};
  }
}

static std::string seconds(double value) {
  return llvm::formatv("{0:f1} s", value).str();
}

HttpResponse HttpClient::post(const Url &url,
                              const std::vector<std::string> &headers,
                              const std::string &body, const HttpLimits &limits,
                              const ChatControl &control) {
  HttpResponse response;
  Transfer transfer{response, limits.maxBytes};
  char errorText[CURL_ERROR_SIZE] = "";
  std::string target = url.str();
  curl_slist *list = nullptr;
  llvm::scope_exit freeList([&] { curl.listFree(list); });
  for (const std::string &header : headers)
    list = curl.listAppend(list, header.c_str());
  // A large body would wait for a "100 Continue" that few servers send.
  list = curl.listAppend(list, "Expect:");

  curl.easyReset(easy);
  curl.setOption(easy, CURLOPT_URL, target.c_str());
  curl.setOption(easy, CURLOPT_HTTPHEADER, list);
  curl.setOption(easy, CURLOPT_POST, 1L);
  curl.setOption(easy, CURLOPT_POSTFIELDS, body.data());
  curl.setOption(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.size()));
  curl.setOption(easy, CURLOPT_WRITEFUNCTION, onBody);
  curl.setOption(easy, CURLOPT_WRITEDATA, &transfer);
  curl.setOption(easy, CURLOPT_HEADERFUNCTION, onHeader);
  curl.setOption(easy, CURLOPT_HEADERDATA, &transfer);
  curl.setOption(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl.setOption(easy, CURLOPT_ERRORBUFFER, errorText);
  curl.setOption(easy, CURLOPT_NOSIGNAL, 1L);
  curl.setOption(easy, CURLOPT_NOPROGRESS, 1L);
  curl.setOption(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl.setOption(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  curl.setOption(easy, CURLOPT_SSL_VERIFYHOST, 2L);
  curl.setOption(easy, CURLOPT_CONNECTTIMEOUT_MS,
                 long(limits.connectSeconds * 1000));
  if (!caFile.empty())
    curl.setOption(easy, CURLOPT_CAINFO, caFile.c_str());
  // A proxy cannot reach this machine's loopback.
  if (url.isLoopback())
    curl.setOption(easy, CURLOPT_NOPROXY, "*");

  Clock::time_point start = Clock::now();
  auto since = [](Clock::time_point from) {
    return std::chrono::duration<double>(Clock::now() - from).count();
  };
  Clock::time_point progressAt = start;
  size_t progressBytes = 0;
  CURLcode code = CURLE_OK;
  curl.multiAdd(multi, easy);
  for (int running = 1; !response.failure;) {
    if (CURLMcode multiCode = curl.multiPerform(multi, &running)) {
      response.failure = {
          ChatErrorKind::Unreachable,
          llvm::formatv("libcurl fails with code {0}", int(multiCode)).str()};
      break;
    }
    if (running == 0) {
      int left;
      while (CURLMsg *message = curl.multiInfoRead(multi, &left))
        if (message->msg == CURLMSG_DONE)
          code = message->data.result;
      break;
    }
    if (control.cancelled && *control.cancelled) {
      response.failure = {ChatErrorKind::Cancelled, "cancelled"};
    } else if (Clock::now() >= control.deadline) {
      response.failure = {ChatErrorKind::Timeout,
                          "no reply until the deadline, after " +
                              seconds(since(start))};
    } else if (since(start) >= limits.seconds) {
      response.failure = {ChatErrorKind::Timeout, "no complete reply within " +
                                                      seconds(limits.seconds)};
    } else if (transfer.contentBytes < progressBytes + minProgress &&
               transfer.contentBytes != 0) {
      if (since(progressAt) >= limits.stallSeconds)
        response.failure = {
            ChatErrorKind::Timeout,
            llvm::formatv("the reply stalled after {0} bytes for {1}",
                          response.body.size(), seconds(limits.stallSeconds))
                .str(),
            /*retry=*/true};
    } else {
      progressAt = Clock::now();
      progressBytes = transfer.contentBytes;
    }
    if (!response.failure)
      curl.multiPoll(multi, nullptr, 0, /*milliseconds=*/50, nullptr);
  }
  long status = 0;
  double pretransfer = 0;
  char *redirect = nullptr;
  curl.getInfo(easy, CURLINFO_RESPONSE_CODE, &status);
  curl.getInfo(easy, CURLINFO_PRETRANSFER_TIME, &pretransfer);
  curl.getInfo(easy, CURLINFO_REDIRECT_URL, &redirect);
  if (redirect)
    response.redirect = redirect;
  curl.multiRemove(multi, easy);
  response.status = int(status);
  response.seconds = since(start);
  bool sent = pretransfer > 0;
  if (transfer.tooLarge)
    response.failure = {
        ChatErrorKind::TooLarge,
        llvm::formatv("the reply is larger than {0} bytes", limits.maxBytes)
            .str()};
  else if (response.failure)
    response.failure->sent = sent;
  else if (code != CURLE_OK)
    response.failure = translate(
        code, oneLine(*errorText ? errorText : curl.errorText(code)), sent);
  return response;
}
