#include "cli/chat/chat_settings.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/words.h"
#include "cli/commands/run_session.h"
#include "cli/option_groups.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

const Command& set_command() {
  static const Command command{.name = "/set", .summary = "Change a sampling flag", .options = sampling_options()};
  return command;
}

const OptionSpec* find_option(std::string_view name) {
  for (const OptionSpec& option : set_command().options)
    if (option.name == name) return &option;
  return nullptr;
}

// "temp", "top_p", "--top-p" → "--top-p".
std::string flag_of(std::string_view name) {
  std::string flag(name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag.starts_with("--") ? flag : "--" + flag;
}

// The HTTP API's names, where they are not the flag's with underscores.
std::string api_name(std::string_view flag) {
  if (flag == "--temp") return "temperature";
  std::string name(flag.substr(2));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

using Values = std::map<std::string, std::vector<std::string>, std::less<>>;

Result<Args> parse(const Values& values) {
  std::vector<std::string> words;
  for (const auto& [flag, given] : values) {
    for (const std::string& value : given) {
      words.push_back(flag);
      words.push_back(value);
    }
  }
  return Args::parse(set_command(), words);
}

Json json_value(const OptionSpec& option, const std::string& text) {
  if (option.kind == OptionKind::kInteger || option.kind == OptionKind::kNumber) {
    const auto number = parse_json(text, option.name);
    if (number && number->is_number()) return Json(*number);
  }
  return text;
}

}  // namespace

ChatSettings ChatSettings::from(const Args& args) {
  ChatSettings settings;
  for (const OptionSpec& option : set_command().options)
    if (args.given(option.name)) settings.values_[std::string(option.name)] = args.texts(option.name);
  return settings;
}

Result<> ChatSettings::set(std::string_view name, const std::string& value) {
  const std::string flag = flag_of(name);
  const OptionSpec* option = find_option(flag);
  if (!option) {
    std::vector<std::string> known;
    for (const OptionSpec& candidate : set_command().options) known.emplace_back(candidate.name.substr(2));
    const std::string like = nearest(flag.substr(2), known);
    return fail(ErrorCode::kUsage, "/set {}: no such setting; {}", visible(name, 60),
                like.empty() ? "/set alone lists them" : fmt::format("did you mean {}?", like));
  }
  Values changed = values_;
  if (value == "default") {
    changed.erase(flag);
  } else {
    auto& given = changed[flag];
    if (!option->is_repeatable) given.clear();
    given.push_back(value);
  }
  ANEDVD_TRY(const Args args, parse(changed));
  ANEDVD_TRY_VOID(request_of(args));
  values_ = std::move(changed);
  return {};
}

std::string ChatSettings::value(std::string_view name) const {
  const std::string flag = flag_of(name);
  const OptionSpec* option = find_option(flag);
  if (!option) return {};
  const auto it = values_.find(flag);
  if (it == values_.end()) return std::string(option->fallback);
  std::string all;
  for (const std::string& value : it->second) {
    const std::string shown = option->kind == OptionKind::kText ? fmt::format("\"{}\"", visible(value)) : value;
    all += (all.empty() ? "" : " ") + shown;
  }
  return all;
}

std::string ChatSettings::words() const {
  std::string out;
  for (const OptionSpec& option : set_command().options) {
    const std::string shown = value(option.name);
    if (!shown.empty()) out += fmt::format("{}{} {}", out.empty() ? "" : " · ", option.name.substr(2), shown);
  }
  return out;
}

Result<GenerationRequest> ChatSettings::request() const {
  ANEDVD_TRY(const Args args, parse(values_));
  return request_of(args);
}

Json ChatSettings::to_json() const {
  Json json = Json::object();
  for (const auto& [flag, given] : values_) {
    const OptionSpec* option = find_option(flag);
    if (!option || given.empty()) continue;
    Json& value = json[api_name(flag)];
    if (!option->is_repeatable) {
      value = json_value(*option, given.back());
      continue;
    }
    value = Json::array();
    for (const std::string& text : given) value.push_back(json_value(*option, text));
  }
  return json;
}

std::vector<std::string> ChatSettings::take(const Json& json) {
  std::vector<std::string> refused;
  if (!json.is_object()) return refused;
  for (const auto& [name, value] : json.items()) {
    if (value.is_null()) continue;
    const std::string flag = name == "temperature" ? "--temp" : flag_of(name);
    const OptionSpec* option = find_option(flag);
    ChatSettings trial = *this;
    trial.values_.erase(flag);
    const Json several = value.is_array() ? value : Json::array({value});
    bool is_good = option != nullptr && (option->is_repeatable || several.size() == 1);
    for (const Json& one : several) {
      const bool is_scalar = one.is_string() || one.is_number();
      is_good =
          is_good && is_scalar && trial.set(flag, one.is_string() ? one.get<std::string>() : one.dump()).has_value();
    }
    if (is_good)
      *this = std::move(trial);
    else
      refused.push_back(name);
  }
  return refused;
}

}  // namespace anedvd
