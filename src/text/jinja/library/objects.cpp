// Methods of dicts, lists and loops, and the global functions.
#include <algorithm>
#include <array>

#include "base/words.h"
#include "text/jinja/evaluator.h"
#include "text/jinja/refusal.h"

namespace anedvd::jinja {
namespace {

constexpr int64_t kMaxRange = 100'000;  // the sandbox of Jinja stops there too

using Items = std::vector<Value>;

template <ListStyle kStyle>
Result<Value> dict_view(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  ANEDVD_TRY_VOID(bind(arguments, {}));
  Items items;
  for (const auto& [key, value] : self.dict().entries) {
    if (kStyle == ListStyle::kDictKeys) {
      items.push_back(key);
    } else if (kStyle == ListStyle::kDictValues) {
      items.push_back(value);
    } else {
      ANEDVD_TRY(auto pair, evaluator.make_list({key, value}, ListStyle::kTuple));
      items.push_back(std::move(pair));
    }
  }
  return evaluator.make_list(std::move(items), kStyle);
}

Result<Value> dict_get(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"key", "default"}, 1));
  if (!hashable(*bound[0]))
    return fail(ErrorCode::kUnsupported, "'{}' can't be the key of a dict", type_name(*bound[0]));
  ANEDVD_TRY_VOID(evaluator.spend(bound[0]->weight()));
  if (const Value* value = self.dict().find(*bound[0])) return *value;
  return bound[1] ? *bound[1] : Value::none();
}

Result<Value> copy(Evaluator&, const Value& self, const Arguments& arguments) {
  ANEDVD_TRY_VOID(bind(arguments, {}));
  return self;  // it can't change, so the same one serves
}

Result<Value> list_index(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"value"}, 1));
  const Items& items = self.list().items;
  for (size_t i = 0; i < items.size(); ++i) {
    ANEDVD_TRY_VOID(evaluator.spend(std::min(items[i].weight(), bound[0]->weight())));
    if (equals(items[i], *bound[0])) return Value::integer(static_cast<int64_t>(i));
  }
  return fail(ErrorCode::kUnsupported, "index: the value is not in the list");
}

Result<Value> list_count(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"value"}, 1));
  int64_t count = 0;
  for (const Value& item : self.list().items) {
    ANEDVD_TRY_VOID(evaluator.spend(std::min(item.weight(), bound[0]->weight())));
    count += equals(item, *bound[0]);
  }
  return Value::integer(count);
}

Result<Value> loop_cycle(Evaluator&, const Value& self, const Arguments& arguments) {
  if (arguments.positional.empty()) return fail(ErrorCode::kUnsupported, "cycle: there is nothing to cycle through");
  const auto index = std::max<int64_t>(self.object<LoopState>().index0, 0);
  return arguments.positional[static_cast<size_t>(index) % arguments.positional.size()];
}

Result<Value> loop_changed(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  auto& loop = self.object<LoopState>();
  if (loop.over) return fail(ErrorCode::kUnsupported, "this loop has ended; loop.changed can't be asked any more");
  ANEDVD_TRY(auto values, evaluator.make_list(arguments.positional, ListStyle::kTuple));
  ANEDVD_TRY_VOID(evaluator.spend(values.weight()));
  const bool changed = !loop.last_changed || !equals(*loop.last_changed, values);
  loop.last_changed = std::move(values);
  return Value::boolean(changed);
}

constexpr std::array<NamedBuiltin, 5> kDictMethods = {{{"get", dict_get},
                                                       {"items", dict_view<ListStyle::kDictItems>},
                                                       {"keys", dict_view<ListStyle::kDictKeys>},
                                                       {"values", dict_view<ListStyle::kDictValues>},
                                                       {"copy", copy}}};
constexpr std::array<NamedBuiltin, 3> kListMethods = {{{"index", list_index}, {"count", list_count}, {"copy", copy}}};
constexpr std::array<NamedBuiltin, 2> kLoopMethods = {{{"cycle", loop_cycle}, {"changed", loop_changed}}};
constexpr std::array<std::string_view, 5> kRefusedOfDict = {"clear", "pop", "popitem", "setdefault", "update"};
constexpr std::array<std::string_view, 8> kRefusedOfList = {"append", "clear", "pop",    "reverse",
                                                            "insert", "sort",  "extend", "remove"};

template <size_t kCount>
const NamedBuiltin* find_in(const std::array<NamedBuiltin, kCount>& table, std::string_view name) {
  const auto* row = std::find_if(table.begin(), table.end(), [&](const NamedBuiltin& m) { return m.name == name; });
  return row == table.end() ? nullptr : row;
}

// Global functions -------------------------------------------------------------------------------------------------------------------

