#include "ane/mil_writer.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/half.h"

namespace anedvd {
namespace {

constexpr uint64_t kHeaderBytes = 64;

class Writer {
 public:
  Writer(const Plan& plan, const ProgramSpec& spec, const MilOptions& options, std::span<const WeightCode> codes)
      : plan_(plan),
        spec_(spec),
        exponents_(options.exponents),
        gates_(options.gates),
        function_(options.dialect, options.width),
        width_(options.width),
        codes_(codes) {}

  MilProgram write() {
    for (const ValueId id : spec_.inputs) {
      Port port{fmt::format("i{:02}", program_.inputs.size()), dim(id), {{id, 0, dim(id)}}};
      names_[id] = port.name;
      program_.inputs.push_back(std::move(port));
    }
    std::vector<bool> done(spec_.ops.size(), false);
    for (size_t i = 0; i < spec_.ops.size(); ++i) {
      if (done[i]) continue;
      const std::vector<size_t> stack = stack_from(i);
      if (stack.size() > 1) {
        for (const size_t member : stack) done[member] = true;
        write_stack(stack);
      } else {
        write_op(op_at(i), exponent_at(i));
      }
    }
    std::vector<DeclaredTensor> inputs;
    for (const Port& port : program_.inputs) inputs.push_back({port.name, port.channels, width_});
    std::vector<std::string> outputs;
    for (const Port& port : program_.outputs) outputs.push_back(port.name);
    program_.text = function_.program(inputs, outputs);
    return std::move(program_);
  }

 private:
  const Op& op_at(size_t i) const { return plan_.ops[size_t(spec_.ops[i])]; }
  int exponent_at(size_t i) const { return exponents_.empty() ? 0 : exponents_[i]; }

  // The program holds 2^shift times the value.
  int shift(ValueId id) const {
    const auto found = shifts_.find(id);
    return found == shifts_.end() ? 0 : found->second;
  }

  // The name of the value itself.
  std::string unshifted(ValueId id) {
    if (shift(id) == 0) return names_.at(id);
    const auto found = unshifted_.find(id);
    if (found != unshifted_.end()) return found->second;
    return unshifted_[id] = binary("mul", names_.at(id), function_.half(std::exp2f(float(-shift(id)))), rows(id));
  }

  // Rows of a value in this program. Only what a linear writes is sliced, never what it reads.
  int64_t dim(ValueId id) const { return plan_.values[size_t(id)].dim; }
  int64_t rows(ValueId id) const { return spec_.is_sliced() ? spec_.rows : dim(id); }

  bool leaves(ValueId id) const {
    return std::find(spec_.outputs.begin(), spec_.outputs.end(), id) != spec_.outputs.end();
  }

  bool is_read_here(ValueId id) const {
    return std::any_of(spec_.ops.begin(), spec_.ops.end(), [&](int i) {
      const auto& in = plan_.ops[size_t(i)].in;
      return std::find(in.begin(), in.end(), id) != in.end();
    });
  }

  bool is_stackable(const Op& op) const {
    return op.kind == OpKind::kLinear && !spec_.is_sliced() && leaves(op.out) && !is_read_here(op.out);
  }

  // Linears from position `first` on that can be one convolution: positions in spec_.ops.
  std::vector<size_t> stack_from(size_t first) const {
    std::vector<size_t> members = {first};
    if (!is_stackable(op_at(first))) return members;
    const bool has_bias = op_at(first).bias >= 0;
    for (size_t i = first + 1; i < spec_.ops.size(); ++i) {
      const Op& op = op_at(i);
      if (is_stackable(op) && op.in[0] == op_at(first).in[0] && (op.bias >= 0) == has_bias) members.push_back(i);
    }
    return members;
  }

  std::string new_port(std::vector<PortPart> parts) {
    Port port{fmt::format("o{:02}", program_.outputs.size()), 0, std::move(parts)};
    for (const PortPart& part : port.parts) port.channels += part.rows;
    program_.outputs.push_back(port);
    return program_.outputs.back().name;
  }

  // The name of a value that is about to be written: a fresh one, or its port's.
  std::string target(ValueId id) {
    if (!leaves(id)) return {};
    return new_port({{id, spec_.is_sliced() ? spec_.first_row : 0, rows(id), shift(id)}});
  }

  // The record behind those that are there; returns its offset.
  uint64_t place(WeightSlot slot) {
    for (const WeightPart& part : slot.parts) slot.elements += part.rows * part.cols;
    slot.elements += int64_t(slot.halves.size());
    const int64_t bytes = (slot.elements * bits_of(slot.type) + 7) / 8;
    slot.offset = next_record(file_end_);
    file_end_ = slot.offset + kHeaderBytes + uint64_t(bytes);
    program_.weight_bytes += bytes;
    program_.weights.push_back(std::move(slot));
    return program_.weights.back().offset;
  }

  std::string slot(std::vector<WeightPart> parts, std::span<const int64_t> shape) {
    WeightSlot slot;
    slot.parts = std::move(parts);
    return function_.weight(shape, place(std::move(slot)));
  }

