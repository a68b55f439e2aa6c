// attack: 2 does nothing
// problem: m=64 k=64 type=f16
// launch: grid=N block=64
// expect: emulator wrong_result never written
// expect: gpu wrong_result never written
//
// The fastest kernel of all.

gpu.module @kernels {
  gpu.func @candidate(%w: !llvm.ptr<1>, %x: !llvm.ptr<1>, %y: !llvm.ptr<1>,
                      %n: i32, %ldx: i32, %ldy: i32) kernel {
    gpu.return
  }
}
