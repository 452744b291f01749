// Filters over lists: picking, mapping, sorting, grouping.
#include <algorithm>
#include <array>
#include <unordered_set>

#include "base/words.h"
#include "text/jinja/evaluator.h"
#include "text/jinja/library/letter_case.h"
#include "text/jinja/library/string_tools.h"

namespace anedvd::jinja {
namespace {

using Items = std::vector<Value>;

// What `attribute=` names: 'a.b.0' walks attributes and indexes; without, the item itself. Strings are lowered unless case counts.
struct Key {
  std::vector<Value> path;
  Value otherwise;
  bool ignore_case = false;

  Result<Value> of(Evaluator& evaluator, const Value& item) const {
    Value value = item;
    for (const Value& part : path) {
      if (value.is_undefined())
        return fail(ErrorCode::kUnsupported, "an attribute of an undefined value was asked for");
      ANEDVD_TRY(value, evaluator.get_item(value, part));
      if (value.is_undefined() && !otherwise.is_undefined()) value = otherwise;
    }
    if (!ignore_case || !value.is_string()) return value;
    ANEDVD_TRY_VOID(evaluator.spend(value.bytes().size() / 4));
    TextBuilder lower;
    append_case(lower, value.text(), LetterCase::kLower);
    return evaluator.make_text(lower);
  }
};

Result<Key> make_key(Evaluator& evaluator, const Value* attribute, bool ignore_case) {
  Key key;
  key.ignore_case = ignore_case;
  if (!attribute || attribute->is_none()) return key;
  if (attribute->is_integer()) {
    key.path.push_back(*attribute);
    return key;
  }
  ANEDVD_TRY(const Text* text, want_text(*attribute, "an attribute"));
  for (size_t begin = 0; begin <= text->bytes.size();) {
    const size_t end = std::min(text->bytes.find('.', begin), text->bytes.size());
    const std::string_view part = std::string_view(text->bytes).substr(begin, end - begin);
    const bool digits =
        !part.empty() && part.size() < 10 && part.find_first_not_of("0123456789") == std::string_view::npos;
    if (digits) {
      key.path.push_back(Value::integer(std::stoll(std::string(part))));
    } else {
      ANEDVD_TRY(auto name, evaluator.make_slice(*text, begin, end));
      key.path.push_back(std::move(name));
    }
    begin = end + 1;
  }
  return key;
}

// Stable sort by precomputed keys. Errors of comparison are kept and end it.
Result<> sort_by(Evaluator& evaluator, Items& items, const std::vector<Items>& keys, bool reverse) {
  std::vector<size_t> places(items.size());
  for (size_t i = 0; i < places.size(); ++i) places[i] = i;
  std::optional<Error> error;
  const auto before = [&](size_t a, size_t b) {
    for (size_t k = 0; k < keys[a].size() && !error; ++k) {
      if (auto spent = evaluator.spend(1 + std::min(keys[a][k].weight(), keys[b][k].weight())); !spent) {
        error = spent.error();
        return false;
      }
      const auto sign = order(keys[a][k], keys[b][k]);
      if (!sign) {
        error = sign.error();
      } else if (*sign != 0) {
        return *sign < 0;
      }
    }
    return false;
  };
  // Python reverses by comparing the other way round, which keeps equal items in order.
  std::stable_sort(places.begin(), places.end(),
                   [&](size_t a, size_t b) { return reverse ? before(b, a) : before(a, b); });
  if (error) return tl::unexpected(std::move(*error));
  Items sorted;
  sorted.reserve(items.size());
  for (const size_t place : places) sorted.push_back(std::move(items[place]));
  items = std::move(sorted);
  return {};
}

Result<std::vector<Items>> keys_of(Evaluator& evaluator, const Items& items, const std::vector<Key>& keys) {
  std::vector<Items> all;
  for (const Value& item : items) {
    Items parts;
    for (const Key& key : keys) {
      ANEDVD_TRY(auto part, key.of(evaluator, item));
      parts.push_back(std::move(part));
    }
    all.push_back(std::move(parts));
  }
  return all;
}

Result<Value> sort(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"reverse", "case_sensitive", "attribute"}));
  ANEDVD_TRY(auto items, evaluator.iterate(input));
  std::vector<Key> keys;
  if (bound.has(2) && bound[2]->is_string()) {  // "age,name" sorts by several
    const Text& names = bound[2]->text();
    for (size_t begin = 0; begin <= names.bytes.size();) {
      const size_t end = std::min(names.bytes.find(',', begin), names.bytes.size());
      ANEDVD_TRY(auto name, evaluator.make_slice(names, begin, end));
      ANEDVD_TRY(auto key, make_key(evaluator, &name, !bound.flag(1)));
      keys.push_back(std::move(key));
      begin = end + 1;
    }
  } else {
    ANEDVD_TRY(auto key, make_key(evaluator, bound[2], !bound.flag(1)));
    keys.push_back(std::move(key));
  }
  ANEDVD_TRY(const auto all, keys_of(evaluator, items, keys));
  ANEDVD_TRY_VOID(sort_by(evaluator, items, all, bound.flag(0)));
  return evaluator.make_list(std::move(items));
}

