// The stand-in's Foundation objects and short ways to make them. Made objects are autoreleased, as Foundation's class methods do.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "object.h"

namespace standin {

struct String : Object {
  std::string value;
};
struct Number : Object {
  long long value = 0;
};
struct Data : Object {
  std::string kept;           // empty when the bytes are borrowed
  std::string_view borrowed;  // the content, wherever it lies
};
struct Array : Object {
  std::vector<Id> items;
  ~Array();
};
struct Dictionary : Object {
  std::vector<std::pair<Id, Id>> entries;
  ~Dictionary();
};
struct Error : Object {
  Id domain = nullptr;
  long code = 0;
  Id details = nullptr;
  ~Error();
};

Id string(std::string_view text);
Id number(long long value);
Id array(const std::vector<Id>& items);
Id index_set(long count);  // 0 … count − 1
Id dictionary(const std::vector<std::pair<Id, Id>>& entries);
// userInfo: localised description, the driver's status where there is one.
Id error(const std::string& domain, long code, const std::string& words, std::optional<unsigned> status);

// Entry of a string key, nullptr when absent.
Id entry_of(const Dictionary* in, std::string_view key);

// A string that is never freed, for constants.
Id constant(const char* text);

void define_foundation();

}  // namespace standin
