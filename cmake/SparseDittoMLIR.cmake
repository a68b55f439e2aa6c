# `sd_llvm` / `sd_mlir`: usage requirements of LLVM and MLIR, shared or static.
# Their include directories belong to the LLVM installation, so an installed
# package takes them from the consumer's find_package(MLIR) instead.

add_library(sd_llvm INTERFACE)
add_library(sd_mlir INTERFACE)
set_target_properties(sd_llvm PROPERTIES EXPORT_NAME llvm)
set_target_properties(sd_mlir PROPERTIES EXPORT_NAME mlir)
separate_arguments(SD_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_definitions(sd_llvm INTERFACE ${SD_LLVM_DEFINITIONS})
foreach(dir ${LLVM_INCLUDE_DIRS})
  target_include_directories(sd_llvm SYSTEM INTERFACE $<BUILD_INTERFACE:${dir}>)
endforeach()
foreach(dir ${MLIR_INCLUDE_DIRS})
  target_include_directories(sd_mlir SYSTEM INTERFACE $<BUILD_INTERFACE:${dir}>)
endforeach()
target_link_libraries(sd_mlir INTERFACE sd_llvm)

if(NOT SPARSEDITTO_STATIC)
  target_link_libraries(sd_llvm INTERFACE LLVM)
  target_link_libraries(sd_mlir INTERFACE MLIR)
else()
  include(SparseDittoStatic)
endif()
