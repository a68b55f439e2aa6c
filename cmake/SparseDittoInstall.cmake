# Install rules, and find_package(SparseDitto) for the build and install trees.
#
# Libraries are exported as SparseDitto::<Name> (SparseDittoIO as SparseDitto::IO).

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(SD_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/SparseDitto)

get_property(sd_libraries GLOBAL PROPERTY SD_LIBRARIES)
get_property(sd_tools GLOBAL PROPERTY SD_TOOLS)
install(TARGETS ${sd_libraries} sd_llvm sd_mlir EXPORT SparseDittoTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(sd_tools)
  # libMLIR.so is not on the loader's default path.
  if(NOT SPARSEDITTO_STATIC)
    set_target_properties(${sd_tools} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  endif()
  install(TARGETS ${sd_tools} EXPORT SparseDittoTargets
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/sparseditto
  ${PROJECT_BINARY_DIR}/include/sparseditto
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.inc"
  PATTERN "CMakeFiles" EXCLUDE)

# One template serves both trees: it finds everything from its own location.
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/SparseDittoConfig.cmake.in
  ${PROJECT_BINARY_DIR}/lib/cmake/SparseDitto/SparseDittoConfig.cmake
  INSTALL_DESTINATION ${SD_PACKAGE_DIR}
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/lib/cmake/SparseDitto/SparseDittoConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
configure_file(${PROJECT_SOURCE_DIR}/cmake/SparseDittoStripDylib.cmake
  ${PROJECT_BINARY_DIR}/lib/cmake/SparseDitto/SparseDittoStripDylib.cmake COPYONLY)
install(FILES
  ${PROJECT_BINARY_DIR}/lib/cmake/SparseDitto/SparseDittoConfig.cmake
  ${PROJECT_BINARY_DIR}/lib/cmake/SparseDitto/SparseDittoConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/SparseDittoStripDylib.cmake
  DESTINATION ${SD_PACKAGE_DIR})
install(EXPORT SparseDittoTargets NAMESPACE SparseDitto:: DESTINATION ${SD_PACKAGE_DIR})
export(EXPORT SparseDittoTargets NAMESPACE SparseDitto::
  FILE ${PROJECT_BINARY_DIR}/lib/cmake/SparseDitto/SparseDittoTargets.cmake)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
