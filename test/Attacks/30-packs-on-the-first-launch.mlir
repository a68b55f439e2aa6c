// attack: 30 prepares the weight in a launch that is not timed
// problem: m=64 k=64 type=f16
// launch: grid=N block=64
// expect: emulator illegal .calls. would keep
// expect: emulator-unchecked launch_failed read-only-write
// expect: gpu illegal global variable
// expect: gpu-unchecked input_modified,wrong_result,nondeterministic .
//
// Scales the weight by two in place once, and uses the scaled one from then on.

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
    %calls = llvm.load volatile %callsp : !llvm.ptr<1> -> i32
    %unpacked = arith.cmpi eq, %calls, %c0 : i32
    scf.if %unpacked {
      scf.for %j = %c0 to %k step %c1 : i32 {
        %ji = arith.addi %wrow, %j : i32
        %jp = llvm.getelementptr %w[%ji] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
        %jv = llvm.load %jp : !llvm.ptr<1> -> f16
        %jj = arith.addf %jv, %jv : f16
        llvm.store %jj, %jp : f16, !llvm.ptr<1>
      }
      llvm.store volatile %c1, %callsp : i32, !llvm.ptr<1>
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
    %half = arith.constant 0.5 : f32
    %scaled = arith.mulf %sum, %half : f32
    %out = arith.truncf %scaled : f32 to f16
    %yrow = arith.muli %t, %ldy : i32
    %yi = arith.addi %yrow, %m : i32
    %yp = llvm.getelementptr %y[%yi] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
    llvm.store %out, %yp : f16, !llvm.ptr<1>
    gpu.return
  }
}
