//===- InlineAsm.cpp - Inline PTX that kernels may use --------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Straight-line PTX from a list of known instructions becomes LLVM IR, which is
// then checked like the rest of the kernel.
//
//===----------------------------------------------------------------------===//

#include "llvm/IR/InlineAsm.h"
#include "AsmTranslator.h"
#include "Instrumenter.h"
#include "Runtime.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace sparseditto;
using namespace sparseditto::emulator;
using llvm::StringRef;
using llvm::Value;

llvm::Type *AsmTranslator::typeOf(StringRef ptx) const {
  llvm::LLVMContext &ctx = Call.getContext();
  auto *half = llvm::Type::getHalfTy(ctx);
  auto *bfloat = llvm::Type::getBFloatTy(ctx);
  return llvm::StringSwitch<llvm::Type *>(ptx)
      .Case("pred", llvm::Type::getInt1Ty(ctx))
      .Cases({"b8", "u8", "s8"}, llvm::Type::getInt8Ty(ctx))
      .Cases({"b16", "u16", "s16"}, llvm::Type::getInt16Ty(ctx))
      .Cases({"b32", "u32", "s32"}, llvm::Type::getInt32Ty(ctx))
      .Cases({"b64", "u64", "s64"}, llvm::Type::getInt64Ty(ctx))
      .Case("f32", llvm::Type::getFloatTy(ctx))
      .Case("f64", llvm::Type::getDoubleTy(ctx))
      .Case("f16", half)
      .Case("bf16", bfloat)
      .Case("f16x2", llvm::FixedVectorType::get(half, 2))
      .Case("bf16x2", llvm::FixedVectorType::get(bfloat, 2))
      .Default(nullptr);
}

llvm::Type *AsmTranslator::outputType(unsigned i) const {
  llvm::Type *type = Call.getType();
  if (auto *fields = llvm::dyn_cast<llvm::StructType>(type))
    return fields->getElementType(i);
  return type;
}

/// Bits are kept; integers are widened with zeros or cut.
Value *AsmTranslator::convert(Value *value, llvm::Type *type) {
  if (value->getType() == type)
    return value;
  if (value->getType()->isPointerTy())
    value = B.CreatePtrToInt(value, B.getInt64Ty());
  if (!value->getType()->isIntegerTy())
    value = B.CreateBitCast(
        value, B.getIntNTy(value->getType()->getPrimitiveSizeInBits()));
  if (type->isPointerTy())
    return B.CreateIntToPtr(value, type);
  Value *bits =
      B.CreateZExtOrTrunc(value, B.getIntNTy(type->getPrimitiveSizeInBits()));
  return B.CreateBitCast(bits, type);
}

/// Outputs first, then inputs; an input tied to an output is its old value.
bool AsmTranslator::bindOperands(StringRef constraints) {
  llvm::InlineAsm::ConstraintInfoVector infos =
      llvm::InlineAsm::ParseConstraints(constraints);
  unsigned operand = 0, input = 0;
  for (const llvm::InlineAsm::ConstraintInfo &info : infos) {
    if (info.Type == llvm::InlineAsm::isClobber)
      continue;
    if (info.isIndirect)
      return false;
    std::string name = operandName(operand++);
    if (info.Type == llvm::InlineAsm::isOutput) {
      // What a predicated-off instruction leaves behind is undefined.
      llvm::Type *type = outputType(Outputs++);
      Registers[name] = convert(B.getInt64(~uint64_t(0)), type);
      continue;
    }
    Value *value = Call.getArgOperand(input++);
    Registers[name] = value;
    if (info.hasMatchingInput() || info.Codes.empty())
      continue;
    unsigned tied;
    if (!StringRef(info.Codes[0]).getAsInteger(10, tied))
      Registers[operandName(tied)] = value;
  }
  return true;
}

bool AsmTranslator::run(StringRef text, StringRef constraints) {
  if (!bindOperands(constraints))
    return false;
  std::optional<std::vector<PtxStatement>> statements = parsePtx(text);
  // try_wait suspends until it succeeds: repeating it in a loop changes
  // nothing.
  std::optional<PtxStatement> wait = parseWaitLoop(text);
  if (wait)
    return translate(*wait);
  if (!statements)
    return false;
  for (const PtxStatement &statement : *statements)
    if (!translate(statement))
      return false;
  return true;
}

