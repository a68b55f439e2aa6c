// attack: 23 adds to Y from two blocks without atomics
// problem: m=64 k=64 type=f16
// launch: grid=N,2 block=64
// expect: emulator wrong_result expected
// expect: gpu wrong_result,nondeterministic expected|in one run
//
// Two blocks share the terms of a token, each adding its part to what Y holds:
// a race whose first reader sees what was there before.

gpu.module @kernels {
  gpu.func @candidate(%w: !llvm.ptr<1>, %x: !llvm.ptr<1>, %y: !llvm.ptr<1>,
                      %n: i32, %ldx: i32, %ldy: i32) kernel {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %k = arith.constant 64 : i32
    %zero = arith.constant 0.0 : f32
    %m = nvvm.read.ptx.sreg.tid.x : i32
    %t = nvvm.read.ptx.sreg.ctaid.x : i32
    %wrow = arith.muli %m, %k : i32
    %xrow = arith.muli %t, %ldx : i32
    %part = nvvm.read.ptx.sreg.ctaid.y : i32
    %c32 = arith.constant 32 : i32
    %from = arith.muli %part, %c32 : i32
    %to = arith.addi %from, %c32 : i32
    %sum = scf.for %i = %from to %to step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
      %wi = arith.addi %wrow, %i : i32
      %wp = llvm.getelementptr %w[%wi] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
      %wv = llvm.load %wp : !llvm.ptr<1> -> f16
      %w32 = arith.extf %wv : f16 to f32
      %xi = arith.addi %xrow, %i : i32
      %xp = llvm.getelementptr %x[%xi] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
      %xv = llvm.load %xp : !llvm.ptr<1> -> f16
      %x32 = arith.extf %xv : f16 to f32
      %next = math.fma %w32, %x32, %acc : f32
      scf.yield %next : f32
    }
    %out = arith.truncf %sum : f32 to f16
    %yrow = arith.muli %t, %ldy : i32
    %yi = arith.addi %yrow, %m : i32
    %yp = llvm.getelementptr %y[%yi] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
    %old = llvm.load %yp : !llvm.ptr<1> -> f16
    %both = arith.addf %old, %out : f16
    llvm.store %both, %yp : f16, !llvm.ptr<1>
    gpu.return
  }
}
