// safetensors files, honest and hostile: what is read, and what is refused with the tensor's name.
#include <chrono>
#include <cstring>

#include <gtest/gtest.h>

#include "formats/safetensors_builder.h"
#include "formats/safetensors_contents.h"

namespace anedvd {
namespace {

// Views borrow from `bytes`: a test that reads values keeps them.
Result<SafetensorsContents> read(const std::string& bytes) {
  return read_safetensors(std::as_bytes(std::span(bytes)), "m.safetensors");
}

// The message of the error; a test failure if there is none. Every message names the file and is one line.
std::string refusal(const std::string& bytes) {
  const auto contents = read(bytes);
  if (contents) {
    ADD_FAILURE() << "was read: " << bytes.substr(8, 200);
    return "";
  }
  const std::string& message = contents.error().message;
  EXPECT_TRUE(message.starts_with("m.safetensors: ")) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  return message;
}

void expect_refused(const std::string& bytes, const std::vector<std::string>& parts) {
  const std::string message = refusal(bytes);
  for (const std::string& part : parts) EXPECT_NE(message.find(part), std::string::npos) << message << "\nno " << part;
}

// One tensor "a.w" of 8 data bytes: F32 [2] unless the case says otherwise.
std::string one(std::string_view offsets, std::string_view shape = "[2]", std::string_view dtype = "\"F32\"",
                size_t data_bytes = 8) {
  return with_header("{\"a.w\":{\"dtype\":" + std::string(dtype) + ",\"shape\":" + std::string(shape) +
                         ",\"data_offsets\":" + std::string(offsets) + "}}",
                     std::string(data_bytes, '\0'));
}

TEST(Safetensors, AnHonestFileIsRead) {
  const std::string bytes = SafetensorsBuilder()
                                .floats("w", {2, 3}, {1, 2, 3, 4, 5, 6})
                                .tensor("h", "BF16", {2}, std::string("\x80\x3f\x00\xc0", 4))
                                .tensor("one", "F64", {}, std::string(8, '\0'))
                                .bytes();
  const auto contents = read(bytes);
  ASSERT_TRUE(contents) << contents.error().message;
  ASSERT_EQ(contents->tensors.size(), 3u);
  const TensorView& w = contents->tensors[0];
  EXPECT_EQ(w.name, "w");
  EXPECT_EQ(w.dtype, DType::kF32);
  EXPECT_EQ(w.shape, (Shape{2, 3}));
  std::vector<float> row(3);
  dequantize(w, 1, 1, row);
  EXPECT_EQ(row, (std::vector<float>{4, 5, 6}));
  std::vector<float> half(2);
  dequantize(contents->tensors[1], 0, 1, half);
  EXPECT_EQ(half, (std::vector<float>{1, -2}));
  EXPECT_EQ(contents->tensors[2].shape, (Shape{1}));
}

TEST(Safetensors, TypesAreTheOnesOfTheFormat) {
  struct Case {
    const char* name;
    size_t bytes;
    DType dtype;
  };
  for (const Case& c : {Case{"F32", 4, DType::kF32}, Case{"F16", 2, DType::kF16}, Case{"BF16", 2, DType::kBF16},
                        Case{"F64", 8, DType::kF64}, Case{"I8", 1, DType::kI8}, Case{"U8", 1, DType::kI8},
                        Case{"I16", 2, DType::kI16}, Case{"I32", 4, DType::kI32}, Case{"I64", 8, DType::kI64}}) {
    const auto contents = read(SafetensorsBuilder().tensor("t", c.name, {3, 5}, std::string(c.bytes * 15, 1)).bytes());
    ASSERT_TRUE(contents) << contents.error().message;
    ASSERT_EQ(contents->tensors.size(), 1u) << c.name;
    EXPECT_EQ(contents->tensors[0].dtype, c.dtype) << c.name;
  }
  for (const auto& [name, bytes] : {std::pair("F8_E4M3", 15), std::pair("F8_E5M2", 15), std::pair("U16", 30)}) {
    const auto contents = read(SafetensorsBuilder().tensor("t", name, {3, 5}, std::string(size_t(bytes), 1)).bytes());
    ASSERT_TRUE(contents) << contents.error().message;
    ASSERT_EQ(contents->unreadable.size(), 1u);
    EXPECT_EQ(contents->unreadable[0].why, std::string("is stored as ") + name);
    EXPECT_FALSE(contents->unreadable[0].is_harmless);
  }
  // Four bits a value: a whole number of bytes, or none.
  EXPECT_TRUE(read(SafetensorsBuilder().tensor("t", "F4", {2, 3}, std::string(3, 1)).bytes()));
  expect_refused(SafetensorsBuilder().tensor("t", "F4", {3}, std::string(2, 1)).bytes(), {"\"t\"", "takes 2"});
  expect_refused(one("[0,8]", "[2]", "\"Q5\""), {"\"a.w\"", "type \"Q5\""});
  EXPECT_EQ(read(one("[0,8]", "[2]", "\"Q5\"")).error().code, ErrorCode::kUnsupported);
}

TEST(Safetensors, AHeaderInAnotherOrderThanTheDataIsHonest) {
  const std::string bytes = SafetensorsBuilder()
                                .floats("a", {1}, {1})
                                .floats("b", {2}, {2, 3})
                                .floats("c", {1}, {4})
                                .reverse_header()
                                .bytes();
  const auto contents = read(bytes);
  ASSERT_TRUE(contents) << contents.error().message;
  ASSERT_EQ(contents->tensors.size(), 3u);
  EXPECT_EQ(contents->tensors[0].name, "a");
  std::vector<float> b(2);
  dequantize(contents->tensors[1], 0, 1, b);
  EXPECT_EQ(b, (std::vector<float>{2, 3}));
}

TEST(Safetensors, HeaderLengthsThatDoNotFitAreRefused) {
  const std::string honest = SafetensorsBuilder().zeros("w", {2}).bytes();
  const std::string rest = honest.substr(8);
  for (const uint64_t length :
       {~uint64_t(0), ~uint64_t(0) - 7, uint64_t(1) << 63, uint64_t(1000000000), uint64_t(rest.size()) + 1})
    expect_refused(length_word(length) + rest, {"the header says it is " + std::to_string(length) + " bytes long"});
  expect_refused(length_word(0) + rest, {"the header is empty"});
  expect_refused(std::string(), {"0 bytes are no safetensors file"});
  expect_refused(std::string(7, 'x'), {"7 bytes are no safetensors file"});
  expect_refused("<!DOCTYPE html><html>not found</html>", {"this is a web page, not a model"});
  expect_refused("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
                 {"this is a Git LFS pointer to 9 B", "git lfs pull"});
  for (size_t cut = 8; cut + 1 < honest.size(); ++cut) EXPECT_FALSE(refusal(honest.substr(0, cut)).empty()) << cut;
}

TEST(Safetensors, OffsetsThatAreNotTwoPlacesAreRefused) {
  const std::string name = "tensor \"a.w\"";
  expect_refused(one("[8,0]"), {name, "ends at 0, before it starts at 8"});
  expect_refused(one("[0,16]"), {name, "ends at byte 16 of the data but the file has 8", "download"});
  expect_refused(one("[18446744073709551608,18446744073709551615]"), {name, "18446744073709551615"});
  expect_refused(one("[18446744073709551612,4]"), {name, "before it starts"});
  expect_refused(one("[0,18446744073709551616]"), {name});
  expect_refused(one("[0,1e400]"), {"not valid JSON"});
  expect_refused(one("[0.0,8]"), {name, "\"data_offsets\" holds 0.0"});
  expect_refused(one("[0,8.5]"), {name, "holds 8.5"});
  expect_refused(one("[-8,0]"), {name, "holds -8"});
  expect_refused(one("[0]"), {name, "has 1 numbers, not 2"});
  expect_refused(one("[]"), {name, "has 0 numbers"});
  expect_refused(one("[0,8,8]"), {name, "has 3 numbers"});
  expect_refused(one("8"), {name, "holds 8"});
  expect_refused(one("\"0,8\""), {name, "holds \"0,8\""});
  expect_refused(one("null"), {name, "holds null"});
  expect_refused(one("[true,8]"), {name, "holds true or false"});
  expect_refused(one("[[0],8]"), {name, "holds a list"});
  expect_refused(one("{\"0\":8}"), {name, "holds an object"});
}

TEST(Safetensors, ShapesThatDoNotFitTheirBytesAreRefused) {
  const std::string name = "tensor \"a.w\"";
  expect_refused(one("[0,8]", "[3]"), {name, "has 8 bytes, but shape [3] of F32 takes 12"});
  expect_refused(one("[0,8]", "[1]"), {name, "takes 4"});
  expect_refused(one("[0,8]", "[]"), {name, "shape [] of F32 takes 4"});
  expect_refused(one("[0,8]", "[0,2]"), {name, "takes 0"});
  // Products that wrap to the right size.
  expect_refused(one("[0,8]", "[4294967296,4294967296]"), {name, "[4294967296, 4294967296], too large"});
  expect_refused(one("[0,8]", "[4611686018427387906]"), {name, "too large"});
  expect_refused(one("[0,8]", "[2,9223372036854775809]"), {name, "too large"});
  expect_refused(one("[0,0]", "[4294967296,4294967296,4]", "\"F32\"", 0), {name, "too large"});
  expect_refused(one("[0,8]", "[18446744073709551615]"), {name, "too large"});
  expect_refused(one("[0,8]", "[-2]"), {name, "\"shape\" holds -2"});
  expect_refused(one("[0,8]", "[2.0]"), {name, "holds 2.0"});
  expect_refused(one("[0,8]", "2"), {name, "holds 2"});
  expect_refused(one("[0,8]", "[[2]]"), {name, "holds a list"});
  expect_refused(one("[0,8]", "[2]", "7"), {name, "\"dtype\" holds 7"});
  expect_refused(one("[0,8]", "[2]", "[\"F32\"]"), {name, "\"dtype\" holds a list"});
}

TEST(Safetensors, DataIsCoveredWithoutOverlapGapOrRest) {
  const auto two = [](std::string_view second, size_t data_bytes) {
    return with_header(
        R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":)" +
            std::string(second) + "}}",
        std::string(data_bytes, '\0'));
  };
  EXPECT_TRUE(read(two("[8,16]", 16)));
  expect_refused(two("[4,12]", 12), {"tensor \"b\" starts at byte 4 of the data, inside tensor \"a\""});
  expect_refused(two("[0,8]", 8), {"starts at byte 0 of the data, inside tensor"});
  expect_refused(two("[12,20]", 20), {"tensor \"b\" starts at byte 12", "ends at 8"});
  expect_refused(two("[8,16]", 17), {"1 bytes follow the last one, tensor \"b\""});
  expect_refused(one("[4,12]", "[2]", "\"F32\"", 12), {"tensor \"a.w\" starts at byte 4", "ends at 0"});
  expect_refused(with_header("{}", "rest"), {"4 bytes follow a header without tensors"});
  EXPECT_TRUE(read(with_header("{}")));
}

TEST(Safetensors, NamesThatComeTwiceAreRefused) {
  const std::string row = R"("a":{"dtype":"F32","shape":[],"data_offsets":)";
  expect_refused(with_header("{" + row + "[0,4]}," + row + "[4,8]}}", std::string(8, '\0')),
                 {"tensor \"a\" is there twice"});
  expect_refused(with_header(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4],"shape":[1]}})", "1234"),
                 {"tensor \"a\" has \"shape\" twice"});
  expect_refused(with_header(R"({"__metadata__":{},"__metadata__":{}})"), {"\"__metadata__\" is there twice"});
}

