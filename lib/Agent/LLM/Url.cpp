//===- Url.cpp - Endpoints ------------------------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Url.h"
#include "Json.h"
#include "sparseditto/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace sparseditto;
using namespace sparseditto::chat;

static bool isHost(llvm::StringRef host) {
  if (host.consume_front("["))
    return host.consume_back("]") && !host.empty() &&
           llvm::all_of(host, [](char c) {
             return llvm::isHexDigit(c) || c == ':' || c == '.';
           });
  return !host.empty() && llvm::all_of(host, [](char c) {
    return llvm::isAlnum(c) || c == '-' || c == '.' || c == '_';
  });
}

llvm::Expected<Url> Url::parse(llvm::StringRef text) {
  // Never the text itself in a message: a password may be in it.
  Url url;
  llvm::StringRef rest = text;
  if (rest.consume_front_insensitive("http://")) {
    url.tls = false;
    url.port = 80;
  } else if (!rest.consume_front_insensitive("https://")) {
    return makeError("an endpoint begins with https://, http://, command: or "
                     "mailbox:");
  }
  if (llvm::any_of(rest, [](char c) {
        return uint8_t(c) <= ' ' || uint8_t(c) >= 0x7f || c == '\\';
      }))
    return makeError("the endpoint has a blank, a backslash or a character "
                     "that is not ASCII");
  rest = rest.take_until([](char c) { return c == '#'; });
  llvm::StringRef authority =
      rest.take_until([](char c) { return c == '/' || c == '?'; });
  rest = rest.drop_front(authority.size());
  if (authority.contains('@'))
    return makeError("the endpoint holds a user name or a password; give a key "
                     "by api_key_file or api_key_env");
  llvm::StringRef host = authority;
  size_t colon = authority.rfind(':');
  if (colon != llvm::StringRef::npos && !authority.ends_with("]")) {
    host = authority.take_front(colon);
    llvm::StringRef port = authority.drop_front(colon + 1);
    if (!llvm::to_integer(port, url.port, 10) || url.port == 0 ||
        url.port > 65535)
      return makeError("'{0}' is not a port", oneLine(port, 40));
  }
  if (!isHost(host))
    return makeError("'{0}' is not a host", oneLine(host, 80));
  url.host = host.lower();
  llvm::StringRef path = rest.take_until([](char c) { return c == '?'; });
  url.path = path.str();
  url.query = rest.drop_front(path.size()).str();
  return url;
}

std::string Url::origin() const {
  std::string text = (tls ? "https://" : "http://") + host;
  if (port != (tls ? 443u : 80u))
    text += ":" + std::to_string(port);
  return text;
}

bool Url::isLoopback() const {
  if (host == "localhost" || host == "[::1]")
    return true;
  llvm::SmallVector<llvm::StringRef, 4> parts;
  llvm::StringRef(host).split(parts, '.');
  unsigned byte;
  return parts.size() == 4 && parts[0] == "127" &&
         llvm::all_of(parts, [&](llvm::StringRef part) {
           return llvm::to_integer(part, byte, 10) && byte <= 255;
         });
}
