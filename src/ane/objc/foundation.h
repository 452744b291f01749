// Foundation's values to and from C++.
//
// Made values belong to the pool in place. Readers look at the class first and answer nullopt or nullptr when it is another: what a private
// framework hands out is outside data.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ane/objc/message.h"

namespace anedvd::objc {

// `text` must hold no NUL.
NSString* string(const std::string& text);
NSNumber* number(int64_t value);
// Copies the bytes.
NSData* copied_data(std::string_view bytes);
// Borrows the bytes: they must live as long as the object.
NSData* borrowed_data(std::string_view bytes);
NSArray* array(std::span<const Id> items);
NSDictionary* dictionary(std::span<const std::pair<Id, Id>> entries);
inline NSDictionary* dictionary(std::initializer_list<std::pair<Id, Id>> entries) {
  return dictionary(std::span(entries.begin(), entries.size()));
}

bool is_kind(Id object, const char* class_name);
bool responds(Id object, const char* selector);

std::optional<std::string> text_of(Id string);
std::optional<int64_t> number_of(Id number);
// The value of a key, nullptr when `dictionary` is none or lacks it.
Id value_of(Id dictionary, const char* key);
std::optional<std::string> text_at(Id dictionary, const char* key);
std::optional<int64_t> number_at(Id dictionary, const char* key);
// The elements; empty when `array` is none.
std::vector<Id> items_of(Id array);
// The members of an NSIndexSet, ascending; empty when `set` is none.
std::vector<int64_t> members_of(Id set);

}  // namespace anedvd::objc
