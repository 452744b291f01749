// Files whose numbers lie: each is refused with its file, the thing at fault and what to do, in memory bounded by the file's size.
#include <atomic>
#include <cstdlib>
#include <new>

#include "formats/gguf_builder.h"
#include "formats/gguf_reading.h"

namespace {

std::atomic<size_t> allocated_bytes{0};

}  // namespace

// Counts what the whole test program asks for; the tests below look at differences. Not inline: g++ would see new meet free.
[[gnu::noinline]] void* operator new(size_t size) {
  allocated_bytes += size;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  std::abort();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace anedvd {
namespace {

constexpr uint64_t kTwo63 = uint64_t(1) << 63;
constexpr uint64_t kLies[] = {kTwo63, (uint64_t(1) << 60) + 1, 1000000000, ~uint64_t(0), uint64_t(1) << 61, kTwo63 - 1};

// Refuses as EXPECT_REFUSED, within memory of a small multiple of the file.
std::string refused_cheaply(const std::string& bytes) {
  const size_t before = allocated_bytes;
  const std::string message = refusal(bytes);
  EXPECT_LT(allocated_bytes - before, 16384 + 16 * bytes.size()) << message;
  return message;
}

std::string with_string_value(std::string_view key, uint64_t length) {
  return GgufBuilder().pair(key, kNumString, raw(length) + "abc").bytes();
}

std::string with_array(uint32_t element, uint64_t count) {
  return GgufBuilder().pair("list", kNumArray, raw(element) + raw(count) + std::string(100, '\0')).bytes();
}

TEST(GgufHostile, CountsThatTheFileCannotHoldAreRefusedBeforeAllocating) {
  for (const uint64_t lie : kLies) {
    EXPECT_TRUE(contains(refused_cheaply(GgufBuilder().claim_tensors(lie).bytes()), " tensors, more than")) << lie;
    EXPECT_TRUE(contains(refused_cheaply(GgufBuilder().claim_pairs(lie).bytes()), " metadata keys, more than")) << lie;
    EXPECT_TRUE(contains(refused_cheaply(GgufBuilder().text("a", "b").claim_pairs(lie).bytes()), " metadata keys"));
    EXPECT_TRUE(contains(refused_cheaply(GgufBuilder().zeros("t", {4}).claim_tensors(lie).bytes()), " tensors"));
  }
  EXPECT_EQ(refusal(GgufBuilder().claim_tensors(kTwo63).bytes()),
            "x.gguf: the header says 9,223,372,036,854,775,808 tensors, more than the 0 bytes behind it can hold; "
            "the file is damaged or cut short, fetch it again");
  // One more than is there, with bytes that could be it.
  EXPECT_REFUSED(GgufBuilder().zeros("t", {64}).claim_tensors(2).bytes(), "tensor 2 of 2");
}

TEST(GgufHostile, LengthsThatTheFileCannotHoldAreRefusedBeforeAllocating) {
  for (const uint64_t lie : kLies) {
    EXPECT_TRUE(contains(refused_cheaply(with_string_value("k", lie)), "metadata \"k\"")) << lie;
    std::string long_key = GgufBuilder().text("a", "b").bytes();
    long_key.replace(24, 8, raw(lie));
    EXPECT_TRUE(contains(refused_cheaply(long_key), "the key of metadata pair 1 of 1")) << lie;
    std::string long_name = GgufBuilder().zeros("t", {4}).bytes();
    long_name.replace(24, 8, raw(lie));
    EXPECT_TRUE(contains(refused_cheaply(long_name), "the name of tensor 1 of 1")) << lie;
    for (const uint32_t element : {kNumU8, kNumU32, kNumU64, kNumF64, kNumBool, kNumString, kNumArray})
      EXPECT_TRUE(contains(refused_cheaply(with_array(element, lie)), "metadata \"list\"")) << lie << " of " << element;
  }
  // A sum with the offset that wraps to a small number.
  EXPECT_REFUSED(with_string_value("k", ~uint64_t(0) - 20), "more bytes than any file has");
  EXPECT_REFUSED(with_string_value("k", 1000000000), "reaches byte 1,000,000,045 but the file has 48");
}

TEST(GgufHostile, ArraysOfStringsEndWithTheFile) {
  const std::string value = raw<uint32_t>(kNumString) + raw<uint64_t>(3) + raw_string("one") + raw_string("two") +
                            raw<uint64_t>(kTwo63) + std::string(8, 'x');
  EXPECT_REFUSED(GgufBuilder().pair("words", kNumArray, value).bytes(), "metadata \"words\", entry 2,");
}

TEST(GgufHostile, ShapesAreCheckedWithoutWrapping) {
  const uint64_t two32 = uint64_t(1) << 32;
  const auto row = [](const std::vector<uint64_t>& ne, uint32_t type = 0) {
    return GgufBuilder().tensor_row("blk.0.w", ne, type, 0).bytes() + std::string(4096, '\0');
  };
  const std::string name = "tensor \"blk.0.w\"";
  EXPECT_REFUSED(row({0}), name, "[0]", "dimension of 0");
  EXPECT_REFUSED(row({32, 0}), name, "[0, 32]");
  EXPECT_REFUSED(row({0, 0, 0, 0}), name, "[0, 0, 0, 0]");
  EXPECT_REFUSED(row({0, ~uint64_t(0)}), name, "[18446744073709551615, 0]");
  EXPECT_REFUSED(row({~uint64_t(0)}), name, "[18446744073709551615]");
  EXPECT_REFUSED(row({two32, two32}), name, "[4294967296, 4294967296]");
  EXPECT_REFUSED(row({uint64_t(1) << 62, 1}), name, "[1, 4611686018427387904]");
  EXPECT_REFUSED(row({uint64_t(1) << 62, 4}), name, "too large");
  EXPECT_REFUSED(row({uint64_t(1) << 40, uint64_t(1) << 20, 8}), name, "too large");
  EXPECT_REFUSED(row({uint64_t(1) << 59}), name, "[576460752303423488]");
  EXPECT_REFUSED(row({}), name, "no dimensions", "[]");
  EXPECT_REFUSED(row({1, 2, 3, 4, 5}), name, "5 dimensions", "[5, 4, 3, 2, 1]");
  std::string many = row({1, 2, 3, 4});
  many.replace(24 + 8 + 7, 4, raw<uint32_t>(0xffffffff));
  EXPECT_REFUSED(many, name, "4,294,967,295 dimensions");
  EXPECT_REFUSED(row({33, 2}, 2), name, "[2, 33]", "Q4_0 stores 32 values a block");
  EXPECT_REFUSED(row({16, 2}, 8), name, "Q8_0");
  EXPECT_REFUSED(row({128}, 12), name, "Q4_K stores 256 values");
}

TEST(GgufHostile, TypesThatAreUnknownOrWithdrawnAreRefusedByNumber) {
  for (const uint32_t type : {200u, 4u, 5u, 31u, 36u, 0xffffffffu}) {
    const std::string bytes =
        GgufBuilder().tensor_row("output.weight", {256, 2}, type, 0).bytes() + std::string(4096, 'x');
    EXPECT_REFUSED(bytes, "tensor \"output.weight\" has type " + std::to_string(type) + " (",
                   "), which anedvd does not read; use a Q4_K_M, Q8_0 or F16 file");
    EXPECT_EQ(read_bytes(bytes).error().code, ErrorCode::kUnsupported);
  }
  EXPECT_REFUSED(GgufBuilder().tensor_row("w", {256}, 200, 0).bytes(), "(unknown)");
  // Also where its data would be missing: the type is what is wrong.
  EXPECT_FALSE(contains(refusal(GgufBuilder().tensor_row("w", {256}, 4, 0).bytes()), "download"));
}

TEST(GgufHostile, DuplicatesAreRefusedByName) {
  EXPECT_REFUSED(GgufBuilder().zeros("blk.0.w", {4}).zeros("other", {4}).zeros("blk.0.w", {4}).bytes(),
                 "tensor \"blk.0.w\" is there twice");
  EXPECT_REFUSED(GgufBuilder().text("general.name", "a").number<uint8_t>("x", 1).text("general.name", "a").bytes(),
                 "metadata \"general.name\" is there twice");
  EXPECT_REFUSED(GgufBuilder().text("", "a").bytes(), "empty key");
  EXPECT_REFUSED(GgufBuilder().zeros("", {4}).bytes(), "tensor 1 of 1 has no name");
}

TEST(GgufHostile, NamesAreShownWithoutTheirControlCharacters) {
  EXPECT_REFUSED(GgufBuilder().zeros("a\x1b[2J\nb", {4}).zeros("a\x1b[2J\nb", {4}).bytes(), "tensor \"a\\x1b[2J\\nb\"");
  EXPECT_REFUSED(GgufBuilder().pair("k\n", 99, "").bytes() + "xxxx", "metadata \"k\\n\"");
  // A long name is cut, not printed for pages.
  EXPECT_LT(refusal(GgufBuilder().tensor_row(std::string(100000, 'n'), {0}, 0, 0).bytes()).size(), 400u);
}

TEST(GgufHostile, OffsetsOutsideOfTheFileAreRefused) {
  const auto at = [](uint64_t offset) {
    return GgufBuilder().zeros("first", {64}).tensor_row("w", {8}, 0, offset).bytes();
  };
  EXPECT_TRUE(read_bytes(at(0)));    // shares the bytes of the first: harmless
  EXPECT_TRUE(read_bytes(at(224)));  // the last 32 bytes
  EXPECT_REFUSED(at(256), "tensor \"w\" ends at byte");
  EXPECT_REFUSED(at(1), "tensor \"w\" starts at 1 in the data", "alignment 32");
  EXPECT_REFUSED(at(~uint64_t(31)), "tensor \"w\"", "beyond any file");
  EXPECT_REFUSED(at(kTwo63), "tensor \"w\"", "beyond any file");
  EXPECT_REFUSED(at(kTwo63 - 512), "tensor \"w\"", "beyond any file");
}

TEST(GgufHostile, AlignmentIsTheFilesAndMakesSense) {
  const auto aligned = [](uint32_t alignment) {
    return GgufBuilder()
        .number<uint32_t>("general.alignment", alignment)
        .alignment(alignment)
        .zeros("a", {1})
        .zeros("b", {3})
        .bytes();
  };
  for (const uint32_t alignment : {8u, 32u, 64u, 4096u}) {
    const std::string bytes = aligned(alignment);
    const auto contents = read_bytes(bytes);
    ASSERT_TRUE(contents) << contents.error().message;
    EXPECT_EQ(contents->alignment, alignment);
    EXPECT_EQ(contents->tensors[1].bytes.data() - contents->tensors[0].bytes.data(), alignment);
    EXPECT_EQ((reinterpret_cast<const char*>(contents->tensors[0].bytes.data()) - bytes.data()) % alignment, 0);
  }
  for (const uint32_t alignment : {0u, 1u, 4u, 33u, 48u, 0x80000000u}) {
    std::string bytes = GgufBuilder().number<uint32_t>("general.alignment", alignment).zeros("a", {1}).bytes();
    EXPECT_REFUSED(bytes, "metadata \"general.alignment\" is " + std::to_string(alignment));
  }
  EXPECT_REFUSED(GgufBuilder().text("general.alignment", "32").bytes(), "\"general.alignment\" is not a number");
}

TEST(GgufHostile, ByteOrderIsToldApartFromVersions) {
  std::string big = "GGUF";
  for (const int byte : {0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2}) big += char(byte);
  EXPECT_REFUSED(big + std::string(100, '\0'), "big-endian");
  EXPECT_FALSE(contains(refusal(big), "50331648"));
  EXPECT_EQ(read_bytes(big).error().code, ErrorCode::kUnsupported);
  EXPECT_REFUSED(GgufBuilder().version(1).bytes(), "GGUF version 1");
  EXPECT_REFUSED(GgufBuilder().version(4).bytes(), "GGUF version 4", "reads 2 and 3");
  EXPECT_REFUSED(GgufBuilder().version(0).bytes(), "GGUF version 0");
  for (const uint32_t version : {2u, 3u}) {
    const std::string bytes = GgufBuilder().version(version).zeros("t", {4}).bytes();
    ASSERT_TRUE(read_bytes(bytes));
    EXPECT_EQ(read_bytes(bytes)->version, version);
  }
}

TEST(GgufHostile, AnHonestLargeVocabularyIsNotCopiedOnOpening) {
  std::vector<std::string> tokens;
  for (int i = 0; i < 262144; ++i) tokens.push_back("token" + std::to_string(i));
  const std::string bytes = GgufBuilder().texts("tokenizer.ggml.tokens", tokens).bytes();
  const size_t before = allocated_bytes;
  const auto contents = read_bytes(bytes);
  ASSERT_TRUE(contents) << contents.error().message;
  EXPECT_LT(allocated_bytes - before, 16384u);
  EXPECT_EQ(contents->metadata.array_size("tokenizer.ggml.tokens"), 262144);
  EXPECT_EQ(contents->metadata.strings("tokenizer.ggml.tokens")->back(), "token262143");
}

}  // namespace
}  // namespace anedvd
