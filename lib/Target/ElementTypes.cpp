//===- ElementTypes.cpp - Element types of MLIR ---------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Target/ElementTypes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/ErrorHandling.h"

using namespace sparseditto;
using namespace mlir;

std::optional<ElementType> sparseditto::toElementType(Type type) {
  if (type.isF64())
    return ElementType::F64;
  if (type.isF32())
    return ElementType::F32;
  if (type.isF16())
    return ElementType::F16;
  if (type.isBF16())
    return ElementType::BF16;
  if (isa<Float8E4M3FNType>(type))
    return ElementType::F8E4M3;
  if (isa<Float8E5M2Type>(type))
    return ElementType::F8E5M2;
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return std::nullopt;
  switch (integer.getWidth()) {
  case 8:
    return integer.isUnsigned() ? ElementType::U8 : ElementType::I8;
  case 16:
    return integer.isUnsigned() ? ElementType::U16 : ElementType::I16;
  case 32:
    return integer.isUnsigned() ? ElementType::U32 : ElementType::I32;
  case 64:
    return integer.isUnsigned() ? ElementType::U64 : ElementType::I64;
  default:
    return std::nullopt;
  }
}

Type sparseditto::toMLIRType(MLIRContext *context, ElementType type) {
  switch (type) {
  case ElementType::F64:
    return Float64Type::get(context);
  case ElementType::F32:
    return Float32Type::get(context);
  case ElementType::F16:
    return Float16Type::get(context);
  case ElementType::BF16:
    return BFloat16Type::get(context);
  case ElementType::F8E4M3:
    return Float8E4M3FNType::get(context);
  case ElementType::F8E5M2:
    return Float8E5M2Type::get(context);
  case ElementType::I64:
  case ElementType::U64:
    return IntegerType::get(context, 64);
  case ElementType::I32:
  case ElementType::U32:
    return IntegerType::get(context, 32);
  case ElementType::I16:
  case ElementType::U16:
    return IntegerType::get(context, 16);
  case ElementType::I8:
  case ElementType::U8:
  case ElementType::Bool:
    return IntegerType::get(context, 8);
  }
  llvm_unreachable("unknown element type");
}
