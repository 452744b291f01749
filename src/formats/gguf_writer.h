// Writes a GGUF file (version 3) front to back: settings, tensor table, then the data of one tensor after another.
//
//   GgufPairs pairs;  pairs.text("general.architecture", "llama");  pairs.number<uint32_t>("llama.block_count", 2);
//   auto writer = GgufWriter::create("out.gguf", pairs, {{"w", DType::kQ8_0, {2, 64}}});
//   writer->append(bytes) …  writer->finish()
//
// Only what the caller hands over is in memory. The name appears when the file is whole (base/partial_file.h).
// Format: github.com/ggml-org/ggml/blob/master/docs/gguf.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/partial_file.h"
#include "base/result.h"
#include "formats/gguf_metadata.h"
#include "tensor/view.h"

namespace anedvd {

// The number of a C++ type in GGUF.
template <class T>
constexpr GgufType gguf_type() {
  if constexpr (std::is_same_v<T, bool>) return GgufType::kBool;
  if constexpr (std::is_same_v<T, float>) return GgufType::kF32;
  if constexpr (std::is_same_v<T, double>) return GgufType::kF64;
  constexpr bool is_signed = std::is_signed_v<T>;
  if constexpr (sizeof(T) == 1) return is_signed ? GgufType::kI8 : GgufType::kU8;
  if constexpr (sizeof(T) == 2) return is_signed ? GgufType::kI16 : GgufType::kU16;
  if constexpr (sizeof(T) == 4) return is_signed ? GgufType::kI32 : GgufType::kU32;
  return is_signed ? GgufType::kI64 : GgufType::kU64;
}

// Settings in the order in which they were added. The caller adds no key twice.
class GgufPairs {
 public:
  void text(std::string_view key, std::string_view value);
  void texts(std::string_view key, std::span<const std::string> values);

  template <class T>
  void number(std::string_view key, T value) {
    begin(key, gguf_type<T>());
    put(&value, sizeof value);
  }

  template <class T>
  void numbers(std::string_view key, std::span<const T> values) {
    begin_array(key, gguf_type<T>(), values.size());
    put(values.data(), values.size_bytes());
  }

  // An array of booleans, each 0 or 1.
  void flags(std::string_view key, std::span<const uint8_t> values) {
    begin_array(key, GgufType::kBool, values.size());
    put(values.data(), values.size());
  }

  // A setting as another file has it.
  void copy(const GgufMetadata::Entry& entry);

  uint64_t count() const { return count_; }
  std::string_view bytes() const { return bytes_; }

 private:
  void put(const void* data, size_t size) { bytes_.append(static_cast<const char*>(data), size); }
  void put_text(std::string_view text);
  void begin(std::string_view key, GgufType type);
  void begin_array(std::string_view key, GgufType element, uint64_t count);

  std::string bytes_;
  uint64_t count_ = 0;
};

struct GgufTensor {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;  // as TensorView's: the last dimension is contiguous, and a whole number of blocks
};

class GgufWriter {
 public:
  // Writes everything before the data. Errors as PartialFile::create and ::write; kBadFile for a shape beyond 64 bits.
  static Result<GgufWriter> create(const std::filesystem::path& path, const GgufPairs& pairs,
                                   const std::vector<GgufTensor>& tensors);

  // The next bytes of data, tensor after tensor; one call may not cross into the next tensor.
  Result<> append(std::span<const std::byte> bytes);

  // All data must have been appended. Returns the size of the file.
  Result<uint64_t> finish();

  static constexpr uint64_t kAlignment = 32;

 private:
  GgufWriter(PartialFile file, std::vector<uint64_t> sizes) : file_(std::move(file)), sizes_(std::move(sizes)) {}
  Result<> pad();

  PartialFile file_;
  std::vector<uint64_t> sizes_;  // of each tensor's data
  size_t tensor_ = 0;            // the one that is being written
  uint64_t done_ = 0;            // bytes of it
};

}  // namespace anedvd
