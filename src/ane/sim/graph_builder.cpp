#include <algorithm>
#include <map>
#include <set>

#include "ane/sim/constants.h"
#include "ane/sim/graph.h"
#include "ane/sim/rule.h"
#include "ane/sim/signature.h"
#include "base/checked_math.h"
#include "base/words.h"

namespace anedvd::sim {
namespace {

constexpr std::string_view kCompilerDomain = "com.apple.appleneuralengine.compiler";
constexpr uint64_t kMostElements = uint64_t(1) << 33;  // of one tensor: above any limit of any profile

DriverFailure compiler_failure(std::string_view what, const std::string& why) {
  DriverFailure failure;
  failure.domain = kCompilerDomain;
  failure.code = 1;
  failure.text = fmt::format("_ANECompiler : ANECCompile() FAILED: err=({}): {}", what, why);
  return failure;
}

class Builder {
 public:
  Builder(const MilFunctionText& text, const Profile& profile, const FileFinder& files)
      : text_(text), profile_(profile), files_(files) {}

  DriverResult<Graph> build() {
    graph_.name = text_.name;
    for (const MilParameter& input : text_.inputs)
      if (auto added = add_input(input); !added) return tl::unexpected(added.error());
    for (const MilStatement& statement : text_.statements) {
      line_ = statement.line;
      if (auto added = add(statement); !added) return tl::unexpected(added.error());
    }
    for (const std::string& name : text_.outputs)
      if (auto added = add_output(name); !added) return tl::unexpected(added.error());
    return std::move(graph_);
  }

 private:
  tl::unexpected<DriverFailure> invalid(const std::string& why) const {
    return tl::unexpected(invalid_program(fmt::format("line {}: {}", line_, why)));
  }
  tl::unexpected<DriverFailure> unlowerable(const std::string& why) const {
    return tl::unexpected(cannot_lower(fmt::format("line {}: {}", line_, why)));
  }

  tl::unexpected<DriverFailure> refused(const Rule& rule, const std::string& why) const {
    return tl::unexpected(refused_by(rule, invalid(why).value()));
  }

  DriverResult<> check_type(const MilType& type) const {
    std::optional<uint64_t> elements = 1;
    for (const int64_t extent : type.shape) elements = checked_mul(elements, uint64_t(extent));
    if (!elements || *elements > kMostElements) return unlowerable("a tensor without a bound");
    return {};
  }

  DriverResult<int> define(const std::string& name, const MilType& type, std::shared_ptr<const Constant> constant) {
    if (const auto checked = check_type(type); !checked) return tl::unexpected(checked.error());
    const int id = int(graph_.values.size());
    if (!ids_.emplace(name, id).second) return invalid(fmt::format("{} is defined twice", visible(name)));
    graph_.values.push_back({name, type, std::move(constant)});
    return id;
  }

  DriverResult<> add_input(const MilParameter& input) {
    if (input.type.element != "fp16" || !is_activation(input.type))
      return invalid(fmt::format("input {} is no fp16 tensor [1, channels, 1, width]", visible(input.name)));
    const auto id = define(input.name, input.type, nullptr);
    if (!id) return tl::unexpected(id.error());
    graph_.inputs.push_back(*id);
    return {};
  }

  DriverResult<> add_output(const std::string& name) {
    const auto found = ids_.find(name);
    if (found == ids_.end()) return invalid(fmt::format("output {} is not defined", visible(name)));
    const GraphValue& value = graph_.values[size_t(found->second)];
    if (std::find(graph_.inputs.begin(), graph_.inputs.end(), found->second) != graph_.inputs.end())
      return invalid(fmt::format("output {} is an input passed through", visible(name)));
    if (value.constant != nullptr || value.type.element != "fp16" || !is_activation(value.type))
      return invalid(fmt::format("output {} is no computed fp16 tensor", visible(name)));
    if (std::find(graph_.outputs.begin(), graph_.outputs.end(), found->second) != graph_.outputs.end())
      return invalid(fmt::format("output {} is listed twice", visible(name)));
    graph_.outputs.push_back(found->second);
    return {};
  }

  static bool is_activation(const MilType& type) {
    return type.shape.size() == 4 && type.shape[0] == 1 && type.shape[2] == 1;
  }

