#include "text/jinja/value.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "text/jinja/budget.h"

namespace anedvd::jinja {
namespace {

constexpr size_t kLinearKeys = 8;  // below this a scan beats a hash

bool is_finite_whole(double value) { return value >= -9.2e18 && value <= 9.2e18 && std::floor(value) == value; }

std::strong_ordering compare_numbers(const Value& a, const Value& b, bool& unordered) {
  if (a.is_integer() && b.is_integer()) return a.as_integer() <=> b.as_integer();
  // Mixed numbers meet as float, which is exact for every whole number that templates count with (below 2^53).
  const auto ordering = a.as_real() <=> b.as_real();
  unordered = ordering == std::partial_ordering::unordered;
  return ordering < 0   ? std::strong_ordering::less
         : ordering > 0 ? std::strong_ordering::greater
                        : std::strong_ordering::equal;
}

bool is_plain_sequence(const Value& v) {
  return v.is_list() && v.list().style != ListStyle::kGenerator && v.list().style != ListStyle::kDictValues;
}

ListStyle comparison_style(ListStyle style) { return style == ListStyle::kGroup ? ListStyle::kTuple : style; }

bool equal_lists(const Value& a, const Value& b) {
  if (a.address() == b.address()) return true;
  if (!is_plain_sequence(a) || !is_plain_sequence(b)) return false;
  const List& x = a.list();
  const List& y = b.list();
  if (comparison_style(x.style) != comparison_style(y.style) || x.items.size() != y.items.size()) return false;
  return std::equal(x.items.begin(), x.items.end(), y.items.begin(), equals);
}

bool equal_dicts(const Dict& a, const Dict& b) {
  if (a.entries.size() != b.entries.size()) return false;
  return std::all_of(a.entries.begin(), a.entries.end(), [&](const auto& entry) {
    const Value* other = b.find(entry.first);
    return other && equals(entry.second, *other);
  });
}

}  // namespace

Object::~Object() {
  if (budget) budget->give_back(charged);
}

Value Value::boolean(bool value) {
  Value v(Kind::kBool);
  v.number_.integer = value;
  return v;
}

Value Value::integer(int64_t value) {
  Value v(Kind::kInt);
  v.number_.integer = value;
  return v;
}

Value Value::real(double value) {
  Value v(Kind::kFloat);
  v.number_.real = value;
  return v;
}

const Text& Value::text() const { return static_cast<const String&>(*object_).text; }
const List& Value::list() const { return static_cast<const List&>(*object_); }
const Dict& Value::dict() const { return static_cast<const Dict&>(*object_); }
bool Value::is_list(ListStyle style) const { return is_list() && list().style == style; }
int Value::depth() const {
  if (kind_ == Kind::kFunction) return object<Function>().self.depth() + 1;
  return is_list() ? list().depth : is_dict() ? dict().depth : 0;
}

uint64_t Value::weight() const {
  if (is_string()) return 1 + bytes().size() / 64;
  if (kind_ == Kind::kFunction) return object<Function>().self.weight();
  return is_list() ? list().weight : is_dict() ? dict().weight : 1;
}

const Value* Dict::find(const Value& key) const {
  if (entries.size() <= kLinearKeys) {
    for (const auto& [k, v] : entries) {
      if (equals(k, key)) return &v;
    }
    return nullptr;
  }
  const auto [begin, end] = index.equal_range(hash_of(key));
  for (auto it = begin; it != end; ++it) {
    if (equals(entries[it->second].first, key)) return &entries[it->second].second;
  }
  return nullptr;
}

const Value* Dict::find(std::string_view key) const {
  if (entries.size() <= kLinearKeys) {
    for (const auto& [k, v] : entries) {
      if (k.is_text(key)) return &v;
    }
    return nullptr;
  }
  const auto [begin, end] = index.equal_range(std::hash<std::string_view>{}(key));
  for (auto it = begin; it != end; ++it) {
    if (entries[it->second].first.is_text(key)) return &entries[it->second].second;
  }
  return nullptr;
}

void Dict::put(Value key, Value value) {
  depth = std::max({depth, key.depth() + 1, value.depth() + 1});
  weight = std::min(kMaxWeight, weight + key.weight() + value.weight());
  if (const Value* present = find(key)) {
    const_cast<Value&>(*present) = std::move(value);  // ours, and still being made
    return;
  }
  entries.emplace_back(std::move(key), std::move(value));
  if (entries.size() <= kLinearKeys) return;
  for (size_t i = index.size(); i < entries.size(); ++i)
    index.emplace(hash_of(entries[i].first), static_cast<uint32_t>(i));
}

const Value* Namespace::find(std::string_view name) const {
  for (const auto& [key, value] : attributes) {
    if (key == name) return &value;
  }
  return nullptr;
}

bool truth(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kNone: return false;
    case Kind::kBool:
    case Kind::kInt: return value.as_integer() != 0;
    case Kind::kFloat: return value.as_real() != 0;
    case Kind::kString: return !value.bytes().empty();
    case Kind::kList: return value.list().style == ListStyle::kGenerator || !value.list().items.empty();
    case Kind::kDict: return !value.dict().entries.empty();
    default: return true;
  }
}

