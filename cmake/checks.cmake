# Every header compiles by itself: one generated translation unit a header, seen with the include roots of its own layer only.
# `ninja check_headers` builds them; nothing else does. Included twice, so that a missing #pragma once shows too.

add_custom_target(check_headers)

file(GLOB layers RELATIVE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/src/*)
foreach(layer ${layers})
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/src/${layer}/*.h)
  # Kernel headers are made for the flags of one instruction set: the units that include them compile them.
  list(FILTER headers EXCLUDE REGEX "^cpu/kernels/(x86|arm|simd)")
  if(NOT headers OR NOT TARGET anedvd_${layer})
    continue()
  endif()
  set(units)
  foreach(header ${headers})
    set(unit ${CMAKE_BINARY_DIR}/headers/${header}.cpp)
    file(CONFIGURE OUTPUT ${unit} CONTENT "#include \"${header}\"\n#include \"${header}\"\n" @ONLY)
    list(APPEND units ${unit})
  endforeach()
  add_library(anedvd_headers_${layer} OBJECT EXCLUDE_FROM_ALL ${units})
  target_link_libraries(anedvd_headers_${layer} PRIVATE anedvd_${layer} anedvd_options)
  # Only whether they compile matters, not what comes out.
  target_compile_options(anedvd_headers_${layer} PRIVATE -O0 -g0)
  add_dependencies(check_headers anedvd_headers_${layer})
endforeach()

# Every fuzz target once over its seeds, whatever the compiler: a finding that was added to the corpus stays a test.
if(ANEDVD_TESTS)
  file(GLOB targets CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fuzz/*_fuzz.cpp)
  foreach(target ${targets})
    get_filename_component(name ${target} NAME_WE)
    string(REGEX REPLACE "_fuzz$" "" name ${name})
    add_executable(${name}_replay ${target} ${CMAKE_SOURCE_DIR}/fuzz/replay_main.cpp)
    target_link_libraries(${name}_replay PRIVATE anedvd_cli anedvd_ane anedvd_options)
    add_test(NAME ${name}_seeds COMMAND ${name}_replay ${CMAKE_SOURCE_DIR}/fuzz/corpus/${name})
  endforeach()
endif()
