// What the evaluator offers to built-ins: making values against the budget, iterating, attributes and items.
#include <algorithm>

#include "base/words.h"
#include "text/jinja/evaluator.h"
#include "text/jinja/library/string_tools.h"

namespace anedvd::jinja {
namespace {

constexpr size_t kValueOverhead = 48;  // the shared_ptr's block and the allocator's

void charge(Budget& budget, Object& object, size_t bytes) {
  object.budget = &budget;
  object.charged = bytes + kValueOverhead;
  budget.take(object.charged);
}

template <class Container>
Result<> check_depth(const Container& container) {
  if (container.depth > kMaxValueDepth)
    return fail(ErrorCode::kUnsupported, "a value nests more than {} deep", kMaxValueDepth);
  return {};
}

}  // namespace

Result<Value> Evaluator::make_text(TextBuilder& builder, bool markup) {
  if (builder.overflowed()) return fail(ErrorCode::kNoMemory, "a string grows beyond {}", size_words(kMaxTextBytes));
  auto string = std::make_shared<String>();
  string->text = builder.finish();
  string->text.markup = markup;
  const Text& text = string->text;
  charge(budget_, *string, sizeof(String) + text.bytes.capacity() + text.runs.capacity() * sizeof(Run));
  ANEDVD_TRY_VOID(spend(text.bytes.size() / 64));
  if (budget_.out_of_memory()) {
    return fail(ErrorCode::kNoMemory, "the template uses more than {} of memory",
                size_words(budget_.limits().memory_bytes));
  }
  return Value(Kind::kString, std::move(string));
}

Result<Value> Evaluator::make_text(std::string_view bytes, Trust trust) {
  TextBuilder builder;
  builder.append(bytes, trust);
  return make_text(builder);
}

Result<Value> Evaluator::make_slice(const Text& text, size_t begin, size_t end) {
  TextBuilder builder;
  builder.append(text, begin, end);
  return make_text(builder, text.markup);
}

Result<Value> Evaluator::make_list(std::vector<Value> items, ListStyle style) {
  auto list = std::make_shared<List>();
  for (const Value& item : items) {
    list->depth = std::max(list->depth, item.depth() + 1);
    list->weight = std::min(kMaxWeight, list->weight + item.weight());
  }
  list->style = style;
  list->items = std::move(items);
  charge(budget_, *list, sizeof(List) + list->items.capacity() * sizeof(Value));
  ANEDVD_TRY_VOID(check_depth(*list));
  ANEDVD_TRY_VOID(spend(list->items.size()));
  return Value(Kind::kList, std::move(list));
}

Result<Value> Evaluator::make_dict(std::shared_ptr<Dict> dict) {
  charge(budget_, *dict, sizeof(Dict) + dict->entries.capacity() * sizeof(dict->entries[0]) + dict->index.size() * 40);
  ANEDVD_TRY_VOID(check_depth(*dict));
  ANEDVD_TRY_VOID(spend(dict->entries.size()));
  return Value(Kind::kDict, std::move(dict));
}

Result<Value> Evaluator::make_namespace(const Dict* attributes) {
  auto space = std::make_shared<Namespace>();
  if (attributes) {
    for (const auto& [key, value] : attributes->entries) {
      if (key.is_string()) space->attributes.emplace_back(key.bytes(), value);  // others could never be asked for
    }
  }
  charge(budget_, *space, sizeof(Namespace) + space->attributes.size() * (sizeof(Value) + sizeof(std::string)));
  namespaces_.push_back(space);
  return Value(Kind::kNamespace, std::move(space));
}

Result<std::vector<Value>> Evaluator::iterate(const Value& value) {
  std::vector<Value> items;
  switch (value.kind()) {
    case Kind::kUndefined: return items;
    case Kind::kList: {
      const List& list = value.list();
      ANEDVD_TRY_VOID(spend(list.items.size()));
      if (list.style != ListStyle::kGenerator) return list.items;
      items.assign(list.items.begin() + static_cast<std::ptrdiff_t>(list.read), list.items.end());
      list.read = list.items.size();
      return items;
    }
    case Kind::kDict:
      ANEDVD_TRY_VOID(spend(value.dict().entries.size()));
      for (const auto& [key, unused] : value.dict().entries) items.push_back(key);
      return items;
    case Kind::kString: {
      const Text& text = value.text();
      ANEDVD_TRY_VOID(spend(text.length));
      for (size_t i = 0; i < text.bytes.size();) {
        const size_t size = character_at(text.bytes, i).size;
        ANEDVD_TRY(auto character, make_slice(text, i, i + size));
        items.push_back(std::move(character));
        i += size;
      }
      return items;
    }
    default: return fail(ErrorCode::kUnsupported, "'{}' can't be iterated over", type_name(value));
  }
}

Result<Value> Evaluator::to_text(const Value& value) {
  if (value.is_string()) return value;
  TextBuilder out;
  ANEDVD_TRY_VOID(print(out, value));
  return make_text(out);
}

Result<bool> Evaluator::contains(const Value& container, const Value& item) {
  switch (container.kind()) {
    case Kind::kUndefined: return false;
    case Kind::kString:
      if (!item.is_string()) return fail(ErrorCode::kUnsupported, "'{}' can't be looked for in a str", type_name(item));
      ANEDVD_TRY_VOID(spend(search_cost(container.bytes(), item.bytes())));
      return container.bytes().find(item.bytes()) != std::string_view::npos;
    case Kind::kDict:
      if (!hashable(item)) return fail(ErrorCode::kUnsupported, "'{}' can't be the key of a dict", type_name(item));
      ANEDVD_TRY_VOID(spend(item.weight()));
      return container.dict().find(item) != nullptr;
    case Kind::kList: {
      const List& list = container.list();
      const bool once = list.style == ListStyle::kGenerator;
      for (size_t i = once ? list.read : 0; i < list.items.size(); ++i) {
        ANEDVD_TRY_VOID(spend(std::min(item.weight(), list.items[i].weight())));
        if (once) list.read = i + 1;
        if (equals(list.items[i], item)) return true;
      }
      return false;
    }
    default: return fail(ErrorCode::kUnsupported, "nothing is `in` a '{}'", type_name(container));
  }
}

Result<Value> Evaluator::loop_attribute(LoopState& loop, std::string_view name, bool& found) {
  found = true;
  if (loop.over)
    return fail(ErrorCode::kUnsupported, "this loop has ended; loop.{} can't be read any more", visible(name, 40));
  const auto index = loop.index0;
  if (name == "index0") return Value::integer(index);
  if (name == "index") return Value::integer(index + 1);
  if (name == "first") return Value::boolean(index == 0);
  if (name == "depth0") return Value::integer(loop.depth0);
  if (name == "depth") return Value::integer(loop.depth0 + 1);
  if (name == "previtem") return loop.before;
  if (name == "last" || name == "nextitem") {
    ANEDVD_TRY(const bool more, peek(loop));
    if (name == "last") return Value::boolean(!more);
    return more ? loop.waiting.back() : Value();
  }
  if (name == "length" || name == "revindex" || name == "revindex0") {
    ANEDVD_TRY(const size_t length, loop_length(loop));
    const auto count = static_cast<int64_t>(length);
    return Value::integer(name == "length" ? count : name == "revindex" ? count - index : count - index - 1);
  }
  found = false;
  return Value();
}

Result<Value> Evaluator::get_attribute(const Value& object, std::string_view name) {
  if (is_refused_method(object, name)) return Value();
  if (const NamedBuiltin* method = find_method(object, name)) {
    auto function = std::make_shared<Function>();
    function->name = method->name;
    function->call = method->call;
    function->self = object;
    charge(budget_, *function, sizeof(Function));
    const Value bound(Kind::kFunction, std::move(function));
    if (bound.depth() > kMaxValueDepth)
      return fail(ErrorCode::kUnsupported, "a value nests more than {} deep", kMaxValueDepth);
    return bound;
  }
  switch (object.kind()) {
    case Kind::kDict: {
      const Value* value = object.dict().find(name);
      return value ? *value : Value();
    }
    case Kind::kNamespace: {
      ANEDVD_TRY_VOID(spend(object.object<Namespace>().attributes.size() / 8));
      const Value* value = object.object<Namespace>().find(name);
      return value ? *value : Value();
    }
    case Kind::kLoop: {
      bool found = false;
      return loop_attribute(object.object<LoopState>(), name, found);
    }
    case Kind::kMacro:
      if (name == "name") return make_text(object.object<Macro>().name);
      return Value();
    case Kind::kList:
      if (object.list().style == ListStyle::kGroup && name == "grouper") return object.list().items[0];
      if (object.list().style == ListStyle::kGroup && name == "list") return object.list().items[1];
      return Value();
    default: return Value();
  }
}

Result<Value> Evaluator::get_item(const Value& object, const Value& key) {
  if (object.is_dict()) {
    ANEDVD_TRY_VOID(spend(key.weight()));
    if (hashable(key)) {
      if (const Value* value = object.dict().find(key)) return *value;
    }
  } else if (key.is_integer() &&
             (object.is_string() || (object.is_list() && object.list().style <= ListStyle::kRange))) {
    const auto length = static_cast<int64_t>(length_of(object).value_or(0));
    const int64_t index = key.as_integer() < 0 ? key.as_integer() + length : key.as_integer();
    if (index < 0 || index >= length) return Value();
    if (object.is_list()) return object.list().items[static_cast<size_t>(index)];
    const Text& text = object.text();
    if (!text.is_ascii()) ANEDVD_TRY_VOID(spend(text.bytes.size() / 16));
    const size_t begin = byte_offset(text, static_cast<size_t>(index));
    return make_slice(text, begin, begin + character_at(text.bytes, begin).size);
  }
  if (!key.is_string() || object.is_dict()) {
    // A dict's missing key still finds its methods: d['items'] is d.items.
    if (key.is_string() && find_method(object, key.bytes())) return get_attribute(object, key.bytes());
    return Value();
  }
  return get_attribute(object, key.bytes());
}

}  // namespace anedvd::jinja
