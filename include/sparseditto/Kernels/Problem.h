//===- Problem.h - One product to lower -------------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Y = act(W * X + bias) + residual. W is M x K and known at compile time, X has
// N columns (tokens), known only at launch.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_KERNELS_PROBLEM_H
#define SPARSEDITTO_KERNELS_PROBLEM_H

#include "sparseditto/Support/ElementType.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <utility>

namespace sparseditto {

/// How X and Y lie in memory.
enum class Layout : uint8_t {
  TokenMajor,   ///< X is N x K row-major, Y is N x M (torch F.linear).
  FeatureMajor, ///< X is K x N row-major, Y is M x N.
};
llvm::StringRef name(Layout layout); ///< "token-major" / "feature-major".
std::optional<Layout> parseLayout(llvm::StringRef text);

enum class Activation : uint8_t { None, Relu, Gelu, Silu };
llvm::StringRef
name(Activation activation); ///< "none", "relu", "gelu", "silu".
std::optional<Activation> parseActivation(llvm::StringRef text);

/// What is fused after the product: y = act(acc + bias[m]) + residual, then a
/// cast. gelu is the exact erf form (torch's default); all in f32.
struct Epilogue {
  bool bias = false; ///< One f32 per output feature.
  Activation activation = Activation::None;
  bool residual = false; ///< Same shape, layout and element type as Y.
  bool operator==(const Epilogue &) const = default;
};

/// Everything a kernel is specialised for. N is dynamic: every kernel must be
/// correct for any N >= 1; `tuneN` only says which N the knobs are chosen for.
struct Problem {
  int64_t m = 0, k = 0;
  ElementType type = ElementType::F16;       ///< Of W and X; f32 accumulation.
  ElementType outputType = ElementType::F16; ///< Of Y and the residual.
  Layout layout = Layout::TokenMajor;
  Epilogue epilogue;
  int64_t tuneN = 1;
};

/// One choice: a family and a value for each of its knobs. Knob values are
/// integers; enumerations count from 0 in declaration order.
struct Strategy {
  std::string family;
  llvm::SmallVector<std::pair<std::string, int64_t>, 8> knobs;

  std::optional<int64_t> get(llvm::StringRef knob) const;
  void set(llvm::StringRef knob, int64_t value);
  /// "nm{warps=16,tile_n=8}", knobs in declaration order; a stable key.
  std::string str() const;
  bool operator==(const Strategy &) const = default;
};
/// The inverse of Strategy::str(); nothing for any other text. Whether there is
/// such a family with such knobs is not looked at.
std::optional<Strategy> parseStrategy(llvm::StringRef text);

} // namespace sparseditto

#endif // SPARSEDITTO_KERNELS_PROBLEM_H
