//===- Sandbox.h - A process that can do little harm ------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A child process locks itself in before it touches what nobody vouches for: a
// kernel to compile, a package to run. The kernel offers several mechanisms,
// none of them everywhere, so each is one layer that is either in force or
// missing with a reason.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_SUPPORT_SANDBOX_H
#define SPARSEDITTO_SUPPORT_SANDBOX_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace sparseditto {

enum class SandboxLayer : uint8_t {
  ParentDeath,      ///< Killed when the parent dies.
  NoNewPrivileges,  ///< No set-user-id program gives it more rights.
  Capabilities,     ///< Root's powers are gone, but for reading any file.
  ResourceLimits,   ///< CPU time, size of a file, open files, no core file.
  MountNamespace,   ///< All mounts read-only, but for the job's directory.
  Landlock,         ///< Writes only below the job's directory; no TCP.
  NetworkNamespace, ///< A network without devices.
  SystemCalls,      ///< A seccomp filter: no sockets, programs, processes, ...
  LocalSockets,     ///< In that filter: no connection to a local socket.
};
constexpr size_t numSandboxLayers = 9;

/// "pdeathsig", "no-new-privs", "capabilities", "rlimits", "mount-namespace",
/// "landlock", "network-namespace", "seccomp", "local-sockets".
llvm::StringRef name(SandboxLayer layer);
/// What the layer is for, as part of a sentence.
llvm::StringRef purpose(SandboxLayer layer);

/// A set of layers.
using SandboxLayers = uint32_t;
constexpr SandboxLayers layerBit(SandboxLayer layer) {
  return SandboxLayers(1) << unsigned(layer);
}

/// The environment variable that turns layers off: names with commas between,
/// for a machine where one of them stands in the way.
constexpr char sandboxOffVariable[] = "SPARSEDITTO_SANDBOX_OFF";

/// The layers that $SPARSEDITTO_SANDBOX_OFF names. An unknown name is an error.
llvm::Expected<SandboxLayers> sandboxLayersTurnedOff();

struct SandboxOptions {
  /// The one directory that stays writable; empty: none.
  std::string directory;
  /// Keeps what a CUDA driver needs: its devices, its listening socket and a
  /// private /dev/shm.
  bool gpu = false;
  /// Namespaces take milliseconds to make; a short-lived child may do without,
  /// since seccomp and Landlock refuse the same.
  bool namespaces = true;
  uint64_t cpuSeconds = 0; ///< 0: no limit.
  uint64_t fileBytes = 0;  ///< Greatest size of one file; 0: no limit.
  uint64_t openFiles = 0;  ///< 0: as the parent.
  /// Layers not to use.
  SandboxLayers off = 0;
  /// Use no newer interface of Landlock than this (for tests).
  int landlockAbi = 1000;
};

struct SandboxReport {
  struct Layer {
    bool inForce = false;
    /// How ("ABI 7"), or why not ("turned off by $SPARSEDITTO_SANDBOX_OFF").
    std::string detail;
  };
  std::array<Layer, numSandboxLayers> layers;

  Layer &operator[](SandboxLayer layer) { return layers[size_t(layer)]; }
  const Layer &operator[](SandboxLayer layer) const {
    return layers[size_t(layer)];
  }
  /// The layers without which something the sandbox promises does not hold.
  /// One of Landlock and the mount namespace keeps files safe, and the filter
  /// of system calls refuses what the network namespace would make harmless.
  std::vector<SandboxLayer> missing() const;
  /// "seccomp (reason), landlock (reason)"; empty if nothing is missing.
  std::string missingText() const;
};

/// Locks the calling process in, for good. To be called before the process
/// starts threads. A layer that cannot be had is missing in the report. If the
/// parent is gone already, the process ends here.
SandboxReport enterSandbox(const SandboxOptions &options);

/// What enterSandbox would achieve: a child enters a sandbox, then tries what
/// each layer should refuse. `options.directory` is ignored.
llvm::Expected<SandboxReport> probeSandbox(SandboxOptions options);

} // namespace sparseditto

#endif // SPARSEDITTO_SUPPORT_SANDBOX_H
