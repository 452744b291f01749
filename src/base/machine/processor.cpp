#include "base/machine/processor.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
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

// What a group of processes may still take: its limit less what it holds, pages of files not counted, which go when memory is wanted.
uint64_t left_in_group(const std::filesystem::path& folder, const char* limit_name, const char* used_name,
                       std::string_view file_keys) {
  constexpr int64_t kNoLimit = int64_t(1) << 60;  // version 1 writes a number as large
  const int64_t limit = number_in((folder / limit_name).string(), -1);
  if (limit <= 0 || limit >= kNoLimit) return UINT64_MAX;
  int64_t held = number_in((folder / used_name).string(), 0);
  std::ifstream statistics(folder / "memory.stat");
  std::string key;
  for (int64_t bytes = 0; statistics >> key >> bytes;)
    if (file_keys.find(" " + key + " ") != std::string_view::npos) held -= bytes;
  return uint64_t(std::clamp<int64_t>(limit - held, 0, limit));
}

}  // namespace

// Formats: Documentation/admin-guide/cgroup-v1/memory.rst and cgroup-v2.rst of Linux.
uint64_t cgroup_memory(const std::string& membership, const std::string& root) {
  uint64_t left = UINT64_MAX;
  std::ifstream groups(membership);
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool is_v2 = controllers.empty();
    if (!is_v2 && ("," + controllers + ",").find(",memory,") == std::string::npos) continue;
    const std::filesystem::path top = is_v2 ? root : root + "/memory";
    std::filesystem::path group = top / std::filesystem::path(line.substr(second + 1)).relative_path();
    // Each group above counts, too. In a container the path may be the host's, and only the top is there.
    while (true) {
      left = std::min(left, is_v2 ? left_in_group(group, "memory.max", "memory.current", " active_file inactive_file ")
                                  : left_in_group(group, "memory.limit_in_bytes", "memory.usage_in_bytes",
                                                  " total_active_file total_inactive_file "));
      if (group.string().size() <= top.string().size()) break;
      group = group.parent_path();
    }
  }
  return left;
}

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
  return std::min(available, cgroup_memory("/proc/self/cgroup", "/sys/fs/cgroup"));
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