bool equals(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    bool unordered = false;
    return compare_numbers(a, b, unordered) == 0 && !unordered;
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kUndefined:
    case Kind::kNone: return true;
    case Kind::kString: return a.address() == b.address() || a.bytes() == b.bytes();
    case Kind::kList: return equal_lists(a, b);
    case Kind::kDict: return a.address() == b.address() || equal_dicts(a.dict(), b.dict());
    default: return a.address() == b.address();
  }
}

Result<int> order(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    bool unordered = false;
    const auto ordering = compare_numbers(a, b, unordered);
    return ordering < 0 ? -1 : ordering > 0 ? 1 : 0;
  }
  if (a.is_string() && b.is_string()) {
    const int c = a.bytes().compare(b.bytes());  // UTF-8 sorts as its code points do
    return c < 0 ? -1 : c > 0 ? 1 : 0;
  }
  const bool lists = a.is_list() && b.is_list() &&
                     comparison_style(a.list().style) == comparison_style(b.list().style) &&
                     comparison_style(a.list().style) <= ListStyle::kTuple;
  if (!lists) {
    return fail(ErrorCode::kUnsupported, "'{}' and '{}' have no order", type_name(a), type_name(b));
  }
  const auto& x = a.list().items;
  const auto& y = b.list().items;
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (!equals(x[i], y[i])) return order(x[i], y[i]);
  }
  return x.size() < y.size() ? -1 : x.size() > y.size() ? 1 : 0;
}

bool hashable(const Value& value) {
  if (value.is_dict()) return false;
  if (!value.is_list()) return true;
  const ListStyle style = comparison_style(value.list().style);
  if (style != ListStyle::kTuple) return style == ListStyle::kRange || style == ListStyle::kGenerator;
  return std::all_of(value.list().items.begin(), value.list().items.end(), hashable);
}

size_t hash_of(const Value& value) {
  switch (value.kind()) {
    case Kind::kBool:
    case Kind::kInt: return std::hash<int64_t>{}(value.as_integer());
    case Kind::kFloat: {
      const double real = value.as_real();
      return is_finite_whole(real) ? std::hash<int64_t>{}(static_cast<int64_t>(real)) : std::hash<double>{}(real);
    }
    case Kind::kString: return std::hash<std::string_view>{}(value.bytes());
    case Kind::kList: {
      size_t hash = 17;
      for (const Value& item : value.list().items) hash = hash * 1000003 + hash_of(item);
      return hash;
    }
    case Kind::kUndefined:
    case Kind::kNone: return 3;
    default: return std::hash<const void*>{}(value.address());
  }
}

std::string_view type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined: return "undefined";
    case Kind::kNone: return "none";
    case Kind::kBool: return "bool";
    case Kind::kInt: return "int";
    case Kind::kFloat: return "float";
    case Kind::kString: return "str";
    case Kind::kDict: return "dict";
    case Kind::kNamespace: return "namespace";
    case Kind::kMacro: return "macro";
    case Kind::kFunction: return "function";
    case Kind::kLoop: return "loop";
    case Kind::kList: break;
  }
  switch (value.list().style) {
    case ListStyle::kList: return "list";
    case ListStyle::kTuple:
    case ListStyle::kGroup: return "tuple";
    case ListStyle::kRange: return "range";
    case ListStyle::kGenerator: return "generator";
    case ListStyle::kDictKeys: return "dict_keys";
    case ListStyle::kDictValues: return "dict_values";
    case ListStyle::kDictItems: return "dict_items";
  }
  return "list";
}

std::optional<size_t> length_of(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined: return 0;
    case Kind::kString: return value.text().length;
    case Kind::kDict: return value.dict().entries.size();
    case Kind::kList:
      if (value.list().style == ListStyle::kGenerator) return std::nullopt;
      return value.list().items.size();
    default: return std::nullopt;
  }
}

}  // namespace anedvd::jinja
