//===- ModulePolicy.cpp - What a kernel's MLIR may be ---------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Operations are told apart by name: that needs no dialect's headers, and an
// operation of a dialect that is not loaded is refused like any other.
//

#include "PtxInstructions.h"
#include "Requirements.h"
#include "sparseditto/Target/CandidatePolicy.h"
#include "sparseditto/Target/Chips.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include <optional>

using namespace mlir;
using namespace sparseditto;

// Ours have under 20 000; a module of this size compiles in seconds.
static constexpr size_t maxOperations = 100000;
// A thread's stack. More than this times all resident threads is gigabytes.
static constexpr uint64_t maxLocalBytes = 16384;
// Vectors of any rank are unrolled into their elements.
static constexpr int64_t maxVectorElements = 1024;

/// Dialects without memory, calls or symbols.
static constexpr llvm::StringLiteral pureDialects[] = {"arith", "math",
                                                       "index"};

static constexpr llvm::StringLiteral operations[] = {
    "affine.apply",
    "affine.for",
    "affine.if",
    "affine.load",
    "affine.max",
    "affine.min",
    "affine.store",
    "affine.vector_load",
    "affine.vector_store",
    "affine.yield",
    "cf.br",
    "cf.cond_br",
    "cf.switch",
    "gpu.all_reduce",
    "gpu.barrier",
    "gpu.block_dim",
    "gpu.block_id",
    "gpu.global_id",
    "gpu.grid_dim",
    "gpu.lane_id",
    "gpu.num_subgroups",
    "gpu.return",
    "gpu.rotate",
    "gpu.shuffle",
    "gpu.subgroup_id",
    "gpu.subgroup_mma_compute",
    "gpu.subgroup_mma_constant_matrix",
    "gpu.subgroup_mma_elementwise",
    "gpu.subgroup_mma_load_matrix",
    "gpu.subgroup_mma_store_matrix",
    "gpu.subgroup_reduce",
    "gpu.subgroup_size",
    "gpu.thread_id",
    "gpu.yield",
    "memref.alloca_scope",
    "memref.alloca_scope.return",
    "memref.assume_alignment",
    "memref.atomic_rmw",
    "memref.cast",
    "memref.collapse_shape",
    "memref.dim",
    "memref.expand_shape",
    "memref.extract_aligned_pointer_as_index",
    "memref.extract_strided_metadata",
    "memref.get_global",
    "memref.load",
    "memref.memory_space_cast",
    "memref.reinterpret_cast",
    "memref.store",
    "memref.subview",
    "memref.view",
    "nvgpu.device_async_copy",
    "nvgpu.device_async_create_group",
    "nvgpu.device_async_wait",
    "nvgpu.ldmatrix",
    "nvgpu.mma.sp.sync",
    "nvgpu.mma.sync",
    "scf.condition",
    "scf.execute_region",
    "scf.for",
    "scf.if",
    "scf.index_switch",
    "scf.while",
    "scf.yield",
    "ub.poison",
    // What the operations above become.
    "llvm.add",
    "llvm.addrspacecast",
    "llvm.and",
    "llvm.ashr",
    "llvm.atomicrmw",
    "llvm.bitcast",
    "llvm.br",
    "llvm.cmpxchg",
    "llvm.cond_br",
    "llvm.extractelement",
    "llvm.extractvalue",
    "llvm.fadd",
    "llvm.fcmp",
    "llvm.fdiv",
    "llvm.fence",
    "llvm.fmul",
    "llvm.fneg",
    "llvm.fpext",
    "llvm.fptosi",
    "llvm.fptoui",
    "llvm.fptrunc",
    "llvm.freeze",
    "llvm.frem",
    "llvm.fsub",
    "llvm.getelementptr",
    "llvm.icmp",
    "llvm.insertelement",
    "llvm.insertvalue",
    "llvm.load",
    "llvm.lshr",
    "llvm.mlir.addressof",
    "llvm.mlir.constant",
    "llvm.mlir.poison",
    "llvm.mlir.undef",
    "llvm.mul",
    "llvm.or",
    "llvm.ptrtoint",
    "llvm.return",
    "llvm.sdiv",
    "llvm.select",
    "llvm.sext",
    "llvm.shl",
    "llvm.shufflevector",
    "llvm.sitofp",
    "llvm.srem",
    "llvm.store",
    "llvm.sub",
    "llvm.switch",
    "llvm.trunc",
    "llvm.udiv",
    "llvm.uitofp",
    "llvm.unreachable",
    "llvm.urem",
    "llvm.xor",
    "llvm.zext",
};

