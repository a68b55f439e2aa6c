//===- Database.cpp - Tuning records of earlier runs ---------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Tuning/Database.h"
#include "Record.h"
#include "sparseditto/Runtime/JSONFile.h"
#include "sparseditto/Support/Error.h"
#include "sparseditto/Target/Ptxas.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

using namespace sparseditto;
namespace json = llvm::json;

static constexpr uint64_t maxFileBytes = uint64_t(1) << 30;

TuningEnvironment sparseditto::environmentHere() {
  TuningEnvironment environment;
  std::string path = findPtxas();
  if (path.empty())
    return environment;
  if (auto version = ptxasVersion(path))
    environment.ptxas =
        std::to_string(version->major) + "." + std::to_string(version->minor);
  else
    llvm::consumeError(version.takeError());
  return environment;
}

llvm::Expected<std::unique_ptr<TuningDatabase>>
TuningDatabase::open(llvm::StringRef path, TuningEnvironment environment) {
  std::unique_ptr<TuningDatabase> database(new TuningDatabase());
  database->path = path.str();
  database->here = std::move(environment);
  llvm::sys::fs::file_status status;
  std::error_code code = llvm::sys::fs::status(path, status);
  if (code == std::errc::no_such_file_or_directory)
    return database;
  if (code)
    return makeError("database '{0}': {1}", path, code.message());
  if (!llvm::sys::fs::is_regular_file(status))
    return makeError("database '{0}': not a regular file", path);
  if (status.getSize() > maxFileBytes)
    return makeError("database '{0}': {1} bytes, at most {2} are read", path,
                     status.getSize(), maxFileBytes);
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return makeError("database '{0}': {1}", path, buffer.getError().message());
  database->read((*buffer)->getBuffer());
  return database;
}

void TuningDatabase::read(llvm::StringRef text) {
  size_t passedOver = 0, line = 0, firstBad = 0;
  while (!text.empty()) {
    auto [current, rest] = text.split('\n');
    text = rest;
    ++line;
    if (current.trim().empty())
      continue;
    auto bad = [&] {
      if (passedOver++ == 0)
        firstBad = line;
    };
    llvm::Expected<json::Value> value = parseJSON(current, "record");
    if (!value) {
      llvm::consumeError(value.takeError());
      bad();
      continue;
    }
    const json::Object *object = value->getAsObject();
    std::optional<int64_t> n, version;
    if (object) {
      n = object->getInteger("n");
      version = object->getInteger("record");
    }
    if (!n || version != 1) {
      bad();
      continue;
    }
    if (object->getString("status") != name(CandidateStatus::Verified))
      continue;
    Record record;
    record.n = *n;
    auto string = [&](llvm::StringRef key) {
      return object->getString(key).value_or("").str();
    };
    record.id = string("id");
    record.op = string("op");
    record.fingerprint = string("fingerprint");
    record.chip = string("chip");
    record.version = string("version");
    record.environment = {string("device"), string("driver"), string("ptxas")};
    record.result.recordId = record.id;
    record.result.binaryHash = string("binary");
    record.result.microseconds = object->getNumber("us").value_or(0);
    record.result.denseMicroseconds = object->getNumber("dense_us").value_or(0);
    record.result.floorMicroseconds = object->getNumber("floor_us").value_or(0);
    std::optional<Strategy> strategy = parseStrategy(string("strategy"));
    // Without a time it says nothing that compiling would not say.
    if (!strategy || !(record.result.microseconds > 0))
      continue;
    record.result.strategy = std::move(*strategy);
    records.push_back(std::move(record));
  }
  if (passedOver)
    say(llvm::formatv("database '{0}': {1} line{2} passed over, the first is "
                      "line {3}",
                      path, passedOver, passedOver == 1 ? "" : "s", firstBad));
}

void TuningDatabase::say(std::string message) const {
  std::lock_guard<std::mutex> lock(mutex);
  if (!llvm::is_contained(said, message))
    said.push_back(std::move(message));
}

std::vector<std::string> TuningDatabase::messages() const {
  std::lock_guard<std::mutex> lock(mutex);
  return said;
}

/// How the record's environment differs; empty if it does not, as far as both
/// are known.
static std::string difference(const TuningEnvironment &then,
                              const TuningEnvironment &now) {
  std::string text;
  auto compare = [&](llvm::StringRef what, const std::string &a,
                     const std::string &b) {
    if (b.empty() || a == b)
      return;
    text +=
        llvm::formatv("{0}{1} {2}, here it is {3}", text.empty() ? "" : "; ",
                      what, a.empty() ? "unknown" : a, b);
  };
  compare("device", then.device, now.device);
  compare("driver", then.driver, now.driver);
  compare("ptxas", then.ptxas, now.ptxas);
  return text;
}

std::optional<KnownResult> TuningDatabase::find(const PatternReport &report,
                                                const Problem &problem,
                                                const Chip &chip,
                                                int64_t n) const {
  const std::string op = operationText(problem);
  const Record *best = nullptr;
  for (const Record &record : records) {
    if (record.op != op || record.fingerprint != report.fingerprint ||
        record.chip != chip.name || record.n != n)
      continue;
    std::string differs = difference(record.environment, here);
    if (record.version != SPARSEDITTO_VERSION)
      differs = llvm::formatv("version {0}, this is {1}", record.version,
                              SPARSEDITTO_VERSION);
    if (!differs.empty()) {
      say(llvm::formatv("record {0} ({1} at N = {2}, {3}) is not applied: it "
                        "was measured with {4}",
                        record.id, record.result.strategy.str(), n, chip.name,
                        differs));
      continue;
    }
    // Of equal times the later line.
    if (!best || record.result.microseconds <= best->result.microseconds)
      best = &record;
  }
  if (!best)
    return std::nullopt;
  return best->result;
}

llvm::Error TuningDatabase::append(llvm::ArrayRef<std::string> lines) const {
  if (lines.empty())
    return llvm::Error::success();
  auto fail = [&](llvm::StringRef what) {
    return makeError("database '{0}': cannot {1}: {2}", path, what,
                     std::strerror(errno));
  };
  // A file of its own, so that the lock lives on if the database is replaced.
  const int lock =
      ::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock < 0)
    return fail("make the lock file");
  llvm::scope_exit unlock([&] { ::close(lock); });
  while (flock(lock, LOCK_EX) != 0)
    if (errno != EINTR)
      return fail("lock");
  const int file =
      ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0)
    return fail("open");
  llvm::scope_exit closeFile([&] { ::close(file); });
  std::string text;
  const off_t end = lseek(file, 0, SEEK_END);
  char last = '\n';
  if (end > 0 && pread(file, &last, 1, end - 1) != 1)
    return fail("read");
  if (last != '\n')
    text += '\n';
  for (const std::string &line : lines)
    text += line + '\n';
  for (size_t written = 0; written < text.size();) {
    ssize_t count = write(file, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return fail("write");
    written += size_t(count);
  }
  if (fsync(file) != 0)
    return fail("write to disk");
  return llvm::Error::success();
}
