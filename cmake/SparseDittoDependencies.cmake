# Finds LLVM/MLIR 22.1 and the small libraries, and defines the interface
# targets `sd_llvm` and `sd_mlir` that every library of ours links.

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

# One MLIR per process: everything links libMLIR.so unless a static binary is
# asked for, and then the small libraries are static as well.
if(SPARSEDITTO_STATIC)
  set(ZLIB_USE_STATIC_LIBS ON)
  set(Boost_USE_STATIC_LIBS ON)
else()
  set(MLIR_LINK_MLIR_DYLIB ON)
endif()
find_package(ZLIB REQUIRED)
find_package(Threads REQUIRED)
find_package(Boost 1.74 REQUIRED COMPONENTS context)
# Headers alone: libcurl is opened at run time, see lib/Agent/LLM/Curl.h.
find_package(CURL 7.66 REQUIRED)
find_package(nlohmann_json 3.9 REQUIRED)
find_package(MLIR 22.1 REQUIRED CONFIG PATHS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
set(LLVM_RUNTIME_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/bin)
set(LLVM_LIBRARY_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/lib)
include(TableGen)
include(AddLLVM)
include(AddMLIR)
# Picks up the code generation flags of the packages. Our own warning flags are
# set per target (SparseDittoUtils), and the -w that comes with
# LLVM_ENABLE_WARNINGS=OFF would silence them.
set(LLVM_ENABLE_WARNINGS OFF)
include(HandleLLVMOptions)
foreach(flags CMAKE_C_FLAGS CMAKE_CXX_FLAGS)
  string(REGEX REPLACE "(^| )-w( |$)" " " ${flags} "${${flags}}")
endforeach()

if(SPARSEDITTO_SANITIZE)
  add_compile_options(-fsanitize=${SPARSEDITTO_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${SPARSEDITTO_SANITIZE})
  # Clang's check of calls through pointers reads the word before the callee.
  # What the emulator compiles has none, and may start a mapping.
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    add_compile_options(-fno-sanitize=function)
  endif()
endif()

include(SparseDittoMLIR)
