#include "tensor/dtype.h"

#include <string>

#include <gtest/gtest.h>

namespace anedvd {
namespace {

// Values and bytes a block: ggml's (GGML_QUANT_SIZES of the Python package `gguf`; Q8_1 has halves since ggml of 2023).
struct Known {
  uint32_t number;
  std::string_view name;
  int block_elements, block_bytes;
};
constexpr Known kKnown[] = {
    {0, "F32", 1, 4},         {1, "F16", 1, 2},         {2, "Q4_0", 32, 18},      {3, "Q4_1", 32, 20},
    {6, "Q5_0", 32, 22},      {7, "Q5_1", 32, 24},      {8, "Q8_0", 32, 34},      {9, "Q8_1", 32, 36},
    {10, "Q2_K", 256, 84},    {11, "Q3_K", 256, 110},   {12, "Q4_K", 256, 144},   {13, "Q5_K", 256, 176},
    {14, "Q6_K", 256, 210},   {15, "Q8_K", 256, 292},   {16, "IQ2_XXS", 256, 66}, {17, "IQ2_XS", 256, 74},
    {18, "IQ3_XXS", 256, 98}, {19, "IQ1_S", 256, 50},   {20, "IQ4_NL", 32, 18},   {21, "IQ3_S", 256, 110},
    {22, "IQ2_S", 256, 82},   {23, "IQ4_XS", 256, 136}, {24, "I8", 1, 1},         {25, "I16", 1, 2},
    {26, "I32", 1, 4},        {27, "I64", 1, 8},        {28, "F64", 1, 8},        {29, "IQ1_M", 256, 56},
    {30, "BF16", 1, 2},       {34, "TQ1_0", 256, 54},   {35, "TQ2_0", 256, 66},   {39, "MXFP4", 32, 17},
    {41, "Q1_0", 128, 18},    {42, "Q2_0", 64, 18},
};

TEST(DType, TableHoldsEveryTypeInOrderOfNumbers) {
  ASSERT_EQ(all_formats().size(), std::size(kKnown));
  for (size_t i = 0; i < std::size(kKnown); ++i) {
    const QuantFormat& row = all_formats()[i];
    EXPECT_EQ(uint32_t(row.dtype), kKnown[i].number);
    EXPECT_EQ(row.name, kKnown[i].name);
    EXPECT_EQ(row.block_elements, kKnown[i].block_elements) << row.name;
    EXPECT_EQ(row.block_bytes, kKnown[i].block_bytes) << row.name;
    EXPECT_NE(row.dequantize, nullptr) << row.name;
  }
}

TEST(DType, NumberAndNameLeadToTheSameRow) {
  for (const Known& known : kKnown) {
    const auto by_number = dtype_from_number(known.number);
    ASSERT_TRUE(by_number) << known.name;
    EXPECT_EQ(format_of(*by_number).name, known.name);
    EXPECT_EQ(dtype_from_name(known.name), by_number) << known.name;
  }
}

TEST(DType, NamesAreFoundInAnyCase) {
  EXPECT_EQ(dtype_from_name("q4_k"), DType::kQ4_K);
  EXPECT_EQ(dtype_from_name("Iq2_xXs"), DType::kIQ2_XXS);
  EXPECT_EQ(dtype_from_name("bf16"), DType::kBF16);
}

TEST(DType, UnknownNamesAreRefused) {
  for (const char* name : {"", "Q4", "Q4_K ", "Q4_K_M", "Q4_2", "Q4-K", "unknown"}) {
    EXPECT_FALSE(dtype_from_name(name)) << name;
  }
}

TEST(DType, WithdrawnAndUnknownNumbersAreRefusedWithTheirName) {
  const struct {
    uint32_t number;
    std::string_view name;
  } cases[] = {
      {4, "Q4_2, withdrawn"},
      {5, "Q4_3, withdrawn"},
      {31, "Q4_0_4_4, withdrawn"},
      {32, "Q4_0_4_8, withdrawn"},
      {33, "Q4_0_8_8, withdrawn"},
      {36, "IQ4_NL_4_4, withdrawn"},
      {37, "IQ4_NL_4_8, withdrawn"},
      {38, "IQ4_NL_8_8, withdrawn"},
      {40, "NVFP4"},
      {43, "unknown"},
      {200, "unknown"},
      {256, "unknown"},
      {0xffffffffu, "unknown"},
  };
  for (const auto& c : cases) {
    EXPECT_FALSE(dtype_from_number(c.number)) << c.number;
    EXPECT_EQ(unsupported_type_name(c.number), c.name) << c.number;
  }
}

TEST(DType, EveryNumberIsEitherReadOrRefused) {
  size_t accepted = 0;
  for (uint32_t number = 0; number < 1024; ++number) accepted += dtype_from_number(number).has_value();
  EXPECT_EQ(accepted, all_formats().size());
}

TEST(DTypeDeathTest, ARowOfANumberThatWasNeverCheckedAborts) {
  EXPECT_DEATH(format_of(DType(4)), "no element type has the number 4");
  EXPECT_DEATH(format_of(DType(0xffffffffu)), "no element type");
}

}  // namespace
}  // namespace anedvd