/// NVVM instructions that some chip has and no candidate needs.
static constexpr llvm::StringLiteral refusedInstructions[] = {
    "prefetch",
    "cp.async.bulk.prefetch",
    "cp.async.bulk.tensor",
    "nanosleep",
    "breakpoint",
    "pmevent",
    "fence.proxy.tensormap",
    "clusterlaunchcontrol",
    "tcgen05",
    "cp.async.bulk.commit.prefetch",
    "cp.reduce.async.bulk.tensor",
};

namespace {
/// Walks one module; every method returns false after setting `reason`.
class ModuleCheck {
public:
  explicit ModuleCheck(const KernelManifest &manifest) : manifest(manifest) {}
  llvm::Error run(ModuleOp module);

private:
  bool checkStructure(ModuleOp module);
  bool checkKernel(Operation *kernel);
  bool checkArguments(FunctionOpInterface kernel);
  bool checkArgument(FunctionOpInterface kernel, unsigned index);
  bool checkBlock(Operation *kernel);
  bool checkGlobal(Operation *global);
  bool checkShared(Operation *kernel);
  bool check(Operation *op);
  bool checkInstruction(Operation *op, StringRef what, StringRef key);
  bool checkTypes(Operation *op);
  bool checkLocal(Operation *op);
  bool checkInlineText(Operation *op, StringRef attribute);

  bool fail(Operation *op, const llvm::Twine &why) {
    if (reason.empty()) {
      llvm::raw_string_ostream os(reason);
      if (auto where = op->getLoc()->findInstanceOf<FileLineColLoc>())
        os << where.getFilename().getValue() << ":" << where.getLine() << ":"
           << where.getColumn() << ": ";
      os << why;
    }
    return false;
  }
  bool refuse(Operation *op, const llvm::Twine &why) {
    return fail(op, "'" + op->getName().getStringRef() + "' " + why);
  }

  const KernelManifest &manifest;
  std::string reason;
  uint64_t sharedBytes = 0, localBytes = 0;
};
} // namespace

static bool isGlobalMemory(Attribute space) {
  if (!space)
    return true;
  if (auto number = dyn_cast<IntegerAttr>(space))
    return number.getInt() == 0 || number.getInt() == 1;
  auto named = dyn_cast<gpu::AddressSpaceAttr>(space);
  return named && named.getValue() == gpu::AddressSpace::Global;
}

static bool isSharedMemory(Attribute space) {
  if (auto number = dyn_cast_or_null<IntegerAttr>(space))
    return number.getInt() == 3;
  auto named = dyn_cast_or_null<gpu::AddressSpaceAttr>(space);
  return named && named.getValue() == gpu::AddressSpace::Workgroup;
}

/// Bytes of a value in memory, alignment of its elements included.
static std::optional<uint64_t> storedBytes(Operation *scope, Type type) {
  if (auto memref = dyn_cast<MemRefType>(type)) {
    if (!memref.hasStaticShape())
      return std::nullopt;
    std::optional<uint64_t> element =
        storedBytes(scope, memref.getElementType());
    if (!element)
      return std::nullopt;
    return *element * uint64_t(memref.getNumElements());
  }
  return DataLayout::closest(scope).getTypeSize(type).getFixedValue();
}

static std::string textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

