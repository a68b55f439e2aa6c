//===- Instrument.cpp - GPU semantics as calls ----------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host treats all numbered address spaces below 256 as one, so pointers
// keep theirs; only shared globals become offsets from the block's window.
//
//===----------------------------------------------------------------------===//

#include "Instrument.h"
#include "FiberStacks.h"
#include "Instrumenter.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/PassManager.h"
#include "llvm/IR/ReplaceConstant.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include <cstddef>

using namespace sparseditto;
using namespace sparseditto::emulator;
using llvm::Value;

/// Bytes between shared arrays that belong to none.
static constexpr unsigned redZoneBytes = 64;

llvm::Expected<InstrumentedKernel>
emulator::instrumentKernel(llvm::Module &module, llvm::StringRef symbol,
                           const std::vector<OperationRecord> &operations) {
  return Instrumenter(module, symbol, operations).run();
}

llvm::Expected<InstrumentedKernel> Instrumenter::run() {
  if (llvm::Error error = inlineEverything())
    return error;
  llvm::Function *kernel = M.getFunction(Symbol);
  if (llvm::Error error = buildEntry(*kernel))
    return error;
  if (llvm::Error error = layOutShared())
    return error;
  if (refuseHugeFrame())
    return finish();
  // Rewriting splits blocks and adds calls: decide what to visit first.
  std::vector<llvm::Instruction *> work;
  for (llvm::BasicBlock &block : *F)
    for (llvm::Instruction &inst : block)
      if (&block != Prologue)
        work.push_back(&inst);
  for (llvm::Instruction *inst : work)
    if (llvm::Error error = rewrite(*inst))
      return error;
  addFuel();
  return finish();
}

llvm::Expected<InstrumentedKernel> Instrumenter::finish() {
  llvm::StripDebugInfo(M);
  std::string problem;
  llvm::raw_string_ostream os(problem);
  if (llvm::verifyModule(M, &os))
    return llvm::createStringError("instrumenting kernel '%s' made bad IR: %s",
                                   Symbol.str().c_str(), problem.c_str());
  return std::move(Result);
}

llvm::Error Instrumenter::inlineEverything() {
  for (llvm::Function &f : M) {
    if (f.isDeclaration() || f.getName() == Symbol)
      continue;
    f.setLinkage(llvm::GlobalValue::InternalLinkage);
    f.removeFnAttr(llvm::Attribute::NoInline);
    f.removeFnAttr(llvm::Attribute::OptimizeNone);
    f.addFnAttr(llvm::Attribute::AlwaysInline);
  }
  llvm::LoopAnalysisManager lam;
  llvm::FunctionAnalysisManager fam;
  llvm::CGSCCAnalysisManager cgam;
  llvm::ModuleAnalysisManager mam;
  llvm::PassBuilder builder;
  builder.registerModuleAnalyses(mam);
  builder.registerCGSCCAnalyses(cgam);
  builder.registerFunctionAnalyses(fam);
  builder.registerLoopAnalyses(lam);
  builder.crossRegisterProxies(lam, fam, cgam, mam);
  llvm::ModulePassManager passes;
  passes.addPass(llvm::AlwaysInlinerPass(/*InsertLifetime=*/false));
  passes.run(M, mam);
  // Another kernel of the module, or a function that a call still needs.
  llvm::Function *kernel = M.getFunction(Symbol);
  for (llvm::BasicBlock &block : *kernel)
    for (llvm::Instruction &inst : block)
      if (auto *call = llvm::dyn_cast<llvm::CallBase>(&inst))
        if (llvm::Function *callee = call->getCalledFunction())
          if (!callee->isDeclaration())
            return unsupported(inst,
                               "recursive call of '" + callee->getName() + "'");
  std::vector<llvm::Function *> others;
  for (llvm::Function &f : M)
    if (!f.isDeclaration() && &f != kernel)
      others.push_back(&f);
  for (llvm::Function *f : others)
    f->deleteBody();
  return llvm::Error::success();
}

/// "128,1,1" as nvvm.reqntid and nvvm.maxntid have it.
static std::optional<std::array<unsigned, 3>>
parseBlockAttribute(const llvm::Function &f, llvm::StringRef name) {
  if (!f.hasFnAttribute(name))
    return std::nullopt;
  std::array<unsigned, 3> result = {1, 1, 1};
  llvm::SmallVector<llvm::StringRef, 3> parts;
  f.getFnAttribute(name).getValueAsString().split(parts, ',');
  for (unsigned i = 0; i < parts.size() && i < 3; ++i)
    if (parts[i].trim().getAsInteger(10, result[i]))
      return std::nullopt;
  return result;
}

