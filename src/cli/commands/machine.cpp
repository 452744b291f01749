#include "cli/commands/machine.h"

#include <algorithm>

#include <sys/utsname.h>
#include <unistd.h>

#include "base/machine/processor.h"
#include "base/words.h"
#include "cpu/kernels/select.h"

namespace anedvd {
namespace {

std::string system_words() {
  utsname name = {};
  if (uname(&name) != 0) return "unknown system";
  const std::string machine = name.machine;
  return fmt::format("{} {}", std::string_view(name.sysname) == "Darwin" ? "macOS" : name.sysname,
                     machine == "x86_64" ? "x86-64" : machine);
}

}  // namespace

Machine this_machine() {
  Machine machine;
  machine.system = system_words();
  machine.cores = usable_cores();
  machine.memory_bytes = uint64_t(std::max(0L, sysconf(_SC_PHYS_PAGES))) * uint64_t(sysconf(_SC_PAGESIZE));
  machine.memory_free_bytes = available_memory();
  const auto kernels = select_kernels();
  machine.simd = kernels ? (*kernels)->words : kernels.error().message;
  return machine;
}

std::string parameter_words(int64_t parameters) {
  const double count = double(parameters);
  if (count >= 999.5e6) return three_digits(count / 1e9) + "B";
  if (count >= 999.5e3) return three_digits(count / 1e6) + "M";
  return with_commas(parameters);
}

}  // namespace anedvd
