// Where Python packages come from on this machine, as pip is configured: environment, then the configuration files.
//
// Read: index-url, extra-index-url, no-index, find-links (folders), cert and proxy, from [global] and [install] of the files that pip
// reads (pip.pypa.io/en/stable/topics/configuration), and their PIP_… variables.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/models/environment.h"

namespace anedvd {

struct PipConfig {
  std::vector<std::string> indexes;            // simple index addresses without a slash at the end, in pip's order
  std::vector<std::filesystem::path> folders;  // local folders that may hold wheels
  std::string certificate, proxy;              // empty: none
};

// Never fails: what is missing or unreadable is left out, and then pypi.org is the index.
PipConfig read_pip_config(const Environment& env);

// Puts one file's settings ("section.key" → value; several lines of a value joined by blanks) over those already there. Lines that are no
// settings are skipped.
void parse_pip_file(std::string_view text, std::map<std::string, std::string>& settings);

}  // namespace anedvd
