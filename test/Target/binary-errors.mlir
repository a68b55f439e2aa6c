// RUN: not sd-opt %s --sparsepattern-kernel-to-binary 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: expected chips and a format of ptx or cubin, got 0 chips and the format 'ptx'

// RUN: not sd-opt %s --sparsepattern-kernel-to-binary="chips=sm_80 format=fatbin" 2>&1 | FileCheck %s --check-prefix=FORMAT
// FORMAT: expected chips and a format of ptx or cubin, got 1 chips and the format 'fatbin'

// RUN: not sd-opt %s --sparsepattern-kernel-to-binary=chips=sm_75 2>&1 | FileCheck %s --check-prefix=CHIP
// CHIP: sm_75: unknown chip 'sm_75', expected one of sm_80, sm_86

// RUN: not sd-opt %s --sparsepattern-kernel-to-binary=chips=sm_80 2>&1 | FileCheck %s --check-prefix=NEEDS
// NEEDS: 'nvvm.griddepcontrol' needs sm_90 or newer, got sm_80

// RUN: not sd-opt %s --sparsepattern-kernel-to-binary="chips=sm_90 ptxas=/nonexistent" 2>&1 | FileCheck %s --check-prefix=PTXAS
// PTXAS: cannot run '/nonexistent': No such file or directory

gpu.module @kernels {
  gpu.func @waits() kernel {
    nvvm.griddepcontrol wait
    gpu.return
  }
}
