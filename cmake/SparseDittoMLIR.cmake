# `sd_llvm` / `sd_mlir`: usage requirements of LLVM and MLIR, shared or static.

add_library(sd_llvm INTERFACE)
add_library(sd_mlir INTERFACE)
separate_arguments(SD_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_definitions(sd_llvm INTERFACE ${SD_LLVM_DEFINITIONS})
target_include_directories(sd_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_include_directories(sd_mlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS})
target_link_libraries(sd_mlir INTERFACE sd_llvm)

if(NOT SPARSEDITTO_STATIC)
  target_link_libraries(sd_llvm INTERFACE LLVM)
  target_link_libraries(sd_mlir INTERFACE MLIR)
else()
  include(SparseDittoStatic)
endif()
