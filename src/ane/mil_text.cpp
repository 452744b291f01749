#include "ane/mil_text.h"

#include <algorithm>

#include "base/half.h"
#include "base/result.h"

namespace anedvd {
namespace {

constexpr std::string_view kWeightPath = "@model_path/weights/w.bin";

std::string shape_text(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", shape[i]);
  return text + "]";
}

}  // namespace

std::string tensor_type(std::span<const int64_t> shape, std::string_view element) {
  return fmt::format("tensor<{}, {}>", element, shape_text(shape));
}

std::string_view dialect_name(MilDialect dialect) { return dialect == MilDialect::kTerse ? "terse" : "verbose"; }

std::string MilFunction::scalar_type(std::string_view type) const {
  return dialect_ == MilDialect::kTerse ? std::string(type) : fmt::format("tensor<{}, []>", type);
}

std::string MilFunction::literal(std::string_view type, std::string_view value) const {
  return fmt::format("{}({})", scalar_type(type), value);
}

std::string MilFunction::constant(std::string_view type, std::string_view value) {
  std::string key = fmt::format("{} {}", type, value);
  const auto known = std::find_if(constants_.begin(), constants_.end(), [&](const auto& c) { return c.first == key; });
  if (known != constants_.end()) return known->second;
  std::string name = fresh();
  body_ += fmt::format("    {} {} = const()[name = {}, val = {}({})];\n", type, name,
                       literal("string", fmt::format("\"{}\"", name)), type, value);
  constants_.emplace_back(std::move(key), name);
  return name;
}

std::string MilFunction::half(float value) {
  ANEDVD_CHECK(half_to_float(float_to_half(value)) == value, "{} is not an fp16 number", value);
  // Hexadecimal: exact in every reader.
  return constant(scalar_type("fp16"), fmt::format("{:a}", value));
}

std::string MilFunction::int32(int value) { return constant(scalar_type("int32"), std::to_string(value)); }

std::string MilFunction::boolean(bool value) { return constant(scalar_type("bool"), value ? "true" : "false"); }

std::string MilFunction::string(std::string_view value) {
  return constant(scalar_type("string"), fmt::format("\"{}\"", value));
}

std::string MilFunction::int32s(std::span<const int> values) {
  std::string list = "[";
  for (size_t i = 0; i < values.size(); ++i) list += fmt::format("{}{}", i == 0 ? "" : ", ", values[i]);
  return constant(fmt::format("tensor<int32, [{}]>", values.size()), list + "]");
}

std::string MilFunction::blob(std::string_view type, uint64_t offset) const {
  return fmt::format("{}(BLOBFILE(path = {}, offset = {}))", type,
                     literal("string", fmt::format("\"{}\"", kWeightPath)), literal("uint64", std::to_string(offset)));
}

std::string MilFunction::raw(std::string_view type, std::string_view call, std::string_view attributes,
                             std::string name) {
  if (name.empty()) name = fresh();
  body_ += fmt::format("    {} {} = {}[name = {}{}{}];\n", type, name, call,
                       literal("string", fmt::format("\"{}\"", name)), attributes.empty() ? "" : ", ", attributes);
  return name;
}

std::string MilFunction::weight(std::span<const int64_t> shape, uint64_t offset, std::string_view element) {
  const std::string type = tensor_type(shape, element);
  return raw(type, "const()", "val = " + blob(type, offset));
}

std::string MilFunction::affine_weight(std::span<const int64_t> shape, uint64_t offset, float scale) {
  return affine_weight(shape, offset, fmt::format("fp16({:a})", scale));
}

// Empty parentheses, everything in the brackets: the only spelling of this operation that is known to be read.
std::string MilFunction::affine_weight(std::span<const int64_t> shape, uint64_t offset, const std::string& scale) {
  ANEDVD_CHECK(dialect_ == MilDialect::kTerse, "int8 weights in the verbose dialect");
  return raw(tensor_type(shape), "constexpr_affine_dequantize()",
             fmt::format("axis = int32(0), quantized_data = {}, scale = {}, zero_point = int8(0)",
                         blob(tensor_type(shape, "int8"), offset), scale));
}

std::string MilFunction::row_scaled_weight(std::span<const int64_t> shape, uint64_t offset, uint64_t scale_offset) {
  const int64_t scales[] = {shape[0], 1, 1, 1};
  return scaled_weight(shape, "int8", offset, scales, scale_offset);
}

std::string MilFunction::scaled_weight(std::span<const int64_t> shape, std::string_view element, uint64_t offset,
                                       std::span<const int64_t> scale_shape, uint64_t scale_offset) {
  ANEDVD_CHECK(dialect_ == MilDialect::kTerse, "scaled weights in the verbose dialect");
  const std::string data = weight(shape, offset, element), scale = weight(scale_shape, scale_offset);
  return raw(tensor_type(shape), fmt::format("constexpr_blockwise_shift_scale(data = {}, scale = {})", data, scale));
}

std::string MilFunction::table_weight(std::span<const int64_t> shape, int bits, uint64_t offset, uint64_t table_offset,
                                      int groups) {
  ANEDVD_CHECK(dialect_ == MilDialect::kTerse, "tables of weights in the verbose dialect");
  // Of the indices' rank and two more.
  const int64_t entries[] = {groups, 1, 1, 1, int64_t(1) << bits, 1};
  const std::string indices = weight(shape, offset, fmt::format("uint{}", bits)), table = weight(entries, table_offset);
  return raw(tensor_type(shape), fmt::format("constexpr_lut_to_dense(indices = {}, lut = {})", indices, table));
}

std::string MilFunction::statement(std::string_view op, std::span<const Argument> arguments, int64_t channels,
                                   std::string name, int64_t columns) {
  const int64_t shape[] = {1, channels, 1, columns < 0 ? width_ : columns};
  std::string call = fmt::format("{}(", op);
  for (size_t i = 0; i < arguments.size(); ++i)
    call += fmt::format("{}{} = {}", i == 0 ? "" : ", ", arguments[i].first, arguments[i].second);
  return raw(tensor_type(shape), call + ")", {}, std::move(name));
}

std::string MilFunction::conv(const std::string& weight, const std::string& x, int64_t rows, std::string name) {
  const int ones[] = {1, 1}, zeros[] = {0, 0, 0, 0};
  const Argument arguments[] = {{"dilations", int32s(ones)},
                                {"groups", int32(1)},
                                {"pad", int32s(zeros)},
                                {"pad_type", string("valid")},
                                {"strides", int32s(ones)},
                                {"weight", weight},
                                {"x", x}};
  return statement("conv", arguments, rows, std::move(name));
}

std::string MilFunction::program(std::span<const DeclaredTensor> inputs, std::span<const std::string> outputs) const {
  const std::string main = function("main", inputs, outputs);
  return mil_program(dialect_, {&main, 1});
}

std::string MilFunction::function(std::string_view name, std::span<const DeclaredTensor> inputs,
                                  std::span<const std::string> outputs) const {
  std::string text = fmt::format("  func {}<{}>(", name, dialect_ == MilDialect::kTerse ? "ios18" : "ios16");
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int64_t shape[] = {1, inputs[i].channels, 1, inputs[i].width};
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", tensor_type(shape), inputs[i].name);
  }
  text += ") {\n" + body_ + "  } -> (";
  for (size_t i = 0; i < outputs.size(); ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", outputs[i]);
  return text + ");\n";
}

std::string mil_program(MilDialect dialect, std::span<const std::string> functions) {
  std::string text =
      dialect == MilDialect::kTerse
          ? "program(1.3)\n[buildInfo = dict<string, string>({{\"coremlc-component-MIL\", \"3510.2.1\"}, "
            "{\"coremlc-version\", \"3505.4.1\"}, {\"coremltools-component-milinternal\", \"\"}, "
            "{\"coremltools-version\", \"9.0\"}})]\n{\n"
          : "program(1.0)\n[buildInfo = dict<tensor<string, []>, tensor<string, []>>({{\"coremlc-version\", "
            "\"3505.4.1\"}})]\n{\n";
  for (const std::string& function : functions) text += function;
  return text + "}\n";
}

}  // namespace anedvd
