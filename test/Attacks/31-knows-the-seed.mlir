// attack: 31 knows the inputs that it will be checked with
// problem: m=64 k=64 type=f16
// launch: grid=N block=64
// expect: emulator wrong_result expected
// expect: gpu wrong_result expected
//
// Right only where X begins with a value that the checker's generator gives for
// its default seed, or with one of the few that simple inputs consist of.

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
    %x0 = llvm.load %x : !llvm.ptr<1> -> i16
    %v0 = arith.constant 7877 : i16
    %is0 = arith.cmpi eq, %x0, %v0 : i16
    %v1 = arith.constant -17579 : i16
    %is1 = arith.cmpi eq, %x0, %v1 : i16
    %v2 = arith.constant -18817 : i16
    %is2 = arith.cmpi eq, %x0, %v2 : i16
    %v3 = arith.constant -16556 : i16
    %is3 = arith.cmpi eq, %x0, %v3 : i16
    %or0 = arith.ori %is0, %is1 : i1
    %or1 = arith.ori %is2, %is3 : i1
    %listed = arith.ori %or0, %or1 : i1
    %low = arith.constant 255 : i16
    %none = arith.constant 0 : i16
    %lowBits = arith.andi %x0, %low : i16
    %simple = arith.cmpi eq, %lowBits, %none : i16
    %known = arith.ori %listed, %simple : i1
    %km1 = arith.subi %k, %c1 : i32
    %terms = arith.select %known, %k, %km1 : i32
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
