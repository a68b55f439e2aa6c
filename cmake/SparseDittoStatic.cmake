# Static link of MLIR and LLVM (SPARSEDITTO_STATIC=ON).
#
# Debian builds MLIR with LLVM_LINK_LLVM_DYLIB, so each static libMLIR*.a target
# still names the shared `LLVM` in its link interface. Strip it, or the result
# needs the 150 MB libLLVM.so at run time.
get_property(sd_imported DIRECTORY PROPERTY IMPORTED_TARGETS)
foreach(t ${sd_imported})
  if(t MATCHES "^MLIR")
    get_target_property(l ${t} INTERFACE_LINK_LIBRARIES)
    if(l)
      list(REMOVE_ITEM l LLVM)
      set_target_properties(${t} PROPERTIES INTERFACE_LINK_LIBRARIES "${l}")
    endif()
  endif()
endforeach()
get_property(sd_dialect_libs GLOBAL PROPERTY MLIR_DIALECT_LIBS)
get_property(sd_conversion_libs GLOBAL PROPERTY MLIR_CONVERSION_LIBS)
get_property(sd_extension_libs GLOBAL PROPERTY MLIR_EXTENSION_LIBS)
get_property(sd_translation_libs GLOBAL PROPERTY MLIR_TRANSLATION_LIBS)
target_link_libraries(sd_mlir INTERFACE MLIROptLib ${sd_dialect_libs}
  ${sd_conversion_libs} ${sd_extension_libs} ${sd_translation_libs} MLIRNVVMTarget MLIRGPUToNVVMTransforms)
llvm_map_components_to_libnames(sd_llvm_libs Support Core NVPTX X86 IRReader Passes
  Linker BitWriter OrcJIT FrontendOpenMP)
target_link_libraries(sd_llvm INTERFACE ${sd_llvm_libs})
add_link_options(-Wl,--gc-sections -static-libstdc++ -static-libgcc -Wl,--as-needed)