Value *AsmTranslator::result() {
  llvm::Type *type = Call.getType();
  if (type->isVoidTy())
    return nullptr;
  auto output = [&](unsigned i) {
    return convert(Registers[operandName(i)], outputType(i));
  };
  if (!type->isStructTy())
    return output(0);
  Value *aggregate = llvm::PoisonValue::get(type);
  for (unsigned i = 0; i < Outputs; ++i)
    aggregate = B.CreateInsertValue(aggregate, output(i), i);
  return aggregate;
}

Value *AsmTranslator::read(StringRef operand, llvm::Type *type) {
  auto it = Registers.find(operand);
  if (it != Registers.end())
    return convert(it->second, type);
  int64_t immediate;
  if (operand.getAsInteger(0, immediate))
    return nullptr;
  return convert(B.getInt64(immediate), type);
}

/// "[$4 + 512]" in the given address space.
Value *AsmTranslator::pointer(StringRef bracketed, unsigned space) {
  if (!bracketed.consume_front("[") || !bracketed.consume_back("]"))
    return nullptr;
  auto [name, offsetText] = bracketed.split('+');
  int64_t offset = 0;
  if (!offsetText.trim().empty() && offsetText.trim().getAsInteger(0, offset))
    return nullptr;
  auto *type = llvm::PointerType::get(Call.getContext(), space);
  auto it = Registers.find(name.trim());
  if (it == Registers.end())
    return nullptr;
  Value *base = it->second;
  // A pointer keeps what it points into; shared addresses may be 32-bit words.
  base = base->getType()->isPointerTy() ? B.CreateAddrSpaceCast(base, type)
                                        : convert(base, type);
  return B.CreateConstGEP1_64(B.getInt8Ty(), base, offset);
}

bool AsmTranslator::translate(const PtxStatement &s) {
  if (s.guard.empty())
    return execute(s);
  Value *guard = read(s.guard, B.getInt1Ty());
  if (!guard)
    return false;
  if (s.negated)
    guard = B.CreateNot(guard);
  llvm::StringMap<Value *> before = Registers;
  llvm::BasicBlock *head = B.GetInsertBlock();
  llvm::Instruction *then =
      llvm::SplitBlockAndInsertIfThen(guard, B.GetInsertPoint(), false);
  B.SetInsertPoint(then);
  if (!execute(s))
    return false;
  llvm::BasicBlock *thenEnd = B.GetInsertBlock();
  B.SetInsertPoint(&Call);
  // Where the guard was false, registers keep their values.
  for (auto &entry : Registers) {
    Value *old = before.lookup(entry.getKey());
    if (old == entry.second)
      continue;
    if (!old)
      old = llvm::Constant::getAllOnesValue(B.getInt32Ty());
    B.SetInsertPoint(thenEnd->getTerminator());
    Value *fresh = convert(entry.second, old->getType());
    B.SetInsertPoint(Call.getParent(), Call.getParent()->begin());
    llvm::PHINode *merged = B.CreatePHI(old->getType(), 2);
    merged->addIncoming(old, head);
    merged->addIncoming(fresh, thenEnd);
    entry.second = merged;
    B.SetInsertPoint(&Call);
  }
  return true;
}

bool AsmTranslator::execute(const PtxStatement &s) {
  StringRef op = s.parts.front();
  if (op == ".reg")
    return true;
  // Hints and orders that leave nothing to do on the host.
  if (op == "prefetch" || op == "prefetchu" || op == "applypriority" ||
      op == "discard" || op == "fence" || op == "membar" ||
      op == "griddepcontrol")
    return true;
  return memory(s) || atomic(s) || synchronization(s) || arithmetic(s);
}

/// 0, 1 or 3 for a statement's state space; nullopt for others.
static std::optional<unsigned> stateSpace(const PtxStatement &s) {
  for (StringRef part : s.parts) {
    if (part == "global")
      return 1;
    if (part == "shared" || part == "shared::cta")
      return 3;
    if (part == "param" || part == "local" || part == "const" ||
        part == "shared::cluster")
      return std::nullopt;
  }
  return 0;
}

