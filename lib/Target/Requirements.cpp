//===- Requirements.cpp - What kernel operations need from a chip ---------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// LLVM reports an instruction it cannot select by aborting, so nothing reaches
// it that is not listed here. NVVM operations and NVVM intrinsics share one
// table: an operation `nvvm.X` and an intrinsic `llvm.nvvm.X` are both "X".
//
//===----------------------------------------------------------------------===//

#include "Requirements.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/TypeUtilities.h"
#include <optional>

using namespace mlir;
using namespace sparseditto;

namespace {
/// Which chips of a compute capability have an instruction.
enum class Scope {
  From,    ///< This compute capability and every later one.
  Exactly, ///< Only the "a" target of this compute capability.
  Family,  ///< "a" targets of sm_100, sm_103 and sm_110.
};

struct Requirement {
  llvm::StringLiteral prefix; ///< Of the operation's or intrinsic's key.
  unsigned computeCapability;
  unsigned ptx;
  Scope scope = Scope::From;
};
} // namespace

// The first entry whose prefix fits counts, so longer prefixes stand first.
// Versions are those of the PTX ISA manual, raised where LLVM 22 selects the
// instruction only from a newer one.
static constexpr Requirement requirements[] = {
    // Special registers, votes and shuffles.
    {"read.ptx.sreg.cluster", 90, 78},
    {"read.ptx.sreg.nclusterid", 90, 78},
    {"read.ptx.sreg.is_explicit_cluster", 90, 78},
    {"read.ptx.sreg", 80, 70},
    {"shfl.sync", 80, 70},
    {"vote", 80, 70},
    {"match", 80, 70},
    {"activemask", 80, 70},
    {"redux.sync.f", 100, 86, Scope::Family},
    {"redux.sync", 80, 70},
    {"elect.sync", 90, 80},
    // Barriers, fences, control.
    {"barrier.cluster", 90, 80},
    {"barrier", 80, 70},
    {"bar.", 80, 70},
    {"membar", 80, 70},
    {"memory.barrier", 80, 70},
    {"cluster.", 90, 80},
    {"fence.sc.cluster", 90, 78},
    {"fence.proxy.acquire", 90, 83},
    {"fence.proxy.release", 90, 83},
    {"fence.proxy.tensormap", 90, 83},
    {"fence.proxy", 90, 80},
    {"fence.mbarrier", 90, 80},
    {"fence.sync_restrict", 90, 86},
    {"griddepcontrol", 90, 78},
    {"setmaxnreg", 90, 80, Scope::Exactly},
    {"setmaxregister", 90, 80, Scope::Exactly},
    {"nanosleep", 80, 70},
    {"exit", 80, 70},
    {"breakpoint", 80, 70},
    {"pmevent", 80, 70},
    {"mapa", 90, 78},
    {"isspacep", 80, 70},
    // Matrix instructions at warp level; element types are looked at below.
    {"ldmatrix", 80, 70},
    {"stmatrix", 90, 78},
    {"mma.sp.ordered.metadata", 80, 85},
    {"mma.sp.block_scale", 120, 88, Scope::Exactly},
    {"mma.block_scale", 120, 88, Scope::Exactly},
    {"mma.block.scale", 120, 88, Scope::Exactly},
    {"mma.sp", 80, 71},
    {"mma.", 80, 70},
    {"wmma", 80, 70},
    {"wgmma", 90, 80, Scope::Exactly},
    {"tcgen05", 100, 86, Scope::Family},
    // Copies and their barriers.
    {"cp.async.bulk.prefetch.tensor", 90, 80},
    {"cp.async.bulk", 90, 80},
    {"cp.async.mbarrier", 80, 70},
    {"cp.async", 80, 70},
    {"cp.reduce.async.bulk", 90, 80},
    {"mbarrier.try", 90, 78},
    {"mbarrier.arrive.expect", 90, 80},
    {"mbarrier.arrive_drop.expect", 90, 80},
    {"mbarrier.arrive.drop.expect", 90, 80},
    {"mbarrier.expect", 90, 80},
    {"mbarrier.complete", 90, 80},
    {"mbarrier", 80, 70},
    {"prefetch", 90, 80},
    {"st.bulk", 100, 86},
    {"clusterlaunchcontrol", 100, 86},
    // Arithmetic.
    {"convert.f32x2.to.f8", 89, 81},
    {"convert.f16x2.to.f8", 89, 81},
    {"convert.f32x2.to.f16x2", 80, 70},
    {"convert.f32x2.to.bf16x2", 80, 70},
    {"convert.float.to.tf32", 80, 70},
    {"convert.", 100, 86, Scope::Family},
    {"ff.to.e", 89, 81},
    {"ff2f16x2", 80, 70},
    {"ff2bf16x2", 80, 70},
    {"f2f16", 80, 70},
    {"f2bf16", 80, 70},
    {"f2tf32", 80, 70},
    {"e4m3x2.to", 89, 81},
    {"e5m2x2.to", 89, 81},
    {"f16x2.to.e", 89, 81},
    {"dot.accumulate", 80, 70},
    {"idp", 80, 70},
    {"prmt", 80, 70},
    {"rcp", 80, 70},
    {"rsqrt", 80, 70},
    {"sqrt", 80, 70},
    {"ex2", 80, 70},
    {"lg2", 80, 70},
    {"sin", 80, 70},
    {"cos", 80, 70},
    {"fma.r", 80, 70},
    {"mul.r", 80, 70},
    {"add.r", 80, 70},
    {"div.", 80, 70},
    {"fabs", 80, 70},
    {"fmin.", 80, 70},
    {"fmax.", 80, 70},
    // Text that LLVM passes through; ptxas judges it.
    {"inline_ptx", 80, 70},
};

