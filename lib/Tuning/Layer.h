//===- Layer.h - Compiling one tensor in one layout -------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_LIB_TUNING_LAYER_H
#define SPARSEDITTO_LIB_TUNING_LAYER_H

#include "sparseditto/Runtime/Package.h"
#include "sparseditto/Tuning/Compile.h"
#include "sparseditto/Tuning/KernelCache.h"

namespace sparseditto {

/// What one tensor in one layout contributes to the package.
struct CompiledLayer {
  PackageLayer layer;
  std::vector<CompiledRow> rows;
  LayerMemory memory;
  std::vector<std::string> records; ///< JSON lines, failures too.
  std::vector<std::string> notes;
  std::vector<std::shared_ptr<const CachedKernel>> kernels;
};

/// The product's weight is in the package's element type already; `report` is
/// of it. `events` may be null and stands for that of the options.
llvm::Expected<CompiledLayer> compileLayer(const ModelProduct &product,
                                           const PatternReport &report,
                                           const CompileOptions &options,
                                           KernelCache &cache,
                                           EventSink *events);

} // namespace sparseditto

#endif // SPARSEDITTO_LIB_TUNING_LAYER_H
