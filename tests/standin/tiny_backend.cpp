// Runs conv 1×1, add, mul, sigmoid and tanh on [1, C, 1, W] halves. Every step is rounded to half precision; sums are kept in float.
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "backend.h"
#include "base/half.h"
#include "outline.h"

namespace standin {
namespace {

using anedvd::float_to_half;
using anedvd::half_to_float;

constexpr const char* kService = "com.apple.appleneuralengine";

struct Tensor {
  long long channels = 0, width = 0;
  std::vector<float> values;  // [channels][width]
};

struct Compiled {
  MilFunction function;
  std::map<std::string, Tensor> constants;  // weights as [out, in]
  Outline outline;
};

uint32_t word_at(const std::string& bytes, size_t at) {
  uint32_t out = 0;
  std::memcpy(&out, bytes.data() + at, 4);
  return out;
}
uint64_t long_at(const std::string& bytes, size_t at) {
  uint64_t out = 0;
  std::memcpy(&out, bytes.data() + at, 8);
  return out;
}

// One tensor of halves in a weight file: a 64-byte record at `offset` that says where its bytes are (docs/ane.md#blob).
std::optional<Tensor> weights_at(const std::string& file, uint64_t offset, long long rows, long long columns) {
  const auto size = uint64_t(rows * columns * 2);
  if (file.size() < 64 || word_at(file, 4) != 2 || offset < 64 || offset + 64 > file.size()) return std::nullopt;
  if (word_at(file, offset) != 0xDEADBEEF || word_at(file, offset + 4) != 1 || long_at(file, offset + 8) != size)
    return std::nullopt;
  const uint64_t at = long_at(file, offset + 16);
  if (at > file.size() || size > file.size() - at) return std::nullopt;
  Tensor out{rows, columns, std::vector<float>(size / 2)};
  for (size_t i = 0; i < out.values.size(); ++i) {
    uint16_t half = 0;
    std::memcpy(&half, file.data() + at + 2 * i, 2);
    out.values[i] = half_to_float(half);
  }
  return out;
}

// "…BLOBFILE(path = string(\"…\"), offset = uint64(64))…": the offset.
std::optional<uint64_t> blob_offset(const std::string& value) {
  if (value.find("BLOBFILE") == std::string::npos) return std::nullopt;
  size_t at = value.find("offset");
  at = at == std::string::npos ? at : value.find('(', at);
  if (at == std::string::npos) return std::nullopt;
  return std::strtoull(value.c_str() + at + 1, nullptr, 10);
}

bool read_constant(const MilStatement& statement, const std::string& weights, Compiled& out) {
  const auto value = statement.attributes.find("val");
  if (value == statement.attributes.end()) return false;
  if (const auto offset = blob_offset(value->second)) {
    const auto dims = dimensions_of(statement.type);
    if (dims.size() != 4) return false;
    auto tensor = weights_at(weights, *offset, dims[0], dims[1] * dims[2] * dims[3]);
    if (!tensor) return false;
    out.constants[statement.name] = std::move(*tensor);
  } else if (statement.type.find("fp16") != std::string::npos) {
    const size_t open = value->second.rfind('(');
    out.constants[statement.name] = {1, 1, {float(std::strtod(value->second.c_str() + open + 1, nullptr))}};
  }
  return true;  // other constants (strings, strides) say nothing new to a 1×1 convolution
}

// The operands that TinyProgram::run() will look up.
bool operands_known(const MilStatement& statement, const std::map<std::string, std::string>& types) {
  const bool is_unary = statement.operation == "sigmoid" || statement.operation == "tanh";
  const char* second = statement.operation == "conv" ? "weight" : is_unary ? "x" : "y";
  for (const char* name : {"x", second}) {
    const auto found = statement.arguments.find(name);
    if (found == statement.arguments.end() || !types.contains(found->second)) return false;
  }
  return true;
}

class TinyProgram final : public Program {
 public:
  explicit TinyProgram(const Compiled& compiled) : compiled_(compiled) {}
  const std::vector<Procedure>& procedures() const override { return procedures_; }

