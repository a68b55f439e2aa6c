// attack: 5 caches results by pointer
// problem: m=64 k=64 type=f16
// launch: grid=N block=64
// expect: emulator illegal .values. would keep|.keys. would keep
// expect: gpu illegal global variable
// expect: gpu-unchecked wrong_result,nondeterministic expected|in one run
//
// The key is the address of X, whose low bits the harness cannot help
// repeating.

gpu.module @kernels {
  llvm.mlir.global internal @keys() {addr_space = 1 : i32} : !llvm.array<8192 x i32>
  llvm.mlir.global internal @values() {addr_space = 1 : i32} : !llvm.array<8192 x f16>
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
    %address = llvm.ptrtoint %x : !llvm.ptr<1> to i64
    %low = arith.trunci %address : i64 to i32
    %key = arith.ori %low, %c1 : i32
    %keys = llvm.mlir.addressof @keys : !llvm.ptr<1>
    %values = llvm.mlir.addressof @values : !llvm.ptr<1>
    %tslot = arith.muli %t, %k : i32
    %slotWide = arith.addi %tslot, %m : i32
    %mask = arith.constant 8191 : i32
    %slot = arith.andi %slotWide, %mask : i32
    %keyp = llvm.getelementptr %keys[%slot] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %valuep = llvm.getelementptr %values[%slot] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f16
    %seen = llvm.load %keyp : !llvm.ptr<1> -> i32
    %miss = arith.cmpi ne, %seen, %key : i32
    %terms = arith.select %miss, %k, %c0 : i32
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
    %old = llvm.load %valuep : !llvm.ptr<1> -> f16
    %kept = arith.select %miss, %out, %old : f16
    llvm.store %kept, %valuep : f16, !llvm.ptr<1>
    llvm.store %key, %keyp : i32, !llvm.ptr<1>
    llvm.store %kept, %yp : f16, !llvm.ptr<1>
    gpu.return
  }
}