bool ModuleCheck::checkStructure(ModuleOp module) {
  Operation *gpuModule = nullptr;
  for (Operation &op : module.getBody()->getOperations()) {
    if (!isa<gpu::GPUModuleOp>(op))
      return refuse(&op, "is not allowed beside the gpu.module");
    if (gpuModule)
      return refuse(&op, "is a second one");
    gpuModule = &op;
  }
  if (!gpuModule)
    return fail(module, "the module has no gpu.module");
  Operation *kernel = nullptr;
  for (Operation &op : cast<gpu::GPUModuleOp>(gpuModule).getOps()) {
    StringRef what = op.getName().getStringRef();
    if (what == "llvm.mlir.global" || what == "memref.global") {
      if (!checkGlobal(&op))
        return false;
      continue;
    }
    if (!isa<gpu::GPUFuncOp, LLVM::LLVMFuncOp>(op))
      return refuse(&op, "is not allowed in a gpu.module");
    StringRef name = cast<FunctionOpInterface>(op).getName();
    if (name != manifest.symbol)
      return refuse(&op, "'" + name + "' is not the kernel '" +
                             manifest.symbol + "' of the manifest");
    kernel = &op;
  }
  if (!kernel)
    return fail(gpuModule,
                "there is no kernel '" + llvm::Twine(manifest.symbol) + "'");
  return checkKernel(kernel);
}

bool ModuleCheck::checkKernel(Operation *op) {
  auto kernel = cast<FunctionOpInterface>(op);
  if (kernel.isExternal())
    return refuse(op, "has no body");
  if (!op->hasAttr("gpu.kernel") && !op->hasAttr("nvvm.kernel"))
    return refuse(op, "is no kernel");
  return checkArguments(kernel) && checkBlock(op) && checkShared(op);
}

bool ModuleCheck::checkArguments(FunctionOpInterface kernel) {
  if (kernel.getNumArguments() != manifest.args.size())
    return refuse(kernel, "has " + llvm::Twine(kernel.getNumArguments()) +
                              " arguments, the manifest has " +
                              llvm::Twine(uint64_t(manifest.args.size())));
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
    if (!checkArgument(kernel, i))
      return false;
  return true;
}

bool ModuleCheck::checkArgument(FunctionOpInterface kernel, unsigned index) {
  const KernelArg &arg = manifest.args[index];
  Type type = kernel.getArgumentTypes()[index];
  auto wrong = [&](const llvm::Twine &why) {
    return refuse(kernel, "argument " + llvm::Twine(index) + " ('" + arg.name +
                              "') " + why);
  };
  if (isScalar(arg.kind))
    return type.isInteger(32) || wrong("is " + textOf(type) + ", expected i32");
  if (auto memref = dyn_cast<MemRefType>(type)) {
    if (!isGlobalMemory(memref.getMemorySpace()))
      return wrong("is not in global memory");
    if (memref.getElementType().isIntOrFloat() &&
        memref.getElementTypeBitWidth() != 8 * byteSize(arg.type))
      return wrong("holds " + textOf(memref.getElementType()) + ", expected " +
                   name(arg.type));
  } else if (auto pointer = dyn_cast<LLVM::LLVMPointerType>(type)) {
    if (pointer.getAddressSpace() > 1)
      return wrong("is not in global memory");
  } else {
    return wrong("is " + textOf(type) + ", expected a pointer");
  }
  auto alignment = kernel.getArgAttrOfType<IntegerAttr>(index, "llvm.align");
  if (alignment && alignment.getInt() > int64_t(arg.alignment))
    return wrong("has alignment " + llvm::Twine(alignment.getInt()) +
                 ", the manifest promises " + llvm::Twine(arg.alignment));
  return true;
}

bool ModuleCheck::checkBlock(Operation *kernel) {
  const auto &block = manifest.block;
  for (StringRef name : {"known_block_size", "gpu.known_block_size",
                         "nvvm.reqntid", "nvvm.maxntid"}) {
    auto size = kernel->getAttrOfType<DenseI32ArrayAttr>(name);
    if (!size)
      continue;
    uint64_t threads = 1;
    bool equal = size.size() <= 3;
    for (auto [i, extent] : llvm::enumerate(size.asArrayRef())) {
      threads *= uint64_t(uint32_t(extent));
      equal = equal && i < 3 && uint32_t(extent) == block[i];
    }
    bool fits = name == "nvvm.maxntid"
                    ? threads >= uint64_t(block[0]) * block[1] * block[2]
                    : equal;
    if (!fits)
      return refuse(kernel, name + " is not the manifest's block of " +
                                llvm::Twine(block[0]) + " x " +
                                llvm::Twine(block[1]) + " x " +
                                llvm::Twine(block[2]) + " threads");
  }
  return true;
}

