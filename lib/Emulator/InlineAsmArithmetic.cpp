//===- InlineAsmArithmetic.cpp - Arithmetic in inline PTX -----------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsmTranslator.h"
#include "Runtime.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace sparseditto;
using namespace sparseditto::emulator;
using llvm::StringRef;
using llvm::Value;

bool AsmTranslator::arithmetic(const PtxStatement &s) {
  using llvm::Intrinsic::ID;
  StringRef op = s.parts[0];
  llvm::Type *type = typeOf(s.parts.back());
  if (!type || s.operands.size() < 2)
    return false;
  llvm::SmallVector<StringRef, 4> qualifiers(s.parts.begin() + 1,
                                             s.parts.end() - 1);
  std::vector<Value *> x;
  auto readAll = [&](llvm::Type *as) {
    for (StringRef operand : llvm::ArrayRef(s.operands).drop_front()) {
      Value *value = read(operand, as);
      if (!value)
        return false;
      x.push_back(value);
    }
    return true;
  };
  auto onlyQualifiers = [&](llvm::ArrayRef<StringRef> allowed) {
    return llvm::all_of(qualifiers, [&](StringRef q) {
      return llvm::is_contained(allowed, q);
    });
  };
  if (op == "cvt" && s.parts.size() >= 3) {
    StringRef to = s.parts[s.parts.size() - 2];
    qualifiers.pop_back();
    if (s.parts.back() != "f32" || !onlyQualifiers({"rn", "rna"}) ||
        !readAll(B.getFloatTy()))
      return false;
    llvm::Type *target = typeOf(to);
    if (to == "tf32" && qualifiers.size() == 1 && qualifiers[0] == "rna")
      write(s.operands[0],
            keep(B.CreateIntrinsic(B.getInt32Ty(),
                                   llvm::Intrinsic::nvvm_f2tf32_rna, {x[0]})));
    else if (target && target->isVectorTy() && x.size() == 2)
      write(s.operands[0],
            keep(B.CreateIntrinsic(target,
                                   to == "f16x2"
                                       ? ID(llvm::Intrinsic::nvvm_ff2f16x2_rn)
                                       : ID(llvm::Intrinsic::nvvm_ff2bf16x2_rn),
                                   {x[0], x[1]})));
    else if (target && target->isFloatingPointTy() && x.size() == 1)
      write(s.operands[0], B.CreateFPTrunc(x[0], target));
    else
      return false;
    return true;
  }
  if (op == "setp") {
    if (s.parts.size() != 3 || !readAll(type) || x.size() != 2 ||
        !type->isIntegerTy())
      return false;
    bool isSigned = s.parts[2].starts_with("s");
    using P = llvm::CmpInst::Predicate;
    std::optional<P> predicate =
        llvm::StringSwitch<std::optional<P>>(s.parts[1])
            .Case("eq", P::ICMP_EQ)
            .Case("ne", P::ICMP_NE)
            .Case("lt", isSigned ? P::ICMP_SLT : P::ICMP_ULT)
            .Case("le", isSigned ? P::ICMP_SLE : P::ICMP_ULE)
            .Case("gt", isSigned ? P::ICMP_SGT : P::ICMP_UGT)
            .Case("ge", isSigned ? P::ICMP_SGE : P::ICMP_UGE)
            .Default(std::nullopt);
    if (!predicate)
      return false;
    write(s.operands[0], B.CreateICmp(*predicate, x[0], x[1]));
    return true;
  }
  if (!readAll(type))
    return false;
  Value *result = nullptr;
  if (type->isFPOrFPVectorTy()) {
    if (!onlyQualifiers({"rn", "approx"}))
      return false;
    std::optional<ID> unary = llvm::StringSwitch<std::optional<ID>>(op)
                                  .Case("ex2", ID(llvm::Intrinsic::exp2))
                                  .Case("lg2", ID(llvm::Intrinsic::log2))
                                  .Case("sin", ID(llvm::Intrinsic::sin))
                                  .Case("cos", ID(llvm::Intrinsic::cos))
                                  .Case("tanh", ID(llvm::Intrinsic::tanh))
                                  .Case("sqrt", ID(llvm::Intrinsic::sqrt))
                                  .Case("abs", ID(llvm::Intrinsic::fabs))
                                  .Default(std::nullopt);
    if (op == "mov" && x.size() == 1)
      result = x[0];
    else if (unary && x.size() == 1)
      result = B.CreateUnaryIntrinsic(*unary, x[0]);
    else if (op == "rcp" && x.size() == 1)
      result = B.CreateFDiv(llvm::ConstantFP::get(type, 1.0), x[0]);
    else if (op == "add" && x.size() == 2)
      result = B.CreateFAdd(x[0], x[1]);
    else if (op == "sub" && x.size() == 2)
      result = B.CreateFSub(x[0], x[1]);
    else if (op == "mul" && x.size() == 2)
      result = B.CreateFMul(x[0], x[1]);
    else if (op == "min" && x.size() == 2)
      result = B.CreateMinNum(x[0], x[1]);
    else if (op == "max" && x.size() == 2)
      result = B.CreateMaxNum(x[0], x[1]);
    else if (op == "fma" && x.size() == 3)
      result = B.CreateIntrinsic(llvm::Intrinsic::fma, {type}, x);
  } else if (op == "mov" && x.size() == 1) {
    result = x[0];
  } else if (!qualifiers.empty()) {
    return false;
  } else if (op == "prmt" && x.size() == 3) {
    result = keep(B.CreateIntrinsic(B.getInt32Ty(), llvm::Intrinsic::nvvm_prmt,
                                    {x[0], x[1], x[2]}));
  } else if (op == "lop3" && x.size() == 4) {
    auto *table = llvm::dyn_cast<llvm::ConstantInt>(x[3]);
    if (!table)
      return false;
    // Bit i of the table is the result for a = i>>2, b = i>>1 & 1, c = i & 1.
    result = llvm::Constant::getNullValue(type);
    for (unsigned i = 0; i < 8; ++i) {
      if (!(table->getZExtValue() >> i & 1))
        continue;
      Value *term = i & 4 ? x[0] : B.CreateNot(x[0]);
      term = B.CreateAnd(term, i & 2 ? x[1] : B.CreateNot(x[1]));
      term = B.CreateAnd(term, i & 1 ? x[2] : B.CreateNot(x[2]));
      result = B.CreateOr(result, term);
    }
  } else if (x.size() == 2) {
    bool isSigned = s.parts.back().starts_with("s");
    if (op == "add")
      result = B.CreateAdd(x[0], x[1]);
    else if (op == "sub")
      result = B.CreateSub(x[0], x[1]);
    else if (op == "and")
      result = B.CreateAnd(x[0], x[1]);
    else if (op == "or")
      result = B.CreateOr(x[0], x[1]);
    else if (op == "xor")
      result = B.CreateXor(x[0], x[1]);
    else if (op == "min")
      result = B.CreateBinaryIntrinsic(
          isSigned ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, x[0], x[1]);
    else if (op == "max")
      result = B.CreateBinaryIntrinsic(
          isSigned ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, x[0], x[1]);
  }
  if (!result)
    return false;
  write(s.operands[0], result);
  return true;
}
