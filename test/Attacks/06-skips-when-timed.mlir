// attack: 6 recognises the timing by its buffers and does nothing
// problem: m=64 k=64 type=f16
// launch: grid=N block=64 time=4
// expect: gpu wrong_result a timed launch computed
//
// While it is timed, Y lies right behind X, without the guard zones that a
// check puts between them.

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
    %xaddress = llvm.ptrtoint %x : !llvm.ptr<1> to i64
    %yaddress = llvm.ptrtoint %y : !llvm.ptr<1> to i64
    %distance = arith.subi %yaddress, %xaddress : i64
    %far = arith.constant 2048 : i64
    %negative = arith.constant 0 : i64
    %notBehind = arith.cmpi slt, %distance, %negative : i64
    %isFar = arith.cmpi sgt, %distance, %far : i64
    %checked = arith.ori %notBehind, %isFar : i1
    %terms = arith.select %checked, %k, %c0 : i32
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
    scf.if %checked {
      llvm.store %out, %yp : f16, !llvm.ptr<1>
    }
    gpu.return
  }
}