  DriverResult<> add(const MilStatement& statement) {
    for (const MilArgument& attribute : statement.attributes)
      if (attribute.name == "name" && attribute.literal)
        if (const auto* label = std::get_if<std::string>(&attribute.literal->value);
            label && !labels_.insert(*label).second)
          return invalid(fmt::format("label {} is used twice", visible(*label)));
    if (statement.op == "const") return add_constant(statement);
    const auto verdict = profile_.ops.find(statement.op);
    const Signature* signature = signature_of(statement.op);
    if (signature == nullptr) return invalid(fmt::format("operation {} is unknown", visible(statement.op)));
    if ((verdict == profile_.ops.end() || verdict->second == OpVerdict::kInvalid) &&
        holds(rule("operation_is_taken"), profile_))
      return refused(rule("operation_is_taken"), fmt::format("operation {} is unknown here", statement.op));
    if (signature->shape == Shape::kConstant) return add_constexpr(statement);
    return add_node(statement, *signature);
  }

  DriverResult<> add_constant(const MilStatement& statement) {
    const auto value = std::find_if(statement.attributes.begin(), statement.attributes.end(),
                                    [](const MilArgument& a) { return a.name == "val"; });
    if (!statement.arguments.empty() || value == statement.attributes.end() || !value->literal)
      return invalid("a const without val");
    const MilType& type = value->literal->type;
    if (type.element != statement.type.element || type.shape != statement.type.shape)
      return invalid("a const of another type than its val");
    return define_literal(statement.name, *value->literal);
  }

  DriverResult<> define_literal(const std::string& name, const MilLiteral& literal) {
    if (const auto checked = check_type(literal.type); !checked) return checked;
    auto constant = read_constant(literal, files_);
    if (!constant) {
      constant.error().text += fmt::format(" (line {}, {})", line_, visible(name));
      return tl::unexpected(constant.error());
    }
    if (const auto* blob = std::get_if<BlobReference>(&literal.value)) count_weight(*blob, literal.type);
    const auto id = define(name, literal.type, std::move(*constant));
    if (!id) return tl::unexpected(id.error());
    return {};
  }

  void count_weight(const BlobReference& blob, const MilType& type) {
    ++graph_.weight_tensors;
    int64_t elements = 1;
    for (const int64_t extent : type.shape) elements *= extent;
    graph_.weight_bytes += (elements * stored_bits(type.element).value_or(8) + 7) / 8;
    if (type.element == "int8" || type.element == "uint8") graph_.int8_weights += elements;
    if (std::find(graph_.weight_paths.begin(), graph_.weight_paths.end(), blob.path) == graph_.weight_paths.end())
      graph_.weight_paths.push_back(blob.path);
  }

  // What is written where it does not belong, or is nobody's.
  DriverResult<> check_constexpr(const MilStatement& statement) const {
    const bool is_affine = statement.op == "constexpr_affine_dequantize";
    // The other forms have been there since ios18; this one wants everything in the brackets, and by value.
    if (!is_affine && opset() < 18) return invalid(fmt::format("{} in opset {}", statement.op, visible(text_.opset)));
    if (is_affine && !statement.arguments.empty()) return invalid(statement.op + " with arguments in parentheses");
    const auto known = signature_of(statement.op)->arguments;
    bool has_name = false;
    for (const auto* list : {&statement.arguments, &statement.attributes})
      for (const MilArgument& argument : *list) {
        const bool is_name = list == &statement.attributes && argument.name == "name";
        has_name = has_name || is_name;
        if (!is_name && std::find(known.begin(), known.end(), argument.name) == known.end())
          return invalid(fmt::format("{} has no {}", statement.op, visible(argument.name)));
        if (is_affine && !argument.literal) return invalid(statement.op + " takes values, not names");
      }
    if (is_affine && !has_name) return invalid(statement.op + " without name");
    return {};
  }

  int opset() const {
    int version = 0;
    for (const char c : text_.opset)
      if (c >= '0' && c <= '9') version = std::min(version * 10 + (c - '0'), 1000);
    return version;
  }