llvm::Error Instrumenter::buildEntry(llvm::Function &kernel) {
  Result.requiredBlock = parseBlockAttribute(kernel, "nvvm.reqntid");
  Result.maximalBlock = parseBlockAttribute(kernel, "nvvm.maxntid");
  Result.numArguments = kernel.arg_size();
  llvm::LLVMContext &ctx = M.getContext();
  auto *pointer = llvm::PointerType::get(ctx, 0);
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(ctx),
                                       {pointer, pointer}, false);
  F = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                             entryName, M);
  F->addFnAttr(llvm::Attribute::NoUnwind);
  F->setSubprogram(kernel.getSubprogram());
  kernel.setSubprogram(nullptr);
  F->splice(F->begin(), &kernel);
  Context = F->getArg(0);

  llvm::BasicBlock *body = &F->getEntryBlock();
  Prologue = llvm::BasicBlock::Create(ctx, "prologue", F, body);
  PrologueEnd = llvm::BranchInst::Create(body, Prologue);
  llvm::IRBuilder<> b(PrologueEnd);
  for (llvm::Argument &argument : kernel.args()) {
    llvm::Type *t = argument.getType();
    if (argument.hasByValAttr() || !t->isSized() || DL.getTypeStoreSize(t) > 8)
      return llvm::createStringError(
          "kernel '%s': parameter %u is passed by value in more than 8 bytes, "
          "which the emulator does not support",
          Symbol.str().c_str(), argument.getArgNo());
    Value *slot =
        b.CreateConstGEP1_32(b.getInt64Ty(), F->getArg(1), argument.getArgNo());
    argument.replaceAllUsesWith(b.CreateAlignedLoad(t, slot, llvm::Align(8)));
  }
  kernel.eraseFromParent();
  auto *slots = llvm::ArrayType::get(b.getInt64Ty(), 32);
  ArgSlots = b.CreateAlloca(slots);
  ResultSlots = b.CreateAlloca(slots);
  CacheBase = loadContext(offsetof(ThreadContext, cache), pointer);
  // Fixed-size arrays of the entry block stay part of the frame.
  for (llvm::Instruction &inst : llvm::make_early_inc_range(*body))
    if (auto *array = llvm::dyn_cast<llvm::AllocaInst>(&inst))
      if (llvm::isa<llvm::ConstantInt>(array->getArraySize()))
        array->moveBefore(PrologueEnd->getIterator());
  return llvm::Error::success();
}

/// A frame that steps over the guard below the fibre's stack would land in
/// memory of the host: such a kernel faults before it gets one.
bool Instrumenter::refuseHugeFrame() {
  uint64_t bytes = 0;
  const llvm::Instruction *largest = nullptr;
  uint64_t largestBytes = 0;
  for (llvm::Instruction &inst : llvm::instructions(*F))
    if (auto *array = llvm::dyn_cast<llvm::AllocaInst>(&inst)) {
      std::optional<llvm::TypeSize> size = array->getAllocationSize(DL);
      // Of unknown size, or so large that it overflows: rewrite() refuses it.
      if (!size)
        continue;
      bytes = llvm::SaturatingAdd(bytes, size->getFixedValue());
      if (size->getFixedValue() > largestBytes) {
        largest = array;
        largestBytes = size->getFixedValue();
      }
    }
  if (bytes <= FiberStacks::localBytes)
    return false;
  unsigned site = addSite(*largest, "alloca");
  F->deleteBody();
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(M.getContext(), "", F));
  emitCall(b, "sd_emu_huge_frame", b.getVoidTy(),
           {F->getArg(0), b.getInt64(bytes), b.getInt32(site)});
  b.CreateRetVoid();
  return true;
}

Value *Instrumenter::loadContext(size_t offset, llvm::Type *type) {
  llvm::IRBuilder<> b(PrologueEnd);
  return b.CreateLoad(type,
                      b.CreateConstGEP1_64(b.getInt8Ty(), Context, offset));
}

