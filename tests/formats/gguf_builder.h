// Builds the bytes of GGUF files for tests: honest ones by default, and wrong in exactly the place a test asks for.
//
//   GgufBuilder file;
//   file.text("general.architecture", "llama").number<uint32_t>("llama.block_count", 2);
//   file.tensor("w", {32, 2}, 0, floats);                // ne order: [in, out]
//   std::string bytes = file.bytes();
//
// Header-only and free of our own reader, so that a mistake in the reader cannot hide in the tests.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace anedvd {

// Numbers of the format's value types.
enum GgufTypeNumber : uint32_t {
  kNumU8 = 0,
  kNumI8 = 1,
  kNumU16 = 2,
  kNumI16 = 3,
  kNumU32 = 4,
  kNumI32 = 5,
  kNumF32 = 6,
  kNumBool = 7,
  kNumString = 8,
  kNumArray = 9,
  kNumU64 = 10,
  kNumI64 = 11,
  kNumF64 = 12,
};

template <class T>
std::string raw(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

// Length, then bytes.
inline std::string raw_string(std::string_view text) { return raw<uint64_t>(text.size()) + std::string(text); }

template <class T>
constexpr uint32_t type_number() {
  if constexpr (std::is_same_v<T, bool>) return kNumBool;
  if constexpr (std::is_same_v<T, float>) return kNumF32;
  if constexpr (std::is_same_v<T, double>) return kNumF64;
  constexpr bool is_signed = std::is_signed_v<T>;
  if constexpr (sizeof(T) == 1) return is_signed ? kNumI8 : kNumU8;
  if constexpr (sizeof(T) == 2) return is_signed ? kNumI16 : kNumU16;
  if constexpr (sizeof(T) == 4) return is_signed ? kNumI32 : kNumU32;
  return is_signed ? kNumI64 : kNumU64;
}

class GgufBuilder {
 public:
  // A pair whose value is given as bytes.
  GgufBuilder& pair(std::string_view key, uint32_t type, std::string_view value) {
    pairs_ += raw_string(key) + raw<uint32_t>(type) + std::string(value);
    ++pair_count_;
    return *this;
  }

  template <class T>
  GgufBuilder& number(std::string_view key, T value) {
    return pair(key, type_number<T>(), raw(value));
  }

  GgufBuilder& text(std::string_view key, std::string_view value) { return pair(key, kNumString, raw_string(value)); }

  template <class T>
  GgufBuilder& array(std::string_view key, const std::vector<T>& values) {
    std::string entries;
    for (const T value : values) entries += raw<T>(value);
    return pair(key, kNumArray, raw<uint32_t>(type_number<T>()) + raw<uint64_t>(values.size()) + entries);
  }

  GgufBuilder& texts(std::string_view key, const std::vector<std::string>& values) {
    std::string entries;
    for (const std::string& value : values) entries += raw_string(value);
    return pair(key, kNumArray, raw<uint32_t>(kNumString) + raw<uint64_t>(values.size()) + entries);
  }

  // A tensor whose data is appended at the next multiple of the alignment.
  GgufBuilder& tensor(std::string_view name, const std::vector<uint64_t>& ne, uint32_t type, std::string_view data) {
    data_.resize((data_.size() + alignment_ - 1) / alignment_ * alignment_);
    tensor_row(name, ne, type, data_.size());
    data_ += data;
    return *this;
  }

  // An F32 tensor of zeros.
  GgufBuilder& zeros(std::string_view name, const std::vector<uint64_t>& ne) {
    uint64_t elements = 1;
    for (const uint64_t n : ne) elements *= n;
    return tensor(name, ne, 0, std::string(elements * 4, '\0'));
  }

  // A row of the tensor table without data: offsets and shapes as wrong as a test wants.
  GgufBuilder& tensor_row(std::string_view name, const std::vector<uint64_t>& ne, uint32_t type, uint64_t offset) {
    std::string dimensions;
    for (const uint64_t n : ne) dimensions += raw<uint64_t>(n);
    rows_ += raw_string(name) + raw<uint32_t>(uint32_t(ne.size())) + dimensions + raw(type) + raw(offset);
    ++tensor_count_;
    return *this;
  }

  // Where data starts and tensors lie; writes no key.
  GgufBuilder& alignment(uint64_t bytes) { return alignment_ = bytes, *this; }
  GgufBuilder& version(uint32_t number) { return version_ = number, *this; }

  // The counts of the header, whatever was added.
  GgufBuilder& claim_tensors(uint64_t count) { return tensor_count_ = count, *this; }
  GgufBuilder& claim_pairs(uint64_t count) { return pair_count_ = count, *this; }

  std::string bytes() const {
    std::string out = "GGUF" + raw(version_) + raw(tensor_count_) + raw(pair_count_) + pairs_ + rows_;
    if (!data_.empty()) out.resize((out.size() + alignment_ - 1) / alignment_ * alignment_);
    return out + data_;
  }

 private:
  uint32_t version_ = 3;
  uint64_t alignment_ = 32;
  uint64_t tensor_count_ = 0;
  uint64_t pair_count_ = 0;
  std::string pairs_, rows_, data_;
};

// A folder of its own for one test, removed with it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "anedvd-test-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  // Writes a file and returns its path.
  std::filesystem::path write(const std::string& name, std::string_view bytes) const {
    const std::filesystem::path file = path_ / name;
    std::ofstream(file, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
    return file;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace anedvd
