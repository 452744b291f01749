// Weights in fewer bits: which spellings a chip takes, whether it computes with what they stand for, and whether reading them takes less time.
#include <algorithm>
#include <bit>
#include <cmath>

#include <nlohmann/json.hpp>

#include "ane/weight_blob.h"
#include "base/half.h"
#include "cli/commands/device/probes/all.h"

namespace anedvd::probes {
namespace {

constexpr int kRows = 96, kCols = 64, kWidth = 64;
constexpr size_t kCount = size_t(kRows) * kCols;
constexpr int64_t kShape[] = {kRows, kCols, 1, 1}, kRowScales[] = {kRows, 1, 1, 1};

// Whole numbers in [0, 2^bits), the same every time.
std::vector<int> random_codes(int bits, uint32_t seed) {
  std::vector<int> codes;
  for (const float value : random_halves(kCount, 64, seed))
    codes.push_back(int(std::abs(value) * 16) & ((1 << bits) - 1));
  return codes;
}

std::vector<std::byte> packed(const std::vector<int>& codes, int bits) {
  std::vector<std::byte> bytes((codes.size() * size_t(bits) + 7) / 8);
  for (size_t i = 0; i < codes.size() * size_t(bits); ++i)
    if (codes[i / size_t(bits)] >> (i % size_t(bits)) & 1) bytes[i / 8] |= std::byte(1 << i % 8);
  return bytes;
}

BlobRecordData halves_record(const std::vector<float>& values) {
  BlobRecordData record{BlobType::kFp16, values.size(), {}};
  for (const float value : values) {
    const uint16_t half = float_to_half(value);
    record.bytes.push_back(std::byte(half & 0xff));
    record.bytes.push_back(std::byte(half >> 8));
  }
  return record;
}

float half_of(float value) { return half_to_float(float_to_half(value)); }

// Whether a convolution with the weight that `declare` writes gives the product of `dense`.
ProbeJson ask(Driver& driver, const std::vector<BlobRecordData>& records, const std::vector<float>& dense,
              const std::function<std::string(MilFunction&, const std::vector<uint64_t>&)>& declare) {
  auto weights = write_records(driver, records);
  if (!weights) return weights.error().message;
  MilFunction function(MilDialect::kTerse, kWidth);
  const std::string weight = declare(function, weights->offsets);
  const std::string out[] = {function.conv(weight, "i00", kRows, "o00")};
  const DeclaredTensor in{"i00", kCols, kWidth};
  const Plane x = random_halves(size_t(kCols) * kWidth, 1, 9);
  return answer(driver, {function.program({&in, 1}, out),
                         std::move(weights->file),
                         {in},
                         {{"o00", kRows, kWidth}},
                         {x},
                         {product(dense, x, kRows, kCols, kWidth)}});
}

std::vector<int> signed_codes(uint32_t seed) {
  std::vector<int> codes = random_codes(8, seed);
  for (int& code : codes) code -= 128;
  return codes;
}

std::vector<float> row_scales() {
  std::vector<float> scales;
  for (int r = 0; r < kRows; ++r) scales.push_back(std::ldexp(1.0f + float(r % 8) / 8, -10));
  return scales;
}

std::vector<float> scaled(const std::vector<int>& codes, const std::function<float(size_t)>& scale) {
  std::vector<float> dense;
  for (size_t i = 0; i < codes.size(); ++i) dense.push_back(half_of(float(codes[i]) * scale(i)));
  return dense;
}

}  // namespace

Answer affine_weights(const ProbedMachine& machine) {
  const auto codes = signed_codes(1);
  const BlobRecordData data{BlobType::kInt8, kCount, packed(codes, 8)};
  const auto scales = row_scales();
  ProbeJson json = {{"ok", true}};
  json["ops"]["constexpr_affine_dequantize"] =
      ask(machine.driver, {data}, scaled(codes, [](size_t) { return 0x1p-9f; }),
          [](MilFunction& f, const auto& at) { return f.affine_weight(kShape, at[0], 0x1p-9f); });
  json["variants"]["a scale a row"] =
      ask(machine.driver, {data, halves_record(scales)}, scaled(codes, [&](size_t i) { return scales[i / kCols]; }),
          [](MilFunction& f, const auto& at) {
            return f.affine_weight(kShape, at[0], f.blob(tensor_type({kShape, 1}), at[1]));
          });
  // What one project wrote by mistake: the record says fp16, of half as many elements.
  json["variants"]["record of type fp16"] =
      ask(machine.driver, {{BlobType::kFp16, kCount / 2, data.bytes}}, scaled(codes, [](size_t) { return 0x1p-9f; }),
          [](MilFunction& f, const auto& at) { return f.affine_weight(kShape, at[0], 0x1p-9f); });
  json["ok"] = is_yes(json["ops"]["constexpr_affine_dequantize"]);
  return json;
}

Answer row_weights(const ProbedMachine& machine) {
  const auto codes = signed_codes(2);
  const BlobRecordData data{BlobType::kInt8, kCount, packed(codes, 8)};
  const auto scales = row_scales();
  ProbeJson json = {{"ok", true}};
  json["ops"]["constexpr_blockwise_shift_scale"] =
      ask(machine.driver, {data, halves_record(scales)}, scaled(codes, [&](size_t i) { return scales[i / kCols]; }),
          [](MilFunction& f, const auto& at) { return f.row_scaled_weight(kShape, at[0], at[1]); });
  constexpr size_t kBlock = 32;
  std::vector<float> blocks;
  for (size_t i = 0; i < kCount / kBlock; ++i) blocks.push_back(std::ldexp(1.0f + float(i % 8) / 8, -10));
  json["blocks"] = ask(machine.driver, {data, halves_record(blocks)},
                       scaled(codes, [&](size_t i) { return blocks[i / kBlock]; }), [](MilFunction& f, const auto& at) {
                         const int64_t shape[] = {kRows, kCols / int64_t(kBlock), 1, 1};
                         return f.scaled_weight(kShape, "int8", at[0], shape, at[1]);
                       });
  json["ok"] = is_yes(json["ops"]["constexpr_blockwise_shift_scale"]);
  return json;
}

Answer table_weights(const ProbedMachine& machine) {
  ProbeJson json = {{"ok", true}};
  const std::pair<int, BlobType> widths[] = {{1, BlobType::kUint1}, {2, BlobType::kUint2}, {3, BlobType::kUint3},
                                             {4, BlobType::kUint4}, {6, BlobType::kUint6}, {8, BlobType::kUint8}};
  const auto table_of = [](int bits, int groups) {
    return random_halves(size_t(groups) << bits, 0.1f, uint32_t(bits));
  };
  for (const auto& [bits, type] : widths) {
    const auto codes = random_codes(bits, 3);
    const auto table = table_of(bits, 1);
    std::vector<float> dense;
    for (const int code : codes) dense.push_back(table[size_t(code)]);
    json["bits"][std::to_string(bits)] =
        ask(machine.driver, {{type, kCount, packed(codes, bits)}, halves_record(table)}, dense,
            [bits = bits](MilFunction& f, const auto& at) { return f.table_weight(kShape, bits, at[0], at[1]); });
  }
  constexpr int kGroups = 4;
  const auto codes = random_codes(4, 4);
  const auto tables = table_of(4, kGroups);
  std::vector<float> dense;
  for (size_t i = 0; i < kCount; ++i) dense.push_back(tables[i / (kCount / kGroups) * 16 + size_t(codes[i])]);
  json["groups"] = ask(machine.driver, {{BlobType::kUint4, kCount, packed(codes, 4)}, halves_record(tables)}, dense,
                       [](MilFunction& f, const auto& at) { return f.table_weight(kShape, 4, at[0], at[1], kGroups); });
  json["ops"]["constexpr_lut_to_dense"] = is_yes(json["bits"]["4"]) ? json["bits"]["4"] : json["bits"]["8"];
  json["ok"] = is_yes(json["bits"]["4"]) && is_yes(json["bits"]["6"]);
  return json;
}

Answer sparse_weights(const ProbedMachine& machine) {
  const auto mask = random_codes(1, 5);
  std::vector<float> values, dense = random_halves(kCount, 0.1f, 6);
  for (size_t i = 0; i < kCount; ++i) {
    if (mask[i] == 0) dense[i] = 0;
    if (mask[i] != 0) values.push_back(dense[i]);
  }
  ProbeJson json = {{"ok", true}};
  json["ops"]["constexpr_sparse_to_dense"] = ask(
      machine.driver, {{BlobType::kUint1, kCount, packed(mask, 1)}, halves_record(values)}, dense,
      [&](MilFunction& f, const auto& at) {
        const int64_t shape[] = {int64_t(values.size())};
        const std::string m = f.weight(kShape, at[0], "uint1"), n = f.weight(shape, at[1]);
        return f.raw(tensor_type(kShape), fmt::format("constexpr_sparse_to_dense(nonzero_data = {}, mask = {})", n, m));
      });
  json["ok"] = is_yes(json["ops"]["constexpr_sparse_to_dense"]);
  return json;
}

// Times beside fp16's; a half or a quarter means that codes are read as they are stored, one that they are expanded beforehand.
Answer streaming(const ProbedMachine& machine) {
  ProbeJson json = {{"ok", true}};
  const auto time_of = [&](int size, const BlobRecordData& data, const auto& declare) -> Result<double> {
    ANEDVD_TRY(auto weights, write_records(machine.driver, {data, halves_record(std::vector<float>(16, 0.01f))}));
    MilFunction function(MilDialect::kTerse, kWidth);
    const int64_t shape[] = {size, size, 1, 1};
    const std::string out[] = {function.conv(declare(function, shape, weights.offsets), "i00", size, "o00")};
    const DeclaredTensor in{"i00", size, kWidth}, result{"o00", size, kWidth};
    ANEDVD_TRY(const auto program, told("conv", SmallProgram::make(machine.driver, function.program({&in, 1}, out),
                                                                   std::move(weights.file), {in}, {result})));
    return run_time(*program, {Plane(size_t(size) * kWidth)}, 5);
  };
  ANEDVD_TRY(const double floor, conv_time(machine.driver, 64, 20, 0));
  for (const int size : {2048, 3072, 4096}) {
    const auto count = size_t(size) * size_t(size);
    ANEDVD_TRY(const double dense,
               time_of(size, {BlobType::kFp16, count, std::vector<std::byte>(2 * count)},
                       [](MilFunction& f, const auto& shape, const auto& at) { return f.weight(shape, at[0]); }));
    const auto ratio = [&](const Result<double>& time) {
      return time ? ProbeJson(std::max(*time - floor, 0.0) / std::max(dense - floor, 1e-3))
                  : ProbeJson(time.error().message);
    };
    const std::string key = std::to_string(size);
    json["int8"][key] = ratio(time_of(
        size, {BlobType::kInt8, count, std::vector<std::byte>(count)},
        [](MilFunction& f, const auto& shape, const auto& at) { return f.affine_weight(shape, at[0], 0x1p-9f); }));
    json["lut4"][key] = ratio(time_of(
        size, {BlobType::kUint4, count, std::vector<std::byte>(count / 2)},
        [](MilFunction& f, const auto& shape, const auto& at) { return f.table_weight(shape, 4, at[0], at[1]); }));
  }
  return json;
}

Answer other_weights(const ProbedMachine& machine) {
  ProbeJson json = {{"ok", true}};
  const std::vector<float> ones(kCount, 1.0f);
  const auto scales = row_scales();
  // 0x38 is one in e4m3.
  const BlobRecordData fp8{BlobType::kFp8E4m3, kCount, std::vector<std::byte>(kCount, std::byte(0x38))};
  for (const char* element : {"fp8e4m3fn", "fp8e4m3"}) {
    json["fp8"][fmt::format("const {}", element)] = ask(
        machine.driver, {fp8}, ones, [&](MilFunction& f, const auto& at) { return f.weight(kShape, at[0], element); });
    json["fp8"][fmt::format("scaled {}", element)] =
        ask(machine.driver, {fp8, halves_record(std::vector<float>(kRows, 1.0f))}, ones,
            [&](MilFunction& f, const auto& at) { return f.scaled_weight(kShape, element, at[0], kRowScales, at[1]); });
  }
  auto codes = random_codes(4, 7);
  const auto bytes = packed(codes, 4);
  for (int& code : codes) code = code >= 8 ? code - 16 : code;
  json["int4"] = ask(machine.driver, {{BlobType::kInt4, kCount, bytes}, halves_record(scales)},
                     scaled(codes, [&](size_t i) { return scales[i / kCols]; }), [](MilFunction& f, const auto& at) {
                       return f.scaled_weight(kShape, "int4", at[0], kRowScales, at[1]);
                     });
  // 0x3f80 is one.
  std::vector<std::byte> bf16;
  for (size_t i = 0; i < kCount; ++i) bf16.insert(bf16.end(), {std::byte(0x80), std::byte(0x3f)});
  json["bf16"] = ask(machine.driver, {{BlobType::kBf16, kCount, bf16}}, ones,
                     [](MilFunction& f, const auto& at) { return f.weight(kShape, at[0], "bf16"); });
  return json;
}

// quantize, dequantize, a convolution with int8 weights: products of bytes where the chip has them.
Answer int8_activations(const ProbedMachine& machine) {
  constexpr float kScale = 0x1p-5f;
  const auto codes = signed_codes(8);
  const auto dense = scaled(codes, [](size_t) { return 0x1p-9f; });
  const BlobRecordData data{BlobType::kInt8, kCount, packed(codes, 8)};
  const auto build = [&](int width, const std::vector<uint64_t>& at) {
    MilFunction function(MilDialect::kTerse, width);
    const int64_t shape[] = {1, kCols, 1, width};
    const auto type = [&](const char* element) { return tensor_type(shape, element); };
    const std::string scale = function.half(kScale);
    const std::string q = function.raw(type("int8"), fmt::format("quantize(input = i00, scale = {}, output_dtype = {})",
                                                                 scale, function.string("int8")));
    const std::string x = function.raw(type("fp16"), fmt::format("dequantize(input = {}, scale = {})", q, scale));
    const std::string out[] = {function.conv(function.affine_weight(kShape, at[0], 0x1p-9f), x, kRows, "o00")};
    const DeclaredTensor in{"i00", kCols, width};
    return function.program({&in, 1}, out);
  };
  ProbeJson json = {{"ok", true}};
  {
    ANEDVD_TRY(auto weights, write_records(machine.driver, {data}));
    const Plane x = random_halves(size_t(kCols) * kWidth, 1, 9);
    Plane rounded;
    for (const float value : x) rounded.push_back(std::clamp(std::nearbyint(value / kScale), -128.0f, 127.0f) * kScale);
    json["ops"]["quantize"] = answer(machine.driver, {build(kWidth, weights.offsets),
                                                      std::move(weights.file),
                                                      {{"i00", kCols, kWidth}},
                                                      {{"o00", kRows, kWidth}},
                                                      {x},
                                                      {product(dense, rounded, kRows, kCols, kWidth)}});
    json["ops"]["dequantize"] = json["ops"]["quantize"];
  }
  for (const int width : {64, 512}) {
    ANEDVD_TRY(auto weights, write_records(machine.driver, {data}));
    auto program = SmallProgram::make(machine.driver, build(width, weights.offsets), std::move(weights.file),
                                      {{"i00", kCols, width}}, {{"o00", kRows, width}});
    if (!program) {
      json["us"][std::to_string(width)] = words_of(program.error());
      continue;
    }
    const auto time = run_time(**program, {Plane(size_t(kCols) * size_t(width))}, 10);
    json["us"][std::to_string(width)] = time ? ProbeJson(*time) : ProbeJson(time.error().message);
  }
  json["ok"] = is_yes(json["ops"]["quantize"]);
  return json;
}

}  // namespace anedvd::probes