llvm::Error Instrumenter::layOutShared() {
  llvm::SmallVector<llvm::GlobalVariable *> fixed, dynamic;
  llvm::SmallVector<llvm::Constant *> all;
  for (llvm::GlobalVariable &global : M.globals()) {
    if (global.getAddressSpace() != 3) {
      if (!global.isDeclaration()) {
        global.setLinkage(llvm::GlobalValue::ExternalLinkage);
        Result.globals.push_back(global.getName().str());
      }
      continue;
    }
    all.push_back(&global);
    bool isDynamic = global.isDeclaration() ||
                     DL.getTypeAllocSize(global.getValueType()) == 0;
    (isDynamic ? dynamic : fixed).push_back(&global);
  }
  if (all.empty())
    return llvm::Error::success();
  llvm::convertUsersOfConstantsToInstructions(all);
  Value *base = loadContext(offsetof(ThreadContext, sharedBase),
                            llvm::PointerType::get(M.getContext(), 3));
  llvm::IRBuilder<> b(PrologueEnd);
  auto place = [&](llvm::GlobalVariable *global, unsigned offset) {
    Value *address = b.CreateConstGEP1_32(b.getInt8Ty(), base, offset);
    address->setName(global->getName());
    global->replaceAllUsesWith(address);
    global->eraseFromParent();
  };
  uint64_t padded = 0, tight = 0;
  for (llvm::GlobalVariable *global : fixed) {
    uint64_t size = DL.getTypeAllocSize(global->getValueType());
    llvm::Align align = DL.getPreferredAlign(global);
    padded = llvm::alignTo(padded, align);
    tight = llvm::alignTo(tight, align) + size;
    if (padded + size + redZoneBytes > SharedMemory::windowBytes)
      return llvm::createStringError(
          "kernel '%s': static shared memory exceeds %u bytes",
          Symbol.str().c_str(), SharedMemory::windowBytes);
    Result.shared.push_back({global->getName().str(),
                             static_cast<unsigned>(padded),
                             static_cast<unsigned>(size), false});
    place(global, padded);
    padded += size + redZoneBytes;
  }
  llvm::Align dynamicAlign(16);
  for (llvm::GlobalVariable *global : dynamic)
    dynamicAlign = std::max(dynamicAlign, DL.getPreferredAlign(global));
  padded = llvm::alignTo(padded, dynamicAlign);
  if (!dynamic.empty())
    Result.shared.push_back({dynamic.front()->getName().str(),
                             static_cast<unsigned>(padded), 0, true});
  for (llvm::GlobalVariable *global : dynamic)
    place(global, padded);
  Result.staticSharedBytes = tight;
  Result.paddedSharedBytes = padded;
  return llvm::Error::success();
}

/// Gives waiting loops a way out: each back-edge burns fuel, and an empty tank
/// calls the scheduler.
void Instrumenter::addFuel() {
  llvm::SmallVector<
      std::pair<const llvm::BasicBlock *, const llvm::BasicBlock *>>
      edges;
  llvm::FindFunctionBackedges(*F, edges);
  for (auto &[constFrom, constTo] : edges) {
    auto *from = const_cast<llvm::BasicBlock *>(constFrom);
    auto *to = const_cast<llvm::BasicBlock *>(constTo);
    llvm::BasicBlock *middle = llvm::SplitEdge(from, to);
    llvm::IRBuilder<> b(middle->getTerminator());
    Value *tank = b.CreateConstGEP1_64(b.getInt8Ty(), Context,
                                       offsetof(ThreadContext, fuel));
    Value *left =
        b.CreateSub(b.CreateLoad(b.getInt32Ty(), tank), b.getInt32(1));
    b.CreateStore(left, tank);
    llvm::Instruction *then = llvm::SplitBlockAndInsertIfThen(
        b.CreateICmpEQ(left, b.getInt32(0)), middle->getTerminator(), false,
        llvm::MDBuilder(M.getContext()).createUnlikelyBranchWeights());
    b.SetInsertPoint(then);
    emitCall(b, "sd_emu_tick", b.getVoidTy(), {Context});
  }
}

unsigned Instrumenter::addSite(const llvm::Instruction &inst,
                               llvm::StringRef name) {
  Site site;
  if (const llvm::DebugLoc &loc = inst.getDebugLoc())
    if (loc.getLine() < Operations.size())
      site.operation = loc.getLine();
  site.instruction = name.str();
  Result.sites.push_back(std::move(site));
  return Result.sites.size() - 1;
}

