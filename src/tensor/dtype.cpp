// The table of element types and its look-ups.
#include "tensor/dtype.h"

#include <algorithm>
#include <array>

#include "base/result.h"
#include "tensor/quant/blocks.h"
#include "tensor/quant/dequantize.h"

namespace anedvd {
namespace {

// Sorted by number; the compiler checks it below.
// clang-format off
constexpr QuantFormat kFormats[] = {
    {DType::kF32,     "F32",     1, 4, dequantize_f32},
    {DType::kF16,     "F16",     1, 2, dequantize_f16},
    {DType::kQ4_0,    "Q4_0",    kSmallBlock, sizeof(BlockQ4_0), dequantize_q4_0},
    {DType::kQ4_1,    "Q4_1",    kSmallBlock, sizeof(BlockQ4_1), dequantize_q4_1},
    {DType::kQ5_0,    "Q5_0",    kSmallBlock, sizeof(BlockQ5_0), dequantize_q5_0},
    {DType::kQ5_1,    "Q5_1",    kSmallBlock, sizeof(BlockQ5_1), dequantize_q5_1},
    {DType::kQ8_0,    "Q8_0",    kSmallBlock, sizeof(BlockQ8_0), dequantize_q8_0},
    {DType::kQ8_1,    "Q8_1",    kSmallBlock, sizeof(BlockQ8_1), dequantize_q8_1},
    {DType::kQ8_K,    "Q8_K",    kSuperBlock, sizeof(BlockQ8K), dequantize_q8_k},
    {DType::kI8,      "I8",      1, 1, dequantize_i8},
    {DType::kI16,     "I16",     1, 2, dequantize_i16},
    {DType::kI32,     "I32",     1, 4, dequantize_i32},
    {DType::kI64,     "I64",     1, 8, dequantize_i64},
    {DType::kF64,     "F64",     1, 8, dequantize_f64},
    {DType::kBF16,    "BF16",    1, 2, dequantize_bf16},
};
// clang-format on

struct UnsupportedName {
  uint32_t number;
  std::string_view name;
};

// Numbers that ggml gave out and took back, or gives out and anedvd does not read (ggml/include/ggml.h).
constexpr UnsupportedName kUnsupported[] = {
    {4, "Q4_2, withdrawn"},
    {5, "Q4_3, withdrawn"},
    {31, "Q4_0_4_4, withdrawn"},
    {32, "Q4_0_4_8, withdrawn"},
    {33, "Q4_0_8_8, withdrawn"},
    {36, "IQ4_NL_4_4, withdrawn"},
    {37, "IQ4_NL_4_8, withdrawn"},
    {38, "IQ4_NL_8_8, withdrawn"},
    {40, "NVFP4"},
    {41, "Q1_0"},
    {42, "Q2_0"},
};

constexpr uint32_t kNumbers = uint32_t(std::end(kFormats)[-1].dtype) + 1;
constexpr uint8_t kNoRow = 0xff;

constexpr std::array<uint8_t, kNumbers> make_row_index() {
  std::array<uint8_t, kNumbers> rows{};
  rows.fill(kNoRow);
  for (size_t i = 0; i < std::size(kFormats); ++i) rows[size_t(kFormats[i].dtype)] = uint8_t(i);
  return rows;
}
constexpr auto kRowOfNumber = make_row_index();

static_assert(std::ranges::is_sorted(kFormats, {}, &QuantFormat::dtype));

constexpr char upper(char c) { return c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c; }

bool equal_any_case(std::string_view a, std::string_view b) { return std::ranges::equal(a, b, {}, upper, upper); }

}  // namespace

std::span<const QuantFormat> all_formats() { return kFormats; }

const QuantFormat& format_of(DType dtype) {
  const auto number = uint32_t(dtype);
  ANEDVD_CHECK(number < kNumbers && kRowOfNumber[number] != kNoRow, "no element type has the number {}", number);
  return kFormats[kRowOfNumber[number]];
}

std::optional<DType> dtype_from_number(uint32_t number) {
  if (number >= kNumbers || kRowOfNumber[number] == kNoRow) return std::nullopt;
  return DType(number);
}

std::string_view unsupported_type_name(uint32_t number) {
  const auto* found = std::ranges::find(kUnsupported, number, &UnsupportedName::number);
  return found == std::end(kUnsupported) ? "unknown" : found->name;
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const QuantFormat& format : kFormats) {
    if (equal_any_case(format.name, name)) return format.dtype;
  }
  return std::nullopt;
}

}  // namespace anedvd
