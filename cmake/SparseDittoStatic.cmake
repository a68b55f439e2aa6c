# Static link of MLIR and LLVM (SPARSEDITTO_STATIC=ON).

if(NOT TARGET zstd::libzstd_static)
  message(FATAL_ERROR "SPARSEDITTO_STATIC needs the static zstd library (Debian: libzstd-dev)")
endif()
include(SparseDittoStripDylib)

foreach(kind DIALECT CONVERSION EXTENSION TRANSLATION)
  get_property(sd_libraries GLOBAL PROPERTY MLIR_${kind}_LIBS)
  list(FILTER sd_libraries EXCLUDE REGEX "Test")
  target_link_libraries(sd_mlir INTERFACE ${sd_libraries})
endforeach()
target_link_libraries(sd_mlir INTERFACE
  MLIROptLib MLIRNVVMTarget MLIRGPUToNVVMTransforms
  MLIRRegisterAllDialects MLIRRegisterAllExtensions MLIRRegisterAllPasses)
# A few MLIR passes name every target; an archive costs nothing unless referenced.
llvm_map_components_to_libnames(sd_llvm_libs
  Support Core IRReader Passes Linker BitWriter OrcJIT FrontendOpenMP
  AllTargetsAsmParsers AllTargetsCodeGens AllTargetsDescs AllTargetsInfos)
target_link_libraries(sd_llvm INTERFACE ${sd_llvm_libs})

# ld.bfd needs minutes and gigabytes for this link; lld needs a second.
find_program(SD_LLD NAMES ld.lld HINTS ${LLVM_TOOLS_BINARY_DIR})
if(SD_LLD)
  # -B lets g++ find this ld.lld under the name that -fuse-ld=lld looks for.
  get_filename_component(sd_lld_dir ${SD_LLD} DIRECTORY)
  add_link_options(-fuse-ld=lld -B${sd_lld_dir})
endif()
add_link_options(-Wl,--gc-sections -Wl,--as-needed -static-libstdc++ -static-libgcc)