/// Intrinsics of the LLVM dialect (llvm.intr.X) that NVPTX selects or expands.
/// The others end in a library call, which NVPTX answers with an abort.
static constexpr llvm::StringLiteral selectable[] = {
    "abs",
    "assume",
    "bitreverse",
    "bswap",
    "ceil",
    "copysign",
    "ctlz",
    "ctpop",
    "cttz",
    "exp2",
    "expect",
    "expect.with.probability",
    "fabs",
    "floor",
    "fma",
    "fmuladd",
    "fshl",
    "fshr",
    "invariant.end",
    "invariant.start",
    "is.fpclass",
    "lifetime.end",
    "lifetime.start",
    "maximum",
    "maxnum",
    "memcpy",
    "memcpy.inline",
    "memmove",
    "memset",
    "memset.inline",
    "minimum",
    "minnum",
    "nearbyint",
    "ptrmask",
    "rint",
    "round",
    "roundeven",
    "sadd.sat",
    "sadd.with.overflow",
    "scmp",
    "smax",
    "smin",
    "smul.with.overflow",
    "sqrt",
    "ssub.sat",
    "ssub.with.overflow",
    "stepvector",
    "trap",
    "trunc",
    "uadd.sat",
    "uadd.with.overflow",
    "ucmp",
    "umax",
    "umin",
    "umul.with.overflow",
    "usub.sat",
    "usub.with.overflow",
    "experimental.noalias.scope.decl",
    "is.constant",
    "debugtrap",
    "masked.load",
    "masked.store",
    "masked.gather",
    "masked.scatter",
    "vector.extract",
    "vector.insert",
    "vector.reduce.add",
    "vector.reduce.mul",
    "vector.reduce.and",
    "vector.reduce.or",
    "vector.reduce.xor",
    "vector.reduce.fadd",
    "vector.reduce.fmul",
    "vector.reduce.fmax",
    "vector.reduce.fmin",
    "vector.reduce.smax",
    "vector.reduce.smin",
    "vector.reduce.umax",
    "vector.reduce.umin",
    "vector.reduce.fmaximum",
    "vector.reduce.fminimum",
};

static std::string ptxText(unsigned version) {
  return std::to_string(version / 10) + "." + std::to_string(version % 10);
}

namespace {
/// Walks one kernel module; keeps the first thing that does not fit.
class Checker {
public:
  Checker(const Chip &chip, unsigned ptx) : chip(chip), ptx(ptx) {}

  /// Each returns false after having set `message`.
  bool check(Operation *op);
  std::string message;

private:
  bool fail(const llvm::Twine &text) {
    message = text.str();
    return false;
  }
  bool hasChip(const Requirement &needed) const;
  bool require(llvm::StringRef what, const Requirement &needed);
  bool checkKey(llvm::StringRef what, llvm::StringRef key, Operation *op);
  bool checkElementTypes(llvm::StringRef what, llvm::StringRef key,
                         llvm::StringRef types);
  bool checkType(llvm::StringRef what, Type type);
  bool checkSyncScope(Operation *op);
  bool checkGlobal(Operation *op);
  bool checkLibraryCalls(Operation *op);

