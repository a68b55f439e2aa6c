# Wrappers used by every directory below lib/, tools/ and unittests/.

set(SD_WARNING_FLAGS -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers)
# GCC 12 warns falsely about "literal" + std::string (its bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND SD_WARNING_FLAGS -Wno-restrict)
endif()
if(SPARSEDITTO_WERROR)
  list(APPEND SD_WARNING_FLAGS -Werror)
endif()

# Include directories and compile flags common to all our targets.
function(sd_configure_target target)
  target_compile_options(${target} PRIVATE ${SD_WARNING_FLAGS}
    $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>)
  target_compile_features(${target} PUBLIC cxx_std_20)
endfunction()

# sd_add_library(SparseDittoIO A.cpp B.cpp LINK_LIBS sd_llvm ZLIB::ZLIB DEPENDS tablegen-target)
function(sd_add_library name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  sd_configure_target(${name})
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:include>)
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  string(REGEX REPLACE "^SparseDitto" "" export_name ${name})
  set_target_properties(${name} PROPERTIES EXPORT_NAME ${export_name})
  add_library(SparseDitto::${export_name} ALIAS ${name})
  set_property(GLOBAL APPEND PROPERTY SD_LIBRARIES ${name})
endfunction()

# sd_add_tool(sd-opt sd-opt.cpp LINK_LIBS ...)
function(sd_add_tool name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  sd_configure_target(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS})
  set_property(GLOBAL APPEND PROPERTY SD_TOOLS ${name})
endfunction()

# sd_add_unittest(IOTests A.cpp LINK_LIBS SparseDittoIO): one GoogleTest binary
# a directory, found by lit through its name (*Tests).
function(sd_add_unittest name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  sd_configure_target(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} GTest::gtest GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/unittests)
  set_property(GLOBAL APPEND PROPERTY SD_UNITTESTS ${name})
endfunction()
