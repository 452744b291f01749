#include "base/words.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace anedvd {
namespace {

TEST(Words, NumbersHaveCommas) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1000), "1,000");
  EXPECT_EQ(with_commas(-1234567), "-1,234,567");
  EXPECT_EQ(with_commas(-123), "-123");
}

TEST(Words, SizesArePowersOfTen) {
  EXPECT_EQ(size_words(999), "999 B");
  EXPECT_EQ(size_words(98342912), "98.3 MB");
  EXPECT_EQ(size_words(999999999), "1.0 GB");
  EXPECT_EQ(size_words(4900000000), "4.9 GB");
  EXPECT_EQ(size_words(999000000000000), "999.0 TB");
  EXPECT_EQ(size_words(999999999999999999), "1,000,000 TB");
}

TEST(Words, SpeedsHaveThreeDigits) {
  EXPECT_EQ(three_digits(0.8249), "0.82");
  EXPECT_EQ(three_digits(9.512), "9.51");
  EXPECT_EQ(three_digits(9.999), "10.0");
  EXPECT_EQ(three_digits(131.4), "131");
  EXPECT_EQ(three_digits(1430), "1,430");
  EXPECT_EQ(three_digits(std::nan("")), "–");
}

TEST(Words, PerplexitiesHaveCommasInPlaceOfDecimals) {
  EXPECT_EQ(perplexity_words(15.29314), "15.2931");
  EXPECT_EQ(perplexity_words(999.99994), "999.9999");
  EXPECT_EQ(perplexity_words(999.99996), "1,000");
  EXPECT_EQ(perplexity_words(33815521.5433), "33,815,522");
  EXPECT_EQ(perplexity_words(INFINITY), "–");
}

TEST(Words, ErrorsHaveAShortExponent) {
  EXPECT_EQ(error_words(3.554e-4), "3.55e-4");
  EXPECT_EQ(error_words(1.5e-12), "1.50e-12");
  EXPECT_EQ(error_words(2.5), "2.50e0");
  EXPECT_EQ(error_words(1234), "1.23e3");
  EXPECT_EQ(error_words(5e10), "5.00e10");
  EXPECT_EQ(error_words(0), "0");
  EXPECT_EQ(error_words(INFINITY), "inf");
}

TEST(Words, OneIsSingular) {
  EXPECT_EQ(count_words(1, "thread"), "1 thread");
  EXPECT_EQ(count_words(0, "overflow"), "0 overflows");
  EXPECT_EQ(count_words(2048, "token"), "2,048 tokens");
}

TEST(Words, DurationsChooseTheirUnit) {
  EXPECT_EQ(duration_words(234e-6), "234 µs");
  EXPECT_EQ(duration_words(0.0041), "4.10 ms");
  EXPECT_EQ(duration_words(0.31), "0.31 s");
  EXPECT_EQ(duration_words(64), "1:04");
}

TEST(Words, ForeignTextCannotSteerTheTerminal) {
  EXPECT_EQ(visible("ok é 日"), "ok é 日");
  EXPECT_EQ(visible("\x1b[31mred"), "\\x1b[31mred");
  EXPECT_EQ(visible("a\nb\tc"), "a\\nb\\tc");
  EXPECT_EQ(visible("\xc2\x9b"), "\\x9b");                // C1 control
  EXPECT_EQ(visible("x\xe2\x80\xaey"), "x\\u202ey");      // right-to-left override
  EXPECT_EQ(visible("\xff\xc0\xaf"), "\\xff\\xc0\\xaf");  // broken and overlong UTF-8
  EXPECT_EQ(visible(std::string(500, 'a'), 10), "aaaaaaaaaa…");
}

TEST(Words, NearestStaysWithinTwoEdits) {
  const std::vector<std::string> flags = {"--temp", "--top-k", "--seed"};
  EXPECT_EQ(nearest("--tem", flags), "--temp");
  EXPECT_EQ(nearest("--sede", flags), "--seed");
  EXPECT_EQ(nearest("--completely", flags), "");
}

}  // namespace
}  // namespace anedvd
