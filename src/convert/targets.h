// How each Hugging Face architecture that can become GGUF is called there, and what GGUF leaves to the name.
#pragma once

#include <string_view>

#include "model/family.h"

namespace anedvd {

struct Target {
  std::string_view family;        // of the folder
  std::string_view architecture;  // general.architecture
  const Family& (*gguf_family)();
  bool adjacent_rows = false;    // q and k rows are reordered
  double default_theta = 10000;  // what an absent rope_theta means
  bool drops_window = false;  // the architecture has no key for a window on every layer, and files are made without one
};

// nullptr: the family cannot be converted.
const Target* find_target(std::string_view family);

// "llama, mistral, …", for the refusal.
std::string target_names();

}  // namespace anedvd
