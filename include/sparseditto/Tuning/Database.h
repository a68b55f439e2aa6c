//===- Database.h - Tuning records of earlier runs --------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file of records (docs/schema/tuning-record.schema.json), one a line, that
// only ever grows. Several processes may append to it.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TUNING_DATABASE_H
#define SPARSEDITTO_TUNING_DATABASE_H

#include "sparseditto/Tuning/Loop.h"
#include <mutex>

namespace sparseditto {

/// What a measured time depends on besides the kernel. Empty: unknown here.
struct TuningEnvironment {
  std::string device; ///< "NVIDIA H200".
  std::string driver; ///< "13.0".
  std::string ptxas;  ///< "13.0".
};

/// The installed ptxas; a device is the caller's to add.
TuningEnvironment environmentHere();

class TuningDatabase {
public:
  /// Reads the file; one that is not there is empty. Lines that are no records
  /// are passed over and counted in messages(), a torn last line included.
  static llvm::Expected<std::unique_ptr<TuningDatabase>>
  open(llvm::StringRef path, TuningEnvironment environment);

  /// The fastest verified record of this product, N, chip and version that was
  /// measured in this environment. Records of another environment or version
  /// are named in messages() and not applied. Thread-safe.
  std::optional<KnownResult> find(const PatternReport &report,
                                  const Problem &problem, const Chip &chip,
                                  int64_t n) const;

  /// Appends whole lines under a lock (PATH.lock) and waits until they are on
  /// disk. A torn line of an earlier crash is ended first.
  llvm::Error append(llvm::ArrayRef<std::string> records) const;

  /// What was passed over, and records that were not applied, each once.
  std::vector<std::string> messages() const;
  size_t size() const { return records.size(); }
  const TuningEnvironment &environment() const { return here; }

private:
  struct Record {
    std::string id, op, fingerprint, chip, version;
    int64_t n = 1;
    KnownResult result;
    TuningEnvironment environment;
  };
  TuningDatabase() = default;
  void read(llvm::StringRef text);
  void say(std::string message) const;

  std::string path;
  TuningEnvironment here;
  std::vector<Record> records; ///< The verified and measured ones.
  mutable std::mutex mutex;
  mutable std::vector<std::string> said;
};

} // namespace sparseditto

#endif // SPARSEDITTO_TUNING_DATABASE_H
