// Values of the template language: Python's, as far as templates can tell.
//
// A Value is small and copied freely; strings, lists and dicts behind it are immutable and shared (shared_ptr because a template may
// keep one in any number of variables). Only namespaces change. Whole numbers are 64 bits; what would leave them is an error.
// Lists remember how deep they nest and refuse to go past kMaxValueDepth, so nothing that walks or frees them recurses without limit;
// namespaces and scopes, which could form rings, are owned by the evaluator until a render ends.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "text/jinja/text.h"

namespace anedvd::jinja {

class Budget;
class Value;
struct Arguments;
struct Macro;
struct LoopState;

enum class Kind : uint8_t {
  kUndefined,
  kNone,
  kBool,
  kInt,
  kFloat,
  kString,
  kList,
  kDict,
  kNamespace,
  kMacro,
  kFunction,
  kLoop
};

// What Python would call the list: they print, compare and test differently. kGenerator is what map, select, items… give: always
// true, without length, and empty once it was read.
enum class ListStyle : uint8_t { kList, kTuple, kGroup, kRange, kGenerator, kDictKeys, kDictValues, kDictItems };

constexpr uint64_t kMaxWeight = uint64_t{1} << 40;  // sums stop here
constexpr int kMaxValueDepth = 300;                 // deeper JSON is refused where it becomes a value

// Anything on the heap; gives its bytes back to the budget when it goes.
struct Object {
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object();
  Budget* budget = nullptr;
  size_t charged = 0;
};

class Value {
 public:
  Value() = default;  // undefined
  static Value none() { return Value(Kind::kNone); }
  static Value boolean(bool value);
  static Value integer(int64_t value);
  static Value real(double value);
  Value(Kind kind, std::shared_ptr<Object> object) : kind_(kind), object_(std::move(object)) {}

  Kind kind() const { return kind_; }
  bool is_undefined() const { return kind_ == Kind::kUndefined; }
  bool is_none() const { return kind_ == Kind::kNone; }
  bool is_string() const { return kind_ == Kind::kString; }
  bool is_list() const { return kind_ == Kind::kList; }
  bool is_list(ListStyle style) const;
  bool is_dict() const { return kind_ == Kind::kDict; }
  bool is_integer() const { return kind_ == Kind::kInt || kind_ == Kind::kBool; }  // Python: a bool is an int
  bool is_number() const { return is_integer() || kind_ == Kind::kFloat; }

  bool as_bool() const { return number_.integer != 0; }   // of a bool
  int64_t as_integer() const { return number_.integer; }  // of an int or bool
  double as_real() const { return kind_ == Kind::kFloat ? number_.real : static_cast<double>(number_.integer); }
  const Text& text() const;         // of a string
  const struct List& list() const;  // of a list
  const struct Dict& dict() const;  // of a dict
  template <class T>
  T& object() const {
    return static_cast<T&>(*object_);
  }
  const Object* address() const { return object_.get(); }

  std::string_view bytes() const { return text().bytes; }
  bool is_text(std::string_view other) const { return is_string() && bytes() == other; }
  int depth() const;        // 0: no list or dict
  uint64_t weight() const;  // what walking it all costs, in steps: shared parts count each time they are met

 private:
  explicit Value(Kind kind) : kind_(kind) {}
  Kind kind_ = Kind::kUndefined;
  union {
    int64_t integer;
    double real;
  } number_ = {0};
  std::shared_ptr<Object> object_;
};

struct String : Object {
  Text text;
};

struct List : Object {
  ListStyle style = ListStyle::kList;
  int depth = 1;
  uint64_t weight = 1;
  std::vector<Value> items;
  mutable size_t read = 0;                // kGenerator: how many items were taken
  int64_t start = 0, stop = 0, step = 1;  // kRange: how it prints
};

// Keys in order of insertion. 1, 1.0 and true are one key.
struct Dict : Object {
  int depth = 1;
  uint64_t weight = 1;
  std::vector<std::pair<Value, Value>> entries;
  std::unordered_multimap<size_t, uint32_t> index;  // hash → entry, once there are more than a few

  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  void put(Value key, Value value);  // the key must be hashable; only while the dict is being made
};

struct Namespace : Object {
  std::vector<std::pair<std::string, Value>> attributes;
  const Value* find(std::string_view name) const;
};

// Services that every built-in may use; the evaluator (evaluator.h).
class Evaluator;
using Builtin = Result<Value> (*)(Evaluator&, const Value& self, const Arguments&);

// A method bound to its object, or a global function.
struct Function : Object {
  std::string_view name;  // of a table that lives as long as the program
  Builtin call = nullptr;
  Value self;
};

// Python's bool(x).
bool truth(const Value& value);
// Python's ==. Never fails; values of unlike kinds differ.
bool equals(const Value& a, const Value& b);
// Python's ordering: negative, zero, positive. Error when the kinds have none.
Result<int> order(const Value& a, const Value& b);
bool hashable(const Value& value);
size_t hash_of(const Value& value);  // of a hashable value
// "str", "dict", "NoneType": Python's name of the type, for messages.
std::string_view type_name(const Value& value);
// The items that iterating gives (a string's characters excepted: Evaluator::iterate), or nullopt.
std::optional<size_t> length_of(const Value& value);

}  // namespace anedvd::jinja
