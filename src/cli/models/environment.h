// Environment variables as an argument, so that tests can bring their own.
#pragma once

#include <cstdlib>
#include <functional>
#include <string>

namespace anedvd {

// The value of a variable; "" when it is unset or empty.
using Environment = std::function<std::string(const char*)>;

inline Environment process_environment() {
  return [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
}

}  // namespace anedvd
