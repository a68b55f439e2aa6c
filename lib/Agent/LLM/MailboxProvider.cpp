//===- MailboxProvider.cpp - A model behind a folder of files -------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Request N is request-N.json, its reply reply-N.json. The folder is the state:
// a run that is started again finds its requests and takes the replies that
// are there.
//
//===----------------------------------------------------------------------===//

#include "Fail.h"
#include "FileProtocol.h"
#include "Providers.h"
#include "Turn.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace sparseditto;
using namespace sparseditto::chat;
using Clock = ChatControl::Clock;

/// Requests of one mailbox; a number beyond means that something loops.
static constexpr unsigned maxRequests = 100000;

namespace {
class MailboxProvider : public ChatProvider {
public:
  MailboxProvider(const ProviderConfig &config, std::string folder)
      : config(config), folder(std::move(folder)),
        learned(config, ChatDialect::OpenAI) {
    if (config.structured == StructuredMode::Auto)
      learned.structured = StructuredMode::JSONSchema;
  }

  std::string name() const override { return "mailbox " + folder; }

  llvm::Expected<ChatReply> complete(const ChatRequest &request,
                                     const ChatControl &control) override;

private:
  std::string pathOf(llvm::StringRef kind, unsigned number) const;
  /// Puts the request down, or finds it, and sets `last` to its number.
  llvm::Error post(const std::string &text);
  llvm::Expected<ChatReply> await(Turn &turn, const ChatControl &control);

  ProviderConfig config;
  std::string folder;
  Learned learned;
  Secret noSecret;
  unsigned last = 0; ///< Number of the newest request of this object.
};

/// One look at a file that somebody else writes.
struct Look {
  enum { Missing, Unreadable, Read } state = Missing;
  std::string text; ///< Its contents, or why it cannot be read.
};
} // namespace

std::string MailboxProvider::pathOf(llvm::StringRef kind,
                                    unsigned number) const {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, kind + "-" + llvm::Twine(number) + ".json");
  return std::string(path);
}

static Look lookAt(const std::string &path, uint64_t maxBytes) {
  // Not blocking: a FIFO of that name must not hold us.
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return errno == ENOENT ? Look{}
                           : Look{Look::Unreadable, std::strerror(errno)};
  llvm::scope_exit closeFile([&] { close(fd); });
  struct stat status;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
    return {Look::Unreadable, "it is not a regular file"};
  if (uint64_t(status.st_size) > maxBytes)
    return {Look::Unreadable,
            llvm::formatv("it is larger than {0} bytes", maxBytes).str()};
  Look look = {Look::Read, std::string(size_t(status.st_size), '\0')};
  size_t done = 0;
  while (done < look.text.size()) {
    ssize_t n = read(fd, look.text.data() + done, look.text.size() - done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      break;
    done += size_t(n);
  }
  look.text.resize(done);
  return look;
}

static llvm::Error ioError(const std::string &path, int code) {
  return fail(ChatErrorKind::Config, "cannot write '{0}': {1}", path,
              std::strerror(code));
}

/// Writes a file that nobody sees before it is whole. False if there is one of
/// that name already.
static llvm::Expected<bool> createWhole(const std::string &path,
                                        const std::string &text) {
  std::string draft = path + ".tmp" + std::to_string(getpid());
  int fd = open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0)
    return ioError(draft, errno);
  llvm::scope_exit removeDraft([&] { unlink(draft.c_str()); });
  size_t done = 0;
  while (done < text.size()) {
    ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      break;
    done += size_t(n);
  }
  int code = done < text.size() || fsync(fd) != 0 ? errno : 0;
  close(fd);
  if (code != 0)
    return ioError(draft, code);
  // Unlike rename, link takes no name that is in use.
  if (link(draft.c_str(), path.c_str()) == 0)
    return true;
  if (errno == EEXIST)
    return false;
  // Some network file systems have no links.
  if (access(path.c_str(), F_OK) == 0)
    return false;
  if (rename(draft.c_str(), path.c_str()) != 0)
    return ioError(path, errno);
  return true;
}

