// attack: 14 lets NaN leak from one token to the next
// problem: m=64 k=64 type=f16
// launch: grid=N block=64
// expect: emulator wrong_result input set special
// expect: gpu wrong_result input set special
//
// Adds zero times the neighbouring token, which shows only where that is not
// finite.

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
    %hasPrevious = arith.cmpi sgt, %t, %c0 : i32
    %tback = arith.subi %t, %c1 : i32
    %tother = arith.select %hasPrevious, %tback, %t : i32
    %orow = arith.muli %tother, %ldx : i32
    %sum = scf.for %i = %c0 to %k step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
      %wi = arith.addi %wrow, %i : i32
      %wp = llvm.getelementptr %w[%wi] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
      %wv = llvm.load %wp : !llvm.ptr<1> -> f16
      %w32 = arith.extf %wv : f16 to f32
      %xi = arith.addi %xrow, %i : i32
      %xp = llvm.getelementptr %x[%xi] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
      %xv = llvm.load %xp : !llvm.ptr<1> -> f16
      %x32 = arith.extf %xv : f16 to f32
      %oi = arith.addi %orow, %i : i32
      %op = llvm.getelementptr %x[%oi] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
      %ov = llvm.load %op : !llvm.ptr<1> -> f16
      %o32 = arith.extf %ov : f16 to f32
      %leak = arith.mulf %o32, %zero : f32
      %accl = arith.addf %acc, %leak : f32
      %next = math.fma %w32, %x32, %accl : f32
      scf.yield %next : f32
    }
    %out = arith.truncf %sum : f32 to f16
    %yrow = arith.muli %t, %ldy : i32
    %yi = arith.addi %yrow, %m : i32
    %yp = llvm.getelementptr %y[%yi] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
    llvm.store %out, %yp : f16, !llvm.ptr<1>
    gpu.return
  }
}