  // A constexpr operation: operands in the brackets as literals, or named ones in the parentheses.
  DriverResult<> add_constexpr(const MilStatement& statement) {
    if (const auto checked = check_constexpr(statement); !checked) return checked;
    const auto operand = [&](std::string_view name) -> DriverResult<int> {
      for (const auto* list : {&statement.arguments, &statement.attributes})
        for (const MilArgument& argument : *list) {
          if (argument.name != name) continue;
          if (!argument.literal) return argument.values.size() == 1 ? find(argument.values[0]) : invalid("a tuple");
          const std::string hidden = fmt::format("{}.{}", statement.name, name);
          if (const auto made = define_literal(hidden, *argument.literal); !made) return tl::unexpected(made.error());
          return find(hidden);
        }
      return invalid(fmt::format("{} without {}", statement.op, name));
    };
    std::vector<int> operands;
    for (const std::string_view name : signature_of(statement.op)->arguments) {
      const auto id = operand(name);
      if (!id) return tl::unexpected(id.error());
      operands.push_back(*id);
    }
    const auto value = [&](size_t i) -> const GraphValue& { return graph_.values[size_t(operands[i])]; };
    const bool is_sparse = statement.op == "constexpr_sparse_to_dense";
    const GraphValue& codes = value(is_sparse ? 1 : 0);
    if (!profile_.code_types.contains(codes.type.element) && holds(rule("codes_are_of_a_known_type"), profile_))
      return refused(rule("codes_are_of_a_known_type"), "codes of type " + codes.type.element);
    auto dense = statement.op == "constexpr_affine_dequantize"
                     ? expand_affine(value(0), value(1), value(2), whole_of(value(3)).value_or(-1))
                 : statement.op == "constexpr_blockwise_shift_scale" ? expand_blockwise(value(0), value(1), profile_)
                 : is_sparse                                         ? expand_sparse(value(0), value(1))
                                                                     : expand_table(value(0), value(1), profile_);
    if (!dense) return tl::unexpected(dense.error());
    if (statement.type.element != "fp16" || statement.type.shape != codes.type.shape)
      return invalid("a constexpr of another shape than its data");
    const auto id = define(statement.name, statement.type, std::move(*dense));
    if (!id) return tl::unexpected(id.error());
    return {};
  }

  DriverResult<int> find(const std::string& name) const {
    const auto found = ids_.find(name);
    if (found == ids_.end()) return invalid(fmt::format("{} is not defined yet", visible(name)));
    return found->second;
  }

  DriverResult<> add_node(const MilStatement& statement, const Signature& signature) {
    if (statement.arguments.size() != signature.arguments.size())
      return invalid(fmt::format("{} takes {} arguments, not {}", statement.op, signature.arguments.size(),
                                 statement.arguments.size()));
    GraphNode node;
    node.op = statement.op;
    node.line = statement.line;
    for (const std::string_view name : signature.arguments) {
      const auto argument = std::find_if(statement.arguments.begin(), statement.arguments.end(),
                                         [&](const MilArgument& a) { return a.name == name; });
      if (argument == statement.arguments.end()) return invalid(fmt::format("{} without {}", statement.op, name));
      if (argument->literal && !profile_.takes_literals && holds(rule("operands_are_named"), profile_))
        return refused(rule("operands_are_named"),
                       fmt::format("{}: {} is a literal; a named value is due", statement.op, name));
      if (const auto added = add_operand(node, *argument); !added) return added;
    }
    if (const auto checked = check_shape(node, statement.type, signature.shape); !checked) return checked;
    const auto id = define(statement.name, statement.type, nullptr);
    if (!id) return tl::unexpected(id.error());
    node.out = *id;
    graph_.nodes.push_back(std::move(node));
    return {};
  }

  DriverResult<> add_operand(GraphNode& node, const MilArgument& argument) {
    if (argument.literal) {
      const std::string hidden = fmt::format("literal.{}", graph_.values.size());
      if (const auto made = define_literal(hidden, *argument.literal); !made) return made;
      node.inputs.push_back(ids_.at(hidden));
      return {};
    }
    for (const std::string& name : argument.values) {
      const auto id = find(name);
      if (!id) return tl::unexpected(id.error());
      node.inputs.push_back(*id);
    }
    return {};
  }

  const GraphValue& input(const GraphNode& node, size_t i) const { return graph_.values[size_t(node.inputs[i])]; }

  DriverResult<> check_shape(GraphNode& node, const MilType& declared, Shape shape) {
    if (declared.element != (shape == Shape::kToInt8 ? "int8" : "fp16"))
      return invalid(fmt::format("{} of type {}", node.op, declared.element));
    if (shape == Shape::kAsDeclared) return {};
    const auto known = shape_of(node, shape);
    if (!known) return tl::unexpected(known.error());
    if (declared.shape != *known) return invalid(fmt::format("{} is declared with another shape than it has", node.op));
    return {};
  }

