// Measured times of programs by shape, from one start to the next (docs/ane.md#placement).
//
//   h16g, 25F71 · 64 columns · 8 threads · …
//   160 164 210 4100 linear 896 896|            device with one column, with all; host with one column, with all; the shape
//
// Under other conditions, or after a week, times are taken anew: a machine that was busy once shall not be slow for ever.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "ane/ane_device.h"
#include "base/result.h"

namespace anedvd {

class TimesMemory {
 public:
  // What `file` holds for these conditions; a file that is absent, broken or old holds nothing. An empty path remembers nothing.
  TimesMemory(std::filesystem::path file, std::string conditions);

  // nullptr: to be measured.
  const PartTimes* find(const std::string& shape) const;
  void keep(const std::string& shape, const PartTimes& times) { shapes_[shape] = times; }

  // Whole or not at all. Error kIo.
  Result<> save() const;

 private:
  std::filesystem::path file_;
  std::string conditions_;
  std::map<std::string, PartTimes> shapes_;
};

}  // namespace anedvd
