// What `anedvd probe --export` found on a machine, as a profile of the simulator: it becomes as faithful as the last machine that was probed.
#pragma once

#include <string_view>

#include "ane/sim/profile.h"

namespace anedvd {

// The text of an exported file. Probes that are absent, failed or say nothing usable leave the default profile as it is.
// Error kBadFile: not an object with a list "probes"; `where` names the file.
Result<sim::Profile> profile_of_probes(std::string_view text, std::string_view where);

}  // namespace anedvd
