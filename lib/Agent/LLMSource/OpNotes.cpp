//===- OpNotes.cpp - Operations that kernels are written in ---------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations that models most often write wrongly, each with a statement
// that parses. Operands: %g !llvm.ptr<1> (global), %s !llvm.ptr<3> (shared), %i
// i32, %l i64, %b i1, %f f32, %h vector<2xf16>, %v vector<4xi32>.
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Agent/LLMSource.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace sparseditto;

static const OpNote notes[] = {
    {"llvm.load",
     "%r = llvm.load %g {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>",
     "State the alignment, or a wide load is split. From a pointer with "
     "llvm.noalias and llvm.readonly it becomes ld.global.nc, which ptxas may "
     "move below barriers and waits."},
    {"llvm.store",
     "llvm.store %v, %s {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>",
     "State the alignment."},
    {"llvm.getelementptr",
     "%r = llvm.getelementptr inbounds %g[%l] : (!llvm.ptr<1>, i64) -> "
     "!llvm.ptr<1>, i8",
     "The last type is the element that the index counts: i8 for bytes. "
     "Constant offsets stand in the brackets and fold into the access."},
    {"llvm.bitcast", "%r = llvm.bitcast %i : i32 to vector<2xf16>",
     "Same number of bits on both sides."},
    {"vector.extract", "%r = vector.extract %v[2] : i32 from vector<4xi32>",
     "Constant index."},
    {"vector.from_elements",
     "%r = vector.from_elements %i, %i, %i, %i : vector<4xi32>",
     "As many operands as elements."},
    {"nvvm.cp.async.shared.global",
     "nvvm.cp.async.shared.global %s, %g, 16, cache = cg, %i : !llvm.ptr<3>, "
     "!llvm.ptr<1>, i32",
     "Destination in shared memory, source, bytes (4, 8, 16; cg takes 16). The "
     "optional i32 is how many bytes are read, the rest is zero. Complete only "
     "after commit.group and wait.group."},
    {"nvvm.cp.async.commit.group", "nvvm.cp.async.commit.group",
     "Closes a group of this thread's copies."},
    {"nvvm.cp.async.wait.group", "nvvm.cp.async.wait.group 1",
     "Waits until at most that many groups of this thread are open; other "
     "threads' copies need a gpu.barrier as well."},
    {"gpu.barrier", "gpu.barrier",
     "Every thread of the block must reach it: never inside a branch that "
     "threads take differently."},
    {"nvvm.ldmatrix",
     "%r = nvvm.ldmatrix %s {num = 4 : i32, layout = #nvvm.mma_layout<row>, "
     "shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = "
     "#nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, "
     "i32, i32, i32)>",
     "All 32 lanes; lane i gives the address of row i, 16 bytes each, aligned "
     "to 16. Layout col transposes."},
    {"nvvm.mma.sync",
     "%r = nvvm.mma.sync A[%h, %h, %h, %h] B[%h, %h] C[%f, %f, %f, %f] "
     "{layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape "
     "= #nvvm.shape<m = 16, n = 8, k = 16>} : (vector<2xf16>, vector<2xf16>, "
     "f32) -> !llvm.struct<(f32, f32, f32, f32)>",
     "All 32 lanes. For bf16, operands are i32 with multiplicandAPtxType and "
     "multiplicandBPtxType = #nvvm.mma_type<bf16>."},
    {"nvvm.mma.sp.sync",
     "%r = nvvm.mma.sp.sync A[%h, %h, %h, %h] B[%h, %h, %h, %h] C[%f, %f, %f, "
     "%f] sparseMetadata[%i] selector[%i] {orderedMetadata, shape = "
     "#nvvm.shape<m = 16, n = 8, k = 32>} : (vector<2xf16>, vector<2xf16>, "
     "f32) -> !llvm.struct<(f32, f32, f32, f32)>",
     "A is 2:4 along K. Positions in the metadata ascend. The selector is a "
     "constant, 0 or 1."},
    {"llvm.extractvalue",
     "%t = llvm.mlir.undef : !llvm.struct<(f32, f32)>\n"
     "%r = llvm.extractvalue %t[1] : !llvm.struct<(f32, f32)>",
     "Takes a member of what nvvm.mma.sync and nvvm.ldmatrix give."},
    {"nvvm.shfl.sync", "%r = nvvm.shfl.sync bfly %i, %f, %i, %i : f32 -> f32",
     "Mask, value, lane offset, clamp (31). All lanes of the mask take part."},
    {"nvvm.read.ptx.sreg.tid.x",
     "%r = nvvm.read.ptx.sreg.tid.x range <i32, 0, 512> : i32",
     "The range (the block's size) saves instructions. Also ctaid.x, ntid.x, "
     "nctaid.x, laneid."},
    {"nvvm.griddepcontrol", "nvvm.griddepcontrol wait",
     "wait: until the launch before has finished; launch_dependents: the next "
     "may start. Loads of what no earlier launch writes (W) go before wait."},
    {"scf.for", "scf.for %k = %i to %i step %i : i32 {\n  scf.yield\n}",
     "With values: iter_args(%a = %init) -> (f32) and scf.yield %next : f32. "
     "A loop with warp-wide operations is not unrolled: write the steps out."},
    {"scf.if", "scf.if %b {\n  scf.yield\n}",
     "With values: -> (f32) and an else that yields as well."},
    {"math.fma", "%r = math.fma %f, %f, %f : f32",
     "One rounding. Also on vectors."},
    {"arith.muli", "%r = arith.muli %i, %i overflow<nsw> : i32",
     "nsw lets 32-bit address arithmetic be widened."},
    {"arith.select", "%r = arith.select %b, %i, %i : i32", ""},
    {"arith.cmpi", "%r = arith.cmpi slt, %i, %i : i32",
     "eq, ne, slt, sle, sgt, sge, ult, ule, ugt, uge."},
    {"arith.truncf", "%r = arith.truncf %f : f32 to f16",
     "On vector<2xf32> to vector<2xf16> one instruction."},
    {"arith.constant", "%r = arith.constant 3 : i32",
     "f32 with a point: 0.000000e+00 : f32; vectors: dense<0> : "
     "vector<4xi32>."},
};

llvm::ArrayRef<OpNote> sparseditto::opNotes() { return notes; }

std::string sparseditto::lookUpOp(llvm::StringRef name) {
  auto text = [](const OpNote &note) {
    return note.op.str() + "\n" + note.example.str() +
           (note.rules.empty() ? "\n" : "\n" + note.rules.str() + "\n");
  };
  for (const OpNote &note : notes)
    if (note.op == name)
      return text(note);
  std::string result;
  unsigned count = 0;
  if (name.size() >= 3)
    for (const OpNote &note : notes)
      if (note.op.contains(name) && ++count <= 3)
        result += text(note);
  if (!result.empty())
    return result;
  return "nothing is known about that; there are notes on " +
         llvm::join(
             llvm::map_range(notes, [](const OpNote &note) { return note.op; }),
             ", ") +
         "\n";
}
