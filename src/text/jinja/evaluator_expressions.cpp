// Expressions of the evaluator.
#include <algorithm>

#include "base/words.h"
#include "text/jinja/evaluator.h"

namespace anedvd::jinja {

Result<Value> Evaluator::evaluate(const Node& node) {
  ANEDVD_TRY_VOID(enter(node));
  auto value = evaluate_kind(node);
  if (!value) note_place(node);
  return value;
}

Result<Value> Evaluator::evaluate_kind(const Node& node) {
  switch (node.kind) {
    case NodeKind::kConstant: return node.value;
    case NodeKind::kName: return look_up(node);
    case NodeKind::kList:
    case NodeKind::kTuple: {
      ANEDVD_TRY(auto items, evaluate_all(node.children));
      return make_list(std::move(items), node.kind == NodeKind::kList ? ListStyle::kList : ListStyle::kTuple);
    }
    case NodeKind::kDict: return evaluate_dict(node);
    case NodeKind::kAttribute: {
      ANEDVD_TRY(auto object, evaluate(*node.children[0]));
      ANEDVD_TRY_VOID(check_defined(*node.children[0], object));
      return get_attribute(object, node.text);
    }
    case NodeKind::kItem: {
      ANEDVD_TRY(auto object, evaluate(*node.children[0]));
      ANEDVD_TRY(auto key, evaluate(*node.children[1]));
      ANEDVD_TRY_VOID(check_defined(*node.children[0], object));
      return get_item(object, key);
    }
    case NodeKind::kSlice: return evaluate_slice(node);
    case NodeKind::kCall: return evaluate_call(node);
    case NodeKind::kFilter: {
      ANEDVD_TRY(auto input, evaluate(*node.children[0]));
      ANEDVD_TRY(auto arguments, evaluate_arguments(node));
      return filter(node.text, input, arguments);
    }
    case NodeKind::kTest: return evaluate_test(node);
    case NodeKind::kNegate:
    case NodeKind::kPlus: {
      ANEDVD_TRY(auto operand, evaluate(*node.children[0]));
      ANEDVD_TRY_VOID(check_defined(*node.children[0], operand));
      if (!operand.is_number()) return fail(ErrorCode::kUnsupported, "a sign before '{}'", type_name(operand));
      if (operand.kind() == Kind::kFloat)
        return Value::real(node.kind == NodeKind::kPlus ? operand.as_real() : -operand.as_real());
      return calculate(node.kind == NodeKind::kPlus ? Operator::kAdd : Operator::kSubtract, Value::integer(0), operand);
    }
    case NodeKind::kNot: {
      ANEDVD_TRY(auto operand, evaluate(*node.children[0]));
      return Value::boolean(!truth(operand));
    }
    case NodeKind::kAnd:
    case NodeKind::kOr: {
      Value value;
      for (const NodePtr& child : node.children) {
        ANEDVD_TRY(value, evaluate(*child));
        if (truth(value) == (node.kind == NodeKind::kOr)) break;
      }
      return value;
    }
    case NodeKind::kArithmetic: return evaluate_arithmetic(node);
    case NodeKind::kConcat: return evaluate_concat(node);
    case NodeKind::kCompare: return evaluate_compare(node);
    case NodeKind::kConditional: {
      ANEDVD_TRY(auto condition, evaluate(*node.children[1]));
      if (truth(condition)) return evaluate(*node.children[0]);
      return node.children[2] ? evaluate(*node.children[2]) : Result<Value>(Value());
    }
    default: ANEDVD_CHECK(false, "a statement stands as an expression"); return Value();
  }
}

Result<Value> Evaluator::look_up(const Node& node) {
  uint64_t hops = 0;
  for (const Scope* scope = scope_.get(); scope; scope = scope->parent.get()) {
    ++hops;
    for (const auto& [id, value] : scope->variables) {
      if (id != node.name) continue;
      ANEDVD_TRY_VOID(spend(hops / 8));
      return value;
    }
  }
  ANEDVD_TRY_VOID(spend(hops / 8));
  if (const NamedBuiltin* global = find_global(tree_.names[node.name])) {
    auto function = std::make_shared<Function>();
    function->name = global->name;
    function->call = global->call;
    return Value(Kind::kFunction, std::move(function));
  }
  return Value();
}

Result<std::vector<Value>> Evaluator::evaluate_all(const std::vector<NodePtr>& nodes) {
  std::vector<Value> values;
  values.reserve(nodes.size());
  for (const NodePtr& node : nodes) {
    ANEDVD_TRY(auto value, evaluate(*node));
    values.push_back(std::move(value));
  }
  return values;
}

Result<Value> Evaluator::evaluate_dict(const Node& node) {
  auto dict = std::make_shared<Dict>();
  for (size_t i = 0; i < node.children.size(); i += 2) {
    ANEDVD_TRY(auto key, evaluate(*node.children[i]));
    ANEDVD_TRY(auto value, evaluate(*node.children[i + 1]));
    if (!hashable(key)) return fail(ErrorCode::kUnsupported, "'{}' can't be the key of a dict", type_name(key));
    ANEDVD_TRY_VOID(spend(key.weight()));
    dict->put(std::move(key), std::move(value));
  }
  return make_dict(std::move(dict));
}

Result<Value> Evaluator::evaluate_slice(const Node& node) {
  ANEDVD_TRY(auto object, evaluate(*node.children[0]));
  int64_t numbers[3] = {0, 0, 1};
  bool given[3] = {false, false, false};
  for (size_t i = 0; i < 3; ++i) {
    if (!node.children[i + 1]) continue;
    ANEDVD_TRY(auto value, evaluate(*node.children[i + 1]));
    if (value.is_none()) continue;
    ANEDVD_TRY_VOID(check_defined(*node.children[i + 1], value));
    ANEDVD_TRY(numbers[i], want_integer(value, "a slice index"));
    given[i] = true;
  }
  ANEDVD_TRY_VOID(check_defined(*node.children[0], object));
  const bool sliceable = object.is_string() || (object.is_list() && object.list().style <= ListStyle::kRange);
  if (!sliceable) return fail(ErrorCode::kUnsupported, "'{}' can't be sliced", type_name(object));
  const int64_t step = numbers[2];
  if (step == 0) return fail(ErrorCode::kUnsupported, "a slice's step can't be 0");
  // Python's rules: negative counts from the end, everything is cut to what exists.
  const auto length = static_cast<int64_t>(length_of(object).value_or(0));
  const auto clamp = [&](int64_t i) {
    if (i < 0) i += length;
    return step > 0 ? std::clamp<int64_t>(i, 0, length) : std::clamp<int64_t>(i, -1, length - 1);
  };
  const int64_t start = given[0] ? clamp(numbers[0]) : (step > 0 ? 0 : length - 1);
  const int64_t stop = given[1] ? clamp(numbers[1]) : (step > 0 ? length : -1);
  const uint64_t distance = step > 0 ? (stop > start ? static_cast<uint64_t>(stop - start) : 0)
                                     : (start > stop ? static_cast<uint64_t>(start - stop) : 0);
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  const auto count = static_cast<size_t>(distance == 0 ? 0 : (distance - 1) / stride + 1);
  const auto index = [&](size_t i) {  // i < count, so this stays within the object
    return static_cast<size_t>(step > 0 ? static_cast<uint64_t>(start) + i * stride
                                        : static_cast<uint64_t>(start) - i * stride);
  };
  if (object.is_list()) {
    ANEDVD_TRY_VOID(spend(count));
    std::vector<Value> items;
    items.reserve(count);
    for (size_t i = 0; i < count; ++i) items.push_back(object.list().items[index(i)]);
    const ListStyle style = object.list().style == ListStyle::kGroup ? ListStyle::kTuple : object.list().style;
    return make_list(std::move(items), style == ListStyle::kRange ? ListStyle::kList : style);
  }
  const Text& text = object.text();
  ANEDVD_TRY_VOID(spend(1 + text.bytes.size() / (text.is_ascii() ? 64 : 8)));
  if (count == 0) return make_slice(text, 0, 0);
  if (step == 1) return make_slice(text, byte_offset(text, index(0)), byte_offset(text, index(0) + count));
  std::vector<size_t> offsets;  // of each character, so that any step is one look
  offsets.reserve(text.length + 1);
  for (size_t i = 0; i < text.bytes.size(); i += character_at(text.bytes, i).size) offsets.push_back(i);
  offsets.push_back(text.bytes.size());
  ANEDVD_TRY_VOID(spend(count));
  TextBuilder out;
  for (size_t i = 0; i < count; ++i) out.append(text, offsets[index(i)], offsets[index(i) + 1]);
  return make_text(out, text.markup);
}

Result<Arguments> Evaluator::evaluate_arguments(const Node& node) {
  Arguments arguments;
  for (const ArgumentNode& argument : node.arguments) {
    ANEDVD_TRY(auto value, evaluate(*argument.value));
    if (argument.name.empty()) {
      arguments.positional.push_back(std::move(value));
    } else if (argument.name == "*") {
      ANEDVD_TRY(auto items, iterate(value));
      for (Value& item : items) arguments.positional.push_back(std::move(item));
    } else if (argument.name == "**") {
      if (!value.is_dict()) return fail(ErrorCode::kUnsupported, "'{}' after ** is no dict", type_name(value));
      for (const auto& entry : value.dict().entries) {
        const Value& key = entry.first;
        if (!key.is_string()) return fail(ErrorCode::kUnsupported, "the keys of a dict after ** must be strings");
        const auto same = [&](const auto& other) { return other.first == key.bytes(); };
        if (std::any_of(arguments.named.begin(), arguments.named.end(), same)) {
          return fail(ErrorCode::kUnsupported, "the argument '{}' is given twice", visible(key.bytes(), 60));
        }
        arguments.named.emplace_back(key.bytes(), entry.second);
      }
    } else {
      arguments.named.emplace_back(argument.name, std::move(value));
    }
  }
  return arguments;
}

Result<Value> Evaluator::evaluate_call(const Node& node) {
  const Node& callee = *node.children[0];
  if (callee.kind == NodeKind::kAttribute) {  // a method: called without making a value of it
    ANEDVD_TRY(auto object, evaluate(*callee.children[0]));
    ANEDVD_TRY_VOID(check_defined(*callee.children[0], object));
    if (is_refused_method(object, callee.text)) {
      return fail(ErrorCode::kUnsupported, "{}.{} is refused; templates can't change a {}", type_name(object),
                  callee.text, type_name(object));
    }
    if (const NamedBuiltin* method = find_method(object, callee.text)) {
      ANEDVD_TRY(auto arguments, evaluate_arguments(node));
      return method->call(*this, object, arguments);
    }
    ANEDVD_TRY(auto value, get_attribute(object, callee.text));
    if (value.is_undefined()) {
      return fail(ErrorCode::kUnsupported, "'{}' has no method '{}'", type_name(object), visible(callee.text, 60));
    }
    ANEDVD_TRY(auto arguments, evaluate_arguments(node));
    return call(value, arguments);
  }
  ANEDVD_TRY(auto value, evaluate(callee));
  ANEDVD_TRY_VOID(check_defined(callee, value));
  ANEDVD_TRY(auto arguments, evaluate_arguments(node));
  return call(value, arguments);
}

Result<Value> Evaluator::call(const Value& callee, const Arguments& arguments) {
  switch (callee.kind()) {
    case Kind::kMacro: return call_macro(callee.object<Macro>(), arguments);
    case Kind::kFunction: return callee.object<Function>().call(*this, callee.object<Function>().self, arguments);
    case Kind::kLoop: return call_loop(callee.object<LoopState>(), arguments);
    default: return fail(ErrorCode::kUnsupported, "'{}' can't be called", type_name(callee));
  }
}

Result<Value> Evaluator::filter(std::string_view name, const Value& input, const Arguments& arguments) {
  const Builtin found = find_filter(name);
  if (!found) return fail(ErrorCode::kUnsupported, "{}", no_filter_words(name));
  ANEDVD_TRY_VOID(spend(1));
  return found(*this, input, arguments);
}

Result<Value> Evaluator::test(std::string_view name, const Value& input, const Arguments& arguments) {
  const Builtin found = find_test(name);
  if (!found) return fail(ErrorCode::kUnsupported, "{}", no_test_words(name));
  ANEDVD_TRY_VOID(spend(1));
  return found(*this, input, arguments);
}

// The filters of a filter or set block: the innermost has no input of its own and gets the block's text.
Result<Value> Evaluator::apply_filters(const Node& node, const Value& innermost) {
  ANEDVD_TRY_VOID(enter(node));
  Value input = innermost;
  if (node.children[0]) {
    ANEDVD_TRY(input, apply_filters(*node.children[0], innermost));
  }
  ANEDVD_TRY(auto arguments, evaluate_arguments(node));
  auto value = filter(node.text, input, arguments);
  if (!value) note_place(node);
  return value;
}

Result<Value> Evaluator::evaluate_test(const Node& node) {
  ANEDVD_TRY(auto input, evaluate(*node.children[0]));
  if (node.text == "defined") return Value::boolean(!input.is_undefined());
  ANEDVD_TRY(auto arguments, evaluate_arguments(node));
  return test(node.text, input, arguments);
}

Result<Value> Evaluator::evaluate_compare(const Node& node) {
  ANEDVD_TRY(auto left, evaluate(*node.children[0]));
  for (size_t i = 0; i < node.operators.size(); ++i) {
    ANEDVD_TRY(auto right, evaluate(*node.children[i + 1]));
    ANEDVD_TRY(const bool holds, compare(node.operators[i], node, left, right));
    if (!holds) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Result<bool> Evaluator::compare(Operator op, const Node& node, const Value& a, const Value& b) {
  ANEDVD_TRY_VOID(spend(std::min(a.weight(), b.weight())));
  switch (op) {
    case Operator::kEqual: return equals(a, b);
    case Operator::kNotEqual: return !equals(a, b);
    case Operator::kIn: return contains(b, a);
    case Operator::kNotIn: {
      ANEDVD_TRY(const bool found, contains(b, a));
      return !found;
    }
    default: break;
  }
  if (a.is_undefined() || b.is_undefined()) {
    for (const NodePtr& child : node.children) {
      if (child->kind == NodeKind::kName || child->kind == NodeKind::kAttribute || child->kind == NodeKind::kItem) {
        ANEDVD_TRY(auto again, evaluate(*child));
        ANEDVD_TRY_VOID(check_defined(*child, again));
      }
    }
    return fail(ErrorCode::kUnsupported, "an undefined value has no order");
  }
  const bool not_a_number = (a.kind() == Kind::kFloat && a.as_real() != a.as_real()) ||
                            (b.kind() == Kind::kFloat && b.as_real() != b.as_real());
  if (not_a_number && a.is_number() && b.is_number()) return false;
  ANEDVD_TRY(const int sign, order(a, b));
  switch (op) {
    case Operator::kLess: return sign < 0;
    case Operator::kLessEqual: return sign <= 0;
    case Operator::kGreater: return sign > 0;
    default: return sign >= 0;
  }
}

Result<Value> Evaluator::evaluate_arithmetic(const Node& node) {
  ANEDVD_TRY(auto value, evaluate(*node.children[0]));
  for (size_t i = 0; i < node.operators.size(); ++i) {
    ANEDVD_TRY(auto right, evaluate(*node.children[i + 1]));
    // '%' % undefined is formatting and prints nothing; every other operation on undefined fails.
    ANEDVD_TRY_VOID(check_defined(*node.children[i], value));
    if (node.operators[i] != Operator::kModulo || !value.is_string())
      ANEDVD_TRY_VOID(check_defined(*node.children[i + 1], right));
    ANEDVD_TRY(value, calculate(node.operators[i], value, right));
  }
  return value;
}

Result<Value> Evaluator::evaluate_concat(const Node& node) {
  TextBuilder out;
  for (const NodePtr& child : node.children) {
    ANEDVD_TRY(auto value, evaluate(*child));
    ANEDVD_TRY_VOID(print(out, value));
  }
  return make_text(out);
}

std::string Evaluator::undefined_words(const Node& node) const {
  if (node.kind == NodeKind::kName) return fmt::format("'{}' is undefined", visible(tree_.names[node.name], 60));
  if (node.kind == NodeKind::kAttribute)
    return fmt::format("'{}' is undefined; its object has no such key", visible(node.text, 60));
  if (node.kind == NodeKind::kItem && node.children[1]->kind == NodeKind::kConstant &&
      node.children[1]->value.is_string()) {
    return fmt::format("'{}' is undefined; its object has no such key", visible(node.children[1]->value.bytes(), 60));
  }
  return "this value is undefined";
}

Result<> Evaluator::check_defined(const Node& node, const Value& value) {
  if (!value.is_undefined()) return {};
  note_place(node);
  return fail(ErrorCode::kUnsupported, "{}", undefined_words(node));
}

}  // namespace anedvd::jinja
