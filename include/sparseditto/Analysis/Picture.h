//===- Picture.h - Spy plots ------------------------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A heat map of density: at most 256 x 256 cells, white where a cell holds no
// non-zero, darker the more of it is kept.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_ANALYSIS_PICTURE_H
#define SPARSEDITTO_ANALYSIS_PICTURE_H

#include "sparseditto/Analysis/NonZeroMask.h"
#include "sparseditto/Analysis/PatternReport.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace sparseditto {

/// Shares of non-zeros, row-major, `height` rows of `width` cells in 0..1.
struct DensityMap {
  int width = 0, height = 0;
  std::vector<float> cells;
};

/// At most `limit` cells a side; cell (y, x) covers the rows
/// [y * rows / height, (y + 1) * rows / height), likewise for columns.
DensityMap densityMap(const NonZeroMask &mask, int limit = 256);

/// An SVG document with the map, a title and, for a block pattern whose blocks
/// are large enough to see, their grid.
std::string toSVG(const DensityMap &map, const PatternReport &report);

/// The map as a PNG image.
std::string toPNG(const DensityMap &map);

/// Writes the picture of `matrix` to `path`, which ends in .svg or .png.
llvm::Error writePicture(const Matrix &matrix, const PatternReport &report,
                         llvm::StringRef path);

/// Fails unless `path` ends in .svg or .png.
llvm::Error checkPicturePath(llvm::StringRef path);

} // namespace sparseditto

#endif // SPARSEDITTO_ANALYSIS_PICTURE_H