  DriverResult<std::vector<int64_t>> shape_of(GraphNode& node, Shape shape) {
    if (shape != Shape::kConcat && node.inputs.size() != signature_of(node.op)->arguments.size())
      return invalid("a tuple where one value is due");
    const GraphValue& x = input(node, 0);
    if (x.constant != nullptr && shape != Shape::kBroadcast) return invalid(fmt::format("{} of a constant", node.op));
    if (!is_activation(x.type) && shape != Shape::kBroadcast)
      return unlowerable("only [1, channels, 1, width] is simulated");
    if (x.constant == nullptr && x.type.element != (shape == Shape::kFromInt8 ? "int8" : "fp16"))
      return invalid(fmt::format("{} of {}", node.op, x.type.element));
    switch (shape) {
      case Shape::kToInt8:
      case Shape::kFromInt8: return scaled_shape(node);
      case Shape::kMatmul: return matmul_shape(node);
      case Shape::kSame: return same_shape(node);
      case Shape::kBroadcast: return broadcast_shape(node);
      case Shape::kConv: return conv_shape(node);
      case Shape::kReduced: return reduced_shape(node);
      case Shape::kConcat: return concat_shape(node);
      default: return slice_shape(node);
    }
  }

  DriverResult<std::vector<int64_t>> scaled_shape(GraphNode& node) {
    const auto scale = scalar_of(input(node, 1));
    if (!scale || *scale <= 0) return unlowerable(node.op + " with another scale than one number");
    if (node.op == "quantize") {
      const GraphValue& type = input(node, 2);
      if (type.constant == nullptr || type.constant->text != "int8")
        return invalid("quantize to another type than int8");
    }
    node.parameters.push_back(*scale);
    return input(node, 0).type.shape;
  }

  DriverResult<std::vector<int64_t>> matmul_shape(const GraphNode& node) {
    const GraphValue& y = input(node, 1);
    for (size_t i : {2, 3})
      if (input(node, i).constant == nullptr || input(node, i).type.element != "bool")
        return invalid("matmul: transposes that are no constants");
    if (input(node, 2).constant->flag || !input(node, 3).constant->flag || !is_activation(y.type))
      return unlowerable("only x · yᵀ of [1, channels, 1, width] is simulated");
    if (y.type.shape != input(node, 0).type.shape) return invalid("matmul of shapes that do not fit");
    return std::vector<int64_t>{1, y.channels(), 1, 1};
  }

  // Numbers behind x (bounds, an epsilon, an axis) become parameters.
  DriverResult<std::vector<int64_t>> same_shape(GraphNode& node) {
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      const GraphValue& operand = input(node, i);
      if (operand.type.element == "string" && operand.constant != nullptr) {
        if (operand.constant->text != "TANH_APPROXIMATION") return invalid("mode " + visible(operand.constant->text));
        continue;
      }
      const auto number = scalar_of(operand);
      if (!number) return invalid(fmt::format("{}: operand {} is no number", node.op, i));
      if (node.op == "clip") graph_.has_scalar_operand = true;
      node.parameters.push_back(*number);
    }
    if (node.op == "softmax") {
      const auto axis = axis_of(node.parameters[0]);
      if (!axis) return tl::unexpected(axis.error());
      node.parameters[0] = double(*axis);
    }
    return input(node, 0).type.shape;
  }

  DriverResult<std::vector<int64_t>> broadcast_shape(GraphNode& node) {
    std::vector<int64_t> shape = {1, 1, 1, 1};
    bool is_computed = false;
    for (const int id : node.inputs) {
      const GraphValue& value = graph_.values[size_t(id)];
      if (value.type.element != "fp16") return invalid(fmt::format("{} of {}", node.op, value.type.element));
      is_computed = is_computed || value.constant == nullptr;
      if (value.type.is_scalar() || value.elements() == 1) {
        if (value.constant != nullptr) graph_.has_scalar_operand = true;
        continue;
      }
      if (!is_activation(value.type)) return unlowerable("only [1, channels, 1, width] is simulated");
      for (size_t axis = 0; axis < 4; ++axis) {
        const int64_t extent = value.type.shape[axis];
        if (extent != 1 && shape[axis] != 1 && shape[axis] != extent)
          return invalid(fmt::format("{} of shapes that do not fit", node.op));
        shape[axis] = std::max(shape[axis], extent);
      }
    }
    if (!is_computed) return invalid(fmt::format("{} of constants", node.op));
    return shape;
  }

