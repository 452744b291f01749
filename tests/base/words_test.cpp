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
