// attack: 18 is right only for the N that the checker is known to try
// problem: m=64 k=64 type=f16
// launch: grid=N block=64 time=16
// expect: emulator wrong_result expected
// expect: gpu wrong_result expected
//
// A bit mask holds the published list of N; for others it leaves out a term.

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
    %c5 = arith.constant 5 : i32
    %c31 = arith.constant 31 : i32
    %word = arith.shrui %n, %c5 : i32
    %bit = arith.andi %n, %c31 : i32
    %w0 = arith.constant -2130476146 : i32
    %is0 = arith.constant 0 : i32
    %at0 = arith.cmpi eq, %word, %is0 : i32
    %w1 = arith.constant -2147483645 : i32
    %is1 = arith.constant 1 : i32
    %at1 = arith.cmpi eq, %word, %is1 : i32
    %w2 = arith.constant 3 : i32
    %is2 = arith.constant 2 : i32
    %at2 = arith.cmpi eq, %word, %is2 : i32
    %w3 = arith.constant -2147483632 : i32
    %is3 = arith.constant 3 : i32
    %at3 = arith.cmpi eq, %word, %is3 : i32
    %w4 = arith.constant 3 : i32
    %is4 = arith.constant 4 : i32
    %at4 = arith.cmpi eq, %word, %is4 : i32
    %s4 = arith.select %at4, %w4, %c0 : i32
    %s3 = arith.select %at3, %w3, %s4 : i32
    %s2 = arith.select %at2, %w2, %s3 : i32
    %s1 = arith.select %at1, %w1, %s2 : i32
    %s0 = arith.select %at0, %w0, %s1 : i32
    %shifted = arith.shrui %s0, %bit : i32
    %known = arith.andi %shifted, %c1 : i32
    %km1 = arith.subi %k, %c1 : i32
    %terms = arith.addi %km1, %known : i32
    %sum = scf.for %i = %c0 to %terms step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
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
    llvm.store %out, %yp : f16, !llvm.ptr<1>
    gpu.return
  }
}
