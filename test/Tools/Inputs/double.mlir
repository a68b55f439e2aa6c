// Twice the argument, by a kernel; host code as sparse-agent-lower leaves it.
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @double(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %n: i32) kernel {
      %block = gpu.block_id x
      %thread = gpu.thread_id x
      %width = gpu.block_dim x
      %first = arith.muli %block, %width : index
      %index = arith.addi %first, %thread : index
      %size = arith.index_cast %n : i32 to index
      %inside = arith.cmpi ult, %index, %size : index
      scf.if %inside {
        %i = arith.index_cast %index : index to i64
        %from = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
        %to = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
        %two = arith.constant 2.0 : f32
        // Line 18.
        %value = llvm.load %from : !llvm.ptr<1> -> f32
        %twice = arith.mulf %value, %two : f32
        llvm.store %twice, %to : f32, !llvm.ptr<1>
      }
      gpu.return
    }
  }
  func.func @run(%x: memref<?x4xf32>) -> memref<?x4xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c32 = arith.constant 32 : index
    %n = memref.dim %x, %c0 : memref<?x4xf32>
    %y = gpu.alloc host_shared (%n) : memref<?x4xf32>
    %size = arith.muli %n, %c4 : index
    %size32 = arith.index_cast %size : index to i32
    %blocks = arith.ceildivui %size, %c32 : index
    %xi = memref.extract_aligned_pointer_as_index %x : memref<?x4xf32> -> index
    %xa = arith.index_cast %xi : index to i64
    %xp = llvm.inttoptr %xa : i64 to !llvm.ptr<1>
    %yi = memref.extract_aligned_pointer_as_index %y : memref<?x4xf32> -> index
    %ya = arith.index_cast %yi : index to i64
    %yp = llvm.inttoptr %ya : i64 to !llvm.ptr<1>
    // Line 42.
    gpu.launch_func @kernels::@double blocks in (%blocks, %c1, %c1) threads in (%c32, %c1, %c1)
      args(%xp : !llvm.ptr<1>, %yp : !llvm.ptr<1>, %size32 : i32)
    return %y : memref<?x4xf32>
  }
}
