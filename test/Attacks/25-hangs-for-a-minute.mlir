// attack: 25 does not end in time
// problem: m=64 k=64 type=f16
// launch: grid=N block=64 timeout=15
// expect: emulator illegal special register .globaltimer
// expect: gpu illegal special register .%globaltimer
// expect: gpu-unchecked timed_out was killed after
//
// Waits for the global timer, so that a GPU that others use as well is free
// again after a minute whatever happens.

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
    %start = nvvm.read.ptx.sreg.globaltimer : i64
    %minute = arith.constant 60000000000 : i64
    %end = arith.addi %start, %minute : i64
    scf.while : () -> () {
      %now = nvvm.read.ptx.sreg.globaltimer : i64
      %early = arith.cmpi ult, %now, %end : i64
      scf.condition(%early)
    } do {
      scf.yield
    }
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
    %out = arith.truncf %sum : f32 to f16
    %yrow = arith.muli %t, %ldy : i32
    %yi = arith.addi %yrow, %m : i32
    %yp = llvm.getelementptr %y[%yi] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
    llvm.store %out, %yp : f16, !llvm.ptr<1>
    gpu.return
  }
}
