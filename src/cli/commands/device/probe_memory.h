// What was found on this machine before: probes are asked once a chip, system build and version of this program.
//
//   CACHE/probes/MACHINE-VERSION.json    {"machine", "version", "probes": [{"id", "ok", "value"}, …]}
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace anedvd {

class ProbeMemory {
 public:
  // What `folder` holds of this machine; a file that is broken holds nothing.
  ProbeMemory(std::filesystem::path folder, std::string machine, std::string version);

  // Whether it was asked, and the answer; null when it was not.
  bool holds(std::string_view id) const { return results_.find(id) != results_.end(); }
  nlohmann::ordered_json find(std::string_view id) const;

  // Replaces what was known. `result` as in the file.
  void keep(std::string_view id, const nlohmann::ordered_json& result);

  // Writes all of it, whole or not at all. Error kIo.
  Result<> save() const;

  const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
  std::string machine_, version_;
  std::map<std::string, std::string, std::less<>> results_;  // as JSON text
};

}  // namespace anedvd
