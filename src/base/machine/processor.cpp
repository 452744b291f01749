#include "base/machine/processor.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include <sys/resource.h>
#include <unistd.h>
#if defined(__linux__)
#include <sched.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

#include <fmt/core.h>

namespace anedvd {

#if defined(__linux__)
namespace {

// The first number of a small file; `otherwise` when there is none.
int64_t number_in(const std::string& path, int64_t otherwise) {
  std::ifstream file(path);
  int64_t value = 0;
  return file >> value ? value : otherwise;
}

// Cores that the cgroup's quota pays for, rounded up; a large number when it has none.
int quota_cores() {
  constexpr int kUnlimited = 1 << 20;
  std::ifstream v2("/sys/fs/cgroup/cpu.max");
  std::string quota;
  int64_t period = 0;
  if (v2 >> quota >> period) {
    if (quota == "max" || period <= 0) return kUnlimited;
    return int((std::strtoll(quota.c_str(), nullptr, 10) + period - 1) / period);
  }
  const int64_t v1 = number_in("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", -1);
  const int64_t v1_period = number_in("/sys/fs/cgroup/cpu/cpu.cfs_period_us", 0);
  return v1 > 0 && v1_period > 0 ? int((v1 + v1_period - 1) / v1_period) : kUnlimited;
}

}  // namespace

int usable_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return std::max(1, int(std::thread::hardware_concurrency()));
  std::set<std::pair<int64_t, int64_t>> cores;  // (package, core): hyper-threads of one core count once
  int processors = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &mask)) continue;
    ++processors;
    const std::string topology = fmt::format("/sys/devices/system/cpu/cpu{}/topology/", cpu);
    // Without a topology every processor is a core of its own.
    cores.emplace(number_in(topology + "physical_package_id", -1), number_in(topology + "core_id", cpu));
  }
  return std::max(1, std::min({processors, int(cores.size()), quota_cores()}));
}

uint64_t available_memory() {
  std::ifstream info("/proc/meminfo");
  std::string key;
  uint64_t kilobytes = 0;
  uint64_t available = 0;
  for (std::string unit; info >> key >> kilobytes; std::getline(info, unit))
    if (key == "MemAvailable:") available = kilobytes * 1024;
  const int64_t limit = number_in("/sys/fs/cgroup/memory.max", -1);
  const int64_t used = number_in("/sys/fs/cgroup/memory.current", 0);
  if (limit > 0) available = std::min(available, uint64_t(std::max<int64_t>(0, limit - used)));
  return available;
}
#elif defined(__APPLE__)
namespace {

int64_t sysctl_number(const char* name) {
  int64_t value = 0;
  size_t size = sizeof value;
  return sysctlbyname(name, &value, &size, nullptr, 0) == 0 ? value : 0;
}

}  // namespace

int usable_cores() {
  const int performance = int(sysctl_number("hw.perflevel0.physicalcpu"));
  return std::max(1, performance > 0 ? performance : int(std::thread::hardware_concurrency()));
}

uint64_t available_memory() {
  const int64_t page = sysctl_number("hw.pagesize");
  return uint64_t((sysctl_number("vm.page_free_count") + sysctl_number("vm.page_purgeable_count")) * page);
}
#endif

uint64_t peak_resident_bytes() {
  struct rusage usage {};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return 0;
#if defined(__APPLE__)
  return uint64_t(usage.ru_maxrss);
#else
  return uint64_t(usage.ru_maxrss) * 1024;
#endif
}

}  // namespace anedvd
