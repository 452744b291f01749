#include "ane/objc/foundation.h"

#include <limits>

namespace anedvd::objc {
namespace {

// A reply with more elements than this is not an answer to any question of ours.
constexpr NSUInteger kMostItems = 1u << 20;

}  // namespace

NSString* string(const std::string& text) {
  return send<NSString*>(class_named("NSString"), "stringWithUTF8String:", text.c_str());
}

NSNumber* number(int64_t value) {
  return send<NSNumber*>(class_named("NSNumber"), "numberWithLongLong:", static_cast<long long>(value));
}

NSData* copied_data(std::string_view bytes) {
  return send<NSData*>(class_named("NSData"), "dataWithBytes:length:", static_cast<const void*>(bytes.data()),
                       NSUInteger(bytes.size()));
}

NSData* borrowed_data(std::string_view bytes) {
  return send<NSData*>(class_named("NSData"),
                       "dataWithBytesNoCopy:length:freeWhenDone:", static_cast<void*>(const_cast<char*>(bytes.data())),
                       NSUInteger(bytes.size()), Bool(0));
}

NSArray* array(std::span<const Id> items) {
  return send<NSArray*>(class_named("NSArray"), "arrayWithObjects:count:", items.data(), NSUInteger(items.size()));
}

NSDictionary* dictionary(std::span<const std::pair<Id, Id>> entries) {
  std::vector<Id> keys, values;
  for (const auto& [key, value] : entries) {
    keys.push_back(key);
    values.push_back(value);
  }
  return send<NSDictionary*>(class_named("NSDictionary"),
                             "dictionaryWithObjects:forKeys:count:", static_cast<const Id*>(values.data()),
                             static_cast<const Id*>(keys.data()), NSUInteger(keys.size()));
}

bool is_kind(Id object, const char* class_name) {
  Class* wanted = class_named(class_name);
  return object != nullptr && wanted != nullptr && send<Bool>(object, "isKindOfClass:", wanted) != 0;
}

bool responds(Id object, const char* selector) {
  return object != nullptr && send<Bool>(object, "respondsToSelector:", runtime().register_selector(selector)) != 0;
}

std::optional<std::string> text_of(Id string) {
  if (!is_kind(string, "NSString")) return std::nullopt;
  const char* text = send<const char*>(string, "UTF8String");
  if (text == nullptr) return std::nullopt;
  return std::string(text);
}

std::optional<int64_t> number_of(Id number) {
  if (!is_kind(number, "NSNumber")) return std::nullopt;
  return int64_t(send<long long>(number, "longLongValue"));
}

Id value_of(Id dictionary, const char* key) {
  if (!is_kind(dictionary, "NSDictionary")) return nullptr;
  return send<Id>(dictionary, "objectForKey:", string(key));
}

std::optional<std::string> text_at(Id dictionary, const char* key) { return text_of(value_of(dictionary, key)); }

std::optional<int64_t> number_at(Id dictionary, const char* key) { return number_of(value_of(dictionary, key)); }

std::vector<Id> items_of(Id array) {
  std::vector<Id> out;
  if (!is_kind(array, "NSArray")) return out;
  const auto count = send<NSUInteger>(array, "count");
  if (count > kMostItems) return out;
  for (NSUInteger i = 0; i < count; ++i) out.push_back(send<Id>(array, "objectAtIndex:", i));
  return out;
}

std::vector<int64_t> members_of(Id set) {
  std::vector<int64_t> out;
  if (!is_kind(set, "NSIndexSet")) return out;
  // NSNotFound, the largest NSInteger, ends the walk.
  constexpr auto kNone = NSUInteger(std::numeric_limits<NSInteger>::max());
  for (auto at = send<NSUInteger>(set, "firstIndex"); at != kNone && out.size() < kMostItems;
       at = send<NSUInteger>(set, "indexGreaterThanIndex:", at))
    out.push_back(int64_t(at));
  return out;
}

}  // namespace anedvd::objc
