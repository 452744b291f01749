// Builds the bytes of safetensors files for tests: honest ones by default, and wrong in exactly the place a test asks for.
//
//   SafetensorsBuilder().floats("w", {2, 3}, {…}).bytes();
//   with_header(R"({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})", std::string(4, '\0'));
//
// Header-only and free of our own reader, so that a mistake in the reader cannot hide in the tests.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace anedvd {

inline std::string length_word(uint64_t length) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes;
}

inline std::string with_header(std::string_view json, std::string_view data = {}) {
  return length_word(json.size()) + std::string(json) + std::string(data);
}

class SafetensorsBuilder {
 public:
  // A tensor whose data follows that of the tensors before.
  SafetensorsBuilder& tensor(std::string_view name, std::string_view dtype, const std::vector<int64_t>& shape,
                             std::string_view data) {
    std::string row = "\"" + std::string(name) + "\":{\"dtype\":\"" + std::string(dtype) + "\",\"shape\":[";
    for (size_t i = 0; i < shape.size(); ++i) row += (i == 0 ? "" : ",") + std::to_string(shape[i]);
    row += "],\"data_offsets\":[" + std::to_string(data_.size()) + "," + std::to_string(data_.size() + data.size());
    rows_.push_back(row + "]}");
    data_ += data;
    return *this;
  }

  // F32 zeros.
  SafetensorsBuilder& zeros(std::string_view name, const std::vector<int64_t>& shape) {
    size_t elements = 1;
    for (const int64_t n : shape) elements *= size_t(n);
    return tensor(name, "F32", shape, std::string(elements * 4, '\0'));
  }

  SafetensorsBuilder& floats(std::string_view name, const std::vector<int64_t>& shape,
                             const std::vector<float>& values) {
    return tensor(name, "F32", shape, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  }

  // The header's rows last to first; data stays where it is.
  SafetensorsBuilder& reverse_header() { return is_reversed_ = true, *this; }

  std::string bytes() const {
    std::string json = "{\"__metadata__\":{\"format\":\"pt\"}";
    for (size_t i = 0; i < rows_.size(); ++i) json += "," + rows_[is_reversed_ ? rows_.size() - 1 - i : i];
    json += "}";
    json.resize((json.size() + 7) / 8 * 8, ' ');
    return with_header(json, data_);
  }

 private:
  bool is_reversed_ = false;
  std::vector<std::string> rows_;
  std::string data_;
};

}  // namespace anedvd
