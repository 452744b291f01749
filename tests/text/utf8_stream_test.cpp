#include "text/utf8_stream.h"

#include <random>

#include <gtest/gtest.h>

#include "text/unicode.h"

namespace anedvd {
namespace {

std::string whole(std::string_view bytes) {
  Utf8Stream stream;
  std::string text = stream.push(bytes);
  return text + stream.finish();
}

bool well_formed(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const uint32_t length = utf8_length(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

const std::string kBad = "\xEF\xBF\xBD";

TEST(Utf8Stream, HoldsACharacterBackUntilItIsWhole) {
  Utf8Stream stream;
  EXPECT_EQ(stream.push("\xe2\x82"), "");
  EXPECT_EQ(stream.push("\xac!"), "€!");
  EXPECT_EQ(stream.finish(), "");
}

// The examples of the Unicode standard, §3.9, tables 3-8 to 3-11: one U+FFFD for each maximal subpart.
TEST(Utf8Stream, ReplacesEachMaximalBrokenPartOnce) {
  EXPECT_EQ(whole("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82"
                  "A"),
            kBad + kBad + kBad + kBad + kBad + kBad + kBad + kBad + "A");
  EXPECT_EQ(whole("\xED\xA0\x80\xED\xBF\xBF\xED\xAF"
                  "A"),
            kBad + kBad + kBad + kBad + kBad + kBad + kBad + kBad + "A");
  EXPECT_EQ(whole("\xF4\x91\x92\x93\xFF"
                  "A\x80\xBF"
                  "B"),
            kBad + kBad + kBad + kBad + kBad + "A" + kBad + kBad + "B");
  EXPECT_EQ(whole("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF"
                  "A"),
            kBad + kBad + kBad + kBad + "A");
  EXPECT_EQ(whole("\xF0\x9F\x98"), kBad);
}

TEST(Utf8Stream, AnySplitOfAnyBytesGivesTheSameText) {
  std::mt19937 random(7);
  const std::string alphabet[] = {"a",        "é",        "€",        "😀",    "\x80",     "\xC3",
                                  "\xE2\x82", "\xF0\x9F", "\xED\xA0", "\xFF", "\xF4\x90", "\xE0"};
  for (int round = 0; round < 20000; ++round) {
    std::string bytes;
    for (unsigned i = random() % 8; i > 0; --i) bytes += alphabet[random() % std::size(alphabet)];
    if (round % 3 == 0) {
      for (unsigned i = random() % 8; i > 0; --i) bytes.push_back(static_cast<char>(random()));
    }
    const std::string expected = whole(bytes);
    EXPECT_TRUE(well_formed(expected));
    Utf8Stream stream;
    std::string text;
    for (size_t at = 0; at < bytes.size();) {
      const size_t length = 1 + random() % (bytes.size() - at);
      const std::string part = stream.push(std::string_view(bytes).substr(at, length));
      EXPECT_TRUE(well_formed(part));
      text += part;
      at += length;
    }
    text += stream.finish();
    ASSERT_EQ(text, expected) << ::testing::PrintToString(bytes);
  }
}

TEST(Utf8Stream, StartsAfreshAfterTheEnd) {
  Utf8Stream stream;
  stream.push("\xE2");
  EXPECT_EQ(stream.finish(), kBad);
  EXPECT_EQ(stream.push("ok"), "ok");
}

}  // namespace
}  // namespace anedvd
