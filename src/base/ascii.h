// Letters of protocols, whatever the locale says.
#pragma once

#include <string>
#include <string_view>

namespace anedvd {

// A to Z as a to z, every other byte as it is.
inline std::string lower_ascii(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  return lower;
}

}  // namespace anedvd