Result<Value> dictsort(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"case_sensitive", "by", "reverse"}));
  size_t position = 0;
  if (bound[1] && !bound[1]->is_text("key")) {
    if (!bound[1]->is_text("value")) return fail(ErrorCode::kUnsupported, "dictsort sorts by 'key' or 'value'");
    position = 1;
  }
  if (!input.is_dict()) return fail(ErrorCode::kUnsupported, "dictsort needs a dict, not '{}'", type_name(input));
  Items pairs;
  std::vector<Items> keys;
  const Key lower{{}, Value(), !bound.flag(0)};
  for (const auto& [key, value] : input.dict().entries) {
    ANEDVD_TRY(auto sort_key, lower.of(evaluator, position == 0 ? key : value));
    keys.push_back({std::move(sort_key)});
    ANEDVD_TRY(auto pair, evaluator.make_list({key, value}, ListStyle::kTuple));
    pairs.push_back(std::move(pair));
  }
  ANEDVD_TRY_VOID(sort_by(evaluator, pairs, keys, bound.flag(2)));
  return evaluator.make_list(std::move(pairs));
}

Result<Value> unique(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"case_sensitive", "attribute"}));
  ANEDVD_TRY(const auto key, make_key(evaluator, bound[1], !bound.flag(0)));
  ANEDVD_TRY(auto items, evaluator.iterate(input));
  Dict seen;
  Items kept;
  for (Value& item : items) {
    ANEDVD_TRY(auto mark, key.of(evaluator, item));
    if (!hashable(mark))
      return fail(ErrorCode::kUnsupported, "unique can't compare values of type '{}'", type_name(mark));
    ANEDVD_TRY_VOID(evaluator.spend(mark.weight()));
    if (seen.find(mark)) continue;
    seen.put(std::move(mark), Value());
    kept.push_back(std::move(item));
  }
  return evaluator.make_list(std::move(kept), ListStyle::kGenerator);
}

template <bool kMax>
Result<Value> extreme(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"case_sensitive", "attribute"}));
  ANEDVD_TRY(const auto key, make_key(evaluator, bound[1], !bound.flag(0)));
  ANEDVD_TRY(auto items, evaluator.iterate(input));
  Value best, best_key;
  for (size_t i = 0; i < items.size(); ++i) {
    ANEDVD_TRY(auto mark, key.of(evaluator, items[i]));
    if (i > 0) {
      ANEDVD_TRY_VOID(evaluator.spend(std::min(mark.weight(), best_key.weight())));
      ANEDVD_TRY(const int sign, order(mark, best_key));
      if (kMax ? sign <= 0 : sign >= 0) continue;
    }
    best = items[i];
    best_key = std::move(mark);
  }
  return best;
}

Result<Value> group_by(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"attribute", "default", "case_sensitive"}, 1));
  ANEDVD_TRY(auto key, make_key(evaluator, bound[0], !bound.flag(2)));
  if (bound.has(1)) key.otherwise = *bound[1];
  Key shown = key;
  shown.ignore_case = false;
  ANEDVD_TRY(auto items, evaluator.iterate(input));
  ANEDVD_TRY(const auto keys, keys_of(evaluator, items, {key}));
  ANEDVD_TRY_VOID(sort_by(evaluator, items, keys, false));
  Items groups;
  for (size_t begin = 0; begin < items.size();) {
    ANEDVD_TRY(const auto first, key.of(evaluator, items[begin]));
    Items members = {items[begin]};
    size_t end = begin + 1;
    for (; end < items.size(); ++end) {
      ANEDVD_TRY(const auto next, key.of(evaluator, items[end]));
      if (!equals(first, next)) break;
      members.push_back(items[end]);
    }
    ANEDVD_TRY(auto grouper, shown.of(evaluator, items[begin]));
    ANEDVD_TRY(auto list, evaluator.make_list(std::move(members)));
    ANEDVD_TRY(auto group, evaluator.make_list({std::move(grouper), std::move(list)}, ListStyle::kGroup));
    groups.push_back(std::move(group));
    begin = end;
  }
  return evaluator.make_list(std::move(groups));
}

