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
    {DType::kQ2_K,    "Q2_K",    kSuperBlock, sizeof(BlockQ2K), dequantize_q2_k},
    {DType::kQ3_K,    "Q3_K",    kSuperBlock, sizeof(BlockQ3K), dequantize_q3_k},
    {DType::kQ4_K,    "Q4_K",    kSuperBlock, sizeof(BlockQ4K), dequantize_q4_k},
    {DType::kQ5_K,    "Q5_K",    kSuperBlock, sizeof(BlockQ5K), dequantize_q5_k},
    {DType::kQ6_K,    "Q6_K",    kSuperBlock, sizeof(BlockQ6K), dequantize_q6_k},
    {DType::kQ8_K,    "Q8_K",    kSuperBlock, sizeof(BlockQ8K), dequantize_q8_k},
    {DType::kIQ2_XXS, "IQ2_XXS", kSuperBlock, sizeof(BlockIQ2XXS), dequantize_iq2_xxs},
    {DType::kIQ2_XS,  "IQ2_XS",  kSuperBlock, sizeof(BlockIQ2XS), dequantize_iq2_xs},
    {DType::kIQ3_XXS, "IQ3_XXS", kSuperBlock, sizeof(BlockIQ3XXS), dequantize_iq3_xxs},
    {DType::kIQ1_S,   "IQ1_S",   kSuperBlock, sizeof(BlockIQ1S), dequantize_iq1_s},
    {DType::kIQ4_NL,  "IQ4_NL",  kSmallBlock, sizeof(BlockIQ4NL), dequantize_iq4_nl},
    {DType::kIQ3_S,   "IQ3_S",   kSuperBlock, sizeof(BlockIQ3S), dequantize_iq3_s},
    {DType::kIQ2_S,   "IQ2_S",   kSuperBlock, sizeof(BlockIQ2S), dequantize_iq2_s},
    {DType::kIQ4_XS,  "IQ4_XS",  kSuperBlock, sizeof(BlockIQ4XS), dequantize_iq4_xs},
    {DType::kI8,      "I8",      1, 1, dequantize_i8},
    {DType::kI16,     "I16",     1, 2, dequantize_i16},
    {DType::kI32,     "I32",     1, 4, dequantize_i32},
    {DType::kI64,     "I64",     1, 8, dequantize_i64},
    {DType::kF64,     "F64",     1, 8, dequantize_f64},
    {DType::kIQ1_M,   "IQ1_M",   kSuperBlock, sizeof(BlockIQ1M), dequantize_iq1_m},
    {DType::kBF16,    "BF16",    1, 2, dequantize_bf16},
    {DType::kTQ1_0,   "TQ1_0",   kSuperBlock, sizeof(BlockTQ1_0), dequantize_tq1_0},
    {DType::kTQ2_0,   "TQ2_0",   kSuperBlock, sizeof(BlockTQ2_0), dequantize_tq2_0},
    {DType::kMXFP4,   "MXFP4",   kSmallBlock, sizeof(BlockMXFP4), dequantize_mxfp4},
    {DType::kQ1_0,    "Q1_0",    kBlockQ1_0Values, sizeof(BlockQ1_0), dequantize_q1_0},
    {DType::kQ2_0,    "Q2_0",    kBlockQ2_0Values, sizeof(BlockQ2_0), dequantize_q2_0},
};
// clang-format on

struct UnsupportedName {
  uint32_t number;
  std::string_view name;
};

// Numbers that ggml gave out and took back, or gives out and anedvd does not read (ggml/include/ggml.h). NVFP4 blocks alone do not
// say what a weight is: a second tensor holds a scale for all of them.
constexpr UnsupportedName kUnsupported[] = {
    {4, "Q4_2, withdrawn"},        {5, "Q4_3, withdrawn"},        {31, "Q4_0_4_4, withdrawn"},
    {32, "Q4_0_4_8, withdrawn"},   {33, "Q4_0_8_8, withdrawn"},   {36, "IQ4_NL_4_4, withdrawn"},
    {37, "IQ4_NL_4_8, withdrawn"}, {38, "IQ4_NL_8_8, withdrawn"}, {40, "NVFP4"},
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