bool ModuleCheck::checkGlobal(Operation *op) {
  auto symbol = op->getAttrOfType<StringAttr>("sym_name");
  StringRef name = symbol ? symbol.getValue() : "";
  Type type;
  bool shared = false, constant = false;
  if (auto global = dyn_cast<LLVM::GlobalOp>(op)) {
    type = global.getGlobalType();
    shared = global.getAddrSpace() == 3;
    constant = global.getConstant() && global.getAddrSpace() == 4;
  } else {
    type = op->getAttrOfType<TypeAttr>("type").getValue();
    auto memref = cast<MemRefType>(type);
    shared = isSharedMemory(memref.getMemorySpace());
    auto space = dyn_cast_or_null<IntegerAttr>(memref.getMemorySpace());
    constant = op->hasAttr("constant") && space && space.getInt() == 4;
  }
  if (constant)
    return true;
  if (!shared)
    return refuse(op, "'" + name +
                          "' would keep its value from one launch to the next "
                          "(only shared memory, address space 3, and constants "
                          "in address space 4 may be global)");
  std::optional<uint64_t> bytes = storedBytes(op, type);
  if (!bytes)
    return refuse(op, "'" + name + "' has no static size");
  sharedBytes += *bytes;
  return true;
}

bool ModuleCheck::checkShared(Operation *kernel) {
  if (auto func = dyn_cast<gpu::GPUFuncOp>(kernel))
    for (BlockArgument buffer : func.getWorkgroupAttributions())
      sharedBytes += storedBytes(kernel, buffer.getType()).value_or(0);
  if (sharedBytes > manifest.staticSharedBytes)
    return refuse(kernel, "has " + llvm::Twine(sharedBytes) +
                              " bytes of static shared memory, the manifest "
                              "says " +
                              llvm::Twine(manifest.staticSharedBytes));
  if (manifest.chip.empty())
    return true;
  llvm::Expected<const Chip *> chip = findChip(manifest.chip);
  if (!chip)
    return fail(kernel, llvm::toString(chip.takeError()));
  uint64_t needed = sharedBytes + manifest.dynamicSharedBytes;
  return needed <= (*chip)->maxSharedPerBlock ||
         refuse(kernel, "needs " + llvm::Twine(needed) +
                            " bytes of shared memory, a block of " +
                            manifest.chip + " has " +
                            llvm::Twine((*chip)->maxSharedPerBlock));
}

/// Sums up the stack of a thread.
bool ModuleCheck::checkLocal(Operation *op) {
  std::optional<uint64_t> bytes;
  if (auto alloca = dyn_cast<LLVM::AllocaOp>(op)) {
    IntegerAttr count;
    Operation *size = alloca.getArraySize().getDefiningOp();
    if (size && (size->getName().getStringRef() == "arith.constant" ||
                 size->getName().getStringRef() == "llvm.mlir.constant"))
      count = size->getAttrOfType<IntegerAttr>("value");
    bytes = storedBytes(op, alloca.getElemType());
    if (!count || count.getInt() < 0 || count.getInt() > int64_t(maxLocalBytes))
      bytes.reset();
    else
      *bytes *= uint64_t(count.getInt());
  } else {
    bytes = storedBytes(op, op->getResult(0).getType());
  }
  if (!bytes)
    return refuse(op, "has no constant size, or a huge one");
  localBytes += *bytes;
  return localBytes <= maxLocalBytes ||
         refuse(op, "makes " + llvm::Twine(localBytes) +
                        " bytes of local memory a thread, " +
                        llvm::Twine(maxLocalBytes) + " are allowed");
}

