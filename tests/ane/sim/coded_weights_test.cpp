// Weights in fewer bits as the simulator reads them: spellings, what the profile allows, what they cost.
#include <gtest/gtest.h>

#include "ane/sim/service_fixture.h"

namespace anedvd::sim {
namespace {

DriverResult<> compile_coded(const Profile& profile, const std::string& body, const std::string& opset = "ios18") {
  Service service(profile);
  ProgramFolder folder;
  folder.records({filled(BlobType::kInt8, 16, 16), filled(BlobType::kFp16, 4, 8),      // at 64 and 192
                  filled(BlobType::kUint4, 16, 8), filled(BlobType::kFp16, 16, 32)});  // at 320 and 448
  std::string mil = program(tensor(4, 8) + " x",
                            kConvConstants + body +
                                statement(tensor(4, 8), "y",
                                          "conv(dilations = dl, groups = gr, pad = pd, pad_type = pt, strides = st, "
                                          "weight = W, x = x)"),
                            "y");
  if (opset != "ios18") mil.replace(mil.find("ios18"), 5, opset);
  folder.text(mil);
  return compile(service, folder);
}

std::string blob(const std::string& type, int offset) {
  return fmt::format("{}(BLOBFILE(path = string(\"@model_path/weights/w.bin\"), offset = uint64({})))", type, offset);
}

std::string constant_blob(const std::string& type, const std::string& name, int offset) {
  return fmt::format("    {0} {1} = const()[name = string(\"{1}\"), val = {2}];\n", type, name, blob(type, offset));
}

TEST(TextRules, WeightsInFewerBitsAreSpelledAsTheirOperationsAreDefined) {
  const std::string dense = "    tensor<fp16, [4, 4, 1, 1]> W = ",
                    data = "quantized_data = " + blob("tensor<int8, [4, 4, 1, 1]>", 64);
  const std::string affine = dense + "constexpr_affine_dequantize()[axis = int32(0), name = string(\"W\"), " + data;
  const std::string d = constant_blob("tensor<int8, [4, 4, 1, 1]>", "d", 64),
                    s = constant_blob("tensor<fp16, [4, 1, 1, 1]>", "s", 192),
                    i = constant_blob("tensor<uint4, [4, 4, 1, 1]>", "i", 320),
                    l = constant_blob("tensor<fp16, [1, 1, 1, 1, 16, 1]>", "l", 448);
  const std::string rows =
      d + s + dense + "constexpr_blockwise_shift_scale(data = d, scale = s)[name = string(\"W\")];\n";
  const std::string table = i + l + dense + "constexpr_lut_to_dense(indices = i, lut = l)[name = string(\"W\")];\n";
  const Profile e5 = quiet("e5");
  EXPECT_TRUE(compile_coded(e5, affine + ", scale = fp16(0x1p-3), zero_point = int8(0)];\n"));
  EXPECT_TRUE(compile_coded(e5, affine + ", scale = " + blob("tensor<fp16, [4]>", 192) + ", zero_point = int8(0)];\n"));
  EXPECT_TRUE(compile_coded(e5, affine + ", scale = fp16(0x1p-3), zero_point = int8(0)];\n", "ios16"));
  EXPECT_TRUE(compile_coded(e5, rows));
  EXPECT_TRUE(compile_coded(e5, table));
  const struct {
    const char* name;
    std::string body;
  } refused[] = {
      {"operands in parentheses",
       dense + "constexpr_affine_dequantize(" + data +
           ")[axis = int32(0), name = string(\"W\"), scale = fp16(0x1p-3), zero_point = int8(0)];\n"},
      {"a named operand", d + dense +
                              "constexpr_affine_dequantize()[axis = int32(0), name = string(\"W\"), quantized_data = "
                              "d, scale = fp16(0x1p-3), zero_point = int8(0)];\n"},
      {"no zero point", affine + ", scale = fp16(0x1p-3)];\n"},
      {"a zero point of another type", affine + ", scale = fp16(0x1p-3), zero_point = uint8(0)];\n"},
      {"an unknown argument", affine + ", scale = fp16(0x1p-3), zero_point = int8(0), input = int8(0)];\n"},
      {"scales of rank two", affine + ", scale = " + blob("tensor<fp16, [4, 1]>", 192) + ", zero_point = int8(0)];\n"},
      {"scales of another rank than the data",
       d + constant_blob("tensor<fp16, [4]>", "s", 192) + dense +
           "constexpr_blockwise_shift_scale(data = d, scale = s)[name = string(\"W\")];\n"},
      {"a table of the wrong size", i + constant_blob("tensor<fp16, [1, 1, 1, 1, 4, 1]>", "l", 192) + dense +
                                        "constexpr_lut_to_dense(indices = i, lut = l)[name = string(\"W\")];\n"},
      {"a record of another type", constant_blob("tensor<int8, [4, 4, 1, 1]>", "d", 320) + s + dense +
                                       "constexpr_blockwise_shift_scale(data = d, scale = s)[name = string(\"W\")];\n"},
  };
  for (const auto& c : refused) EXPECT_FALSE(compile_coded(e5, c.body)) << c.name;
  EXPECT_FALSE(compile_coded(e5, rows, "ios16"));
  EXPECT_FALSE(compile_coded(e5, table, "ios17"));
  EXPECT_FALSE(compile_coded(quiet("a18pro-27"), table));
  EXPECT_TRUE(compile_coded(quiet("a18pro-27"), rows));
  Profile fewer = e5;
  fewer.code_types.erase("uint4");
  EXPECT_FALSE(compile_coded(fewer, table));
}

TEST(TextRules, ScalesOfBlocksAndTablesOfRowsAreTheProfiles) {
  const std::string dense = "    tensor<fp16, [4, 4, 1, 1]> W = ";
  const std::string blocks = constant_blob("tensor<int8, [4, 4, 1, 1]>", "d", 64) +
                             constant_blob("tensor<fp16, [2, 2, 1, 1]>", "s", 192) + dense +
                             "constexpr_blockwise_shift_scale(data = d, scale = s)[name = string(\"W\")];\n";
  Profile profile = quiet("e5");
  EXPECT_FALSE(compile_coded(profile, blocks));
  profile.takes_block_scales = true;
  EXPECT_TRUE(compile_coded(profile, blocks));
}

TEST(Cost, CountsCodesAsTheyAreStored) {
  const auto time = [](const char* chip, bool coded) {
    Profile profile = quiet("e5");
    (void)use_chip(profile, chip);
    profile.numerics.accumulator = Accumulator::kPlain;
    constexpr int n = 1024;
    Service service(profile);
    ProgramFolder folder;
    folder.records({filled(coded ? BlobType::kInt8 : BlobType::kFp16, n * n, size_t(n) * n * (coded ? 1 : 2))});
    const std::string shape = fmt::format("[{0}, {0}, 1, 1]>", n);
    const std::string weight =
        coded ? "    tensor<fp16, " + shape +
                    " W = constexpr_affine_dequantize()[axis = int32(0), name = string(\"W\"), quantized_data = " +
                    blob("tensor<int8, " + shape, 64) + ", scale = fp16(0x1p-3), zero_point = int8(0)];\n"
              : constant_blob("tensor<fp16, " + shape, "W", 64);
    folder.text(program(tensor(n, 1) + " x",
                        kConvConstants + weight +
                            statement(tensor(n, 1), "y",
                                      "conv(dilations = dl, groups = gr, pad = pd, pad_type = pt, strides = st, "
                                      "weight = W, x = x)"),
                        "y"));
    EXPECT_TRUE(compile(service, folder));
    auto in = memory(size_t(n) * 64), out = memory(size_t(n) * 64);
    EXPECT_TRUE(evaluate_once(service, in, out));
    return double(service.last_nanoseconds()) / 1e3 - profile.cost.launch_us;
  };
  EXPECT_NEAR(time("m5", true) / time("m5", false), 0.5, 0.01);
  EXPECT_NEAR(time("m1", true) / time("m1", false), 1, 0.01);  // becomes fp16 at compile
}

}  // namespace
}  // namespace anedvd::sim
