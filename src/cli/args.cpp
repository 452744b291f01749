#include "cli/args.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>

#include <CLI/CLI.hpp>

#include "base/words.h"

namespace anedvd {
namespace {

// "auto|cpu" has an entry `word`.
bool is_choice(std::string_view choices, std::string_view word) {
  while (!choices.empty()) {
    const size_t end = std::min(choices.find('|'), choices.size());
    if (choices.substr(0, end) == word) return true;
    choices.remove_prefix(std::min(end + 1, choices.size()));
  }
  return false;
}

std::string choice_words(std::string_view choices) {
  std::string words(choices);
  for (size_t at = 0; (at = words.find('|', at)) != std::string::npos; at += 2) words.replace(at, 1, ", ");
  return words;
}

std::string bound_words(double value) {
  if (std::fabs(value) < 1e15 && value == std::floor(value)) return with_commas(int64_t(value));
  return fmt::format("{}", value);
}

// "; 0 to 2, for example --temp 0.7": what a good value would be.
std::string advice(const OptionSpec& option) {
  std::string what;
  switch (option.kind) {
    case OptionKind::kInteger:
    case OptionKind::kNumber:
      if (option.high >= 0x1p63)  // every integer there is
        what = fmt::format("{} to {}", bound_words(option.low), with_commas(INT64_MAX));
      else if (option.high >= 9e15)
        what = fmt::format("{} or more", bound_words(option.low));
      else
        what = fmt::format("{} to {}", bound_words(option.low), bound_words(option.high));
      break;
    case OptionKind::kChoice:
      what = option.choices.find('|') == std::string_view::npos
                 ? fmt::format("use {}", option.choices)
                 : fmt::format("one of {}", choice_words(option.choices));
      break;
    default: what = fmt::format("give {}", option.value); break;
  }
  if (!option.example.empty()) what += fmt::format(", for example {} {}", option.name, option.example);
  return what;
}

std::optional<int64_t> parse_integer(const std::string& text) {
  if (text.empty() || std::isspace(uint8_t(text[0]))) return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (errno != 0 || end != text.c_str() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_number(const std::string& text) {
  // No hexadecimal, no "nan", no "inf": a number as a person types it.
  if (text.empty() || text.find_first_not_of("0123456789.eE+-") != std::string::npos) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

// A whole number, perhaps too large for any integer.
bool is_digits(const std::string& text) {
  const size_t sign = text[0] == '-' || text[0] == '+' ? 1 : 0;
  return text.find_first_not_of("0123456789", sign) == std::string::npos;
}

Result<> check_value(const OptionSpec& option, const std::string& text) {
  const auto bad = [&](std::string_view what) {
    return fail(ErrorCode::kUsage, "{} {}: {}; {}", option.name, visible(text), what, advice(option));
  };
  switch (option.kind) {
    case OptionKind::kInteger: {
      const auto value = parse_integer(text);
      if (!value && parse_number(text)) return bad(is_digits(text) ? "out of range" : "not a whole number");
      if (!value) return bad("not a number");
      if (double(*value) < option.low || double(*value) > option.high) return bad("out of range");
      return {};
    }
    case OptionKind::kNumber: {
      const auto value = parse_number(text);
      if (!value) return bad("not a number");
      if (*value < option.low || *value > option.high) return bad("out of range");
      return {};
    }
    case OptionKind::kChoice:
      if (is_choice(option.later_choices, text)) return bad("not in this version");
      if (!is_choice(option.choices, text)) return bad("no such choice");
      return {};
    case OptionKind::kFile:
      if (text.empty()) return fail(ErrorCode::kUsage, "{}: the file name is empty; {}", option.name, advice(option));
      return {};
    case OptionKind::kFlag:
    case OptionKind::kText: return {};
  }
  return {};
}

bool looks_like_flag(std::string_view word) {
  if (word.size() < 2 || word[0] != '-') return false;
  if (word.find_first_of(" \n\t") != std::string_view::npos) return false;  // a prompt that begins with a dash
  return word[1] == '-' || !std::isdigit(uint8_t(word[1]));
}

// likely_flag() among `names`; -temp is --temp, too.
std::string likely_name(const std::string& name, const std::vector<std::string>& names) {
  constexpr size_t kEnough = 5;  // "--" and three letters
  std::string like = nearest(name, names);
  if (!like.empty()) return like;
  size_t longest = kEnough - 1;
  for (const std::string& candidate : names) {
    const auto differs = std::mismatch(name.begin(), name.end(), candidate.begin(), candidate.end());
    const size_t common = size_t(differs.first - name.begin());
    const bool is_whole = common == std::min(name.size(), candidate.size());
    if (is_whole && common > longest) {
      longest = common;
      like = candidate;
    }
  }
  if (like.empty() && name.size() > 2 && name[1] != '-') return likely_name("-" + name, names);
  return like;
}

tl::unexpected<Error> unknown_flag(const Command& command, const std::vector<OptionSpec>& options,
                                   std::string_view word) {
  const std::string name(word.substr(0, word.find('=')));
  if (is_later_option(command.name, name))
    return fail(ErrorCode::kUsage, "{}: not in this version; \"anedvd help {}\" lists what is", name, command.name);
  const std::string like = likely_flag(name, options);
  if (like.empty())
    return fail(ErrorCode::kUsage, "{}: \"{}\" has no such flag; \"anedvd {} --help\" lists them", visible(name),
                command.name, command.name);
  return fail(ErrorCode::kUsage, "{}: \"{}\" has no such flag; did you mean {}?", visible(name), command.name, like);
}

// The words up to a `--` that is not some option's value, with two habits of CLI11 evened out: `--name=` means an empty value (CLI11
// would take the next word), and `-name` for a known `--name` is a slip, not the short option -n.
Result<std::vector<std::string>> prepare(const Command& command, const std::vector<OptionSpec>& options,
                                         const std::vector<std::string>& words, std::vector<std::string>& after) {
  std::vector<std::string> out;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {
      after.assign(words.begin() + std::ptrdiff_t(i) + 1, words.end());
      break;
    }
    const OptionSpec* match = nullptr;
    bool has_value = false;
    for (const OptionSpec& option : options) {
      const std::string equals = std::string(option.name) + "=";
      if (word == option.name || (!option.alias.empty() && word == option.alias)) match = &option;
      if (word.rfind(equals, 0) == 0) {
        if (option.kind == OptionKind::kFlag)
          return fail(ErrorCode::kUsage, "{}: takes no value; leave \"={}\" out", option.name,
                      visible(word.substr(equals.size())));
        match = &option;
        has_value = word.size() > equals.size();
        if (!has_value) {
          out.emplace_back(option.name);
          out.emplace_back();
          has_value = true;
          match = nullptr;
        }
      }
      if (word.size() > 2 && word[0] == '-' && word[1] != '-' && "-" + word == option.name)
        return fail(ErrorCode::kUsage, "{}: \"{}\" has no such flag; did you mean {}?", word, command.name,
                    option.name);
    }
    if (!match && has_value) continue;
    out.push_back(word);
    if (match && !has_value && match->kind != OptionKind::kFlag) {
      if (i + 1 == words.size()) return fail(ErrorCode::kUsage, "{}: needs a value; {}", match->name, advice(*match));
      out.push_back(words[++i]);
    }
  }
  return out;
}

// One of its words is a text, which a shell cuts at blanks unless it stands in quotes.
bool takes_text(const Command& command) {
  return command.arguments.find("PROMPT") != std::string_view::npos ||
         command.arguments.find("TEXT") != std::string_view::npos;
}

std::string usage_of(const Command& command) {
  return fmt::format("usage: anedvd {} {}", command.name, command.arguments.empty() ? "[flags]" : command.arguments);
}

}  // namespace

std::string likely_flag(const std::string& name, const std::vector<OptionSpec>& options) {
  std::vector<std::string> names;
  names.reserve(options.size());
  for (const OptionSpec& option : options) names.emplace_back(option.name);
  return likely_name(name, names);
}

Result<Args> Args::parse(const Command& command, const std::vector<std::string>& words) {
  Args args(command);
  for (const std::string& word : words) {
    if (word == "--") break;
    if (word == "--help" || word == "-h") {
      args.values_["--help"] = {""};
      return args;
    }
  }
  const std::vector<OptionSpec> options = all_options(command);
  std::vector<std::string> after;
  ANEDVD_TRY(auto prepared, prepare(command, options, words, after));

  std::map<std::string, std::vector<std::string>> values;
  std::vector<std::string> extras;
  try {
    CLI::App app;
    app.set_help_flag();
    app.allow_extras();
    std::map<std::string, std::vector<std::string>> storage;
    std::vector<std::pair<const OptionSpec*, CLI::Option*>> parsed;
    for (const OptionSpec& option : options) {
      std::string names(option.name);
      if (!option.alias.empty()) names += "," + std::string(option.alias);
      if (option.kind == OptionKind::kFlag) {
        parsed.emplace_back(&option, app.add_flag(names));
        continue;
      }
      CLI::Option* added = app.add_option(names, storage[std::string(option.name)]);
      added->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
      parsed.emplace_back(&option, added);
    }
    std::reverse(prepared.begin(), prepared.end());  // CLI11 takes words from the back
    app.parse(std::move(prepared));
    for (const auto& [option, added] : parsed) {
      if (added->count() == 0) continue;
      auto& value = values[std::string(option->name)];
      if (option->kind == OptionKind::kFlag)
        value = {""};
      else
        value = added->results();
    }
    extras = app.remaining();
  } catch (const std::exception& error) {
    return fail(ErrorCode::kUsage, "{}: {}; \"anedvd {} --help\" shows the flags", command.name, visible(error.what()),
                command.name);
  }

  for (std::string& extra : extras) {
    if (looks_like_flag(extra)) return unknown_flag(command, options, extra);
    args.positionals_.push_back(std::move(extra));
  }
  args.positionals_.insert(args.positionals_.end(), after.begin(), after.end());
  for (const OptionSpec& option : options) {
    const auto it = values.find(std::string(option.name));
    if (it == values.end()) continue;
    for (const std::string& value : it->second) ANEDVD_TRY_VOID(check_value(option, value));
    if (!option.is_repeatable) it->second.erase(it->second.begin(), it->second.end() - 1);
  }
  args.values_ = std::move(values);
  const int count = int(args.positionals_.size());
  if (count > command.max_arguments)
    return fail(ErrorCode::kUsage, "{}: \"{}\" is one word too many; {}", command.name,
                visible(args.positionals_[size_t(command.max_arguments)], 60),
                takes_text(command) ? "put a text with spaces in quotes" : usage_of(command));
  if (count < command.min_arguments)
    return fail(ErrorCode::kUsage, "{}: too few words; {}", command.name, usage_of(command));
  return args;
}

std::optional<std::string> Args::text(std::string_view name) const {
  if (const auto it = values_.find(std::string(name)); it != values_.end()) return it->second.back();
  for (const OptionSpec& option : all_options(*command_)) {
    if (option.name != name) continue;
    if (option.fallback.empty()) return std::nullopt;
    return std::string(option.fallback);
  }
  ANEDVD_CHECK(false, "command {} reads option {}", command_->name, name);
}

std::optional<int64_t> Args::integer(std::string_view name) const {
  const auto value = text(name);
  return value ? parse_integer(*value) : std::nullopt;
}

std::optional<double> Args::number(std::string_view name) const {
  const auto value = text(name);
  return value ? parse_number(*value) : std::nullopt;
}

std::vector<std::string> Args::texts(std::string_view name) const {
  const auto it = values_.find(std::string(name));
  return it == values_.end() ? std::vector<std::string>{} : it->second;
}

const std::vector<OptionSpec>& common_options() {
  static const std::vector<OptionSpec> options = {
      {.name = "--quiet", .alias = "-q", .help = "only errors on stderr"},
      {.name = "--verbose", .alias = "-v", .help = "more about what happens, on stderr"},
      {.name = "--color",
       .kind = OptionKind::kChoice,
       .value = "WHEN",
       .help = "colours",
       .fallback = "auto",
       .choices = "auto|always|never",
       .is_rare = true},
      {.name = "--help", .alias = "-h", .help = "this help", .is_rare = true},
  };
  return options;
}

std::vector<OptionSpec> all_options(const Command& command) {
  std::vector<OptionSpec> options = command.options;
  options.insert(options.end(), common_options().begin(), common_options().end());
  return options;
}

}  // namespace anedvd