llvm::Error Instrumenter::unsupported(const llvm::Instruction &inst,
                                      const llvm::Twine &message) {
  auto fault = std::make_unique<EmulatorFault>();
  fault->kind = FaultKind::Unsupported;
  fault->kernel = Symbol.str();
  unsigned line = inst.getDebugLoc() ? inst.getDebugLoc().getLine() : 0;
  if (line < Operations.size()) {
    fault->operation = Operations[line].name;
    fault->location = Operations[line].location;
  }
  fault->message = message.str();
  return llvm::Error(std::unique_ptr<llvm::ErrorInfoBase>(std::move(fault)));
}

llvm::CallInst *Instrumenter::emitCall(llvm::IRBuilder<> &b,
                                       llvm::StringRef function,
                                       llvm::Type *result,
                                       llvm::ArrayRef<Value *> args) {
  llvm::SmallVector<llvm::Type *> types;
  for (Value *arg : args)
    types.push_back(arg->getType());
  llvm::FunctionCallee callee = M.getOrInsertFunction(
      function, llvm::FunctionType::get(result, types, false));
  auto *declaration = llvm::cast<llvm::Function>(callee.getCallee());
  declaration->addFnAttr(llvm::Attribute::NoUnwind);
  // Threads meet in these calls: no copies on diverging paths.
  declaration->addFnAttr(llvm::Attribute::Convergent);
  return b.CreateCall(callee, args);
}

Value *Instrumenter::addressOf(llvm::IRBuilder<> &b, Value *pointer) {
  return b.CreatePtrToInt(pointer, b.getInt64Ty());
}

void Instrumenter::replace(llvm::Instruction &inst, Value *value) {
  if (value && !inst.getType()->isVoidTy())
    inst.replaceAllUsesWith(value);
  inst.eraseFromParent();
}

llvm::Error Instrumenter::rewrite(llvm::Instruction &inst) {
  if (auto *load = llvm::dyn_cast<llvm::LoadInst>(&inst))
    return rewriteAccess(inst, load->getPointerOperand(), load->getType(),
                         load->getAlign(), AccessKind::Load);
  if (auto *store = llvm::dyn_cast<llvm::StoreInst>(&inst))
    return rewriteAccess(inst, store->getPointerOperand(),
                         store->getValueOperand()->getType(), store->getAlign(),
                         AccessKind::Store);
  if (auto *rmw = llvm::dyn_cast<llvm::AtomicRMWInst>(&inst)) {
    rmw->setSyncScopeID(llvm::SyncScope::System);
    return rewriteAccess(inst, rmw->getPointerOperand(),
                         rmw->getValOperand()->getType(), rmw->getAlign(),
                         AccessKind::Atomic);
  }
  if (auto *exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&inst)) {
    exchange->setSyncScopeID(llvm::SyncScope::System);
    return rewriteAccess(inst, exchange->getPointerOperand(),
                         exchange->getNewValOperand()->getType(),
                         exchange->getAlign(), AccessKind::Atomic);
  }
  if (auto *call = llvm::dyn_cast<llvm::CallInst>(&inst))
    return rewriteCall(*call);
  if (auto *array = llvm::dyn_cast<llvm::AllocaInst>(&inst)) {
    if (array->getAddressSpace() != 0)
      return unsupported(inst, "local array outside the generic address space");
    if (!array->getAllocationSize(DL) || array->getParent() != Prologue)
      return unsupported(inst, "local array whose size is not fixed at entry");
    return llvm::Error::success();
  }
  if (llvm::isa<llvm::InvokeInst, llvm::CallBrInst, llvm::IndirectBrInst>(inst))
    return unsupported(inst, llvm::Twine("LLVM instruction '") +
                                 inst.getOpcodeName() + "'");
  return llvm::Error::success();
}

