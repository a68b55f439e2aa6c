//===- AttackCorpus.h - Candidates that must be refused ---------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The files of test/Attacks, built into the program. Each begins with comment
// lines that say what it is:
//
//   // attack: 19 drops a tiny weight         mode of docs/Trust.md, 0: a
//   control
//   // problem: m=64 k=64 type=f16 tiny=5     see parseProblem()
//   // launch: grid=N block=64                see parseLaunch()
//   // expect: emulator illegal REGEX         one line a run, see AttackRun
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TOOLS_SDTUNE_ATTACKCORPUS_H
#define SPARSEDITTO_TOOLS_SDTUNE_ATTACKCORPUS_H

#include "sparseditto/Kernels/Manifest.h"
#include "sparseditto/Runtime/Job.h"
#include "sparseditto/Target/Chips.h"
#include <string>
#include <vector>

namespace sparseditto::tool {

/// One way to run a candidate, "emulator", "emulator-unchecked", "gpu" or
/// "gpu-unchecked", where "unchecked" is without the candidate policy, so that
/// the checks behind it show what they find.
struct AttackRun {
  std::string place;
  bool gpu = false, policy = true;
  std::vector<RunStatus> statuses; ///< "wrong_result,launch_failed".
  std::string pattern;             ///< Found in the message.
};

struct Attack {
  std::string name; ///< The file's, without its suffix.
  std::string title;
  unsigned mode = 0; ///< 0: a control, which must be verified.
  bool isPtx = false;
  llvm::StringRef text;
  KernelManifest manifest; ///< Chip and files still empty.
  // The weight and how its copy in packed form differs.
  double density = 1, scale = 1;
  bool ones = false;  ///< All weights are 1 instead of normal values.
  int64_t tiny = -1;  ///< Index of a weight of 2^-20 times `scale`.
  int64_t lost = -1;  ///< Index of a weight that is not packed.
  int64_t timeN = 16; ///< 0: not timed.
  unsigned timeoutSeconds = 120;
  std::vector<AttackRun> runs;
};

/// All, in the order of their names. Fails if a header is wrong.
llvm::Expected<std::vector<Attack>> readAttackCorpus();

/// One file, by its name with suffix; `text` outlives the attack.
llvm::Expected<Attack> parseAttack(llvm::StringRef name, llvm::StringRef text);

/// Writes the candidate with its weight as a package of one layer, "attack".
/// For a GPU (`chip` is the one that runs there), MLIR is compiled to PTX and a
/// cubin; for the emulator it is left as it is.
llvm::Error writeAttackPackage(const Attack &attack, const Chip &chip,
                               bool forGpu, llvm::StringRef directory);

} // namespace sparseditto::tool

#endif // SPARSEDITTO_TOOLS_SDTUNE_ATTACKCORPUS_H