  std::optional<Failure> evaluate(int, std::span<const BoundTensor> inputs,
                                  std::span<const BoundTensor> outputs) override {
    for (int side : {0, 1})
      for (const BoundTensor& bound : side == 0 ? inputs : outputs)
        if (const auto& info = (side == 0 ? compiled_.outline.inputs : compiled_.outline.outputs)[size_t(bound.symbol)];
            bound.memory.size() < size_t(info.bytes()))
          return Failure{kService, 42, "Inference failed — IOSurface smaller than the model expects", 0x1d};
    std::map<std::string, Tensor> values = compiled_.constants;
    for (const BoundTensor& bound : inputs) {
      const TensorInfo& info = compiled_.outline.inputs[size_t(bound.symbol)];
      Tensor& tensor = values[info.name] = {info.channels, info.width, {}};
      for (long long c = 0; c < info.channels; ++c)
        for (long long w = 0; w < info.width; ++w) tensor.values.push_back(element(bound.memory, info, c, w));
    }
    for (const MilStatement& statement : compiled_.function.statements)
      if (statement.operation != "const") run(statement, values);
    for (const BoundTensor& bound : outputs) {
      const TensorInfo& info = compiled_.outline.outputs[size_t(bound.symbol)];
      const Tensor& tensor = values.at(info.name);
      for (long long c = 0; c < info.channels; ++c)
        for (long long w = 0; w < info.width; ++w) {
          const uint16_t half = float_to_half(tensor.values[size_t(c * info.width + w)]);
          std::memcpy(bound.memory.data() + c * info.row_stride() + w * 2, &half, 2);
        }
    }
    return std::nullopt;
  }

 private:
  static float element(std::span<const std::byte> memory, const TensorInfo& info, long long c, long long w) {
    uint16_t half = 0;
    std::memcpy(&half, memory.data() + c * info.row_stride() + w * 2, 2);
    return half_to_float(half);
  }

  static void run(const MilStatement& statement, std::map<std::string, Tensor>& values) {
    const auto argument = [&](const char* name) -> const Tensor& { return values[statement.arguments.at(name)]; };
    const Tensor& x = argument("x");
    Tensor out{x.channels, x.width, {}};
    if (statement.operation == "conv") {
      const Tensor& weight = argument("weight");
      out.channels = weight.channels;
      for (long long r = 0; r < weight.channels; ++r)
        for (long long w = 0; w < x.width; ++w) {
          float sum = 0;
          for (long long c = 0; c < x.channels; ++c)
            sum += weight.values[size_t(r * x.channels + c)] * x.values[size_t(c * x.width + w)];
          out.values.push_back(sum);
        }
    } else if (statement.operation == "sigmoid") {
      for (float v : x.values) out.values.push_back(1 / (1 + std::exp(-v)));
    } else if (statement.operation == "tanh") {
      for (float v : x.values) out.values.push_back(std::tanh(v));
    } else {
      const Tensor& y = argument("y");
      for (size_t i = 0; i < x.values.size(); ++i) {
        const float right = y.values.size() == 1 ? y.values[0] : y.values[i];
        out.values.push_back(statement.operation == "add" ? x.values[i] + right : x.values[i] * right);
      }
    }
    for (float& v : out.values) v = half_to_float(float_to_half(v));
    values[statement.name] = std::move(out);
  }

  Compiled compiled_;
  std::vector<Procedure> procedures_ = procedures_of(compiled_.outline);
};

class TinyBackend final : public Backend {
 public:
  std::optional<Failure> compile(const std::string& hex, const std::filesystem::path& folder) override {
    const auto function = read_mil(content_of(folder / "model.mil"));
    if (!function) return invalid_program();
    const auto outline = outline_of(*function);
    if (!outline) return invalid_program();
    Compiled out{*function, {}, *outline};
    const std::string weights = content_of(folder / "weights" / "w.bin");
    std::map<std::string, std::string> types;
    for (const MilParameter& parameter : function->parameters) types[parameter.name] = parameter.type;
    static const std::set<std::string> kKnown = {"const", "conv", "add", "mul", "sigmoid", "tanh"};
    for (const MilStatement& statement : function->statements) {
      if (!kKnown.contains(statement.operation)) return invalid_program();
      if (statement.operation == "const" && !read_constant(statement, weights, out)) return invalid_program();
      if (statement.operation != "const" && !operands_known(statement, types)) return invalid_program();
      types[statement.name] = statement.type;
    }
    compiled_[hex] = std::move(out);
    return std::nullopt;
  }

  bool is_compiled(const std::string& hex) const override { return compiled_.contains(hex); }

  std::unique_ptr<Program> load(const std::string& hex, std::optional<Failure>& failure) override {
    const auto found = compiled_.find(hex);
    if (found == compiled_.end()) {
      failure = not_compiled();
      return nullptr;
    }
    return std::make_unique<TinyProgram>(found->second);
  }

 private:
  std::map<std::string, Compiled> compiled_;
};

}  // namespace

std::unique_ptr<Backend> make_tiny_backend() { return std::make_unique<TinyBackend>(); }

}  // namespace standin