llvm::Error Instrumenter::rewriteAccess(llvm::Instruction &inst, Value *pointer,
                                        llvm::Type *type, llvm::Align align,
                                        AccessKind kind) {
  uint64_t size = DL.getTypeStoreSize(type);
  unsigned space = pointer->getType()->getPointerAddressSpace();
  if (space != 0 && space != 1 && space != 3 && space != 4 && space != 7)
    return unsupported(inst, "access to address space " + llvm::Twine(space));
  if (auto *array = llvm::dyn_cast<llvm::AllocaInst>(
          llvm::getUnderlyingObject(pointer))) {
    checkLocal(
        inst, pointer, *array,
        llvm::ConstantInt::get(llvm::Type::getInt64Ty(M.getContext()), size));
    return llvm::Error::success();
  }
  // What hardware demands: a vector that claims less alignment than its size is
  // split into pieces of that alignment, and no instruction is wider than 16.
  uint64_t alignment = std::min<uint64_t>(
      {align.value(), llvm::bit_floor(std::max<uint64_t>(size, 1)), 16});
  unsigned site = addSite(inst, inst.getOpcodeName());
  llvm::IRBuilder<> b(&inst);
  Value *address = addressOf(b, pointer);
  if (space != 3 && space != 7) {
    // Inside the buffer that this site touched last: nothing more to check.
    Value *entry = b.CreateConstGEP1_64(b.getInt8Ty(), CacheBase,
                                        uint64_t(site) * sizeof(SiteCache));
    Value *base = b.CreateLoad(b.getInt64Ty(), entry);
    Value *limit = b.CreateLoad(
        b.getInt64Ty(),
        b.CreateConstGEP1_64(b.getInt8Ty(), entry, offsetof(SiteCache, limit)));
    Value *bad = b.CreateICmpUGT(b.CreateSub(address, base), limit);
    if (alignment > 1)
      bad = b.CreateOr(
          bad, b.CreateICmpNE(b.CreateAnd(address, b.getInt64(alignment - 1)),
                              b.getInt64(0)));
    llvm::Instruction *then = llvm::SplitBlockAndInsertIfThen(
        bad, &inst, false,
        llvm::MDBuilder(M.getContext()).createUnlikelyBranchWeights());
    b.SetInsertPoint(then);
  }
  emitCall(b, "sd_emu_access", b.getVoidTy(),
           {Context, address, b.getInt32(size), b.getInt32(alignment),
            b.getInt32(static_cast<unsigned>(kind)), b.getInt32(site)});
  return llvm::Error::success();
}

void Instrumenter::checkLocal(llvm::Instruction &inst, Value *pointer,
                              llvm::AllocaInst &array, Value *size) {
  // Fixed: rewrite() refuses other arrays.
  const uint64_t bytes = array.getAllocationSize(DL)->getFixedValue();
  auto *fixedSize = llvm::dyn_cast<llvm::ConstantInt>(size);
  llvm::APInt offset(DL.getIndexTypeSizeInBits(pointer->getType()), 0);
  Value *base = pointer->stripAndAccumulateConstantOffsets(DL, offset, true);
  if (fixedSize && base == &array && offset.isNonNegative() &&
      llvm::SaturatingAdd(offset.getZExtValue(), fixedSize->getZExtValue()) <=
          bytes)
    return;
  unsigned site = addSite(inst, inst.getOpcodeName());
  llvm::IRBuilder<> b(&inst);
  Value *limit = b.getInt64(bytes);
  Value *wide = b.CreateZExtOrTrunc(size, b.getInt64Ty());
  Value *distance = b.CreateSub(addressOf(b, pointer), addressOf(b, &array));
  Value *bad = b.CreateOr(b.CreateICmpUGT(distance, limit),
                          b.CreateICmpUGT(wide, b.CreateSub(limit, distance)));
  llvm::Instruction *then = llvm::SplitBlockAndInsertIfThen(
      bad, &inst, false,
      llvm::MDBuilder(M.getContext()).createUnlikelyBranchWeights());
  b.SetInsertPoint(then);
  emitCall(b, "sd_emu_local_bounds", b.getVoidTy(),
           {Context, distance, clampedSize(b, wide), limit, b.getInt32(site)});
}

/// A size as sd_emu_access takes it; larger ones than any buffer stay so.
Value *Instrumenter::clampedSize(llvm::IRBuilder<> &b, Value *size) {
  Value *wide = b.CreateZExtOrTrunc(size, b.getInt64Ty());
  return b.CreateTrunc(b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, wide,
                                               b.getInt64(UINT32_MAX)),
                       b.getInt32Ty());
}

void Instrumenter::checkRange(llvm::Instruction &inst, Value *pointer,
                              Value *size, AccessKind kind) {
  if (auto *array =
          llvm::dyn_cast<llvm::AllocaInst>(llvm::getUnderlyingObject(pointer)))
    return checkLocal(inst, pointer, *array, size);
  unsigned site = addSite(inst, inst.getOpcodeName());
  llvm::IRBuilder<> b(&inst);
  emitCall(b, "sd_emu_access", b.getVoidTy(),
           {Context, addressOf(b, pointer), clampedSize(b, size), b.getInt32(1),
            b.getInt32(static_cast<unsigned>(kind)), b.getInt32(site)});
}
