# The layer table: the source of truth for what may include what.
#
#   anedvd_layer(NAME USES lower layers… [LINKS system libraries…])
#
# makes the static library anedvd_NAME from src/NAME/**.cpp. Its include root holds only itself (build/include/NAME/NAME is a link to
# src/NAME), and a target sees only the roots of the layers it uses: an include that skips the table does not compile.
# tools/check_layers.py reads the same lines and refuses what CMake cannot see ("../x", an unused USES).

function(anedvd_layer name)
  cmake_parse_arguments(LAYER "" "" "USES;LINKS" ${ARGN})
  set(root ${CMAKE_BINARY_DIR}/include/${name})
  file(MAKE_DIRECTORY ${root})
  if(NOT EXISTS ${root}/${name})
    file(CREATE_LINK ${CMAKE_SOURCE_DIR}/src/${name} ${root}/${name} SYMBOLIC)
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/cli/main\\.cpp$")
  # Kernels of other processors: cmake/kernels.cmake adds those that this one can run.
  list(FILTER sources EXCLUDE REGEX "/cpu/kernels/(x86|arm)_[a-z0-9]+\\.cpp$")
  if(sources)
    add_library(anedvd_${name} STATIC ${sources})
    target_include_directories(anedvd_${name} PUBLIC ${root})
    target_link_libraries(anedvd_${name} PRIVATE anedvd_options ${LAYER_LINKS})
    set(visibility PUBLIC)
  else()
    add_library(anedvd_${name} INTERFACE)
    target_include_directories(anedvd_${name} INTERFACE ${root})
    set(visibility INTERFACE)
  endif()
  foreach(used ${LAYER_USES})
    target_link_libraries(anedvd_${name} ${visibility} anedvd_${used})
  endforeach()
endfunction()

find_package(PkgConfig REQUIRED)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)

anedvd_layer(base)
anedvd_layer(tensor   USES base)
anedvd_layer(formats  USES tensor)
anedvd_layer(text     USES formats LINKS PkgConfig::UTF8PROC PkgConfig::PCRE2)
anedvd_layer(sampling USES base)
anedvd_layer(device   USES tensor)
anedvd_layer(kv       USES device)
anedvd_layer(model    USES device formats)
anedvd_layer(cpu      USES device)
anedvd_layer(ane      USES device)
anedvd_layer(engine   USES model cpu kv sampling text)
anedvd_layer(convert  USES model text)
anedvd_layer(api      USES engine)
anedvd_layer(http     USES api)
anedvd_layer(cli      USES engine ane http convert LINKS PkgConfig::UTF8PROC)

if(EXISTS ${CMAKE_SOURCE_DIR}/src/cli/main.cpp)
add_executable(anedvd ${CMAKE_SOURCE_DIR}/src/cli/main.cpp)
target_link_libraries(anedvd PRIVATE anedvd_cli anedvd_options)
endif()
