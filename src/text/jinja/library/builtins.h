// Filters, tests, methods and global functions: tables of named functions with one signature (value.h, Builtin).
#pragma once

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace anedvd::jinja {

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

struct NamedBuiltin {
  std::string_view name;
  Builtin call;
};

// nullptr: no such thing. Tests give a bool.
Builtin find_filter(std::string_view name);
Builtin find_test(std::string_view name);
const NamedBuiltin* find_global(std::string_view name);
// A method of this kind of object, nullptr if it has none of that name.
const NamedBuiltin* find_method(const Value& object, std::string_view name);
// A method that Python has but the sandbox refuses because it would change its object (list.append).
bool is_refused_method(const Value& object, std::string_view name);
std::string no_filter_words(std::string_view name);
std::string no_test_words(std::string_view name);

// Each folder of built-ins as a table.
const NamedBuiltin* find_string_method(std::string_view name);
const NamedBuiltin* find_text_filter(std::string_view name);
const NamedBuiltin* find_list_filter(std::string_view name);

constexpr size_t kMaxParameters = 8;

// Arguments by parameter: null where none was given.
struct Bound {
  std::array<const Value*, kMaxParameters> values{};
  const Value* operator[](size_t i) const { return values[i]; }
  bool flag(size_t i) const { return values[i] && truth(*values[i]); }
  bool has(size_t i) const { return values[i] && !values[i]->is_none(); }  // given and not none
};
// Matches positional and named arguments with parameter names; the first `required` must be there. `arguments` must outlive the result.
Result<Bound> bind(const Arguments& arguments, std::initializer_list<std::string_view> names, size_t required = 0);

Result<int64_t> want_integer(const Value& value, std::string_view words);
Result<const Text*> want_text(const Value& value, std::string_view words);

}  // namespace anedvd::jinja
