// Turns an Outline and a recipe into a GGUF file, a few thousand rows in memory at a time, quantised by all threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "convert/outline.h"

namespace anedvd {

struct WriteOptions {
  int threads = 1;
  std::function<bool()> cancelled = {};  // asked often; true: kCancelled, and no file is left
  std::function<void(uint64_t done, uint64_t total)> progress = {};  // bytes of tensor data written
};

// What became of one tensor.
struct WrittenTensor {
  std::string name;
  DType from, wanted, used;  // wanted ≠ used: its rows are no whole blocks of the wanted type
  int64_t cols = 0;
};

struct WrittenGguf {
  uint64_t bytes = 0;
  std::vector<WrittenTensor> tensors;
};

// Errors name the file or the tensor: as GgufWriter; kNumeric for numbers that the type cannot hold; kCancelled.
Result<WrittenGguf> write_gguf(const Outline& outline, const Recipe& recipe, const std::filesystem::path& path,
                               const WriteOptions& options);

}  // namespace anedvd
