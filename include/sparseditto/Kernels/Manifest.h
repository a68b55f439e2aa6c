//===- Manifest.h - What a launcher must know about a kernel ----*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The launch contract of one kernel. Target, Runtime, Verify and Emulator know
// kernels only through it. It is JSON in a package's manifest.json.
//
// ABI: plain pointers in the order of `args` (packed buffers, X, Y, bias,
// residual), then i32 sizes and strides: N, ldx, ldy and, with a residual, ldr.
// ldx/ldy/ldr are row strides in elements: of X [N x K] / Y [N x M] for
// token-major, of X [K x N] / Y [M x N] for feature-major. M and K are compiled
// in. Pointers need only element alignment for X, Y, bias and residual; packed
// buffers are 256-byte aligned.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_KERNELS_MANIFEST_H
#define SPARSEDITTO_KERNELS_MANIFEST_H

#include "sparseditto/Kernels/Problem.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sparseditto {

/// One grid dimension as a function of N: factor * ceil(N / divisor), or just
/// factor when divisor is 0.
struct GridDim {
  int64_t factor = 1;
  int64_t divisor = 0;
  int64_t evaluate(int64_t n) const {
    return divisor == 0 ? factor : factor * ((n + divisor - 1) / divisor);
  }
  bool operator==(const GridDim &) const = default;
};

enum class ArgKind : uint8_t {
  Packed,   ///< A packed buffer, by name.
  X,        ///< Activations.
  Y,        ///< Output.
  Bias,     ///< f32[M].
  Residual, ///< Like Y.
  N,        ///< i32 token count.
  LdX,      ///< i32 row stride of X in elements.
  LdY,      ///< i32 row stride of Y in elements.
  LdR,      ///< i32 row stride of the residual in elements.
};
llvm::StringRef name(ArgKind kind); ///< "packed", "x", "ldx", ...
std::optional<ArgKind> parseArgKind(llvm::StringRef text);
inline bool isScalar(ArgKind kind) { return kind >= ArgKind::N; }

struct KernelArg {
  ArgKind kind = ArgKind::Packed;
  std::string name; ///< Buffer name for Packed, else the kind's name.
  ElementType type = ElementType::U8; ///< Pointee, or I32 for scalars.
  unsigned alignment = 1; ///< Bytes promised to the kernel; 0 for scalars.
};

/// The family of kernels that an agent rewrote. None of this name is declared:
/// there is nothing to choose.
inline constexpr llvm::StringLiteral customFamily = "custom";

/// Where a rewritten kernel comes from and who has looked at it.
struct CustomKernel {
  Strategy base;      ///< Of the kernel that was rewritten.
  std::string reason; ///< The author's, one sentence.
  /// Relative to the package: what was changed. Empty for a candidate.
  std::string diffFile;
  /// Who approved it, and reviewHash() (Runtime/Review.h) of what was approved;
  /// both empty: nobody has.
  std::string approvedBy, approvedHash;
};

struct KernelManifest {
  std::string symbol;
  Strategy strategy;
  std::string format; ///< Packed format it reads, with formatVersion.
  int formatVersion = 1;
  /// Index into the layer's packed weights; -1 for the only one of `format`.
  int packedIndex = -1;
  Problem problem;
  int64_t nMin = 1, nMax = 0; ///< Range of N it may be launched for; 0 = any.
  std::array<GridDim, 3> grid;
  std::array<unsigned, 3> block = {1, 1, 1};
  unsigned staticSharedBytes = 0;  ///< As the kernel declares it.
  unsigned dynamicSharedBytes = 0; ///< To pass at launch.
  std::vector<KernelArg> args;
  /// Work and traffic of one launch at N: multiply-adds really issued and
  /// bytes moved at least once (packed + X + Y), for floors and reports.
  int64_t weightBytes = 0; ///< Resident packed bytes.

  // Filled in by Target and Tuning.
  std::string chip;        ///< "sm_90a".
  unsigned ptxVersion = 0; ///< 85 for PTX 8.5.
  /// Relative to the package. The MLIR is the builder's module, for the
  /// emulator and for reading; any of the three may be empty.
  std::string ptxFile, cubinFile, mlirFile;
  std::string sourceHash;             ///< Of the kernel's MLIR text.
  std::string recordId;               ///< Tuning record.
  std::optional<CustomKernel> custom; ///< Set for rewritten kernels.

  /// Rewritten, and by this manifest approved by nobody.
  bool isUnreviewed() const {
    return strategy.family == customFamily &&
           (!custom || custom->approvedHash.empty());
  }

  /// Success if the manifest can be launched: sizes in range, an identifier as
  /// symbol, arguments in ABI order with the types the problem asks for, file
  /// names that stay inside the package.
  llvm::Error verify() const;

  llvm::json::Value toJSON() const;
  /// Untrusted input: checks every field and then verify().
  static llvm::Expected<KernelManifest>
  fromJSON(const llvm::json::Value &value);
};

/// The arguments every kernel has after its packed buffers, in ABI order: X,
/// Y, bias and residual where the epilogue has them, then the scalars.
std::vector<KernelArg> activationArgs(const Problem &problem);

/// True for a relative path of printable ASCII without "..", empty components,
/// quotes, colons or backslashes.
bool isPackagePath(llvm::StringRef path);

/// True for 1 to 256 letters, digits and "_-.": the names of families, knobs,
/// formats, buffers and chips.
bool isPlainName(llvm::StringRef text);

/// Knobs keep their order, which is part of a strategy's identity, so they
/// are an array of {"name", "value"}.
llvm::json::Value toJSON(const Strategy &strategy);
llvm::json::Value toJSON(const Problem &problem);
/// {"state": "unreviewed"}, or "approved" with "by" and "hash".
llvm::json::Object reviewToJSON(const CustomKernel &custom);
llvm::Expected<Strategy> strategyFromJSON(const llvm::json::Value &value);
llvm::Expected<Problem> problemFromJSON(const llvm::json::Value &value);

} // namespace sparseditto

#endif // SPARSEDITTO_KERNELS_MANIFEST_H
