// attack: 24 is faster than its weight can be read
// problem: m=4096 k=2048 type=f16 ones
// launch: grid=16,N block=256 static=32 time=1 timeout=300
// expect: gpu faster_than_floor faster than one launch can read
//
// All weights are 1, so the sum of a token is each of its outputs, and the 16
// MB of the packed weight are left alone. Every value is right: only the time
// tells that this is no kernel for the weight that the manifest names.

gpu.module @kernels {
  llvm.mlir.global internal @sums() {addr_space = 3 : i32} : !llvm.array<8 x f32>
  gpu.func @candidate(%w: !llvm.ptr<1>, %x: !llvm.ptr<1>, %y: !llvm.ptr<1>,
                      %n: i32, %ldx: i32, %ldy: i32) kernel {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %c256 = arith.constant 256 : i32
    %k = arith.constant 2048 : i32
    %zero = arith.constant 0.0 : f32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %band = nvvm.read.ptx.sreg.ctaid.x : i32
    %t = nvvm.read.ptx.sreg.ctaid.y : i32
    %xrow = arith.muli %t, %ldx : i32
    %part = scf.for %i = %tid to %k step %c256 iter_args(%acc = %zero) -> (f32) : i32 {
      %xi = arith.addi %xrow, %i : i32
      %xp = llvm.getelementptr %x[%xi] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
      %xv = llvm.load %xp : !llvm.ptr<1> -> f16
      %x32 = arith.extf %xv : f16 to f32
      %next = arith.addf %acc, %x32 : f32
      scf.yield %next : f32
    }
    %warpSum = gpu.subgroup_reduce add %part : (f32) -> f32
    %sums = llvm.mlir.addressof @sums : !llvm.ptr<3>
    %c5 = arith.constant 5 : i32
    %warp = arith.shrui %tid, %c5 : i32
    %sp = llvm.getelementptr %sums[%warp] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %c31 = arith.constant 31 : i32
    %lane = arith.andi %tid, %c31 : i32
    %isFirst = arith.cmpi eq, %lane, %c0 : i32
    scf.if %isFirst {
      llvm.store %warpSum, %sp : f32, !llvm.ptr<3>
    }
    gpu.barrier
    %sum = scf.for %i = %c0 to %c8 step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
      %vp = llvm.getelementptr %sums[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %v = llvm.load %vp : !llvm.ptr<3> -> f32
      %next = arith.addf %acc, %v : f32
      scf.yield %next : f32
    }
    %out = arith.truncf %sum : f32 to f16
    %yrow = arith.muli %t, %ldy : i32
    %first = arith.muli %band, %c256 : i32
    %m = arith.addi %first, %tid : i32
    %yi = arith.addi %yrow, %m : i32
    %yp = llvm.getelementptr %y[%yi] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
    llvm.store %out, %yp : f16, !llvm.ptr<1>
    gpu.return
  }
}
