//===- Packing.cpp - Packed weights in the IR -----------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Transforms/Packing.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeRange.h"
#include "sparseditto/Transforms/Weights.h"

using namespace sparseditto;
using namespace mlir;
using sparsepattern::PackingAttr;

PackingAttr sparseditto::toPackingAttr(MLIRContext *context,
                                       const PackedWeight &packed,
                                       sparsepattern::StrategyAttr strategy) {
  Builder builder(context);
  SmallVector<Attribute> names;
  for (const PackedBuffer &buffer : packed.buffers)
    names.push_back(builder.getStringAttr(buffer.name));
  NamedAttrList attributes;
  for (const auto &[name, value] : packed.attributes)
    attributes.set(name, builder.getI64IntegerAttr(value));
  return PackingAttr::get(
      context, packed.format, packed.version, strategy, packed.m, packed.k,
      toMLIRType(context, packed.type), builder.getArrayAttr(names),
      attributes.empty() ? DictionaryAttr()
                         : attributes.getDictionary(context));
}

std::optional<PackedWeight> sparseditto::fromPackingAttr(PackingAttr packing,
                                                         TypeRange buffers) {
  std::optional<ElementType> type = toElementType(packing.getType());
  if (!type)
    return std::nullopt;
  PackedWeight packed;
  packed.format = packing.getFormat().str();
  packed.version = packing.getVersion();
  packed.m = packing.getRows();
  packed.k = packing.getCols();
  packed.type = *type;
  for (auto [name, bufferType] :
       llvm::zip_equal(packing.getBuffers(), buffers)) {
    auto shaped = cast<ShapedType>(bufferType);
    std::optional<ElementType> element = toElementType(shaped.getElementType());
    if (!element)
      return std::nullopt;
    PackedBuffer buffer;
    buffer.name = cast<StringAttr>(name).getValue().str();
    buffer.type = *element;
    buffer.shape.assign(shaped.getShape().begin(), shaped.getShape().end());
    packed.buffers.push_back(std::move(buffer));
  }
  if (packing.getAttributes())
    for (NamedAttribute attribute : packing.getAttributes())
      packed.setAttribute(attribute.getName(),
                          cast<IntegerAttr>(attribute.getValue()).getInt());
  return packed;
}
