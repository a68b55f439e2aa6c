# Finds LLVM/MLIR 22.1 and the small libraries, and defines the interface
# targets `sd_llvm` and `sd_mlir` that every library of ours links.

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

find_package(MLIR 22.1 REQUIRED CONFIG PATHS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
set(LLVM_RUNTIME_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/bin)
set(LLVM_LIBRARY_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/lib)
# One MLIR per process: everything links libMLIR.so unless a static binary is asked for.
if(NOT SPARSEDITTO_STATIC)
  set(MLIR_LINK_MLIR_DYLIB ON)
endif()
include(TableGen)
include(AddLLVM)
include(AddMLIR)
# Picks up -fno-exceptions and the RTTI state of the packages; its warning
# flags are set per target in sd_add_library instead.
set(LLVM_ENABLE_WARNINGS OFF)
include(HandleLLVMOptions)

find_package(ZLIB REQUIRED)
find_package(Threads REQUIRED)
include(SparseDittoMLIR)
