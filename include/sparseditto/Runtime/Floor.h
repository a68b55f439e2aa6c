//===- Floor.h - What one memory-bound launch can reach ---------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launch that must bring S bytes from memory takes longer than S / bandwidth:
// ramp-up and tail dominate small reads. The floor is a measured curve of
// (bytes, microseconds) points. No CUDA and no MLIR here, so that predictions
// and measurements share one definition.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_RUNTIME_FLOOR_H
#define SPARSEDITTO_RUNTIME_FLOOR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace sparseditto {

struct FloorPoint {
  double bytes = 0;
  double microseconds = 0;
};

/// Cold-read time of one launch as a function of the bytes read.
class FloorCurve {
public:
  /// Measured on an H200 (132 SMs, 4.8 TB/s); the default everywhere.
  static const FloorCurve &h200();

  /// Points must be finite and positive, strictly increasing in bytes, not
  /// decreasing in time, and at least two.
  static llvm::Expected<FloorCurve> create(llvm::StringRef device,
                                           std::vector<FloorPoint> points);

  /// Linear between points, constant below the first, and along the slope of
  /// the last segment above the last.
  double microseconds(double bytes) const;

  llvm::StringRef device() const { return deviceName; }
  llvm::ArrayRef<FloorPoint> points() const { return curve; }

  llvm::json::Value toJSON() const;
  static llvm::Expected<FloorCurve> fromJSON(const llvm::json::Value &value);

private:
  std::string deviceName;
  std::vector<FloorPoint> curve;
};

/// The H200 curve at `bytes`.
inline double floorMicroseconds(double bytes) {
  return FloorCurve::h200().microseconds(bytes);
}

} // namespace sparseditto

#endif // SPARSEDITTO_RUNTIME_FLOOR_H