Result<Value> range(Evaluator& evaluator, const Value&, const Arguments& arguments) {
  if (!arguments.named.empty()) return fail(ErrorCode::kUnsupported, "range takes no named arguments");
  ANEDVD_TRY(const auto bound, bind(arguments, {"start", "stop", "step"}, 1));
  int64_t numbers[3] = {0, 0, 1};
  for (size_t i = 0; i < 3; ++i) {
    if (!bound[i]) continue;
    ANEDVD_TRY(numbers[i], want_integer(*bound[i], "range's argument"));
  }
  if (!bound[1]) std::swap(numbers[0], numbers[1]);
  const auto [start, stop, step] = numbers;
  if (step == 0) return fail(ErrorCode::kUnsupported, "range: the step can't be 0");
  Items items;
  for (int64_t i = start; step > 0 ? i < stop : i > stop;) {
    if (static_cast<int64_t>(items.size()) == kMaxRange)
      return fail(ErrorCode::kUnsupported, "range: more than {} numbers", kMaxRange);
    items.push_back(Value::integer(i));
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  ANEDVD_TRY(auto value, evaluator.make_list(std::move(items), ListStyle::kRange));
  auto& list = value.object<List>();
  list.start = start;
  list.stop = stop;
  list.step = step;
  return value;
}

// dict(mapping or pairs, name=value …)
Result<std::shared_ptr<Dict>> collect_dict(Evaluator& evaluator, const Arguments& arguments) {
  auto dict = std::make_shared<Dict>();
  if (arguments.positional.size() > 1) return fail(ErrorCode::kUnsupported, "dict takes one mapping or list of pairs");
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional[0];
    if (source.is_dict()) {
      ANEDVD_TRY_VOID(evaluator.spend(source.dict().entries.size()));
      for (const auto& [key, value] : source.dict().entries) dict->put(key, value);
    } else {
      ANEDVD_TRY(auto items, evaluator.iterate(source));
      for (const Value& item : items) {
        ANEDVD_TRY(auto pair, evaluator.iterate(item));
        if (pair.size() != 2 || !hashable(pair[0]))
          return fail(ErrorCode::kUnsupported, "dict needs pairs of key and value");
        ANEDVD_TRY_VOID(evaluator.spend(pair[0].weight()));
        dict->put(std::move(pair[0]), std::move(pair[1]));
      }
    }
  }
  for (const auto& [name, value] : arguments.named) {
    ANEDVD_TRY(auto key, evaluator.make_text(name));
    dict->put(std::move(key), value);
  }
  return dict;
}

Result<Value> dict(Evaluator& evaluator, const Value&, const Arguments& arguments) {
  ANEDVD_TRY(auto entries, collect_dict(evaluator, arguments));
  return evaluator.make_dict(std::move(entries));
}

Result<Value> name_space(Evaluator& evaluator, const Value&, const Arguments& arguments) {
  ANEDVD_TRY(auto entries, collect_dict(evaluator, arguments));
  return evaluator.make_namespace(entries.get());
}

Result<Value> raise_exception(Evaluator& evaluator, const Value&, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"message"}, 1));
  ANEDVD_TRY(auto message, evaluator.to_text(*bound[0]));
  return fail(ErrorCode::kBadFile, "{}{}", kRefusalPrefix, visible(message.bytes(), 500));
}

// One conversion of strftime. Python's local time has no zone, so %z and %Z are empty.
std::string time_words(const std::tm& now, std::string_view conversion) {
  const char letter = conversion.back();
  if (letter == 'z' || letter == 'Z') return "";
  if (letter == 'f') return "000000";
  std::string format(1, '%');
  format += conversion;
  char buffer[256];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  const size_t size = std::strftime(buffer, sizeof(buffer), format.c_str(), &now);
#pragma GCC diagnostic pop
  return std::string(buffer, size);
}

Result<Value> strftime_now(Evaluator& evaluator, const Value&, const Arguments& arguments) {
  ANEDVD_TRY(const auto bound, bind(arguments, {"format"}, 1));
  ANEDVD_TRY(const Text* format, want_text(*bound[0], "the format of strftime_now"));
  TextBuilder out;
  const std::string_view bytes = format->bytes;
  constexpr std::string_view kFlags = "-_0^#";
  constexpr std::string_view kLetters = "aAbBcCdDeFgGhHIjmMnpPrRStTuUVwWxXyYzZf%";
  for (size_t i = 0; i < bytes.size();) {
    const size_t percent = std::min(bytes.find('%', i), bytes.size());
    out.append(*format, i, percent);
    i = percent;
    if (i == bytes.size()) break;
    size_t letter = i + 1;
    if (letter < bytes.size() && kFlags.find(bytes[letter]) != std::string_view::npos) ++letter;
    const bool known = letter < bytes.size() && kLetters.find(bytes[letter]) != std::string_view::npos;
    if (!known) {  // stays as it is, like the C library does
      out.append(*format, i, i + 1);
      ++i;
      continue;
    }
    out.append(time_words(evaluator.now(), bytes.substr(i + 1, letter - i)), Trust::kTemplate);
    i = letter + 1;
  }
  return evaluator.make_text(out);
}

constexpr std::array<NamedBuiltin, 5> kGlobals = {{{"range", range},
                                                   {"dict", dict},
                                                   {"namespace", name_space},
                                                   {"raise_exception", raise_exception},
                                                   {"strftime_now", strftime_now}}};

}  // namespace

const NamedBuiltin* find_global(std::string_view name) { return find_in(kGlobals, name); }

const NamedBuiltin* find_method(const Value& object, std::string_view name) {
  switch (object.kind()) {
    case Kind::kString: return find_string_method(name);
    case Kind::kDict: return find_in(kDictMethods, name);
    case Kind::kLoop: return find_in(kLoopMethods, name);
    case Kind::kList: {
      const ListStyle style = object.list().style;
      if (style > ListStyle::kRange) return nullptr;
      return style != ListStyle::kList && name == "copy" ? nullptr : find_in(kListMethods, name);
    }
    default: return nullptr;
  }
}

bool is_refused_method(const Value& object, std::string_view name) {
  if (object.is_dict()) return std::find(kRefusedOfDict.begin(), kRefusedOfDict.end(), name) != kRefusedOfDict.end();
  return object.is_list(ListStyle::kList) &&
         std::find(kRefusedOfList.begin(), kRefusedOfList.end(), name) != kRefusedOfList.end();
}

}  // namespace anedvd::jinja