llvm::Error MailboxProvider::post(const std::string &text) {
  // Another run's requests in between are skipped, not answered by accident.
  while (++last <= maxRequests) {
    std::string path = pathOf("request", last);
    Look look = lookAt(path, config.maxReplyBytes);
    if (look.state == Look::Read && look.text == text)
      return llvm::Error::success();
    if (look.state != Look::Missing)
      continue;
    llvm::Expected<bool> created = createWhole(path, text);
    if (!created)
      return created.takeError();
    if (*created)
      return llvm::Error::success();
    --last;
  }
  return fail(ChatErrorKind::Config, "'{0}' holds {1} requests; use a new one",
              folder, maxRequests);
}

llvm::Expected<ChatReply> MailboxProvider::await(Turn &turn,
                                                 const ChatControl &control) {
  std::string path = pathOf("reply", last);
  Clock::time_point start = Clock::now(), changedAt = start;
  auto since = [](Clock::time_point from) {
    return std::chrono::duration<double>(Clock::now() - from).count();
  };
  Look before;
  for (double pause = 0.01;; pause = std::min(pause * 1.5, 0.5)) {
    Look look = lookAt(path, config.maxReplyBytes);
    std::string problem = look.text;
    if (look.state == Look::Read) {
      llvm::Expected<Json> value = parseJson(look.text);
      if (value)
        return readReply(look.text);
      // Perhaps it is only half there.
      problem = llvm::toString(value.takeError());
    }
    if (look.state != before.state || look.text != before.text)
      changedAt = Clock::now();
    before = std::move(look);
    if (before.state != Look::Missing &&
        since(changedAt) >= config.stallSeconds)
      return fail(ChatErrorKind::Malformed, "'{0}': {1}", path, problem);
    if (control.cancelled && *control.cancelled)
      return fail(ChatErrorKind::Cancelled, "cancelled");
    if (turn.secondsLeft() <= 0)
      return fail(ChatErrorKind::Timeout,
                  "no '{0}' after {1:f1} s; the same run started again takes "
                  "it up",
                  path, since(start));
    if (!turn.wait(std::min(pause, std::max(0.0, turn.secondsLeft() * 0.99))))
      continue;
  }
}

llvm::Expected<ChatReply>
MailboxProvider::complete(const ChatRequest &request,
                          const ChatControl &control) {
  Turn turn(config, noSecret, control);
  if (llvm::Error error = checkRequest(request))
    return turn.fail(std::move(error));
  Prepared prepared = prepare(request, learned);
  std::string text = requestText(prepared.request, config.model);
  if (llvm::Error error = turn.charge(text, request.maxOutputTokens))
    return error;
  if (llvm::Error error = post(text)) {
    turn.refund();
    return turn.fail(std::move(error));
  }
  Clock::time_point start = Clock::now();
  llvm::Expected<ChatReply> reply = await(turn, control);
  double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (!reply) {
    // Nobody has answered, so nobody is paid.
    turn.refund();
    return turn.fail(reply.takeError());
  }
  turn.settle(reply->usage, writtenText(*reply));
  turn.record(0, "ok", seconds);
  if (reply->stop == StopReason::Length)
    return turn.fail(ChatErrorKind::Truncated,
                     "'" + pathOf("reply", last) + "' says that it was cut");
  splitThinking(*reply);
  readActions(request, *reply);
  return turn.finish(std::move(*reply));
}

llvm::Expected<std::unique_ptr<ChatProvider>>
chat::createMailboxProvider(const ProviderConfig &config,
                            llvm::StringRef folder) {
  if (folder.empty())
    return fail(ChatErrorKind::Config, "endpoint 'mailbox:' names no folder");
  if (std::error_code code = llvm::sys::fs::create_directories(folder))
    return fail(ChatErrorKind::Config,
                "endpoint 'mailbox:': cannot make "
                "'{0}': {1}",
                folder, code.message());
  return std::make_unique<MailboxProvider>(config, folder.str());
}
