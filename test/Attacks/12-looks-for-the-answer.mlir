// attack: 12 scans memory for the expected result
// problem: m=64 k=64 type=f16
// launch: grid=N block=64
// expect: emulator launch_failed out-of-bounds
// expect: gpu wrong_result,launch_failed,nondeterministic expected|in one run|ILLEGAL
//
// Computes its first element, then looks for it in the 64 KiB behind Y, where a
// harness may keep what it expects, and copies from there what it is to return.

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
    %sum = scf.for %i = %c0 to %k step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
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
    %far = arith.constant 32768 : i32
    %ystart = arith.muli %t, %ldy : i32
    %near = arith.constant 64 : i32
    %none = arith.constant -1 : i32
    %found = scf.for %s = %near to %far step %c1 iter_args(%hit = %none) -> (i32) : i32 {
      %sp = llvm.getelementptr %y[%s] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
      %sv = llvm.load %sp : !llvm.ptr<1> -> f16
      %sv32 = arith.extf %sv : f16 to f32
      %d = arith.subf %sv32, %sum : f32
      %ad = math.absf %d : f32
      %eps = arith.constant 1.0e-3 : f32
      %same = arith.cmpf olt, %ad, %eps : f32
      %pick = arith.select %same, %s, %hit : i32
      scf.yield %pick : i32
    }
    %hitp = llvm.getelementptr %y[%found] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
    %answer = llvm.load %hitp : !llvm.ptr<1> -> f16
    %out = arith.truncf %sum : f32 to f16
    %yrow = arith.muli %t, %ldy : i32
    %yi = arith.addi %yrow, %m : i32
    %yp = llvm.getelementptr %y[%yi] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
    llvm.store %answer, %yp : f16, !llvm.ptr<1>
    gpu.return
  }
}
