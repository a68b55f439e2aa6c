//===- Family.h - The interface of a kernel family --------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A family is one way to lower a product: its declaration (what it accepts, its
// knobs), its packed format, its byte/FLOP model and its kernel builder. The
// verifier, the schema an agent gets, the docs and the tuner all derive from
// the declaration. One folder below lib/Kernels a family; adding one touches no
// other.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_KERNELS_FAMILY_H
#define SPARSEDITTO_KERNELS_FAMILY_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "sparseditto/Analysis/PatternReport.h"
#include "sparseditto/IO/Matrix.h"
#include "sparseditto/Kernels/Manifest.h"
#include "sparseditto/Kernels/Packed.h"
#include "sparseditto/Kernels/Problem.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <memory>

namespace sparseditto {

/// One knob. Legal values are a closed list; `valueNames` gives enumerations
/// their spelling (same length as `values`), empty for plain integers.
struct KnobDeclaration {
  std::string name; ///< snake_case, a word of the field: "tile_n", "stages".
  std::vector<int64_t> values;
  int64_t defaultValue = 0;
  std::string help; ///< One sentence.
  std::vector<std::string> valueNames;
  /// True if the packed format depends on it: strategies that differ only in
  /// other knobs share one packed copy.
  bool affectsPacking = false;
};

struct FamilyDeclaration {
  std::string name;    ///< "nm".
  std::string summary; ///< One sentence for docs and agents.
  std::string accepts; ///< In words: which patterns.
  std::vector<ElementType> types;
  std::vector<KnobDeclaration> knobs;
  /// Lowest compute capability, 80 for the sm_80 level.
  unsigned minComputeCapability = 80;

  const KnobDeclaration *find(llvm::StringRef knob) const;
  /// The default strategy.
  Strategy defaults() const;
  /// JSON schema of a proposal for this family.
  llvm::json::Value toSchema() const;
};

/// What a launch costs by counting, at one N.
struct CostModel {
  double weightBytes = 0;     ///< Packed bytes read from memory once.
  double activationBytes = 0; ///< X and Y (and residual) once.
  double tensorFlops = 0;     ///< Issued on tensor cores, 2 per multiply-add.
  double fmaFlops = 0;        ///< Issued on CUDA cores.
  double l2Bytes = 0;         ///< Re-reads that hit in L2 (X tiles, ...).
  double sharedBytes = 0;     ///< Read from shared memory, conflicts included.
  double fixedMicroseconds = 0; ///< Launch and reduction phases on an H200.
  /// Blocks of the grid and what one needs of an SM: how many waves they make
  /// is the chip's matter. 0 blocks: no more than the chip holds at once.
  double blocks = 0;
  unsigned threadsPerBlock = 0, registersPerThread = 0;
  double sharedBytesPerBlock = 0;
  /// Times a block waits for memory before its product starts, one after the
  /// other, beyond the first.
  double roundTrips = 0;
  /// Packed bytes that a block has requested at once. Few blocks with few
  /// requests leave memory idle. 0: more than memory can serve.
  double bytesInFlight = 0;
};

/// A kernel as MLIR: a module holding one gpu.module with one gpu.func kernel.
struct BuiltKernel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  KernelManifest manifest; ///< chip, PTX and file fields still empty.
};

class KernelFamily {
public:
  virtual ~KernelFamily();

  virtual const FamilyDeclaration &declaration() const = 0;
  llvm::StringRef name() const { return declaration().name; }

  /// Success if the family can serve a weight with this report; otherwise the
  /// failed condition in one sentence.
  virtual llvm::Error accepts(const PatternReport &report,
                              const Problem &problem) const = 0;

  /// Success if every knob has a legal value and the combination is legal for
  /// the problem and compute capability (80, 86, 89, 90, 100, 120) and for
  /// `sharedLimit` bytes of shared memory a block. The error names the knob,
  /// the value and the legal set.
  virtual llvm::Error check(const Strategy &strategy, const Problem &problem,
                            unsigned computeCapability) const;

  /// Strategies worth trying for the problem, best guess first. All pass
  /// check(). Used by the heuristic and bounded by it.
  virtual std::vector<Strategy>
  candidates(const PatternReport &report, const Problem &problem,
             unsigned computeCapability) const = 0;

  virtual CostModel cost(const PatternReport &report, const Problem &problem,
                         const Strategy &strategy, int64_t n) const = 0;

  /// Packs; the result depends only on the weight, problem.type and the knobs
  /// marked affectsPacking. Callers run unpack() and compare, always.
  virtual llvm::Expected<PackedWeight> pack(const Matrix &weight,
                                            const Strategy &strategy) const = 0;
  /// The exact inverse (a stored -0.0 may come back as +0.0). Bounds-checks
  /// its input: packed files are not trusted.
  virtual llvm::Expected<Matrix> unpack(const PackedWeight &packed) const = 0;

  /// Builds the kernel. `packed` gives shape attributes only, never values.
  /// Fails with check()'s error on an illegal strategy.
  virtual llvm::Expected<BuiltKernel>
  build(mlir::MLIRContext &context, const Problem &problem,
        const Strategy &strategy, const PackedWeight &packed,
        unsigned computeCapability, llvm::StringRef symbol) const = 0;
};

/// All families, in the order of the docs. Static storage.
llvm::ArrayRef<const KernelFamily *> allFamilies();
/// Null for an unknown name.
const KernelFamily *findFamily(llvm::StringRef name);
/// Packs, unpacks and compares by value: unpack(pack(w)) == w bit for bit,
/// except that -0.0 may become +0.0. The only way the tools pack.
llvm::Expected<PackedWeight> packChecked(const KernelFamily &family,
                                         const Matrix &weight,
                                         const Strategy &strategy);
/// The shared checks of knob names and values that check() starts with.
llvm::Error checkKnobs(const FamilyDeclaration &declaration,
                       const Strategy &strategy);

} // namespace sparseditto

#endif // SPARSEDITTO_KERNELS_FAMILY_H
