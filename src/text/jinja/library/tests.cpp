// What stands behind `is`.
#include <algorithm>
#include <array>

#include "text/jinja/evaluator.h"
#include "text/jinja/library/string_tools.h"

namespace anedvd::jinja {
namespace {

template <bool (*kHolds)(const Value&)>
Result<Value> simple(Evaluator&, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY_VOID(bind(arguments, {}));
  return Value::boolean(kHolds(input));
}

bool is_defined(const Value& v) { return !v.is_undefined(); }
bool is_undefined(const Value& v) { return v.is_undefined(); }
bool is_none(const Value& v) { return v.is_none(); }
bool is_boolean(const Value& v) { return v.kind() == Kind::kBool; }
bool is_false(const Value& v) { return is_boolean(v) && !v.as_bool(); }
bool is_true(const Value& v) { return is_boolean(v) && v.as_bool(); }
bool is_integer(const Value& v) { return v.kind() == Kind::kInt; }
bool is_float(const Value& v) { return v.kind() == Kind::kFloat; }
bool is_string(const Value& v) { return v.is_string(); }
bool is_mapping(const Value& v) { return v.is_dict(); }
bool is_number(const Value& v) { return v.is_number(); }
bool is_callable(const Value& v) {
  // Undefined has __call__, so Python calls it callable, too.
  return v.kind() == Kind::kMacro || v.kind() == Kind::kFunction || v.kind() == Kind::kLoop || v.is_undefined();
}
bool is_iterable(const Value& v) {
  return v.is_undefined() || v.is_string() || v.is_list() || v.is_dict() || v.kind() == Kind::kLoop;
}
bool is_sequence(const Value& v) {
  return v.is_undefined() || v.is_string() || v.is_dict() || (v.is_list() && v.list().style <= ListStyle::kRange);
}
bool is_escaped(const Value& v) { return v.is_string() && v.text().markup; }

template <bool kUpper>
Result<Value> has_case(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY_VOID(bind(arguments, {}));
  ANEDVD_TRY(auto text, evaluator.to_text(input));
  ANEDVD_TRY_VOID(evaluator.spend(text.bytes().size() / 4));
  return Value::boolean(is_in_case(text.bytes(), kUpper));
}

Result<Value> remainder_is(Evaluator& evaluator, const Value& input, const Value& divisor, int64_t wanted) {
  if (!input.is_number() || !divisor.is_number())
    return fail(ErrorCode::kUnsupported, "'{}' can't be divided", type_name(input));
  ANEDVD_TRY(auto remainder, evaluator.calculate(Operator::kModulo, input, divisor));
  return Value::boolean(equals(remainder, Value::integer(wanted)));
}

template <int kWanted>
Result<Value> parity(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY_VOID(bind(arguments, {}));
  return remainder_is(evaluator, input, Value::integer(2), kWanted);
}

Result<Value> divisible_by(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"num"}, 1));
  return remainder_is(evaluator, input, *bound[0], 0);
}

template <Operator kOp>
Result<Value> compares(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"other"}, 1));
  const Value& other = *bound[0];
  ANEDVD_TRY_VOID(evaluator.spend(std::min(input.weight(), other.weight())));
  if (kOp == Operator::kEqual || kOp == Operator::kNotEqual)
    return Value::boolean(equals(input, other) == (kOp == Operator::kEqual));
  if (kOp == Operator::kIn) {
    ANEDVD_TRY(const bool found, evaluator.contains(other, input));
    return Value::boolean(found);
  }
  ANEDVD_TRY(const int sign, order(input, other));
  switch (kOp) {
    case Operator::kLess: return Value::boolean(sign < 0);
    case Operator::kLessEqual: return Value::boolean(sign <= 0);
    case Operator::kGreater: return Value::boolean(sign > 0);
    default: return Value::boolean(sign >= 0);
  }
}

// Python's `is`: one object. Small values are one object whenever they are alike.
Result<Value> same_as(Evaluator&, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"other"}, 1));
  const Value& other = *bound[0];
  if (input.kind() != other.kind()) return Value::boolean(false);
  return Value::boolean(input.address()
                            ? input.address() == other.address() || (input.is_string() && equals(input, other))
                            : equals(input, other));
}

template <Builtin (*kFind)(std::string_view)>
Result<Value> exists(Evaluator&, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY_VOID(bind(arguments, {}));
  return Value::boolean(input.is_string() && kFind(input.bytes()) != nullptr);
}

constexpr std::array<NamedBuiltin, 39> kTests = {{
    {"!=", compares<Operator::kNotEqual>},
    {"<", compares<Operator::kLess>},
    {"<=", compares<Operator::kLessEqual>},
    {"==", compares<Operator::kEqual>},
    {">", compares<Operator::kGreater>},
    {">=", compares<Operator::kGreaterEqual>},
    {"boolean", simple<is_boolean>},
    {"callable", simple<is_callable>},
    {"defined", simple<is_defined>},
    {"divisibleby", divisible_by},
    {"eq", compares<Operator::kEqual>},
    {"equalto", compares<Operator::kEqual>},
    {"escaped", simple<is_escaped>},
    {"even", parity<0>},
    {"false", simple<is_false>},
    {"filter", exists<find_filter>},
    {"float", simple<is_float>},
    {"ge", compares<Operator::kGreaterEqual>},
    {"greaterthan", compares<Operator::kGreater>},
    {"gt", compares<Operator::kGreater>},
    {"in", compares<Operator::kIn>},
    {"integer", simple<is_integer>},
    {"iterable", simple<is_iterable>},
    {"le", compares<Operator::kLessEqual>},
    {"lessthan", compares<Operator::kLess>},
    {"lower", has_case<false>},
    {"lt", compares<Operator::kLess>},
    {"mapping", simple<is_mapping>},
    {"ne", compares<Operator::kNotEqual>},
    {"none", simple<is_none>},
    {"number", simple<is_number>},
    {"odd", parity<1>},
    {"sameas", same_as},
    {"sequence", simple<is_sequence>},
    {"string", simple<is_string>},
    {"test", exists<find_test>},
    {"true", simple<is_true>},
    {"undefined", simple<is_undefined>},
    {"upper", has_case<true>},
}};

}  // namespace

Builtin find_test(std::string_view name) {
  const auto* row = std::find_if(kTests.begin(), kTests.end(), [&](const NamedBuiltin& t) { return t.name == name; });
  return row == kTests.end() ? nullptr : row->call;
}

}  // namespace anedvd::jinja
