// Clocks, machine facts, signals, error numbers and libraries.
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <dlfcn.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include "imports.h"

namespace machrun {

int mac_error(int here) {
  struct Pair {
    int here, mac;
  };
  // Numbers above 34 differ; those below agree but for EAGAIN.
  static constexpr Pair kPairs[] = {
      {EAGAIN, 35},     {EINPROGRESS, 36}, {EALREADY, 37},  {ENOTSOCK, 38},     {EADDRINUSE, 48}, {EADDRNOTAVAIL, 49},
      {ECONNRESET, 54}, {ENOTCONN, 57},    {ETIMEDOUT, 60}, {ECONNREFUSED, 61}, {ELOOP, 62},      {ENAMETOOLONG, 63},
      {ENOTEMPTY, 66},  {EDEADLK, 11},     {ENOSYS, 78},    {EOVERFLOW, 84},    {ENOTSUP, 45}};
  for (const Pair& pair : kPairs)
    if (pair.here == here) return pair.mac;
  return here;
}

int signal_of(int mac) {
  switch (mac) {
    case 10: return SIGBUS;
    case 16: return SIGURG;
    case 17: return SIGSTOP;
    case 18: return SIGTSTP;
    case 19: return SIGCONT;
    case 20: return SIGCHLD;
    case 30: return SIGUSR1;
    case 31: return SIGUSR2;
    default: return mac;
  }
}

std::string& executable() {
  static std::string path;
  return path;
}

namespace {

// The program also writes here (errno = 0), so what a call left is taken over once: a later call may fail with the same number.
int* error_place() {
  constexpr int kTaken = 4095;
  static thread_local int mac;
  if (errno != kTaken) mac = mac_error(errno);
  errno = kTaken;
  return &mac;
}
int error_words(int error, char* out, size_t bytes) {
  std::snprintf(out, bytes, "error %d", error);
  return 0;
}

int clock_of(int mac) {
  return mac == 0    ? CLOCK_REALTIME
         : mac == 12 ? CLOCK_PROCESS_CPUTIME_ID
         : mac == 16 ? CLOCK_THREAD_CPUTIME_ID
                     : CLOCK_MONOTONIC;
}
int clock_now(int clock, timespec* out) { return ::clock_gettime(clock_of(clock), out); }
uint64_t ticks() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1'000'000'000u + uint64_t(now.tv_nsec);
}
int ticks_are_nanoseconds(uint32_t* ratio) {
  ratio[0] = ratio[1] = 1;
  return 0;
}

// What the emulated processor has, so that kernels are chosen as on a Mac with the same.
int64_t processor_has(const char* name) {
  const unsigned long low = ::getauxval(AT_HWCAP), high = ::getauxval(AT_HWCAP2);
  if (std::strcmp(name, "FEAT_DotProd") == 0) return int64_t((low >> 20) & 1);
  if (std::strcmp(name, "FEAT_FP16") == 0) return int64_t((low >> 10) & 1);
  if (std::strcmp(name, "FEAT_I8MM") == 0) return int64_t((high >> 13) & 1);
  if (std::strcmp(name, "FEAT_BF16") == 0) return int64_t((high >> 14) & 1);
  return 0;
}

int sysctl_by_name(const char* name, void* out, size_t* bytes, void*, size_t) {
  int64_t value = -1;
  constexpr const char* kFeature = "hw.optional.arm.";
  if (std::strcmp(name, "hw.memsize") == 0) value = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  if (std::strcmp(name, "hw.pagesize") == 0) value = sysconf(_SC_PAGESIZE);
  if (std::strcmp(name, "vm.page_free_count") == 0) value = sysconf(_SC_AVPHYS_PAGES);
  for (const char* each : {"hw.ncpu", "hw.logicalcpu", "hw.physicalcpu", "hw.perflevel0.physicalcpu"})
    if (std::strcmp(name, each) == 0) value = sysconf(_SC_NPROCESSORS_ONLN);
  if (std::strncmp(name, kFeature, std::strlen(kFeature)) == 0) value = processor_has(name + std::strlen(kFeature));
  if (value < 0 || out == nullptr || bytes == nullptr) {
    errno = ENOENT;
    return -1;
  }
  *bytes = *bytes >= 8 ? 8 : 4;
  std::memcpy(out, &value, *bytes);
  return 0;
}

long sysconf_mac(int name) {
  switch (name) {
    case 29: return 16384;  // _SC_PAGESIZE: a Mac's pages
    case 57:
    case 58: return sysconf(_SC_NPROCESSORS_ONLN);
    case 200: return sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) / 16384;
    default: return -1;
  }
}

using Handler = void (*)(int);
Handler signal_mac(int signal, Handler handler) { return ::signal(signal_of(signal), handler); }
int raise_mac(int signal) { return ::raise(signal_of(signal)); }
int kill_mac(pid_t process, int signal) { return ::kill(process, signal_of(signal)); }

struct MacAction {
  Handler handler;
  uint32_t mask;
  int flags;
};
int sigaction_mac(int signal, const MacAction* given, MacAction* before) {
  struct sigaction wanted {
  }, old{};
  if (given != nullptr) {
    wanted.sa_handler = given->handler;
    wanted.sa_flags = (given->flags & 2) != 0 ? SA_RESTART : 0;
  }
  const int result = ::sigaction(signal_of(signal), given != nullptr ? &wanted : nullptr, &old);
  if (before != nullptr) *before = {old.sa_handler, 0, (old.sa_flags & SA_RESTART) != 0 ? 2 : 0};
  return result;
}
int sigempty_mac(uint32_t* mask) {
  *mask = 0;
  return 0;
}

// Apple's libraries do not exist here: the program must find that out by itself.
void* open_library(const char* path, int flags) {
  return ::dlopen(path, (flags & 1) != 0 ? RTLD_LAZY : RTLD_NOW | RTLD_GLOBAL);
}

int executable_path(char* out, uint32_t* bytes) {
  const std::string& path = executable();
  if (path.size() >= *bytes) {
    *bytes = uint32_t(path.size() + 1);
    return -1;
  }
  std::memcpy(out, path.c_str(), path.size() + 1);
  return 0;
}

template <int Bytes>
void fill_pattern(void* to, const void* pattern, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) static_cast<char*>(to)[i] = static_cast<const char*>(pattern)[i % Bytes];
}
void zero(void* to, size_t bytes) { std::memset(to, 0, bytes); }

}  // namespace

void add_system(Table& table) {
  put(table, "___error", error_place);
  put(table, "_strerror_r", error_words);
  put(table, "_clock_gettime", clock_now);
  put(table, "_mach_absolute_time", ticks);
  put(table, "_mach_timebase_info", ticks_are_nanoseconds);
  put(table, "_sysctlbyname", sysctl_by_name);
  put(table, "_sysconf", sysconf_mac);
  put(table, "_signal", signal_mac);
  put(table, "_raise", raise_mac);
  put(table, "_kill", kill_mac);
  put(table, "_sigaction", sigaction_mac);
  put(table, "_sigemptyset", sigempty_mac);
  put(table, "_dlopen", open_library);
  put(table, "__NSGetExecutablePath", executable_path);
  put(table, "_bzero", zero);
  put(table, "___bzero", zero);
  put(table, "_memset_pattern4", fill_pattern<4>);
  put(table, "_memset_pattern8", fill_pattern<8>);
  put(table, "_memset_pattern16", fill_pattern<16>);
}

}  // namespace machrun
