//===- Checker.h - Is this kernel right? ------------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a kernel on every input set and N and compares each output element with
// the f64 oracle on the original weight. See docs/Verification.md.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_VERIFY_CHECKER_H
#define SPARSEDITTO_VERIFY_CHECKER_H

#include "sparseditto/IO/Matrix.h"
#include "sparseditto/Kernels/Manifest.h"
#include "sparseditto/Kernels/Packed.h"
#include "sparseditto/Verify/Executor.h"
#include <optional>
#include <string>
#include <vector>

namespace sparseditto {

enum class CheckStatus : uint8_t {
  Verified,
  WrongResult,      ///< An output element is outside its bound.
  Nondeterministic, ///< A second run on the same input differs in a bit.
  InputModified,    ///< X, bias, residual or a packed buffer was written.
  OutOfBounds,      ///< A guard zone or stride padding was written.
  LaunchFailed,     ///< The executor reported an error.
};
llvm::StringRef name(CheckStatus status); ///< "verified", "wrong_result", ...
std::optional<CheckStatus> parseCheckStatus(llvm::StringRef text);

/// The first thing that was wrong.
struct CheckFailure {
  CheckStatus status = CheckStatus::WrongResult;
  std::string inputSet; ///< "random", "one-hot", "integers", "special".
  std::string variant;  ///< "tight", "padded", "unaligned".
  int64_t n = 0;
  int64_t row = -1, token = -1; ///< Of the output element; -1 if none.
  double expected = 0, got = 0, bound = 0;
  std::string message; ///< One line with all of the above.
};

struct CheckOptions {
  /// N to check besides the hostile ones; outside the kernel's range ignored.
  std::vector<int64_t> n;
  /// Skip the hostile N (1, 2, 3, 7, ..., 129): only `n` is checked.
  bool onlyGivenN = false;
  /// So many N more, drawn from the seed in [1, hiddenLimit] and none of
  /// hostileN() or `n`: a kernel cannot know them.
  unsigned hiddenN = 0;
  int64_t hiddenLimit = 300;
  /// Every stride/alignment variant at every N; otherwise one in turn, of which
  /// `seed` picks the first (1 begins with tight buffers).
  bool allVariants = true;
  /// Upper bound of launches spent on one-hot columns. When K needs more, the
  /// columns are spread evenly over K.
  int64_t maxOneHotLaunches = 1 << 20;
  uint64_t seed = 1;
};

struct CheckResult {
  CheckStatus status = CheckStatus::Verified;
  std::optional<CheckFailure> failure; ///< Set unless verified.
  int64_t launches = 0;
  int64_t elements = 0;      ///< Output elements compared.
  int64_t exactElements = 0; ///< Of these, compared exactly.
  int64_t columnsProbed = 0; ///< One-hot columns, K if every weight was seen.
  /// Largest |error| / bound over the elements that are not exact.
  double maxErrorOverBound = 0;
  std::vector<int64_t> n; ///< What was checked.
};

/// `weight` is the original (in problem.type), `packed` what the kernel reads:
/// the buffers are matched to manifest.args by name. An Error means that the
/// check could not be made (shapes or buffers do not fit the manifest), never
/// that the kernel is wrong.
llvm::Expected<CheckResult> checkKernel(const KernelManifest &manifest,
                                        const Matrix &weight,
                                        const PackedWeight &packed,
                                        Executor &executor,
                                        const CheckOptions &options);

/// The N that trip kernels: 1, 2, 3, 7, 8, 9, ... around every tile size.
llvm::ArrayRef<int64_t> hostileN();

} // namespace sparseditto

#endif // SPARSEDITTO_VERIFY_CHECKER_H
