//===- ResultLog.cpp - Results that outlive their run ---------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/ResultLog.h"
#include "sparseditto/Runtime/JSONFile.h"
#include "sparseditto/Runtime/WorkerProcess.h"
#include "sparseditto/Support/Error.h"
#include "sparseditto/Support/JSONFields.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

using namespace sparseditto;
namespace json = llvm::json;

bool sparseditto::isFinished(RunStatus status) {
  switch (status) {
  case RunStatus::Crashed:
  case RunStatus::NoResult:
  case RunStatus::Error:
    return false;
  default:
    return true;
  }
}

static std::string hexDigest(llvm::BLAKE3 &hash) {
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

llvm::Expected<std::string>
sparseditto::packageDigest(llvm::StringRef directory) {
  std::vector<std::string> files;
  std::error_code code;
  llvm::sys::fs::recursive_directory_iterator entry(directory, code), end;
  for (; !code && entry != end; entry.increment(code))
    if (entry->type() == llvm::sys::fs::file_type::regular_file)
      files.push_back(entry->path());
  if (code)
    return makeError("{0}: {1}", directory, code.message());
  llvm::sort(files);
  llvm::BLAKE3 hash;
  for (const std::string &file : files) {
    auto buffer = llvm::MemoryBuffer::getFile(file, /*IsText=*/false,
                                              /*RequiresNullTerminator=*/false);
    if (!buffer)
      return makeError("{0}: {1}", file, buffer.getError().message());
    // Lengths, so that no two packages give the same bytes.
    llvm::StringRef name =
        llvm::StringRef(file).drop_front(directory.size()).ltrim('/');
    hash.update(std::to_string(name.size()) + " " +
                std::to_string((*buffer)->getBufferSize()) + " ");
    hash.update(name);
    hash.update((*buffer)->getBuffer());
  }
  return hexDigest(hash);
}

static llvm::Error systemError(const std::string &path, const char *what) {
  return makeError("{0}: cannot {1}: {2}", path, what, std::strerror(errno));
}

/// A new file is found after a power failure only if its directory is on the
/// disk as well.
static void syncDirectory(const std::string &path) {
  llvm::StringRef parent = llvm::sys::path::parent_path(path);
  int fd = open(parent.empty() ? "." : parent.str().c_str(),
                O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return;
  fsync(fd);
  close(fd);
}

llvm::Expected<ResultLog> ResultLog::open(llvm::StringRef path,
                                          llvm::StringRef environment,
                                          bool resume) {
  std::string file = path.str();
  int fd =
      ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0)
    return systemError(file, "open");
  syncDirectory(file);
  ResultLog log(fd, path, environment);
  if (llvm::Error error = log.read())
    return error;
  if (!resume)
    log.finished.clear();
  return log;
}

ResultLog::ResultLog(ResultLog &&other)
    : fd(other.fd), path(std::move(other.path)),
      environment(std::move(other.environment)),
      finished(std::move(other.finished)), torn(other.torn) {
  other.fd = -1;
}

ResultLog::~ResultLog() {
  if (fd >= 0)
    close(fd);
}

llvm::Error ResultLog::read() {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return makeError("{0}: {1}", path, buffer.getError().message());
  llvm::StringRef rest = (*buffer)->getBuffer();
  torn = !rest.empty() && rest.back() != '\n';
  bool any = false, ours = false;
  while (!rest.empty()) {
    llvm::StringRef line;
    std::tie(line, rest) = rest.split('\n');
    any = true;
    llvm::Expected<json::Value> value = parseJSON(line, path);
    if (!value) {
      llvm::consumeError(value.takeError());
      // The start of a line that was never finished: keys come sorted.
      const llvm::StringRef start = "{\"chip\":";
      ours |= line.starts_with(start) || start.starts_with(line);
      continue;
    }
    std::string key;
    int64_t schema = 0;
    JSONFields fields(*value, "result");
    fields.integer("schema", 1, 1, schema);
    fields.string("key", key);
    const json::Value *stored = fields.get("result");
    if (llvm::Error error = fields.finish()) {
      llvm::consumeError(std::move(error));
      continue;
    }
    ours = true;
    llvm::Expected<JobResult> result = JobResult::fromJSON(*stored);
    if (!result)
      llvm::consumeError(result.takeError());
    else if (isFinished(result->status))
      finished[key] = std::move(*result);
    else
      finished.erase(key);
  }
  if (any && !ours)
    return makeError("{0}: not a file of results, nothing is added to it",
                     path);
  return llvm::Error::success();
}

std::string ResultLog::key(const Job &job, const JobOptions &options) const {
  json::Value value = job.toJSON();
  value.getAsObject()->erase("nonce");
  value.getAsObject()->erase("package");
  // What limits a job may be its result.
  const uint64_t memory =
      options.memoryBytes ? options.memoryBytes : defaultWorkerMemory();
  std::string text = environment;
  llvm::raw_string_ostream(text) << '\n'
                                 << value << '\n'
                                 << options.timeoutSeconds << ' ' << memory;
  for (const std::string &word : options.wrapper)
    text += '\n' + word;
  llvm::BLAKE3 hash;
  hash.update(text);
  return hexDigest(hash);
}

const JobResult *ResultLog::find(const Job &job,
                                 const JobOptions &options) const {
  auto it = finished.find(key(job, options));
  return it == finished.end() ? nullptr : &it->second;
}

llvm::Error ResultLog::append(const Job &job, const JobOptions &options,
                              const JobResult &result) {
  json::Value stored = result.toJSON();
  (*stored.getAsObject())["nonce"] = "";
  std::string line;
  // A line that a killed run left unfinished ends here.
  if (torn)
    line += '\n';
  llvm::raw_string_ostream(line)
      << json::Value(json::Object{{"schema", 1},
                                  {"key", key(job, options)},
                                  {"layer", json::fixUTF8(job.layer)},
                                  {"symbol", json::fixUTF8(job.symbol)},
                                  {"chip", json::fixUTF8(job.chip)},
                                  {"result", std::move(stored)}})
      << '\n';
  // In one piece, so that it also stays one beside those of another run.
  ssize_t written;
  do
    written = write(fd, line.data(), line.size());
  while (written < 0 && errno == EINTR);
  if (written < 0)
    return systemError(path, "write");
  torn = size_t(written) != line.size();
  if (torn)
    return makeError("{0}: only {1} of {2} bytes of a result were written",
                     path, written, line.size());
  if (fdatasync(fd) != 0 && errno != EINVAL && errno != EROFS)
    return systemError(path, "write to the disk");
  return llvm::Error::success();
}
