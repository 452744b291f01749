# Cross-build for 64-bit Arm Linux with Debian's compiler, run here by qemu's user mode: NEON kernels are executed, not only compiled.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
# Everything static: qemu then needs no Arm loader. ANEDVD_ARM_DYNAMIC=ON links as usual, for tests that open a library.
option(ANEDVD_ARM_DYNAMIC "link the Arm programs dynamically" OFF)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ANEDVD_ARM_DYNAMIC)
if(ANEDVD_ARM_DYNAMIC)
  # The C library is the multi-arch one (libc6:arm64, which brings libgcc_s but no libstdc++). qemu 7.2 hangs in the first thread with the one
  # of the cross compiler's folder. libgcc_s stays shared: an exception that leaves the stand-in's library is unwound by one copy of it, two
  # would abort on each other's frames.
  set(CMAKE_EXE_LINKER_FLAGS_INIT -static-libstdc++)
  set(CMAKE_SHARED_LINKER_FLAGS_INIT -static-libstdc++)
else()
  set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
endif()
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
set(CMAKE_LIBRARY_PATH /usr/lib/aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig)
