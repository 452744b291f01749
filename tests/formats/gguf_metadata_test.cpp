#include "formats/gguf_metadata.h"

#include <cmath>
#include <limits>

#include "formats/gguf_builder.h"
#include "formats/gguf_reading.h"

namespace anedvd {
namespace {

constexpr auto kMaxI64 = std::numeric_limits<int64_t>::max();
constexpr auto kMinI64 = std::numeric_limits<int64_t>::min();

// `depth` arrays in one another, the innermost holding one byte.
std::string nested(int depth) {
  std::string value;
  for (int i = 1; i < depth; ++i) value += raw<uint32_t>(kNumArray) + raw<uint64_t>(1);
  return value + raw<uint32_t>(kNumU8) + raw<uint64_t>(1) + "\x07";
}

TEST(GgufMetadata, IntegersOfEveryWidthAreReadAsIntegers) {
  GgufBuilder file;
  file.number<uint8_t>("u8", 200)
      .number<int8_t>("i8", -100)
      .number<uint16_t>("u16", 60000)
      .number<int16_t>("i16", -30000);
  file.number<uint32_t>("u32", 4000000000u).number<int32_t>("i32", -2000000000);
  file.number<uint64_t>("u64", uint64_t(kMaxI64)).number<int64_t>("i64", kMinI64);
  file.number<float>("f32", 8192.0f).number<double>("f64", -3.0);
  const std::string bytes = file.bytes();
  const auto contents = read_bytes(bytes);
  ASSERT_TRUE(contents) << contents.error().message;
  const ConfigView& config = contents->metadata;
  EXPECT_EQ(config.integer("u8"), 200);
  EXPECT_EQ(config.integer("i8"), -100);
  EXPECT_EQ(config.integer("u16"), 60000);
  EXPECT_EQ(config.integer("i16"), -30000);
  EXPECT_EQ(config.integer("u32"), 4000000000);
  EXPECT_EQ(config.integer("i32"), -2000000000);
  EXPECT_EQ(config.integer("u64"), kMaxI64);
  EXPECT_EQ(config.integer("i64"), kMinI64);
  EXPECT_EQ(config.integer("f32"), 8192);
  EXPECT_EQ(config.integer("f64"), -3);
  EXPECT_EQ(config.number("i64"), double(kMinI64));
  EXPECT_EQ(config.number("u8"), 200.0);
  EXPECT_EQ(config.number("f32"), 8192.0);
}

TEST(GgufMetadata, NumbersThatAreNoSixtyFourBitIntegersAreRefusedAsIntegers) {
  GgufBuilder file;
  file.number<uint64_t>("big", uint64_t(kMaxI64) + 1).number<float>("half", 0.5f).number<double>("2^63", 0x1p63);
  file.number<double>("-2^63", -0x1p63).number<float>("nan", std::nanf("")).number<double>("inf", INFINITY);
  file.number<bool>("yes", true).text("word", "7");
  const std::string bytes = file.bytes();
  const auto contents = read_bytes(bytes);
  ASSERT_TRUE(contents) << contents.error().message;
  const ConfigView& config = contents->metadata;
  for (const char* key : {"big", "half", "2^63", "nan", "inf", "yes", "word", "absent"})
    EXPECT_EQ(config.integer(key), std::nullopt) << key;
  EXPECT_EQ(config.integer("-2^63"), kMinI64);
  EXPECT_EQ(config.number("big"), 0x1p63);
  EXPECT_TRUE(
      std::isnan(config.number("nan").value()));  // the model layer says what a NaN spoils; it must not look absent
  EXPECT_EQ(config.number("word"), std::nullopt);
  EXPECT_TRUE(config.has("half"));
  EXPECT_FALSE(config.has("absent"));
}

TEST(GgufMetadata, BooleansAndStrings) {
  GgufBuilder file;
  file.number<bool>("yes", true).number<bool>("no", false).number<uint32_t>("one", 1).number<uint32_t>("two", 2);
  file.text("word", "naïve").text("empty", "").text("nul", std::string_view("a\0b", 3));
  const std::string bytes = file.bytes();
  const auto contents = read_bytes(bytes);
  ASSERT_TRUE(contents) << contents.error().message;
  const ConfigView& config = contents->metadata;
  EXPECT_EQ(config.boolean("yes"), true);
  EXPECT_EQ(config.boolean("no"), false);
  EXPECT_EQ(config.boolean("one"), true);
  EXPECT_EQ(config.boolean("two"), std::nullopt);
  EXPECT_EQ(config.boolean("word"), std::nullopt);
  EXPECT_EQ(config.string("word"), "naïve");
  EXPECT_EQ(config.string("empty"), "");
  EXPECT_EQ(config.string("nul"), std::string_view("a\0b", 3));
  EXPECT_EQ(config.string("yes"), std::nullopt);
}

TEST(GgufMetadata, ArraysAreReadWhole) {
  GgufBuilder file;
  file.texts("words", {"a", "", "ccc"}).array<uint16_t>("small", {1, 65535}).array<float>("scales", {1.5f, -2.0f});
  file.array<int8_t>("none", {}).array<double>("whole", {3.0, -4.0}).array<uint64_t>("big", {uint64_t(1) << 63});
  file.pair("flags", kNumArray, raw<uint32_t>(kNumBool) + raw<uint64_t>(3) + std::string("\1\0\1", 3));
  const std::string bytes = file.bytes();
  const auto contents = read_bytes(bytes);
  ASSERT_TRUE(contents) << contents.error().message;
  const ConfigView& config = contents->metadata;
  EXPECT_EQ(*config.strings("words"), (std::vector<std::string_view>{"a", "", "ccc"}));
  EXPECT_EQ(*config.integers("small"), (std::vector<int64_t>{1, 65535}));
  EXPECT_EQ(*config.numbers("small"), (std::vector<double>{1, 65535}));
  EXPECT_EQ(*config.numbers("scales"), (std::vector<double>{1.5, -2}));
  EXPECT_EQ(*config.integers("whole"), (std::vector<int64_t>{3, -4}));
  EXPECT_EQ(*config.integers("flags"), (std::vector<int64_t>{1, 0, 1}));
  EXPECT_EQ(config.integers("none")->size(), 0u);
  EXPECT_EQ(config.array_size("words"), 3);
  EXPECT_EQ(config.array_size("none"), 0);
  EXPECT_EQ(config.integers("scales").error().code, ErrorCode::kBadFile);
  EXPECT_EQ(config.integers("big").error().code, ErrorCode::kBadFile);
  EXPECT_EQ(config.integers("words").error().code, ErrorCode::kBadFile);
  EXPECT_EQ(config.numbers("words").error().code, ErrorCode::kBadFile);
  EXPECT_EQ(config.strings("small").error().code, ErrorCode::kBadFile);
}

TEST(GgufMetadata, AScalarIsNoArrayOfOne) {
  GgufBuilder file;
  file.number<uint32_t>("n", 5).text("s", "x");
  const std::string bytes = file.bytes();
  const auto contents = read_bytes(bytes);
  ASSERT_TRUE(contents) << contents.error().message;
  const ConfigView& config = contents->metadata;
  EXPECT_EQ(config.integers("n").error().code, ErrorCode::kBadFile);
  EXPECT_EQ(config.strings("s").error().code, ErrorCode::kBadFile);
  EXPECT_EQ(config.array_size("n"), std::nullopt);
  EXPECT_EQ(config.integers("absent").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(config.integers("absent").error().message, "x.gguf: metadata \"absent\" is missing; use another file");
  EXPECT_EQ(config.integers("n").error().message,
            "x.gguf: metadata \"n\" is a single u32, not an array; use another file");
}

TEST(GgufMetadata, StringsBorrowFromTheFile) {
  GgufBuilder file;
  std::vector<std::string> words;
  for (int i = 0; i < 1000; ++i) words.push_back("word" + std::to_string(i));
  file.texts("words", words).text("name", "tiny");
  const std::string bytes = file.bytes();
  const auto contents = read_bytes(bytes);
  ASSERT_TRUE(contents) << contents.error().message;
  const auto inside = [&](std::string_view text) {
    return text.data() >= bytes.data() && text.data() + text.size() <= bytes.data() + bytes.size();
  };
  const auto read = *contents->metadata.strings("words");
  ASSERT_EQ(read.size(), words.size());
  for (size_t i = 0; i < words.size(); ++i) {
    EXPECT_TRUE(inside(read[i]));
    EXPECT_EQ(read[i], words[i]);
  }
  EXPECT_TRUE(inside(*contents->metadata.string("name")));
}

TEST(GgufMetadata, NestedArraysAreReadToADepth) {
  GgufBuilder file;
  file.pair("deep", kNumArray, nested(8)).text("after", "found");
  const std::string bytes = file.bytes();
  const auto contents = read_bytes(bytes);
  ASSERT_TRUE(contents) << contents.error().message;
  EXPECT_EQ(contents->metadata.string("after"), "found");
  EXPECT_EQ(contents->metadata.array_size("deep"), 1);
  EXPECT_EQ(contents->metadata.integers("deep").error().code, ErrorCode::kBadFile);
  EXPECT_EQ(contents->metadata.describe()[0].second, "1 × array");

  EXPECT_REFUSED(GgufBuilder().pair("deep", kNumArray, nested(9)).bytes(), "metadata \"deep\"", "8 deep");
  EXPECT_REFUSED(GgufBuilder().pair("deep", kNumArray, nested(100000)).bytes(), "metadata \"deep\"", "8 deep");
}

TEST(GgufMetadata, DescribesInFileOrderAsAPersonReads) {
  GgufBuilder file;
  file.text("general.architecture", "llama").number<float>("eps", 1e-5f).number<bool>("flag", false);
  file.texts("words", {"a", "b\n", "c", "d", "e"}).array<int32_t>("few", {3, -1}).text("\x1b[31mred", "\x1b]0;x\x07");
  file.text("long", std::string(5000, 'x'));
  const std::string bytes = file.bytes();
  const auto contents = read_bytes(bytes);
  ASSERT_TRUE(contents) << contents.error().message;
  const auto lines = contents->metadata.describe();
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_EQ(lines[0], std::pair(std::string("general.architecture"), std::string("llama")));
  EXPECT_EQ(lines[1].second, "1e-05");
  EXPECT_EQ(lines[2].second, "false");
  EXPECT_EQ(lines[3].second, "5 × string: \"a\", \"b\\n\", \"c\", \"d\", …");
  EXPECT_EQ(lines[4].second, "2 × i32: 3, -1");
  EXPECT_EQ(lines[5], std::pair(std::string("\\x1b[31mred"), std::string("\\x1b]0;x\\x07")));
  EXPECT_EQ(lines[6].second, std::string(100, 'x') + "…");
}

TEST(GgufMetadata, ValueTypesThatDoNotExistAreRefused) {
  EXPECT_REFUSED(GgufBuilder().pair("k", 13, "12345678").bytes(), "metadata \"k\" has type 13");
  EXPECT_REFUSED(GgufBuilder().pair("k", 0xffffffff, "12345678").bytes(), "metadata \"k\" has type 4294967295");
  EXPECT_REFUSED(GgufBuilder().pair("k", kNumArray, raw<uint32_t>(77) + raw<uint64_t>(1) + "1").bytes(),
                 "metadata \"k\" is an array of type 77");
}

}  // namespace
}  // namespace anedvd