  const Chip &chip;
  unsigned ptx;
};
} // namespace

bool Checker::hasChip(const Requirement &needed) const {
  bool specific = chip.name.ends_with("a");
  switch (needed.scope) {
  case Scope::From:
    return chip.computeCapability >= needed.computeCapability;
  case Scope::Exactly:
    return specific &&
           chip.computeCapability / 10 == needed.computeCapability / 10;
  case Scope::Family:
    return specific && chip.computeCapability >= 100 &&
           chip.computeCapability < 120;
  }
  llvm_unreachable("unknown scope");
}

bool Checker::require(llvm::StringRef what, const Requirement &needed) {
  if (!hasChip(needed)) {
    std::string wanted = "sm_" + std::to_string(needed.computeCapability);
    if (needed.scope != Scope::From)
      wanted += "a";
    if (needed.scope == Scope::From)
      wanted += " or newer";
    return fail("'" + what + "' needs " + wanted + ", got " + chip.name);
  }
  if (ptx < needed.ptx)
    return fail("'" + what + "' needs PTX " + ptxText(needed.ptx) +
                " or newer, got " + ptxText(ptx));
  return true;
}

/// What the element types in a matrix instruction's key or attributes ask for.
bool Checker::checkElementTypes(llvm::StringRef what, llvm::StringRef key,
                                llvm::StringRef types) {
  auto mentions = [&](llvm::StringRef type) { return types.contains(type); };
  if (mentions("e2m1") || mentions("e3m2") || mentions("e2m3"))
    return require(what, {"", 120, 87, Scope::Exactly});
  if (mentions("e4m3") || mentions("e5m2"))
    return require(what, {"", 89, 84});
  return true;
}

static const Requirement *findRequirement(llvm::StringRef key) {
  const Requirement *found =
      llvm::find_if(requirements, [&](const Requirement &candidate) {
        return key.starts_with(candidate.prefix);
      });
  return found == std::end(requirements) ? nullptr : found;
}

bool sparseditto::isKnownInstruction(llvm::StringRef key) {
  return findRequirement(key) != nullptr;
}

bool sparseditto::isSelectableIntrinsic(llvm::StringRef name) {
  return llvm::any_of(selectable, [&](llvm::StringRef candidate) {
    return name == candidate ||
           (name.starts_with(candidate) && name[candidate.size()] == '.');
  });
}

bool Checker::checkKey(llvm::StringRef what, llvm::StringRef key,
                       Operation *op) {
  const Requirement *needed = findRequirement(key);
  if (!needed)
    return fail("'" + what + "' is not known to be supported by any chip");
  if (!require(what, *needed))
    return false;
  // An operation carries its types and modifiers as attributes, an intrinsic
  // in its name.
  std::string details = key.str();
  for (NamedAttribute attr : op->getAttrs())
    if (!isa<StringAttr>(attr.getValue())) {
      llvm::raw_string_ostream os(details);
      os << ' ' << attr.getName().strref() << '=' << attr.getValue();
    }
  llvm::StringRef text = details;
  if (key.starts_with("mma.sp") && text.contains("orderedMetadata") &&
      !require(what, {"", 80, 85}))
    return false;
  if (key.contains(".xorsign") && !require(what, {"", 86, 72}))
    return false;
  if (key.starts_with("mma") && !checkElementTypes(what, key, text))
    return false;
  if ((key.starts_with("ldmatrix") || key.starts_with("stmatrix")) &&
      (text.contains("b8") || text.contains("m16n16") ||
       text.contains("m16n8")) &&
      !require(what, {"", 100, 86, Scope::Family}))
    return false;
  return true;
}

/// Types NVPTX can hold; others abort in legalization.
bool Checker::checkType(llvm::StringRef what, Type type) {
  auto bad = [&] {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << type;
    return fail("'" + what + "' uses the type " + text +
                ", which NVPTX does not have");
  };
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.getWidth() <= 128 || bad();
  if (isa<FloatType>(type))
    return isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type) ||
           bad();
  if (auto vector = dyn_cast<VectorType>(type))
    return (!vector.isScalable() && vector.getRank() == 1) || bad();
  return true;
}

