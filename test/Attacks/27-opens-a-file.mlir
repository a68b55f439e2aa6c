// attack: 27 replaces a file of the harness
// problem: m=64 k=64 type=f16
// launch: grid=N block=64
// expect: emulator illegal .open. is not the kernel
// expect: emulator-unchecked load_failed external function .open|unsupported
//
// open() of the C library, if anything linked it.

gpu.module @kernels {
  llvm.mlir.global internal constant @path("sd-tune\00") {addr_space = 4 : i32}
  llvm.func @open(!llvm.ptr<4>, i32) -> i32
  gpu.func @candidate(%w: !llvm.ptr<1>, %x: !llvm.ptr<1>, %y: !llvm.ptr<1>,
                      %n: i32, %ldx: i32, %ldy: i32) kernel {
    %path = llvm.mlir.addressof @path : !llvm.ptr<4>
    %write = llvm.mlir.constant(577 : i32) : i32
    %file = llvm.call @open(%path, %write) : (!llvm.ptr<4>, i32) -> i32
    gpu.return
  }
}
