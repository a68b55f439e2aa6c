//===- Format.cpp - The packed format dense-fragment ----------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Format.h"

using namespace sparseditto;

static PackedBuffer emptyValues(ElementType type, int64_t m, int64_t k) {
  return makeBuffer("values", type,
                    {dense::mTiles(m), dense::strips(k), 32, 8});
}

llvm::Expected<PackedWeight> dense::pack(const Matrix &weight) {
  if (llvm::Error error = checkPackable(weight))
    return error;
  PackedWeight packed = PackedWeight::start(formatName, formatVersion, weight);
  PackedBuffer values = emptyValues(weight.type, weight.rows, weight.cols);
  int64_t stripCount = strips(weight.cols);
  for (int64_t tile = 0; tile < mTiles(weight.rows); ++tile)
    for (int64_t strip = 0; strip < stripCount; ++strip)
      packFragment(weight, tile * 16, strip * 16,
                   &values.bytes[size_t(tile * stripCount + strip) *
                                 FragmentSource::fragmentBytes]);
  packed.buffers.push_back(std::move(values));
  return packed;
}

llvm::Error dense::checkBuffers(const PackedWeight &packed, PackedCheck check) {
  if (llvm::Error error = checkPackedHeader(packed, formatName, formatVersion))
    return error;
  return checkedBuffer(packed, "values", packed.type,
                       {mTiles(packed.m), strips(packed.k), 32, 8}, check)
      .takeError();
}

llvm::Expected<Matrix> dense::unpack(const PackedWeight &packed) {
  if (llvm::Error error = checkBuffers(packed, PackedCheck::Contents))
    return error;
  llvm::Expected<Matrix> weight =
      Matrix::allocate("unpacked", packed.type, packed.m, packed.k);
  if (!weight)
    return weight.takeError();
  const PackedBuffer &values = *packed.find("values");
  int64_t stripCount = strips(packed.k);
  for (int64_t tile = 0; tile < mTiles(packed.m); ++tile)
    for (int64_t strip = 0; strip < stripCount; ++strip)
      if (llvm::Error error =
              unpackFragment(&values.bytes[size_t(tile * stripCount + strip) *
                                           FragmentSource::fragmentBytes],
                             *weight, tile * 16, strip * 16, formatName))
        return error;
  return weight;
}
