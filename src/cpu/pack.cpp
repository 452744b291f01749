#include "cpu/pack.h"

#include <array>
#include <cstring>

#include "base/result.h"
#include "cpu/pack_blocks.h"

namespace anedvd {
namespace {

struct Form {
  DType dtype;
  int64_t super_elements;  // inputs that a packed super-block covers
  int64_t super_bytes;
};

constexpr std::array<Form, kPackFormats> kForms = {{
    {DType::kQ4_0, 32, 32 + 256},
    {DType::kQ4_1, 32, 64 + 256},
    {DType::kQ5_0, 32, 32 + 256 + 64},
    {DType::kQ5_1, 32, 64 + 256 + 64},
    {DType::kQ8_0, 32, 32 + 512},
    {DType::kQ4_K, 256, 64 + 8 * (32 + 256)},
    {DType::kQ5_K, 256, 64 + 8 * (32 + 256 + 64)},
    {DType::kQ6_K, 256, 32 + 8 * (32 + 256 + 128)},
    {DType::kIQ4_NL, 32, 32 + 256},
    {DType::kMXFP4, 32, 32 + 256},
    {DType::kQ3_K, 256, 32 + 8 * (32 + 256)},
    {DType::kQ2_K, 256, 64 + 8 * (64 + 128)},
    {DType::kIQ4_XS, 256, 32 + 8 * (16 + 256)},
    {DType::kF16, 1, 32},
    {DType::kBF16, 1, 32},
    {DType::kF32, 1, 64},
}};

// The transpose of 16 rows of numbers: [cols][16].
template <class Word>
void pack_numbers(std::span<const std::byte* const, kLanes> rows, int64_t cols, std::byte* out) {
  auto* words = reinterpret_cast<Word*>(out);
  for (int column = 0; column < kLanes; ++column) {
    const std::byte* row = rows[size_t(column)];
    for (int64_t k = 0; k < cols; ++k) {
      Word word = 0;
      if (row != nullptr) std::memcpy(&word, row + k * int64_t(sizeof(Word)), sizeof(Word));
      words[k * kLanes + column] = word;
    }
  }
}

}  // namespace

std::optional<PackFormat> pack_format(DType dtype) {
  for (int i = 0; i < kPackFormats; ++i)
    if (kForms[size_t(i)].dtype == dtype) return PackFormat(i);
  return std::nullopt;
}

bool reads_floats(PackFormat format) { return kForms[size_t(format)].super_elements == 1; }

int64_t packed_panel_bytes(PackFormat format, int64_t cols) {
  const Form& form = kForms[size_t(format)];
  return cols / form.super_elements * form.super_bytes;
}

void pack_panel(PackFormat format, std::span<const std::byte* const, kLanes> rows, int64_t cols, std::byte* out) {
  const Form& form = kForms[size_t(format)];
  const QuantFormat& file = format_of(form.dtype);
  ANEDVD_CHECK(cols % form.super_elements == 0, "{} inputs are no whole blocks of {}", cols, file.name);
  if (reads_floats(format)) {
    file.block_bytes == 4 ? pack_numbers<uint32_t>(rows, cols, out) : pack_numbers<uint16_t>(rows, cols, out);
    return;
  }
  const int64_t supers = cols / form.super_elements;
  for (int64_t s = 0; s < supers; ++s, out += form.super_bytes) {
    std::memset(out, 0, size_t(form.super_bytes));
    for (int column = 0; column < kLanes; ++column)
      if (rows[size_t(column)] != nullptr)
        block_packer(format)(rows[size_t(column)] + s * file.block_bytes, column, out);
  }
}

}  // namespace anedvd
