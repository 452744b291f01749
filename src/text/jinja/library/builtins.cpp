#include "text/jinja/library/builtins.h"

#include <algorithm>

#include "base/words.h"

namespace anedvd::jinja {

Result<Bound> bind(const Arguments& arguments, std::initializer_list<std::string_view> names, size_t required) {
  ANEDVD_CHECK(names.size() <= kMaxParameters, "a built-in has {} parameters", names.size());
  Bound bound;
  if (arguments.positional.size() > names.size()) {
    return fail(ErrorCode::kUnsupported, "takes at most {} arguments, {} are given", names.size(),
                arguments.positional.size());
  }
  for (size_t i = 0; i < arguments.positional.size(); ++i) bound.values[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    const auto* found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) return fail(ErrorCode::kUnsupported, "there is no argument '{}'", visible(name, 60));
    const Value*& slot = bound.values[static_cast<size_t>(found - names.begin())];
    if (slot) return fail(ErrorCode::kUnsupported, "the argument '{}' is given twice", visible(name, 60));
    slot = &value;
  }
  for (size_t i = 0; i < required; ++i) {
    if (!bound.values[i]) return fail(ErrorCode::kUnsupported, "the argument '{}' is missing", *(names.begin() + i));
  }
  return bound;
}

Result<int64_t> want_integer(const Value& value, std::string_view words) {
  if (!value.is_integer())
    return fail(ErrorCode::kUnsupported, "{} must be a whole number, not '{}'", words, type_name(value));
  return value.as_integer();
}

Result<const Text*> want_text(const Value& value, std::string_view words) {
  if (!value.is_string()) return fail(ErrorCode::kUnsupported, "{} must be a str, not '{}'", words, type_name(value));
  return &value.text();
}

Builtin find_filter(std::string_view name) {
  const NamedBuiltin* row = find_text_filter(name);
  if (!row) row = find_list_filter(name);
  return row ? row->call : nullptr;
}

std::string no_filter_words(std::string_view name) { return fmt::format("there is no filter '{}'", visible(name, 60)); }
std::string no_test_words(std::string_view name) { return fmt::format("there is no test '{}'", visible(name, 60)); }

}  // namespace anedvd::jinja
