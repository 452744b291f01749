// The project's own checks of an OpenAI and Anthropic compatible server, for any server: each asks and says what was wrong.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/conform/http_call.h"

namespace anedvd {

struct ConformTarget {
  ServerAddress address;
  std::string key;    // empty: none is sent
  std::string model;  // empty: the first that the server lists
};

struct ConformCheck {
  std::string_view name;
  // Empty: all is well. Otherwise what is not.
  std::string (*run)(const ConformTarget& target);
};

const std::vector<ConformCheck>& conform_checks();

}  // namespace anedvd
