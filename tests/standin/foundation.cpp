// The part of Foundation that the bridge sends messages to.
#include "foundation.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "report.h"

namespace standin {
namespace {

constexpr unsigned long kNotFound = std::numeric_limits<long>::max();

struct IndexSet : Object {
  unsigned long count = 0;
};

// The first index from `at` on.
unsigned long index_from(Id set, unsigned long at) { return at < static_cast<IndexSet*>(set)->count ? at : kNotFound; }

long kind_of(Id self, Selector*, Class* wanted) {
  if (wanted == nullptr) complain("nil argument", "isKindOfClass: wants a class");
  check_alive(wanted, "isKindOfClass:");
  return is_kind(self, wanted) ? 1 : 0;
}

Id key_checked(Id key, const char* where) {
  require_class(key, "NSString", where);
  return key;
}

Id array_with(Class*, Selector*, const Id* items, unsigned long count) {
  std::vector<Id> out(items, items + count);
  for (Id item : out)
    if (item == nullptr) complain("nil argument", "arrayWithObjects:count: with nil among the objects");
  return array(out);
}

Id dictionary_with(Class*, Selector*, const Id* values, const Id* keys, unsigned long count) {
  std::vector<std::pair<Id, Id>> out;
  for (unsigned long i = 0; i < count; ++i) {
    if (keys[i] == nullptr || values[i] == nullptr)
      complain("nil argument", "dictionaryWithObjects:forKeys:count: with nil among keys or objects");
    const auto& key = static_cast<String*>(key_checked(keys[i], "key of a dictionary"))->value;
    for (const auto& [other, value] : out)
      if (static_cast<String*>(other)->value == key)
        complain("doubled key", text("\"%s\" twice in a dictionary", key.c_str()));
    out.emplace_back(keys[i], values[i]);
  }
  return dictionary(out);
}

Id data_copied(Class*, Selector*, const void* bytes, unsigned long length) {
  auto* out = make<Data>("NSData");
  out->kept.assign(static_cast<const char*>(bytes), length);
  out->borrowed = out->kept;
  return autorelease(out);
}

Id data_borrowed(Class*, Selector*, void* bytes, unsigned long length, signed char free_when_done) {
  if (free_when_done != 0) complain("wrong argument", "memory that is not malloc's must not be freed by NSData");
  auto* out = make<Data>("NSData");
  out->borrowed = {static_cast<const char*>(bytes), length};
  return autorelease(out);
}

void define_values() {
  Class* string_class = define("NSString", "NSObject");
  method(string_class, "+stringWithUTF8String:", "@24@0:8r*16", [](Class*, Selector*, const char* text) {
    if (text == nullptr) complain("nil argument", "stringWithUTF8String: wants characters");
    return string(text);
  });
  method(string_class, "-UTF8String", "r*16@0:8",
         [](Id self, Selector*) { return static_cast<String*>(self)->value.c_str(); });
  method(string_class, "-length", "Q16@0:8",
         [](Id self, Selector*) -> unsigned long { return static_cast<String*>(self)->value.size(); });

  Class* number_class = define("NSNumber", "NSObject");
  method(number_class, "+numberWithLongLong:", "@24@0:8q16",
         [](Class*, Selector*, long long value) { return number(value); });
  method(number_class, "-longLongValue", "q16@0:8",
         [](Id self, Selector*) { return static_cast<Number*>(self)->value; });

  Class* data_class = define("NSData", "NSObject");
  method(data_class, "+dataWithBytes:length:", "@32@0:8r^v16Q24", data_copied);
  method(data_class, "+dataWithBytesNoCopy:length:freeWhenDone:", "@36@0:8^v16Q24B32", data_borrowed);
  method(data_class, "-length", "Q16@0:8",
         [](Id self, Selector*) -> unsigned long { return static_cast<Data*>(self)->borrowed.size(); });
  method(data_class, "-bytes", "r^v16@0:8",
         [](Id self, Selector*) -> const void* { return static_cast<Data*>(self)->borrowed.data(); });
}

void define_collections() {
  Class* array_class = define("NSArray", "NSObject");
  method(array_class, "+arrayWithObjects:count:", "@32@0:8r^@16Q24", array_with);
  method(array_class, "-count", "Q16@0:8",
         [](Id self, Selector*) -> unsigned long { return static_cast<Array*>(self)->items.size(); });
  method(array_class, "-objectAtIndex:", "@24@0:8Q16", [](Id self, Selector*, unsigned long index) {
    const auto& items = static_cast<Array*>(self)->items;
    if (index >= items.size()) complain("out of range", text("objectAtIndex: %lu of %zu", index, items.size()));
    return items[index];
  });

  Class* dictionary_class = define("NSDictionary", "NSObject");
  method(dictionary_class, "+dictionaryWithObjects:forKeys:count:", "@40@0:8r^@16r^@24Q32", dictionary_with);
  method(dictionary_class, "-count", "Q16@0:8",
         [](Id self, Selector*) -> unsigned long { return static_cast<Dictionary*>(self)->entries.size(); });
  method(dictionary_class, "-objectForKey:", "@24@0:8@16", [](Id self, Selector*, Id key) {
    key_checked(key, "objectForKey:");
    return entry_of(static_cast<Dictionary*>(self), static_cast<String*>(key)->value);
  });
  method(dictionary_class, "-allKeys", "@16@0:8", [](Id self, Selector*) {
    std::vector<Id> keys;
    for (const auto& [key, value] : static_cast<Dictionary*>(self)->entries) keys.push_back(key);
    return array(keys);
  });

  Class* error_class = define("NSError", "NSObject");
  method(error_class, "-domain", "@16@0:8", [](Id self, Selector*) { return static_cast<Error*>(self)->domain; });
  method(error_class, "-code", "q16@0:8", [](Id self, Selector*) { return static_cast<Error*>(self)->code; });
  method(error_class, "-userInfo", "@16@0:8", [](Id self, Selector*) { return static_cast<Error*>(self)->details; });
  method(error_class, "-localizedDescription", "@16@0:8", [](Id self, Selector*) {
    return entry_of(static_cast<Dictionary*>(static_cast<Error*>(self)->details), "NSLocalizedDescription");
  });

  Class* indices = define("NSIndexSet", "NSObject");
  method(indices, "-firstIndex", "Q16@0:8", [](Id self, Selector*) { return index_from(self, 0); });
  method(indices, "-indexGreaterThanIndex:", "Q24@0:8Q16", [](Id self, Selector*, unsigned long index) {
    if (index == kNotFound) complain("out of range", "indexGreaterThanIndex: NSNotFound");
    return index_from(self, index + 1);
  });
}

}  // namespace

Array::~Array() {
  for (Id item : items) release(item);
}

Dictionary::~Dictionary() {
  for (const auto& [key, value] : entries) {
    release(key);
    release(value);
  }
}

Error::~Error() {
  release(domain);
  release(details);
}

Id string(std::string_view text) {
  auto* out = make<String>("NSString");
  out->value = text;
  return autorelease(out);
}

Id number(long long value) {
  auto* out = make<Number>("NSNumber");
  out->value = value;
  return autorelease(out);
}

Id array(const std::vector<Id>& items) {
  auto* out = make<Array>("NSArray");
  for (Id item : items) out->items.push_back(retain(item));
  return autorelease(out);
}

Id index_set(long count) {
  auto* out = make<IndexSet>("NSIndexSet");
  out->count = static_cast<unsigned long>(count);
  return autorelease(out);
}

Id dictionary(const std::vector<std::pair<Id, Id>>& entries) {
  auto* out = make<Dictionary>("NSDictionary");
  for (const auto& [key, value] : entries) out->entries.emplace_back(retain(key), retain(value));
  return autorelease(out);
}

Id error(const std::string& domain, long code, const std::string& words, std::optional<unsigned> status) {
  std::vector<std::pair<Id, Id>> details = {{string("NSLocalizedDescription"), string(words)}};
  if (status) details.emplace_back(string("_ANEErrorUnderlyingStatus"), number(*status));
  auto* out = make<Error>("NSError");
  out->domain = retain(string(domain));
  out->code = code;
  out->details = retain(dictionary(details));
  return autorelease(out);
}

Id entry_of(const Dictionary* in, std::string_view key) {
  for (const auto& [name, value] : in->entries)
    if (static_cast<String*>(name)->value == key) return value;
  return nullptr;
}

Id constant(const char* text) {
  auto* out = make<String>("NSString");
  out->value = text;
  out->count = kImmortal;
  --out->isa->live;
  return out;
}

void define_foundation() {
  Class* root = define("NSObject", nullptr);
  method(root, "-isKindOfClass:", "B24@0:8#16", kind_of);
  method(root, "-respondsToSelector:", "B24@0:8:16",
         [](Id self, Selector*, Selector* asked) -> long { return method_of(self->isa, asked) != nullptr ? 1 : 0; });
  define_values();
  define_collections();
}

}  // namespace standin

extern "C" __attribute__((visibility("default"))) standin::Id NSTemporaryDirectory() {
  const char* folder = std::getenv("TMPDIR");
  return standin::string(folder != nullptr && *folder != '\0' ? folder : P_tmpdir);
}
