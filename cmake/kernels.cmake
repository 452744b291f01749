# SIMD kernels: one translation unit a level, each with its own flags, chosen at run time (src/cpu/kernels/select.cpp).
# The baseline of everything else stays the compiler's default, so the program starts on any processor of its architecture.

function(anedvd_kernel level)
  set(file ${CMAKE_SOURCE_DIR}/src/cpu/kernels/${level}.cpp)
  if(EXISTS ${file})
    target_sources(anedvd_cpu PRIVATE ${file})
    string(REPLACE ";" " " flags "${ARGN}")
    set_source_files_properties(${file} PROPERTIES COMPILE_FLAGS "${flags}")
    string(TOUPPER ${level} upper)
    target_compile_definitions(anedvd_cpu PRIVATE ANEDVD_HAS_${upper})
  endif()
endfunction()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  # GCC 12 reports the undefined operands inside its own AVX-512 headers (gcc.gnu.org bug 105593).
  set(quiet -Wno-uninitialized -Wno-maybe-uninitialized)
  # The frames that GCC 12 takes from the address sanitizer's fake stack are not aligned for its own AVX-512 stores (bug 110027).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND ANEDVD_SANITIZE MATCHES "address")
    list(APPEND quiet --param=asan-use-after-return=0)
  endif()
  anedvd_kernel(x86_avx2 -mavx2 -mfma -mf16c)
  anedvd_kernel(x86_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c ${quiet})
  anedvd_kernel(x86_vnni -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mfma -mf16c ${quiet})
  # Its tile instructions are written out, so the compiler needs no flag for them.
  anedvd_kernel(x86_amx -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mfma -mf16c ${quiet})
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  anedvd_kernel(arm_neon)
  if(APPLE)
    anedvd_kernel(arm_dotprod)  # every Apple silicon Mac has both, and its compilers take that as the least
    anedvd_kernel(arm_i8mm -Xclang -target-feature -Xclang +i8mm)  # M2 and later
  else()
    anedvd_kernel(arm_dotprod -march=armv8.2-a+dotprod+fp16)
    anedvd_kernel(arm_i8mm -march=armv8.2-a+dotprod+fp16+i8mm)
  endif()
endif()