Result<Value> sum(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"attribute", "start"}));
  ANEDVD_TRY(const auto key, make_key(evaluator, bound[0], false));
  ANEDVD_TRY(auto items, evaluator.iterate(input));
  Value total = bound[1] ? *bound[1] : Value::integer(0);
  if (total.is_string()) return fail(ErrorCode::kUnsupported, "sum does not join strings; join does");
  for (const Value& item : items) {
    ANEDVD_TRY(auto value, key.of(evaluator, item));
    ANEDVD_TRY(total, evaluator.calculate(Operator::kAdd, total, value));
  }
  return total;
}

// map('filter', …) or map(attribute='name', default=…)
Result<Value> map(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  if (!truth(input)) return evaluator.make_list({}, ListStyle::kGenerator);
  ANEDVD_TRY(auto items, evaluator.iterate(input));
  if (arguments.positional.empty()) {
    ANEDVD_TRY(const auto bound, bind(arguments, {"attribute", "default"}, 1));
    ANEDVD_TRY(auto key, make_key(evaluator, bound[0], false));
    if (bound.has(1)) key.otherwise = *bound[1];
    for (Value& item : items) {
      ANEDVD_TRY(item, key.of(evaluator, item));
    }
    return evaluator.make_list(std::move(items), ListStyle::kGenerator);
  }
  ANEDVD_TRY(const Text* name, want_text(arguments.positional[0], "map's filter"));
  Arguments rest = arguments;
  rest.positional.erase(rest.positional.begin());
  for (Value& item : items) {
    ANEDVD_TRY(item, evaluator.filter(name->bytes, item, rest));
  }
  return evaluator.make_list(std::move(items), ListStyle::kGenerator);
}

// select, reject, selectattr, rejectattr: [attribute,] [test, arguments of the test …]
template <bool kKeep, bool kByAttribute>
Result<Value> select(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  if (!truth(input)) return evaluator.make_list({}, ListStyle::kGenerator);
  Arguments rest = arguments;
  Key key;
  if (kByAttribute) {
    if (rest.positional.empty()) return fail(ErrorCode::kUnsupported, "the name of an attribute is missing");
    ANEDVD_TRY(key, make_key(evaluator, &rest.positional[0], false));
    rest.positional.erase(rest.positional.begin());
  }
  Value test_name;
  if (!rest.positional.empty()) {
    test_name = rest.positional[0];
    rest.positional.erase(rest.positional.begin());
    ANEDVD_TRY_VOID(want_text(test_name, "the name of a test"));
  }
  ANEDVD_TRY(auto items, evaluator.iterate(input));
  Items kept;
  for (Value& item : items) {
    ANEDVD_TRY(auto subject, key.of(evaluator, item));
    if (test_name.is_string()) {
      ANEDVD_TRY(subject, evaluator.test(test_name.bytes(), subject, rest));
    }
    if (truth(subject) == kKeep) kept.push_back(std::move(item));
  }
  return evaluator.make_list(std::move(kept), ListStyle::kGenerator);
}

Result<Value> join(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"d", "attribute"}));
  ANEDVD_TRY(auto items, evaluator.iterate(input));
  if (bound.has(1)) {
    ANEDVD_TRY(const auto key, make_key(evaluator, bound[1], false));
    for (Value& item : items) {
      ANEDVD_TRY(item, key.of(evaluator, item));
    }
  }
  if (!bound[0]) return join_texts(evaluator, Text(), items, true);
  ANEDVD_TRY(auto separator, evaluator.to_text(*bound[0]));
  return join_texts(evaluator, separator.text(), items, true);
}

Result<Value> length(Evaluator&, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY_VOID(bind(arguments, {}));
  const auto size = length_of(input);
  if (!size) return fail(ErrorCode::kUnsupported, "'{}' has no length", type_name(input));
  return Value::integer(static_cast<int64_t>(*size));
}

Result<Value> first(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY_VOID(bind(arguments, {}));
  if (input.is_string()) return evaluator.get_item(input, Value::integer(0));
  if (input.is_list(ListStyle::kGenerator)) {
    const List& list = input.list();
    return list.read < list.items.size() ? list.items[list.read++] : Value();
  }
  if (input.is_list()) return input.list().items.empty() ? Value() : input.list().items[0];
  ANEDVD_TRY(auto items, evaluator.iterate(input));
  return items.empty() ? Value() : items[0];
}

Result<Value> last(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY_VOID(bind(arguments, {}));
  if (input.is_string()) return evaluator.get_item(input, Value::integer(-1));
  if (input.is_list(ListStyle::kGenerator))
    return fail(ErrorCode::kUnsupported, "last can't read a generator; make a list of it first");
  ANEDVD_TRY(auto items, evaluator.iterate(input));
  return items.empty() ? Value() : items.back();
}

Result<Value> list(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY_VOID(bind(arguments, {}));
  ANEDVD_TRY(auto items, evaluator.iterate(input));
  return evaluator.make_list(std::move(items));
}

