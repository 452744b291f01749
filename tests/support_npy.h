// Reads the .npy and id fixtures of tests/data.
#pragma once

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace anedvd::testing_support {

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// A float32 .npy file of any shape, as one run of numbers (numpy's format 1.0: magic, version, header length, header, data).
inline std::vector<float> read_npy(const std::string& path) {
  const std::string bytes = read_file(path);
  uint16_t header = 0;
  std::memcpy(&header, bytes.data() + 8, 2);
  std::vector<float> values((bytes.size() - 10 - header) / 4);
  std::memcpy(values.data(), bytes.data() + 10 + header, values.size() * 4);
  return values;
}

// A JSON array of whole numbers.
inline std::vector<int32_t> read_ids(const std::string& path) {
  std::string text = read_file(path);
  for (char& c : text)
    if (c == '[' || c == ']' || c == ',') c = ' ';
  std::istringstream in(text);
  std::vector<int32_t> ids;
  for (int32_t id; in >> id;) ids.push_back(id);
  return ids;
}

}  // namespace anedvd::testing_support
