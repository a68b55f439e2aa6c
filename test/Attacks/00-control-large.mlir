// attack: 0 an honest kernel for the weight of the attack on the floor
// problem: m=4096 k=2048 type=f16
// launch: grid=512,N block=256 time=1 timeout=300
// expect: gpu verified
//
// A warp a row. Large enough to be timed cold and held against the floor.

gpu.module @kernels {
  gpu.func @candidate(%w: !llvm.ptr<1>, %x: !llvm.ptr<1>, %y: !llvm.ptr<1>,
                      %n: i32, %ldx: i32, %ldy: i32) kernel {
    %c5 = arith.constant 5 : i32
    %c8 = arith.constant 8 : i32
    %c31 = arith.constant 31 : i32
    %c32 = arith.constant 32 : i32
    %k = arith.constant 2048 : i32
    %zero = arith.constant 0.0 : f32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %band = nvvm.read.ptx.sreg.ctaid.x : i32
    %t = nvvm.read.ptx.sreg.ctaid.y : i32
    %lane = arith.andi %tid, %c31 : i32
    %warp = arith.shrui %tid, %c5 : i32
    %first = arith.muli %band, %c8 : i32
    %m = arith.addi %first, %warp : i32
    %wrow = arith.muli %m, %k : i32
    %xrow = arith.muli %t, %ldx : i32
    %part = scf.for %i = %lane to %k step %c32 iter_args(%acc = %zero) -> (f32) : i32 {
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
    %sum = gpu.subgroup_reduce add %part : (f32) -> f32
    %out = arith.truncf %sum : f32 to f16
    %yrow = arith.muli %t, %ldy : i32
    %yi = arith.addi %yrow, %m : i32
    %yp = llvm.getelementptr %y[%yi] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
    llvm.store %out, %yp : f16, !llvm.ptr<1>
    gpu.return
  }
}
