// A model's settings, whatever the container calls them: GGUF metadata keys or a folder's config.json.
//
// Keys are the container's own (`llama.block_count`, `num_hidden_layers`); the model layer holds the table that pairs them.
// Readers accept any numeric width that holds the value. Everything returned borrows from the source.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace anedvd {

class ConfigView {
 public:
  virtual ~ConfigView() = default;

  virtual bool has(std::string_view key) const = 0;
  virtual std::optional<int64_t> integer(std::string_view key) const = 0;
  virtual std::optional<double> number(std::string_view key) const = 0;
  virtual std::optional<bool> boolean(std::string_view key) const = 0;
  virtual std::optional<std::string_view> string(std::string_view key) const = 0;

  // Entries of an array; nullopt if the key is absent or no array.
  virtual std::optional<int64_t> array_size(std::string_view key) const = 0;

  // Whole arrays. kNotFound if absent, kBadFile if an entry has another type.
  virtual Result<std::vector<std::string_view>> strings(std::string_view key) const = 0;
  virtual Result<std::vector<int64_t>> integers(std::string_view key) const = 0;
  virtual Result<std::vector<double>> numbers(std::string_view key) const = 0;

  // All keys in file order, with the value as a person would read it (arrays: count and first entries). For `info`.
  virtual std::vector<std::pair<std::string, std::string>> describe() const = 0;
};

}  // namespace anedvd
