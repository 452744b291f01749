// The settings of a GGUF file: key, type, value, read where they lie.
//
//   file:   [key length][key][type][value] [key length][key][type][value] …
//   here:   one Entry a key, whose `bytes` are the value in the file; a hash map from key to entry
//
// Reading checks every length once and builds nothing else: a vocabulary of 262,144 strings costs one walk over their lengths. Arrays are
// turned into vectors when somebody asks. Format: github.com/ggml-org/ggml/blob/master/docs/gguf.md.
//
// The bytes must outlive the object and everything it returns.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/config_view.h"
#include "formats/gguf_cursor.h"

namespace anedvd {

enum class GgufType : uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};

class GgufMetadata final : public ConfigView {
 public:
  struct Entry {
    std::string_view key;
    GgufType type;
    GgufType element = GgufType::kU8;  // arrays only
    uint64_t count = 0;                // arrays only: their entries
    std::span<const std::byte> bytes;  // number: its bytes; string: its text; array: its entries, one behind the other
  };

  GgufMetadata() = default;

  // Reads `count` pairs at the cursor. `where` names the file, in these errors and in those of the readers below.
  // kBadFile: does not fit, unknown value type, arrays nested too deep, a key twice or empty.
  static Result<GgufMetadata> read(GgufCursor& cursor, uint64_t count, std::string_view where);

  bool has(std::string_view key) const override;

  // Any integer type, or a float without a fraction, that fits in 64 signed bits; else nullopt.
  std::optional<int64_t> integer(std::string_view key) const override;
  // Any integer or float type, as it is (also NaN).
  std::optional<double> number(std::string_view key) const override;
  // A bool, or an integer that is 0 or 1.
  std::optional<bool> boolean(std::string_view key) const override;
  std::optional<std::string_view> string(std::string_view key) const override;
  std::optional<int64_t> array_size(std::string_view key) const override;

  // A scalar is not an array of one: kBadFile. Bools in an array count as 0 and 1 (per-layer flags are stored both ways).
  Result<std::vector<std::string_view>> strings(std::string_view key) const override;
  Result<std::vector<int64_t>> integers(std::string_view key) const override;
  Result<std::vector<double>> numbers(std::string_view key) const override;

  // Long strings and arrays are cut, control characters escaped.
  std::vector<std::pair<std::string, std::string>> describe() const override;

  size_t size() const { return entries_.size(); }

  // In file order, as stored: for who copies them into another file.
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  const Entry* find(std::string_view key) const;
  Result<const Entry*> find_array(std::string_view key) const;
  static std::string words(const Entry& entry);

  std::string where_;
  std::vector<Entry> entries_;  // in file order
  std::unordered_map<std::string_view, uint32_t> index_;
};

}  // namespace anedvd