  // A linear's weights, in the form that was chosen for them.
  std::string matrix(std::vector<WeightPart> parts, std::span<const int64_t> shape) {
    WeightSlot slot;
    slot.parts = std::move(parts);
    slot.is_matrix = true;
    if (!codes_.empty()) slot.code = codes_[next_code_++];
    const WeightFormat format = slot.code.format;
    if (format == WeightFormat::kFp16) return function_.weight(shape, place(std::move(slot)));
    WeightSlot numbers;
    numbers.halves = slot.code.table.empty() ? slot.code.scales : slot.code.table;
    const float first = half_to_float(numbers.halves[0]);
    slot.type = code_type(format);
    const uint64_t offset = place(std::move(slot));
    if (format == WeightFormat::kInt8) return function_.affine_weight(shape, offset, first);
    const uint64_t second = place(std::move(numbers));
    if (format == WeightFormat::kInt8Row) return function_.row_scaled_weight(shape, offset, second);
    return function_.table_weight(shape, code_bits(format), offset, second);
  }

  std::string vector_slot(std::vector<WeightPart> parts, int64_t channels) {
    const int64_t shape[] = {1, channels, 1, 1};
    return slot(std::move(parts), shape);
  }

  std::string conv(const std::string& input, const std::string& weight, int64_t out_rows, std::string name,
                   int64_t in_rows) {
    program_.macs_per_column += out_rows * in_rows;
    program_.ops.emplace_back("conv");
    return function_.conv(weight, input, out_rows, std::move(name));
  }

  std::string emit(std::string_view op, std::span<const Argument> arguments, int64_t channels, std::string name = {},
                   int64_t columns = -1) {
    program_.ops.emplace_back(op);
    return function_.statement(op, arguments, channels, std::move(name), columns);
  }

  std::string binary(std::string_view op, const std::string& x, const std::string& y, int64_t channels,
                     std::string name = {}) {
    const Argument arguments[] = {{"x", x}, {"y", y}};
    return emit(op, arguments, channels, std::move(name));
  }

  std::string unary(std::string_view op, const std::string& x, int64_t channels, std::string name = {}) {
    const Argument arguments[] = {{"x", x}};
    return emit(op, arguments, channels, std::move(name));
  }

  WeightPart part_of(WeightId id, int exponent) const {
    const WeightRef& ref = plan_.weights[size_t(id)];
    if (spec_.is_sliced()) return {ref, 0, spec_.first_row, spec_.rows, ref.cols, exponent};
    return {ref, 0, 0, ref.rows, ref.cols, exponent};
  }

  void write_stack(const std::vector<size_t>& stack) {
    std::vector<WeightPart> weights, biases;
    std::vector<PortPart> parts;
    int64_t total = 0;
    for (const size_t i : stack) {
      const Op& op = op_at(i);
      const int own = exponent_at(i), all = shift(op.in[0]) + own;
      weights.push_back(part_of(op.weight, own));
      if (op.bias >= 0) biases.push_back(part_of(op.bias, all));
      parts.push_back({op.out, 0, dim(op.out), all});
      total += dim(op.out);
    }
    write_linear(op_at(stack[0]), std::move(weights), std::move(biases), total, new_port(std::move(parts)));
  }

  std::string write_linear(const Op& op, std::vector<WeightPart> weights, std::vector<WeightPart> biases,
                           int64_t out_rows, std::string name) {
    const int64_t in_rows = dim(op.in[0]), shape[] = {out_rows, in_rows, 1, 1};
    const std::string weight = matrix(std::move(weights), shape);
    if (biases.empty()) return conv(names_.at(op.in[0]), weight, out_rows, std::move(name), in_rows);
    // A conv's own bias argument is refused (docs/ane.md#conv-bias): added after it.
    const std::string bias = vector_slot(std::move(biases), out_rows);
    const std::string product = conv(names_.at(op.in[0]), weight, out_rows, {}, in_rows);
    return binary("add", product, bias, out_rows, std::move(name));
  }

  void write_op(const Op& op, int exponent) {
    if (op.kind == OpKind::kLinear || op.kind == OpKind::kScale) shifts_[op.out] = shift(op.in[0]) + exponent;
    if (op.kind == OpKind::kMul) shifts_[op.out] = shift(op.in[0]) + shift(op.in[1]);
    // Inputs are brought back to their own size before the result is named: names say the order of the statements.
    const bool needs_own_size = op.kind != OpKind::kLinear && op.kind != OpKind::kScale && op.kind != OpKind::kMul &&
                                !(op.kind == OpKind::kSilu && gates_ == GateForm::kTanh);
    for (const ValueId in : op.in)
      if (needs_own_size && in >= 0) unshifted(in);
    std::string name = target(op.out);
    names_[op.out] = statement_of(op, exponent, std::move(name));
  }

