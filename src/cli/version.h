// The version that --version prints and files carry. The same as in CMakeLists.txt (tests/cli/acceptance_test.py compares).
#pragma once

#include <string_view>

namespace anedvd {

constexpr std::string_view kVersion = "0.1.0";

}  // namespace anedvd