bool Checker::checkSyncScope(Operation *op) {
  auto scope = op->getAttrOfType<StringAttr>("syncscope");
  if (!scope)
    return true;
  llvm::StringRef name = scope.getValue();
  llvm::StringRef what = op->getName().getStringRef();
  if (name == "cluster")
    return require(what, {"", 90, 78});
  if (llvm::is_contained<llvm::StringRef>(
          {"", "singlethread", "block", "device"}, name))
    return true;
  return fail("'" + what + "' has the unknown syncscope \"" + name + "\"");
}

/// Only global and constant memory can start with a value.
bool Checker::checkGlobal(Operation *op) {
  auto space = op->getAttrOfType<IntegerAttr>("addr_space");
  bool initialized = op->hasAttr("value") ||
                     (op->getNumRegions() == 1 && !op->getRegion(0).empty());
  if (!space || !initialized || llvm::is_contained({0, 1, 4}, space.getInt()))
    return true;
  auto name = op->getAttrOfType<StringAttr>("sym_name");
  return fail("global '" + (name ? name.getValue() : "") +
              "' in address space " + llvm::Twine(space.getInt()) +
              " has an initial value, which NVPTX does not support");
}

/// Operations that are instructions for most types and calls into a run-time
/// library, which a device does not have, for the rest.
bool Checker::checkLibraryCalls(Operation *op) {
  llvm::StringRef what = op->getName().getStringRef();
  auto uses = [&](auto predicate) {
    auto matches = [&](Type type) {
      return predicate(getElementTypeOrSelf(type));
    };
    return llvm::any_of(op->getOperandTypes(), matches) ||
           llvm::any_of(op->getResultTypes(), matches);
  };
  bool isSinglePrecision = what == "llvm.intr.exp2";
  if (auto intrinsic = op->getAttrOfType<StringAttr>("intrin"))
    isSinglePrecision = intrinsic.getValue().starts_with("llvm.nvvm.ex2.") ||
                        intrinsic.getValue().starts_with("llvm.exp2.");
  if (isSinglePrecision &&
      uses([](Type type) { return isa<Float64Type>(type); }))
    return fail("'" + what + "' of f64 has no NVPTX lowering");
  bool converts = llvm::is_contained<llvm::StringRef>(
      {"llvm.fptosi", "llvm.fptoui", "llvm.sitofp", "llvm.uitofp"}, what);
  if (converts && uses([](Type type) {
        auto integer = dyn_cast<IntegerType>(type);
        return integer && integer.getWidth() > 64;
      }))
    return fail("'" + what +
                "' of integers wider than 64 bits has no NVPTX "
                "lowering");
  return true;
}

bool Checker::check(Operation *op) {
  llvm::StringRef what = op->getName().getStringRef();
  for (Type type : op->getResultTypes())
    if (!checkType(what, type))
      return false;
  if (!checkSyncScope(op))
    return false;
  if (!checkLibraryCalls(op))
    return false;
  llvm::StringRef key = what;
  if (key.consume_front("nvvm."))
    return checkKey(what, key, op);
  if (what == "llvm.call_intrinsic") {
    auto name = op->getAttrOfType<StringAttr>("intrin");
    key = name ? name.getValue() : "";
    if (key.consume_front("llvm.nvvm."))
      return checkKey(name.getValue(), key, op);
    // Overloaded names carry their types: "llvm.fma.f32".
    key.consume_front("llvm.");
    if (isSelectableIntrinsic(key))
      return true;
    return fail("intrinsic '" + (name ? name.getValue() : "") +
                "' is not known to be supported by NVPTX");
  }
  if (what == "llvm.mlir.global")
    return checkGlobal(op);
  if (key.consume_front("llvm.intr.") && !llvm::is_contained(selectable, key))
    return fail("'" + what + "' has no NVPTX lowering");
  if (what == "llvm.alloca")
    return require(what, {"", 80, 73});
  return true;
}

llvm::Error sparseditto::checkRequirements(Operation *gpuModule,
                                           const Chip &chip,
                                           unsigned ptxVersion) {
  Checker checker(chip, ptxVersion);
  Operation *culprit = nullptr;
  gpuModule->walk([&](Operation *op) {
    if (op == gpuModule || checker.check(op))
      return WalkResult::advance();
    culprit = op;
    return WalkResult::interrupt();
  });
  if (!culprit)
    return llvm::Error::success();
  std::string where;
  if (!isa<UnknownLoc>(culprit->getLoc())) {
    llvm::raw_string_ostream os(where);
    os << culprit->getLoc() << ": ";
  }
  return llvm::createStringError(where + checker.message);
}