TEST(Safetensors, DescriptionsThatLackSomethingAreRefused) {
  expect_refused(with_header(R"({"a":{"shape":[1],"data_offsets":[0,4]}})", "1234"), {"tensor \"a\" has no \"dtype\""});
  expect_refused(with_header(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", "1234"), {"\"a\" has no \"shape\""});
  expect_refused(with_header(R"({"a":{"dtype":"F32","shape":[1]}})", "1234"), {"\"a\" has no \"data_offsets\""});
  expect_refused(with_header(R"({"a":5})"), {"\"a\" in the header is 5"});
  expect_refused(with_header(R"({"a":[1]})"), {"\"a\" in the header is a list"});
  expect_refused(with_header(R"({"":{}})"), {"no name"});
  for (const char* json : {"[]", "5", "null", "\"x\"", "", "{", "{\"a\"", "{}x", "{'a':1}", "\xff\xfe"})
    EXPECT_FALSE(refusal(with_header(json)).empty()) << json;
  // A name is shown without what it would do to a terminal.
  expect_refused(with_header("{\"a\\u001b[31m\":5}"), {"\"a\\x1b[31m\""});
}

TEST(Safetensors, KeysThatTheFormatLacksAreSkipped) {
  const auto contents = read(with_header(
      R"({"__metadata__":{"a":"b","n":{"x":[1,{"y":2}]}},"a":{"extra":{"deep":[[1.5,"x",null],{"dtype":"F16"}]},"dtype":"F32","shape":[1],"more":[-1],"data_offsets":[0,4]}})",
      "1234"));
  ASSERT_TRUE(contents) << contents.error().message;
  EXPECT_EQ(contents->tensors.size(), 1u);
}