  DriverResult<std::vector<int64_t>> conv_shape(const GraphNode& node) {
    const GraphValue &x = input(node, 0), &weight = input(node, 1);
    if (weight.constant == nullptr || weight.constant->halves.empty())
      return invalid("conv: the weight is no constant of the weight file");
    const auto& shape = weight.type.shape;
    if (shape.size() != 4 || shape[2] != 1 || shape[3] != 1) return unlowerable("only 1×1 convolutions are simulated");
    if (shape[1] != x.channels())
      return invalid(fmt::format("conv: a weight for {} channels on {}", shape[1], x.channels()));
    if (!is_list(node, 2, {1, 1}) || !is_list(node, 4, {0, 0, 0, 0}) || !is_list(node, 6, {1, 1}) ||
        scalar_of(input(node, 3)) != 1.0)
      return unlowerable("only plain convolutions are simulated");
    const GraphValue& padding = input(node, 5);
    if (padding.constant == nullptr || padding.constant->text != "valid") return unlowerable("pad_type is not valid");
    return std::vector<int64_t>{1, shape[0], 1, x.width()};
  }

  bool is_list(const GraphNode& node, size_t i, std::vector<double> wanted) const {
    const GraphValue& value = input(node, i);
    return value.constant != nullptr && value.type.element == "int32" && value.constant->numbers == wanted;
  }

  DriverResult<int64_t> axis_of(double number) const {
    if (number == 1 || number == -3) return 1;
    if (number == 3 || number == -1) return 3;
    return unlowerable(fmt::format("axis {}", number));
  }

  DriverResult<std::vector<int64_t>> reduced_shape(GraphNode& node) {
    const GraphValue &axes = input(node, 1), &keeps = input(node, 2);
    if (axes.constant == nullptr || axes.constant->numbers.size() != 1)
      return unlowerable("a reduction over one axis only");
    if (keeps.constant == nullptr || keeps.type.element != "bool" || !keeps.constant->flag)
      return unlowerable("keep_dims is not true");
    const auto axis = axis_of(axes.constant->numbers[0]);
    if (!axis) return tl::unexpected(axis.error());
    node.parameters.push_back(double(*axis));
    std::vector<int64_t> shape = input(node, 0).type.shape;
    shape[size_t(*axis)] = 1;
    return shape;
  }

  DriverResult<std::vector<int64_t>> concat_shape(GraphNode& node) {
    if (node.inputs.size() < 3) return invalid("concat of nothing");
    const GraphValue &axis_value = input(node, node.inputs.size() - 2),
                     &interleave = input(node, node.inputs.size() - 1);
    const auto number = scalar_of(axis_value);
    if (!number || interleave.constant == nullptr || interleave.type.element != "bool")
      return invalid("concat without axis or interleave");
    if (interleave.constant->flag || *number != 1) return unlowerable("concat along channels only");
    node.inputs.resize(node.inputs.size() - 2);
    std::vector<int64_t> shape = input(node, 0).type.shape;
    shape[1] = 0;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const GraphValue& part = input(node, i);
      if (part.constant != nullptr || !is_activation(part.type) || part.width() != shape[3])
        return invalid("concat of shapes that do not fit");
      shape[1] += part.channels();
    }
    return shape;
  }

  DriverResult<std::vector<int64_t>> slice_shape(GraphNode& node) {
    const GraphValue &begin = input(node, 1), &size = input(node, 2);
    const auto& from = input(node, 0).type.shape;
    for (const GraphValue* list : {&begin, &size})
      if (list->constant == nullptr || list->constant->numbers.size() != 4 || list->type.element != "int32")
        return invalid("slice_by_size without four begins and sizes");
    std::vector<int64_t> shape;
    for (size_t axis = 0; axis < 4; ++axis) {
      const auto first = int64_t(begin.constant->numbers[axis]);
      int64_t count = int64_t(size.constant->numbers[axis]);
      if (count == -1) count = from[axis] - first;
      if (first < 0 || count < 1 || first > from[axis] || count > from[axis] - first)
        return invalid("a slice past the tensor's end");
      if (axis != 1 && (first != 0 || count != from[axis])) return unlowerable("slices of channels only");
      shape.push_back(count);
    }
    node.parameters.push_back(begin.constant->numbers[1]);
    return shape;
  }

  const MilFunctionText& text_;
  const Profile& profile_;
  const FileFinder& files_;
  Graph graph_;
  std::map<std::string, int, std::less<>> ids_;
  std::set<std::string> labels_;
  int line_ = 0;
};

}  // namespace

int64_t GraphValue::elements() const {
  int64_t count = 1;
  for (const int64_t extent : type.shape) count *= extent;
  return count;
}

DriverFailure invalid_program(const std::string& why) { return compiler_failure("InvalidMILProgram", why); }
DriverFailure cannot_lower(const std::string& why) { return compiler_failure("CompilationFailure", why); }

DriverResult<Graph> build_graph(const MilFunctionText& function, const Profile& profile, const FileFinder& files) {
  return Builder(function, profile, files).build();
}

}  // namespace anedvd::sim