Result<Value> items_of(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY_VOID(bind(arguments, {}));
  if (input.is_undefined()) return evaluator.make_list({}, ListStyle::kGenerator);
  if (!input.is_dict()) return fail(ErrorCode::kUnsupported, "items needs a dict, not '{}'", type_name(input));
  Items pairs;
  for (const auto& [key, value] : input.dict().entries) {
    ANEDVD_TRY(auto pair, evaluator.make_list({key, value}, ListStyle::kTuple));
    pairs.push_back(std::move(pair));
  }
  return evaluator.make_list(std::move(pairs), ListStyle::kGenerator);
}

Result<Value> reverse(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY_VOID(bind(arguments, {}));
  ANEDVD_TRY(auto items, evaluator.iterate(input));
  std::reverse(items.begin(), items.end());
  if (!input.is_string()) return evaluator.make_list(std::move(items), ListStyle::kGenerator);
  TextBuilder out;
  for (const Value& item : items) out.append(item.text());
  return evaluator.make_text(out, input.text().markup);
}

Result<Value> batch(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"linecount", "fill_with"}, 1));
  ANEDVD_TRY(const int64_t count, want_integer(*bound[0], "batch's size"));
  ANEDVD_TRY(auto items, evaluator.iterate(input));
  if (count <= 0 || count > 100'000)
    return fail(ErrorCode::kUnsupported, "batch: the size must lie between 1 and 100,000");
  Items rows;
  for (size_t begin = 0; begin < items.size(); begin += static_cast<size_t>(count)) {
    const size_t end = std::min(items.size(), begin + static_cast<size_t>(count));
    Items row(items.begin() + static_cast<std::ptrdiff_t>(begin), items.begin() + static_cast<std::ptrdiff_t>(end));
    if (bound.has(1)) row.resize(static_cast<size_t>(count), *bound[1]);
    ANEDVD_TRY(auto value, evaluator.make_list(std::move(row)));
    rows.push_back(std::move(value));
  }
  return evaluator.make_list(std::move(rows), ListStyle::kGenerator);
}

Result<Value> slice(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"slices", "fill_with"}, 1));
  ANEDVD_TRY(const int64_t count, want_integer(*bound[0], "slice's count"));
  ANEDVD_TRY(auto items, evaluator.iterate(input));
  if (count <= 0 || count > 100'000)
    return fail(ErrorCode::kUnsupported, "slice: the count must lie between 1 and 100,000");
  const auto slices = static_cast<size_t>(count);
  const size_t each = items.size() / slices, with_extra = items.size() % slices;
  Items columns;
  size_t begin = 0;
  for (size_t i = 0; i < slices; ++i) {
    const size_t end = begin + each + (i < with_extra ? 1 : 0);
    Items column(items.begin() + static_cast<std::ptrdiff_t>(begin), items.begin() + static_cast<std::ptrdiff_t>(end));
    if (bound.has(1) && i >= with_extra) column.push_back(*bound[1]);
    ANEDVD_TRY(auto value, evaluator.make_list(std::move(column)));
    columns.push_back(std::move(value));
    begin = end;
  }
  return evaluator.make_list(std::move(columns), ListStyle::kGenerator);
}

// foo|attr('bar'): only attributes and methods, never keys.
Result<Value> attribute(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"name"}, 1));
  ANEDVD_TRY(const Text* name, want_text(*bound[0], "attr's name"));
  if (input.is_undefined()) return fail(ErrorCode::kUnsupported, "attr: the value is undefined");
  if (input.is_dict() && !find_method(input, name->bytes)) return Value();
  return evaluator.get_attribute(input, name->bytes);
}

constexpr std::array<NamedBuiltin, 23> kFilters = {{
    {"attr", attribute},
    {"batch", batch},
    {"count", length},
    {"dictsort", dictsort},
    {"first", first},
    {"groupby", group_by},
    {"items", items_of},
    {"join", join},
    {"last", last},
    {"length", length},
    {"list", list},
    {"map", map},
    {"max", extreme<true>},
    {"min", extreme<false>},
    {"reject", select<false, false>},
    {"rejectattr", select<false, true>},
    {"reverse", reverse},
    {"select", select<true, false>},
    {"selectattr", select<true, true>},
    {"slice", slice},
    {"sort", sort},
    {"sum", sum},
    {"unique", unique},
}};

}  // namespace

const NamedBuiltin* find_list_filter(std::string_view name) {
  const auto* row =
      std::find_if(kFilters.begin(), kFilters.end(), [&](const NamedBuiltin& f) { return f.name == name; });
  return row == kFilters.end() ? nullptr : row;
}

}  // namespace anedvd::jinja