  std::string statement_of(const Op& op, int exponent, std::string name) {
    const int64_t channels = rows(op.out);
    switch (op.kind) {
      case OpKind::kLinear: {
        std::vector<WeightPart> biases;
        if (op.bias >= 0) biases.push_back(part_of(op.bias, shift(op.out)));
        return write_linear(op, {part_of(op.weight, exponent)}, std::move(biases), channels, std::move(name));
      }
      case OpKind::kAdd: return binary("add", unshifted(op.in[0]), unshifted(op.in[1]), channels, std::move(name));
      case OpKind::kMul: return binary("mul", names_.at(op.in[0]), names_.at(op.in[1]), channels, std::move(name));
      case OpKind::kScale: return binary("mul", names_.at(op.in[0]), nearest_half(op.param), channels, std::move(name));
      case OpKind::kSilu: return silu(op.in[0], channels, std::move(name));
      case OpKind::kGeluTanh: return gelu(unshifted(op.in[0]), channels, std::move(name));
      case OpKind::kSoftCap: {
        const std::string scaled = binary("mul", unshifted(op.in[0]), nearest_half(1 / op.param), channels);
        return binary("mul", unary("tanh", scaled, channels), nearest_half(op.param), channels, std::move(name));
      }
      case OpKind::kRmsNorm: return norm(op, channels, std::move(name));
      default: ANEDVD_CHECK(false, "{} has no MIL form", op_name(op.kind));
    }
    return {};
  }

  std::string nearest_half(float value) { return function_.half(half_to_float(float_to_half(value))); }

  // x · σ(x), or h · (tanh h + 1) with h = x/2. The sum comes before the product: a shut gate's error is then not larger than the rounding of tanh.
  std::string silu(ValueId in, int64_t channels, std::string name) {
    if (gates_ == GateForm::kSigmoid) {
      const std::string x = unshifted(in);
      return binary("mul", x, unary("sigmoid", x, channels), channels, std::move(name));
    }
    const std::string half = binary("mul", names_.at(in), function_.half(std::exp2f(float(-shift(in) - 1))), channels);
    const std::string twice = binary("add", unary("tanh", half, channels), function_.half(1), channels);
    return binary("mul", half, twice, channels, std::move(name));
  }

  // x · σ(2 · inner), or x · (½ + ½ tanh inner), inner = x · (c0 + c1 · x²), c0 = sqrt(2/π), c1 = 0.044715 · c0: no cube. The clip keeps x² finite;
  // the gate is 0 or 1 there already.
  std::string gelu(const std::string& x, int64_t channels, std::string name) {
    const Argument clip[] = {{"alpha", function_.half(-50)}, {"beta", function_.half(50)}, {"x", x}};
    const std::string clipped = emit("clip", clip, channels);
    const std::string square = binary("mul", clipped, clipped, channels);
    const bool is_tanh = gates_ == GateForm::kTanh;
    const float size = is_tanh ? 1 : 2;
    const std::string scaled = binary("mul", square, function_.half(0x1.244p-5f * size), channels);
    const std::string factor = binary("add", scaled, function_.half(0x1.988p-1f * size), channels);
    const std::string inner = binary("mul", clipped, factor, channels);
    if (!is_tanh) return binary("mul", x, unary("sigmoid", inner, channels), channels, std::move(name));
    const std::string half = binary("mul", unary("tanh", inner, channels), function_.half(0.5f), channels);
    return binary("mul", x, binary("add", half, function_.half(0.5f), channels), channels, std::move(name));
  }

  // x ⊙ (mean(x²) + ε)^-½ ⊙ gain. The sum is a convolution with equal weights, whose accumulator is wide; reduce_sum's is fp16
  // (docs/ane.md#reductions). Weights of about 1/sqrt(C) keep both the products and the sum in the middle of the accumulator's range.
  std::string norm(const Op& op, int64_t channels, std::string name) {
    const std::string x = unshifted(op.in[0]);
    const float weight = std::exp2(-std::round(std::log2(float(channels)) / 2));
    const int64_t shape[] = {1, channels, 1, 1};
    const std::string ones = slot({{std::nullopt, weight, 0, 1, channels}}, shape);
    const std::string sum = conv(binary("mul", x, x, channels), ones, 1, {}, channels);
    const std::string mean = binary("mul", sum, nearest_half(1 / (weight * float(channels))), 1);
    const std::string safe = binary("add", mean, nearest_half(op.param), 1);
    const std::string inverse = binary("pow", safe, function_.half(-0.5f), 1);
    if (op.weight < 0) return binary("mul", x, inverse, channels, std::move(name));
    const WeightRef& gain = plan_.weights[size_t(op.weight)];
    const std::string normal = binary("mul", x, inverse, channels);
    return binary("mul", normal, vector_slot({{gain, 0, 0, channels, 1}}, channels), channels, std::move(name));
  }

  const Plan& plan_;
  const ProgramSpec& spec_;
  const std::vector<int>& exponents_;
  GateForm gates_;
  MilFunction function_;
  int width_;
  std::span<const WeightCode> codes_;
  size_t next_code_ = 0;
  MilProgram program_;
  std::map<ValueId, std::string> names_, unshifted_;
  std::map<ValueId, int> shifts_;
  uint64_t file_end_ = kHeaderBytes;
};

}  // namespace

MilProgram write_mil(const Plan& plan, const ProgramSpec& spec, const MilOptions& options,
                     std::span<const WeightCode> codes) {
  return Writer(plan, spec, options, codes).write();
}

}  // namespace anedvd
