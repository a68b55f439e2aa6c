//===- TlsTest.cpp - Certificates are checked -----------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScriptedServer.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"
#include <csignal>
#include <cstdio>

using namespace sparseditto;
using namespace sparseditto::test;

/// An https server for 127.0.0.1 whose certificate signs itself. Prints its
/// process id and port.
static const char *const server = R"(
import http.server, os, ssl, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        body = b'{"choices": [{"message": {"content": "fine"}}]}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
httpd = http.server.HTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1] + "/cert.pem", sys.argv[1] + "/key.pem")
httpd.socket = context.wrap_socket(httpd.socket, server_side=True)
print(os.getpid(), httpd.server_port, flush=True)
httpd.serve_forever()
)";

TEST(Tls, OnlyAKnownCertificateIsTrusted) {
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("sparseditto-tls", folder));
  llvm::scope_exit removeFolder(
      [&] { llvm::sys::fs::remove_directories(folder); });
  std::string path(folder);
  std::string make =
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 "
      "-nodes -days 2 -subj /CN=test -addext subjectAltName=IP:127.0.0.1 "
      "-keyout " +
      path + "/key.pem -out " + path + "/cert.pem >/dev/null 2>&1";
  if (std::system(make.c_str()) != 0)
    GTEST_SKIP() << "no openssl";
  FILE *script = std::fopen((path + "/server.py").c_str(), "w");
  ASSERT_TRUE(script);
  std::fputs(server, script);
  std::fclose(script);
  FILE *output = popen(
      ("exec python3 " + path + "/server.py " + path + " 2>/dev/null").c_str(),
      "r");
  ASSERT_TRUE(output);
  int pid = 0;
  unsigned port = 0;
  int read = std::fscanf(output, "%d %u", &pid, &port);
  llvm::scope_exit stop([&] {
    if (pid > 1)
      kill(pid, SIGKILL);
    pclose(output);
  });
  if (read != 2)
    GTEST_SKIP() << "no python3 with ssl";

  ProviderConfig config;
  config.endpoint = "https://127.0.0.1:" + std::to_string(port);
  config.model = "m";
  ChatError error = failure(providerFor(config)->complete(ask(), {}));
  EXPECT_EQ(error.kind, ChatErrorKind::Tls);
  EXPECT_EQ(error.attempts.size(), 1u);
  EXPECT_EQ(error.usage.input, 0);
  // The same server, once its certificate is known.
  config.caFile = path + "/cert.pem";
  EXPECT_EQ(success(providerFor(config)->complete(ask(), {})).message.text,
            "fine");
  // Known, but for another name.
  config.endpoint = "https://localhost:" + std::to_string(port);
  EXPECT_EQ(failure(providerFor(config)->complete(ask(), {})).kind,
            ChatErrorKind::Tls);
}
