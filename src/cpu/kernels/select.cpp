#include "cpu/kernels/select.h"

#include <cstdlib>
#include <string>

#include "cpu/kernels/amx/support.h"

#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace anedvd {
namespace {

#if defined(ANEDVD_HAS_ARM_I8MM)
bool has_i8mm() {
#if defined(__APPLE__)
  int has = 0;
  size_t bytes = sizeof has;
  return ::sysctlbyname("hw.optional.arm.FEAT_I8MM", &has, &bytes, nullptr, 0) == 0 && has != 0;
#else
  return (::getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0;
#endif
}
#endif

}  // namespace

std::vector<const KernelTable*> available_kernels() {
  std::vector<const KernelTable*> levels = {scalar_kernels()};
#if defined(__x86_64__)
  // __builtin_cpu_supports asks CPUID and XGETBV: an operating system that does not save the registers counts as a processor without them.
  __builtin_cpu_init();
#if defined(ANEDVD_HAS_X86_AVX2)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx2) levels.push_back(avx2_kernels());
#endif
#if defined(ANEDVD_HAS_X86_AVX512)
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx512) levels.push_back(avx512_kernels());
#endif
#if defined(ANEDVD_HAS_X86_VNNI)
  const bool vnni = avx512 && __builtin_cpu_supports("avx512vnni");
  if (vnni) levels.push_back(vnni_kernels());
#if defined(ANEDVD_HAS_X86_AMX)
  if (vnni && why_no_amx() == nullptr) levels.push_back(amx_kernels());
#endif
#endif
#endif
#if defined(ANEDVD_HAS_ARM_NEON)
  levels.push_back(neon_kernels());
#endif
#if defined(ANEDVD_HAS_ARM_DOTPROD)
#if defined(__APPLE__)
  levels.push_back(dotprod_kernels());  // every Apple silicon Mac has it
#else
  if ((::getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0) levels.push_back(dotprod_kernels());
#endif
#endif
#if defined(ANEDVD_HAS_ARM_I8MM)
  if (has_i8mm()) levels.push_back(i8mm_kernels());
#endif
  return levels;
}

Result<const KernelTable*> select_kernels() {
  const std::vector<const KernelTable*> levels = available_kernels();
  const char* wanted = std::getenv("ANEDVD_SIMD");
  if (wanted == nullptr || *wanted == '\0') return levels.back();
  std::string known;
  for (const KernelTable* level : levels) {
    if (std::string_view(wanted) == level->name) return level;
    known += known.empty() ? level->name : std::string(", ") + level->name;
  }
  const char* why = std::string_view(wanted) == "amx" ? why_no_amx() : nullptr;
  return fail(ErrorCode::kUsage, "ANEDVD_SIMD={}: {}; it has {}", wanted,
              why != nullptr ? why : "not a level of this processor", known);
}

}  // namespace anedvd
