// Pages of a package index, HTML and JSON, and the tree of a hub repository.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cli/models/hub.h"
#include "cli/models/simple_index.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto files = anedvd::parse_simple_index(text, "https://host/simple/package/")) {
    (void)anedvd::newest_wheel(*files);
  }
  if (const auto files = anedvd::parse_hub_tree(text)) (void)anedvd::choose_hub_file(*files, "");
  const size_t half = size / 2;
  (void)anedvd::absolute_url(text.substr(0, half), text.substr(half));
  return 0;
}
