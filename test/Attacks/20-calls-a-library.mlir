// attack: 20 calls a library instead of being a kernel
// problem: m=64 k=64 type=f16
// launch: grid=N block=64
// expect: emulator illegal .cublasGemmEx. is not the kernel
// expect: emulator-unchecked load_failed external function .cublasGemmEx|unsupported
//
// An external function with a promising name.

gpu.module @kernels {
  llvm.func @cublasGemmEx(!llvm.ptr<1>, !llvm.ptr<1>, !llvm.ptr<1>, i32)
  gpu.func @candidate(%w: !llvm.ptr<1>, %x: !llvm.ptr<1>, %y: !llvm.ptr<1>,
                      %n: i32, %ldx: i32, %ldy: i32) kernel {
    llvm.call @cublasGemmEx(%w, %x, %y, %n) : (!llvm.ptr<1>, !llvm.ptr<1>, !llvm.ptr<1>, i32) -> ()
    gpu.return
  }
}
