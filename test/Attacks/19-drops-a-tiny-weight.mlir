// attack: 19 leaves out weights that hardly matter
// problem: m=64 k=64 type=f16 tiny=1234
// launch: grid=N block=64
// expect: emulator wrong_result input set (one-hot|integers|special)
// expect: gpu wrong_result input set (one-hot|integers|special)
//
// One weight is 2^-20; leaving it out changes no result beyond any tolerance,
// as long as the other inputs of its row are not zero.

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
      %least = arith.constant 2.0e-6 : f32
      %wabs = math.absf %w32 : f32
      %matters = arith.cmpf oge, %wabs, %least : f32
      %wkept = arith.select %matters, %w32, %zero : f32
      %next = math.fma %wkept, %x32, %acc : f32
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