/// True for qualifiers of ld, st and red that do not change the value.
static bool isHint(StringRef part) {
  return part.starts_with("L1::") || part.starts_with("L2::") ||
         llvm::is_contained({"global",  "shared",   "shared::cta", "nc",
                             "weak",    "volatile", "relaxed",     "acquire",
                             "release", "cta",      "gpu",         "sys",
                             "ca",      "cg",       "cs",          "lu",
                             "cv",      "wb",       "wt",          "noftz"},
                            part);
}

bool AsmTranslator::memory(const PtxStatement &s) {
  bool isLoad = s.parts[0] == "ld", isStore = s.parts[0] == "st";
  if (!isLoad && !isStore)
    return false;
  std::optional<unsigned> space = stateSpace(s);
  llvm::Type *element = typeOf(s.parts.back());
  if (!space || !element || s.operands.size() < 2)
    return false;
  unsigned count = 1;
  for (StringRef part : llvm::ArrayRef(s.parts).drop_front().drop_back()) {
    if (part == "v2" || part == "v4")
      count = part == "v2" ? 2 : 4;
    else if (!isHint(part))
      return false;
  }
  std::vector<StringRef> registers = splitVector(s.operands[isLoad ? 0 : 1]);
  Value *address = pointer(s.operands[isLoad ? 1 : 0], *space);
  if (registers.size() != count || !address)
    return false;
  llvm::Type *type =
      count == 1 ? element : llvm::FixedVectorType::get(element, count);
  llvm::Align align(element->getPrimitiveSizeInBits() / 8 * count);
  if (isLoad) {
    Value *loaded = keep(B.CreateAlignedLoad(type, address, align));
    for (unsigned i = 0; i < count; ++i)
      write(registers[i],
            count == 1 ? loaded : B.CreateExtractElement(loaded, i));
    return true;
  }
  Value *stored = count == 1 ? nullptr : llvm::PoisonValue::get(type);
  for (unsigned i = 0; i < count; ++i) {
    Value *value = read(registers[i], element);
    if (!value)
      return false;
    stored = count == 1 ? value : B.CreateInsertElement(stored, value, i);
  }
  keep(B.CreateAlignedStore(stored, address, align));
  return true;
}

bool AsmTranslator::atomic(const PtxStatement &s) {
  bool returns = s.parts[0] == "atom";
  if (!returns && s.parts[0] != "red")
    return false;
  std::optional<unsigned> space = stateSpace(s);
  llvm::Type *type = typeOf(s.parts.back());
  if (!space || !type || s.operands.size() != (returns ? 3u : 2u))
    return false;
  bool isFloat = type->isFPOrFPVectorTy();
  std::optional<llvm::AtomicRMWInst::BinOp> op;
  for (StringRef part : llvm::ArrayRef(s.parts).drop_front().drop_back()) {
    using RMW = llvm::AtomicRMWInst;
    bool isSigned = s.parts.back().starts_with("s");
    if (part == "add")
      op = isFloat ? RMW::FAdd : RMW::Add;
    else if (part == "min" && !isFloat)
      op = isSigned ? RMW::Min : RMW::UMin;
    else if (part == "max" && !isFloat)
      op = isSigned ? RMW::Max : RMW::UMax;
    else if (part == "exch")
      op = RMW::Xchg;
    else if (!isHint(part))
      return false;
  }
  Value *address = pointer(s.operands[returns ? 1 : 0], *space);
  Value *value = read(s.operands.back(), type);
  if (!op || !address || !value)
    return false;
  Value *old = keep(B.CreateAtomicRMW(
      *op, address, value, llvm::Align(type->getPrimitiveSizeInBits() / 8),
      llvm::AtomicOrdering::Monotonic));
  if (returns)
    write(s.operands[0], old);
  return true;
}

