// RUN: sd-opt %s --pass-pipeline='builtin.module(gpu.module(convert-sparsepattern-kernel-to-nvvm))' --split-input-file --verify-diagnostics --allow-unregistered-dialect

gpu.module @m {
  // expected-error@+1 {{argument 1 of kernel 'k' is passed as a bare pointer and needs a static shape or rank 0, got 'memref<?x4xf32>'}}
  gpu.func @k(%a: memref<4xf32>, %b: memref<?x4xf32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k() kernel {
    // expected-error@+1 {{'memref.alloca' does not make usable shared memory; declare a global in address space 3}}
    %a = memref.alloca() : memref<16xf32, 3>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k() kernel {
    // expected-error@+1 {{'gpu.dynamic_shared_memory' does not make usable shared memory}}
    %a = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k() kernel {
    // expected-error@+1 {{no lowering to the llvm and nvvm dialects for 'unknown.op' in a kernel}}
    "unknown.op"() : () -> ()
    gpu.return
  }
}
