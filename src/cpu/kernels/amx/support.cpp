#include "cpu/kernels/amx/support.h"

#include <cstdint>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace anedvd {
namespace {

#if defined(__x86_64__) && defined(__linux__)

constexpr const char* kMissing = "this processor has no AMX tiles for int8";

// Linux: Documentation/arch/x86/xstate.rst. Component 18 of the extended state is the tiles' data.
constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
constexpr long kTileData = 18;

const char* ask() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0) return kMissing;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return kMissing;
  constexpr unsigned kAmxTile = 1u << 24, kAmxInt8 = 1u << 25;
  if ((d & kAmxTile) == 0 || (d & kAmxInt8) == 0) return kMissing;
  uint32_t enabled = 0, high = 0;
  asm volatile("xgetbv" : "=a"(enabled), "=d"(high) : "c"(0));
  constexpr uint32_t kTileState = 3u << 17;
  if ((enabled & kTileState) != kTileState) return "the system does not keep the processor's AMX tiles";
  if (::syscall(SYS_arch_prctl, kRequestPermission, kTileData) != 0) return "the system refuses the AMX tiles";
  return nullptr;
}

#else

const char* ask() { return "AMX tiles are used on x86-64 Linux only"; }

#endif

}  // namespace

const char* why_no_amx() {
  static const char* const kAnswer = ask();
  return kAnswer;
}

}  // namespace anedvd
