// A ConfigView made of literals, for vocabularies small enough to read.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "formats/config_view.h"

namespace anedvd {

class FakeConfig final : public ConfigView {
 public:
  using Value = std::variant<int64_t, double, bool, std::string, std::vector<std::string>, std::vector<int64_t>,
                             std::vector<double>>;

  FakeConfig() = default;
  FakeConfig(std::initializer_list<std::pair<const std::string, Value>> values) : values_(values) {}

  Value& operator[](const std::string& key) { return values_[key]; }

  bool has(std::string_view key) const override { return find(key) != nullptr; }
  std::optional<int64_t> integer(std::string_view key) const override { return scalar<int64_t>(key); }
  std::optional<double> number(std::string_view key) const override { return scalar<double>(key); }
  std::optional<bool> boolean(std::string_view key) const override { return scalar<bool>(key); }
  std::optional<std::string_view> string(std::string_view key) const override {
    const Value* value = find(key);
    const auto* text = value ? std::get_if<std::string>(value) : nullptr;
    return text ? std::optional<std::string_view>(*text) : std::nullopt;
  }
  std::optional<int64_t> array_size(std::string_view key) const override {
    const auto texts = strings(key);
    return texts ? std::optional<int64_t>(static_cast<int64_t>(texts->size())) : std::nullopt;
  }
  Result<std::vector<std::string_view>> strings(std::string_view key) const override {
    return list<std::vector<std::string>, std::string_view>(key);
  }
  Result<std::vector<int64_t>> integers(std::string_view key) const override {
    return list<std::vector<int64_t>, int64_t>(key);
  }
  Result<std::vector<double>> numbers(std::string_view key) const override {
    return list<std::vector<double>, double>(key);
  }
  std::vector<std::pair<std::string, std::string>> describe() const override { return {}; }

 private:
  const Value* find(std::string_view key) const {
    const auto at = values_.find(std::string(key));
    return at == values_.end() ? nullptr : &at->second;
  }
  template <class T>
  std::optional<T> scalar(std::string_view key) const {
    const Value* value = find(key);
    const T* number = value ? std::get_if<T>(value) : nullptr;
    return number ? std::optional<T>(*number) : std::nullopt;
  }
  template <class List, class Entry>
  Result<std::vector<Entry>> list(std::string_view key) const {
    const Value* value = find(key);
    if (value == nullptr) return fail(ErrorCode::kNotFound, "{} is missing", key);
    const List* entries = std::get_if<List>(value);
    if (entries == nullptr) return fail(ErrorCode::kBadFile, "{} is no such array", key);
    return std::vector<Entry>(entries->begin(), entries->end());
  }

  std::map<std::string, Value> values_;
};

}  // namespace anedvd
