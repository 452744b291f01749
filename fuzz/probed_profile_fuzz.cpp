#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cli/commands/device/probed_profile.h"

// A file of `anedvd probe --export` from anywhere: refused in words, or a profile whose numbers make sense.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto profile = anedvd::profile_of_probes({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (profile && (profile->max_weight_tensors < 1 || !(profile->cost.launch_us > 0) || !(profile->cost.far_gb_s > 0)))
    __builtin_trap();
  return 0;
}
