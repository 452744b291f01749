# Warnings, sanitizers and tools that every target shares.

add_library(anedvd_options INTERFACE)
target_compile_options(anedvd_options INTERFACE
  -Wall -Wextra -Wconversion -Wno-sign-conversion -Wshadow -Werror
  # -ffast-math would let the compiler pick a summation order; every order here is a decision (performance design, invariance rule).
  -fno-math-errno -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 reports overlaps inside std::string::operator+ that cannot happen (gcc.gnu.org bug 105651).
  target_compile_options(anedvd_options INTERFACE -Wno-restrict)
endif()
if(ANEDVD_SANITIZE)
  target_compile_options(anedvd_options INTERFACE -fsanitize=${ANEDVD_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(anedvd_options INTERFACE -fsanitize=${ANEDVD_SANITIZE})
  # What the sanitizers put in confuses this warning of g++ (its manual says so); the release build keeps it.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(anedvd_options INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()
if(ANEDVD_COVERAGE)
  target_compile_options(anedvd_options INTERFACE --coverage)
  target_link_options(anedvd_options INTERFACE --coverage)
endif()

find_package(Threads REQUIRED)
target_link_libraries(anedvd_options INTERFACE Threads::Threads)

find_program(ANEDVD_CCACHE ccache)
if(ANEDVD_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${ANEDVD_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ANEDVD_CCACHE})
endif()
find_program(ANEDVD_MOLD mold)
if(ANEDVD_MOLD AND NOT APPLE AND NOT CMAKE_CROSSCOMPILING)
  # g++ 12 knows -fuse-ld=mold; clang too.
  target_link_options(anedvd_options INTERFACE -fuse-ld=mold)
endif()