bool ModuleCheck::checkInlineText(Operation *op, StringRef attribute) {
  auto text = op->getAttrOfType<StringAttr>(attribute);
  if (!text)
    return refuse(op, "has no text");
  if (llvm::Error error = checkInlinePtx(text.getValue()))
    return refuse(op, llvm::toString(std::move(error)));
  return true;
}

bool ModuleCheck::checkInstruction(Operation *op, StringRef what,
                                   StringRef key) {
  if (key == "inline_ptx")
    return checkInlineText(op, "ptxCode");
  for (StringRef refused : refusedInstructions)
    if (key.starts_with(refused))
      return fail(op, "'" + what + "' is not one that a candidate may use");
  if (StringRef reg = key; reg.consume_front("read.ptx.sreg."))
    return isAllowedSpecialRegister(reg) ||
           fail(op, "special register '" + reg +
                        "' is not one that a candidate may read");
  return isKnownInstruction(key) ||
         fail(op, "'" + what + "' is not a known instruction");
}

bool ModuleCheck::checkTypes(Operation *op) {
  for (Type type : op->getResultTypes())
    if (auto vector = dyn_cast<VectorType>(type))
      if (vector.isScalable() || vector.getNumElements() > maxVectorElements)
        return refuse(op, "makes " + textOf(type) + ", vectors have at most " +
                              llvm::Twine(maxVectorElements) + " elements");
  return true;
}

bool ModuleCheck::check(Operation *op) {
  if (isa<gpu::GPUModuleOp, gpu::GPUFuncOp, LLVM::LLVMFuncOp, LLVM::GlobalOp>(
          op))
    return true; // Looked at by checkStructure, which allows no others.
  if (!checkTypes(op))
    return false;
  StringRef what = op->getName().getStringRef();
  StringRef dialect = op->getName().getDialectNamespace();
  if (what == "memref.global")
    return true;
  if (what == "llvm.alloca" || what == "memref.alloca")
    return checkLocal(op);
  if (llvm::is_contained(pureDialects, dialect) ||
      llvm::is_contained(operations, what) ||
      (dialect == "vector" && what != "vector.print"))
    return true;
  StringRef key = what;
  if (key.consume_front("nvvm."))
    return checkInstruction(op, what, key);
  if (what == "llvm.inline_asm")
    return checkInlineText(op, "asm_string");
  if (what == "llvm.call_intrinsic") {
    auto intrinsic = op->getAttrOfType<StringAttr>("intrin");
    StringRef name = intrinsic ? intrinsic.getValue() : "";
    key = name;
    if (key.consume_front("llvm.nvvm."))
      return checkInstruction(op, name, key);
    key.consume_front("llvm.");
    return isSelectableIntrinsic(key) ||
           fail(op, "intrinsic '" + name + "' is not a known one");
  }
  if (key.consume_front("llvm.intr."))
    return isSelectableIntrinsic(key) || refuse(op, "is not a known intrinsic");
  if (what == "llvm.inttoptr" || what == "llvm.mlir.zero") {
    auto pointer = dyn_cast<LLVM::LLVMPointerType>(op->getResult(0).getType());
    // Shared addresses are small numbers inside the block's own window.
    if (!pointer || pointer.getAddressSpace() == 3)
      return true;
    return refuse(op, "makes an address from a number");
  }
  return refuse(op, "is not an operation that a candidate may use");
}

llvm::Error ModuleCheck::run(ModuleOp module) {
  size_t count = 0;
  bool good = checkStructure(module);
  if (good)
    good = !module
                .walk([&](Operation *op) {
                  if (op == module)
                    return WalkResult::advance();
                  bool fine =
                      ++count <= maxOperations
                          ? check(op)
                          : fail(op, "more than " +
                                         llvm::Twine(uint64_t(maxOperations)) +
                                         " operations");
                  return fine ? WalkResult::advance() : WalkResult::interrupt();
                })
                .wasInterrupted();
  return good ? llvm::Error::success() : llvm::createStringError(reason);
}

llvm::Error sparseditto::checkCandidateModule(ModuleOp module,
                                              const KernelManifest &manifest) {
  if (llvm::Error error = manifest.verify())
    return error;
  return ModuleCheck(manifest).run(module);
}
