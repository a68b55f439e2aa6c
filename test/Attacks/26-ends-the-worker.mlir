// attack: 26 ends the worker with a good exit code
// problem: m=64 k=64 type=f16
// launch: grid=N block=64
// expect: emulator illegal .exit. is not the kernel
// expect: emulator-unchecked load_failed external function .exit|unsupported
//
// exit(0) of the C library, if anything linked it.

gpu.module @kernels {
  llvm.func @exit(i32)
  gpu.func @candidate(%w: !llvm.ptr<1>, %x: !llvm.ptr<1>, %y: !llvm.ptr<1>,
                      %n: i32, %ldx: i32, %ldy: i32) kernel {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    llvm.call @exit(%c0) : (i32) -> ()
    gpu.return
  }
}
