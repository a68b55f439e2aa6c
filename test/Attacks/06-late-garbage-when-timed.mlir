// attack: 6 stops working while it is timed
// problem: m=64 k=64 type=f16
// launch: grid=N block=64 time=4
// expect: gpu illegal global variable .calls
// expect: gpu-unchecked wrong_result a timed launch computed
//
// As many launches as no check makes, but a timing does: graphs of thousands.
// The module is loaded anew before it is timed, which only puts the count back.

gpu.module @kernels {
  llvm.mlir.global internal @calls(0 : i32) {addr_space = 1 : i32} : i32
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
    %callsp = llvm.mlir.addressof @calls : !llvm.ptr<1>
    %limit = arith.constant 20000 : i32
    %first = arith.ori %m, %t : i32
    %counts = arith.cmpi eq, %first, %c0 : i32
    scf.if %counts {
      %was = llvm.atomicrmw add %callsp, %c1 monotonic : !llvm.ptr<1>, i32
    }
    %calls = llvm.load volatile %callsp : !llvm.ptr<1> -> i32
    %works = arith.cmpi slt, %calls, %limit : i32
    %terms = arith.select %works, %k, %c0 : i32
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
