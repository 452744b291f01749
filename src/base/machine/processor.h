// What this process may use of the machine.
#pragma once

#include <cstdint>
#include <string>

namespace anedvd {

// Threads worth running: physical cores within the affinity mask and the cgroup's CPU quota, at least 1. On macOS the performance cores.
int usable_cores();

// Memory that could be taken without swapping, in bytes: the system's estimate and the cgroup's limit, whichever is less. 0: unknown.
uint64_t available_memory();

#if defined(__linux__)
// What the memory limits of this process's control groups leave it, in bytes; UINT64_MAX without a limit. `membership` is /proc/self/cgroup, `root` where
// the groups are mounted: other files in tests.
uint64_t cgroup_memory(const std::string& membership, const std::string& root);
#endif

// Largest resident set so far of this process, in bytes.
uint64_t peak_resident_bytes();

// Asks for the cache line at p, to be written soon. A hint: processors without the instruction take it for none (every 64-bit x86 decodes it).
inline void prefetch_for_write(const void* p) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(p)));
#else
  __builtin_prefetch(p, 1);
#endif
}

}  // namespace anedvd
