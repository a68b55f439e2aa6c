//===- Passes.td - Passes from kernel MLIR to PTX ----------*- tablegen -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_TARGET_PASSES
#define SPARSEDITTO_TARGET_PASSES

include "mlir/Pass/PassBase.td"

def ConvertSparsePatternKernelToNVVM
    : Pass<"convert-sparsepattern-kernel-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Lower a kernel module to the LLVM and NVVM dialects";
  let description = [{
    Lowers everything below one `gpu.module` (gpu, scf, affine, arith, math,
    vector, memref, index, cf, nvgpu) to the LLVM and NVVM dialects, with one
    type converter: 64-bit `index`, memref arguments as bare pointers (static
    shapes or rank 0). Argument attributes and launch bounds are kept.

    `math` operations become LLVM intrinsics that the NVPTX backend selects, or
    arithmetic; libdevice is not used, so that a kernel does not depend on a
    CUDA toolkit. An operation that has no such lowering is an error.
  }];
}

def SparsePatternKernelToBinary
    : Pass<"sparsepattern-kernel-to-binary", "::mlir::ModuleOp"> {
  let summary = "Compile every kernel module to a gpu.binary";
  let description = [{
    Replaces each `gpu.module` by a `gpu.binary` of the same name that holds one
    object a chip: PTX text, or the cubin made from it by ptxas. What ptxas says
    about registers, spills and shared memory is printed as remarks.
  }];
  let options = [
    ListOption<"chips", "chips", "std::string",
               "Chips to compile for, such as sm_80,sm_90a">,
    Option<"format", "format", "std::string", /*default=*/"\"ptx\"",
           "What the binary holds: ptx or cubin">,
    Option<"ptxas", "ptxas", "std::string", /*default=*/"",
           "Path of ptxas; found by itself if empty">,
  ];
}

#endif // SPARSEDITTO_TARGET_PASSES
