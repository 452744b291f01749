# Cross-build for 64-bit Arm Macs with the clang, libc++ and system stubs that come with zig; nothing of an Apple SDK.
#
#   pip install ziglang && cmake/zig/dependencies.sh && cmake --preset macos-zig && ninja -C build-macos-zig anedvd
#
# zig has a stub of libSystem only, which is all we link: the frameworks are opened when the program runs.
set(ZIG_TARGET aarch64-macos.13.0 CACHE STRING "zig's name of processor, system and lowest version of it")
set(ANEDVD_ZIG_PREFIX ${CMAKE_CURRENT_LIST_DIR}/../build-macos-zig-dependencies CACHE PATH "what cmake/zig/dependencies.sh made")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ZIG_TARGET ANEDVD_ZIG_PREFIX)

set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_VERSION 22)
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR "${ZIG_TARGET}")
# Empty, or CMake adds -isysroot, -arch and -mmacosx-version-min: the target's name says it all.
set(CMAKE_OSX_SYSROOT "" CACHE STRING "")
set(CMAKE_OSX_DEPLOYMENT_TARGET "" CACHE STRING "")
set(CMAKE_OSX_ARCHITECTURES "" CACHE STRING "")
set(CMAKE_INSTALL_NAME_TOOL /bin/true CACHE FILEPATH "")

set(tools ${CMAKE_CURRENT_LIST_DIR}/zig)
set(CMAKE_C_COMPILER ${tools}/zig-cc)
set(CMAKE_CXX_COMPILER ${tools}/zig-c++)
set(CMAKE_C_COMPILER_TARGET ${ZIG_TARGET})
set(CMAKE_CXX_COMPILER_TARGET ${ZIG_TARGET})
set(CMAKE_AR ${tools}/zig-ar CACHE FILEPATH "")
set(CMAKE_RANLIB ${tools}/zig-ranlib CACHE FILEPATH "")
# One level of optimisation for everything: zig builds its libc++ once for each.
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "")
# Also for the tests of CMake itself, which would use an unoptimised libc++ otherwise.
set(CMAKE_TRY_COMPILE_CONFIGURATION Release)
# Header-only libraries are copies: /usr/include itself would put glibc's headers before Apple's.
set(CMAKE_CXX_FLAGS_INIT "-isystem ${ANEDVD_ZIG_PREFIX}/include")

set(CMAKE_FIND_ROOT_PATH ${ANEDVD_ZIG_PREFIX})
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(ENV{PKG_CONFIG_LIBDIR} ${ANEDVD_ZIG_PREFIX}/lib/pkgconfig)
# zig keeps what it compiled by itself.
set(ANEDVD_CCACHE OFF CACHE STRING "")
