# Makes the imported static libMLIR*.a and libLLVM*.a usable for a static link.
#
# Debian builds MLIR with LLVM_LINK_LLVM_DYLIB, so each imported MLIR* target
# names the shared `LLVM`, and a few `MLIR`, in its link interface: one process
# would carry two copies and need 250 MB of shared libraries. libLLVMSupport.a
# names the shared zstd.

get_property(sd_imported DIRECTORY PROPERTY IMPORTED_TARGETS)
foreach(sd_target ${sd_imported})
  if(sd_target MATCHES "^(MLIR|LLVM)")
    get_target_property(sd_libraries ${sd_target} INTERFACE_LINK_LIBRARIES)
    if(sd_libraries)
      list(FILTER sd_libraries EXCLUDE REGEX "^(\\$<LINK_ONLY:)?(LLVM|MLIR)>?$")
      if(TARGET zstd::libzstd_static)
        list(TRANSFORM sd_libraries REPLACE "zstd::libzstd_shared" "zstd::libzstd_static")
      endif()
      set_target_properties(${sd_target} PROPERTIES INTERFACE_LINK_LIBRARIES "${sd_libraries}")
    endif()
  endif()
endforeach()
