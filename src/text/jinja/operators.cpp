// + - * / // % ** as Python does them. Whole numbers that leave 64 bits are an error instead of growing.
#include <algorithm>
#include <cmath>

#include "text/jinja/evaluator.h"
#include "text/jinja/library/format.h"
#include "text/jinja/printing.h"

namespace anedvd::jinja {
namespace {

std::string_view symbol(Operator op) {
  switch (op) {
    case Operator::kAdd: return "+";
    case Operator::kSubtract: return "-";
    case Operator::kMultiply: return "*";
    case Operator::kDivide: return "/";
    case Operator::kFloorDivide: return "//";
    case Operator::kModulo: return "%";
    default: return "**";
  }
}

tl::unexpected<Error> too_large(Operator op) {
  return fail(ErrorCode::kUnsupported, "the result of {} leaves 64 bits", symbol(op));
}

Result<Value> power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) return fail(ErrorCode::kUnsupported, "0 to a negative power");
    return Value::real(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) && __builtin_mul_overflow(result, base, &result)) return too_large(Operator::kPower);
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return too_large(Operator::kPower);
  }
  return Value::integer(result);
}

Result<Value> on_integers(Operator op, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (op) {
    case Operator::kAdd:
      return __builtin_add_overflow(a, b, &result) ? Result<Value>(too_large(op)) : Value::integer(result);
    case Operator::kSubtract:
      return __builtin_sub_overflow(a, b, &result) ? Result<Value>(too_large(op)) : Value::integer(result);
    case Operator::kMultiply:
      return __builtin_mul_overflow(a, b, &result) ? Result<Value>(too_large(op)) : Value::integer(result);
    case Operator::kPower: return power(a, b);
    default: break;
  }
  if (b == 0) return fail(ErrorCode::kUnsupported, "division by zero");
  if (op == Operator::kDivide) return Value::real(static_cast<double>(a) / static_cast<double>(b));
  if (b == -1)
    return op == Operator::kModulo ? Value::integer(0)
                                   : on_integers(Operator::kSubtract, 0, a);  // INT64_MIN / -1 traps
  const int64_t remainder = a % b;
  const bool adjust = remainder != 0 && (remainder < 0) != (b < 0);
  if (op == Operator::kModulo) return Value::integer(adjust ? remainder + b : remainder);
  return Value::integer(a / b - (adjust ? 1 : 0));
}

Result<Value> on_reals(Operator op, double a, double b) {
  switch (op) {
    case Operator::kAdd: return Value::real(a + b);
    case Operator::kSubtract: return Value::real(a - b);
    case Operator::kMultiply: return Value::real(a * b);
    case Operator::kPower: {
      if (a == 0 && b < 0) return fail(ErrorCode::kUnsupported, "0 to a negative power");
      const double result = std::pow(a, b);
      if (std::isinf(result) && std::isfinite(a) && std::isfinite(b))
        return fail(ErrorCode::kUnsupported, "the result of ** is too large");
      if (std::isnan(result) && !std::isnan(a) && !std::isnan(b))
        return fail(ErrorCode::kUnsupported, "the result of ** is complex");
      return Value::real(result);
    }
    default: break;
  }
  if (b == 0) return fail(ErrorCode::kUnsupported, "division by zero");
  if (op == Operator::kDivide) return Value::real(a / b);
  // CPython's float_divmod: the remainder takes the divisor's sign, the quotient is exact.
  double remainder = std::fmod(a, b);
  double quotient = (a - remainder) / b;
  if (remainder != 0) {
    if ((b < 0) != (remainder < 0)) {
      remainder += b;
      quotient -= 1;
    }
  } else {
    remainder = std::copysign(0.0, b);
  }
  if (op == Operator::kModulo) return Value::real(remainder);
  if (quotient == 0) return Value::real(std::copysign(0.0, a / b));
  double floored = std::floor(quotient);
  if (quotient - floored > 0.5) floored += 1;
  return Value::real(floored);
}

Result<Value> add_texts(Evaluator& evaluator, const Text& a, const Text& b) {
  TextBuilder out;
  const bool markup = a.markup || b.markup;
  for (const Text* part : {&a, &b}) {
    if (markup && !part->markup) {
      append_escaped(out, *part);
    } else {
      out.append(*part);
    }
  }
  return evaluator.make_text(out, markup);
}

Result<Value> repeat(Evaluator& evaluator, const Value& value, int64_t times) {
  const auto count = static_cast<size_t>(std::max<int64_t>(times, 0));
  if (value.is_string()) {
    const Text& text = value.text();
    TextBuilder out;
    if (text.bytes.empty() || count == 0) return evaluator.make_text(out, text.markup);
    if (count > kMaxTextBytes / text.bytes.size()) return fail(ErrorCode::kNoMemory, "a string grows beyond 64 MiB");
    ANEDVD_TRY_VOID(evaluator.spend(count / 8));
    for (size_t i = 0; i < count; ++i) out.append(text);
    return evaluator.make_text(out, text.markup);
  }
  const auto& items = value.list().items;
  if (!items.empty() && count > size_t{4'000'000} / items.size())
    return fail(ErrorCode::kNoMemory, "a list grows beyond 4,000,000 items");
  std::vector<Value> all;
  all.reserve(items.size() * count);
  for (size_t i = 0; i < count && !items.empty(); ++i) all.insert(all.end(), items.begin(), items.end());
  return evaluator.make_list(std::move(all), value.list().style);
}

bool is_plain_list(const Value& v) { return v.is_list() && v.list().style <= ListStyle::kTuple; }

}  // namespace

Result<Value> Evaluator::calculate(Operator op, const Value& a, const Value& b) {
  if (a.is_integer() && b.is_integer()) return on_integers(op, a.as_integer(), b.as_integer());
  if (a.is_number() && b.is_number()) return on_reals(op, a.as_real(), b.as_real());
  if (op == Operator::kAdd) {
    if (a.is_string() && b.is_string()) return add_texts(*this, a.text(), b.text());
    if (is_plain_list(a) && is_plain_list(b) && a.list().style == b.list().style) {
      ANEDVD_TRY_VOID(spend(a.list().items.size() + b.list().items.size()));
      std::vector<Value> items = a.list().items;
      items.insert(items.end(), b.list().items.begin(), b.list().items.end());
      return make_list(std::move(items), a.list().style);
    }
  }
  if (op == Operator::kMultiply) {
    if ((a.is_string() || is_plain_list(a)) && b.is_integer()) return repeat(*this, a, b.as_integer());
    if ((b.is_string() || is_plain_list(b)) && a.is_integer()) return repeat(*this, b, a.as_integer());
  }
  if (op == Operator::kModulo && a.is_string()) return format_percent(*this, a.text(), b);
  const bool texts = a.is_string() != b.is_string() && op == Operator::kAdd;
  return fail(ErrorCode::kUnsupported, "'{}' {} '{}' has no meaning{}", type_name(a), symbol(op), type_name(b),
              texts ? "; ~ joins anything as text" : "");
}

}  // namespace anedvd::jinja
