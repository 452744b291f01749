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

std::string tensor_type(std::span<const int64_t> shape) { return fmt::format("tensor<fp16, {}>", shape_text(shape)); }

}  // namespace

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

std::string MilFunction::weight(std::span<const int64_t> shape, uint64_t offset) {
  const std::string type = tensor_type(shape), name = fresh();
  body_ +=
      fmt::format("    {} {} = const()[name = {}, val = {}(BLOBFILE(path = {}, offset = {}))];\n", type, name,
                  literal("string", fmt::format("\"{}\"", name)), type,
                  literal("string", fmt::format("\"{}\"", kWeightPath)), literal("uint64", std::to_string(offset)));
  return name;
}

std::string MilFunction::statement(std::string_view op, std::span<const Argument> arguments, int64_t channels,
                                   std::string name, int64_t columns) {
  if (name.empty()) name = fresh();
  const int64_t shape[] = {1, channels, 1, columns < 0 ? width_ : columns};
  body_ += fmt::format("    {} {} = {}(", tensor_type(shape), name, op);
  for (size_t i = 0; i < arguments.size(); ++i)
    body_ += fmt::format("{}{} = {}", i == 0 ? "" : ", ", arguments[i].first, arguments[i].second);
  body_ += fmt::format(")[name = {}];\n", literal("string", fmt::format("\"{}\"", name)));
  return name;
}

std::string MilFunction::program(std::span<const DeclaredTensor> inputs, std::span<const std::string> outputs) const {
  std::string text;
  if (dialect_ == MilDialect::kTerse) {
    text =
        "program(1.3)\n[buildInfo = dict<string, string>({{\"coremlc-component-MIL\", \"3510.2.1\"}, "
        "{\"coremlc-version\", \"3505.4.1\"}, {\"coremltools-component-milinternal\", \"\"}, "
        "{\"coremltools-version\", \"9.0\"}})]\n{\n  func main<ios18>(";
  } else {
    text =
        "program(1.0)\n[buildInfo = dict<tensor<string, []>, tensor<string, []>>({{\"coremlc-version\", "
        "\"3505.4.1\"}})]\n{\n  func main<ios16>(";
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int64_t shape[] = {1, inputs[i].channels, 1, inputs[i].width};
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", tensor_type(shape), inputs[i].name);
  }
  text += ") {\n" + body_ + "  } -> (";
  for (size_t i = 0; i < outputs.size(); ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", outputs[i]);
  return text + ");\n}\n";
}

}  // namespace anedvd