bool AsmTranslator::synchronization(const PtxStatement &s) {
  std::string name = llvm::join(s.parts, ".");
  StringRef text = name;
  auto number = [&](unsigned i) { return read(s.operands[i], B.getInt32Ty()); };
  if (text == "bar.sync" || text == "barrier.sync.aligned" ||
      text == "barrier.cta.sync.aligned") {
    if (s.operands.size() == 1) {
      intrinsic(llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all,
                {number(0)});
      return true;
    }
    intrinsic(llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_count,
              {number(0), number(1)});
    return true;
  }
  if ((text == "bar.arrive" || text == "barrier.cta.arrive.aligned") &&
      s.operands.size() == 2) {
    intrinsic(llvm::Intrinsic::nvvm_barrier_cta_arrive_aligned_count,
              {number(0), number(1)});
    return true;
  }
  if (text == "bar.warp.sync" && s.operands.size() == 1) {
    intrinsic(llvm::Intrinsic::nvvm_bar_warp_sync, {number(0)});
    return true;
  }
  if (text.consume_front("mbarrier.")) {
    unsigned at = text.starts_with("init") ? 0 : 1;
    if (s.operands.size() <= at)
      return false;
    Value *address = pointer(s.operands[at], 3);
    Value *value = s.operands.size() > at + 1 ? number(at + 1) : nullptr;
    if (!address)
      return false;
    if (text == "init.shared.b64" && value) {
      intrinsic(llvm::Intrinsic::nvvm_mbarrier_init_shared, {address, value});
      return true;
    }
    Value *token = nullptr;
    llvm::Type *i64 = B.getInt64Ty();
    if (text == "arrive.expect_tx.shared.b64" && value)
      token = keep(B.CreateIntrinsic(
          i64,
          llvm::Intrinsic::nvvm_mbarrier_arrive_expect_tx_scope_cta_space_cta,
          {address, value}));
    else if (text == "arrive.shared.b64" && !value)
      token = keep(B.CreateIntrinsic(
          i64, llvm::Intrinsic::nvvm_mbarrier_arrive_shared, {address}));
    else if ((text == "try_wait.parity.shared.b64" ||
              text == "try_wait.parity.shared::cta.b64") &&
             value)
      token = keep(B.CreateIntrinsic(
          B.getInt1Ty(),
          llvm::Intrinsic::nvvm_mbarrier_try_wait_parity_scope_cta_space_cta,
          {address, value}));
    if (!token)
      return false;
    write(s.operands[0], token);
    return true;
  }
  if (text == "cp.async.commit_group") {
    intrinsic(llvm::Intrinsic::nvvm_cp_async_commit_group, {});
    return true;
  }
  if (text == "cp.async.wait_group" && s.operands.size() == 1) {
    intrinsic(llvm::Intrinsic::nvvm_cp_async_wait_group, {number(0)});
    return true;
  }
  if (text == "cp.async.wait_all") {
    intrinsic(llvm::Intrinsic::nvvm_cp_async_wait_all, {});
    return true;
  }
  bool cached = text.consume_front("cp.async.ca.shared.global");
  if (!cached && !text.consume_front("cp.async.cg.shared.global"))
    return false;
  unsigned bytes;
  if ((!text.empty() && !text.starts_with(".L2::")) || s.operands.size() < 3 ||
      StringRef(s.operands[2]).getAsInteger(0, bytes))
    return false;
  Value *to = pointer(s.operands[0], 3), *from = pointer(s.operands[1], 1);
  Value *size = s.operands.size() > 3 ? number(3) : B.getInt32(bytes);
  if (!to || !from || !size)
    return false;
  llvm::Intrinsic::ID id =
      bytes == 4   ? llvm::Intrinsic::nvvm_cp_async_ca_shared_global_4_s
      : bytes == 8 ? llvm::Intrinsic::nvvm_cp_async_ca_shared_global_8_s
                   : llvm::Intrinsic::nvvm_cp_async_cg_shared_global_16_s;
  if (bytes != 16 && (bytes != 4 && bytes != 8))
    return false;
  if (!cached && bytes != 16)
    return false;
  intrinsic(id, {to, from, size});
  return true;
}

llvm::Error Instrumenter::rewriteInlineAsm(llvm::CallInst &call) {
  auto *assembly = llvm::cast<llvm::InlineAsm>(call.getCalledOperand());
  std::vector<llvm::Instruction *> made;
  AsmTranslator translator(call, made);
  if (!translator.run(assembly->getAsmString(),
                      assembly->getConstraintString()))
    return unsupported(call, "inline PTX '" + assembly->getAsmString() + "'");
  replace(call, translator.result());
  for (llvm::Instruction *inst : made)
    if (llvm::Error error = rewrite(*inst))
      return error;
  return llvm::Error::success();
}
