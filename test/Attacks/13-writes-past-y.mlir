// attack: 13 writes over what lies behind Y
// problem: m=64 k=64 type=f16
// launch: grid=N block=64
// expect: emulator launch_failed out-of-bounds|guard-page
// expect: gpu out_of_bounds wrote outside Y
//
// A counter of errors or a canary may lie there; it sets 64 elements to zero.

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
    %rows = arith.muli %n, %ldy : i32
    %pasti = arith.addi %rows, %m : i32
    %pastp = llvm.getelementptr %y[%pasti] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
    %half0 = arith.constant 0.0 : f16
    llvm.store %half0, %pastp : f16, !llvm.ptr<1>
    %out = arith.truncf %sum : f32 to f16
    %yrow = arith.muli %t, %ldy : i32
    %yi = arith.addi %yrow, %m : i32
    %yp = llvm.getelementptr %y[%yi] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
    llvm.store %out, %yp : f16, !llvm.ptr<1>
    gpu.return
  }
}