TEST(Safetensors, NestingIsBounded) {
  const std::string brackets(100000, '[');
  const auto start = std::chrono::steady_clock::now();
  expect_refused(with_header(brackets), {"no JSON object"});
  expect_refused(with_header("{\"a\":" + brackets), {"\"a\" in the header is a list"});
  expect_refused(with_header("{\"a\":{\"x\":" + brackets), {"nests deeper than 16 levels"});
  expect_refused(with_header("{\"__metadata__\":" + brackets), {"nests deeper"});
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  EXPECT_FALSE(refusal(with_header(objects)).empty());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST(Safetensors, TensorsThatAreNoMatrixOfNumbersAreListedApart) {
  const auto contents = read(SafetensorsBuilder()
                                 .zeros("five", {1, 2, 1, 2, 1})
                                 .tensor("mask", "BOOL", {3}, std::string(3, '\1'))
                                 .tensor("nothing", "F32", {0, 4}, "")
                                 .zeros("w", {1})
                                 .bytes());
  ASSERT_TRUE(contents) << contents.error().message;
  ASSERT_EQ(contents->tensors.size(), 1u);
  ASSERT_EQ(contents->unreadable.size(), 3u);
  EXPECT_EQ(contents->unreadable[0].why, "has 5 dimensions");
  EXPECT_FALSE(contents->unreadable[0].is_harmless);
  EXPECT_TRUE(contents->unreadable[1].is_harmless);
  EXPECT_TRUE(contents->unreadable[2].is_harmless);
}

// Older writers did not pad the header: data starts anywhere.
TEST(Safetensors, DataNeedNotBeAligned) {
  const float value = 1.5f;
  std::string data = "z";
  data.append(reinterpret_cast<const char*>(&value), 4);
  const std::string bytes = with_header(
      R"({"b":{"dtype":"I8","shape":[1],"data_offsets":[0,1]},"w":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})",
      data);
  const auto contents = read(bytes);
  ASSERT_TRUE(contents) << contents.error().message;
  std::vector<float> out(1);
  dequantize(contents->tensors[1], 0, 1, out);
  EXPECT_EQ(out[0], 1.5f);
}

}  // namespace
}  // namespace anedvd
