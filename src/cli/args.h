// What a person typed after the command's name, checked against the command's options.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace anedvd {

class Args {
 public:
  // Parses the words after the command's name. Accepted: `--name VALUE`, `--name=VALUE`, `-n VALUE`, `-nVALUE`; `--` ends the options.
  // An option given twice counts the last time, unless it is repeatable. Values are checked here: numbers and their bounds, choices.
  // Errors are kUsage and name the option: --temp warm: not a number; 0 to 2, for example --temp 0.7
  // With --help among the words only that is looked at: the rest may be wrong.
  static Result<Args> parse(const Command& command, const std::vector<std::string>& words);

  const Command& command() const { return *command_; }

  // The person gave this option.
  bool given(std::string_view name) const { return values_.count(std::string(name)) != 0; }

  // Given, or else the option's fallback; nullopt when there is neither. Asking for an option that the command lacks is our own bug.
  std::optional<std::string> text(std::string_view name) const;
  std::optional<int64_t> integer(std::string_view name) const;
  std::optional<double> number(std::string_view name) const;

  // All values of a repeatable option, as typed.
  std::vector<std::string> texts(std::string_view name) const;

  const std::vector<std::string>& positionals() const { return positionals_; }

 private:
  explicit Args(const Command& command) : command_(&command) {}

  const Command* command_;
  std::map<std::string, std::vector<std::string>> values_;  // by OptionSpec::name; flags hold one empty value
  std::vector<std::string> positionals_;
};

// The options that are part of every command: --help, --color, --quiet, --verbose.
const std::vector<OptionSpec>& common_options();

// A command's own options followed by the common ones.
std::vector<OptionSpec> all_options(const Command& command);

// The flag that `name` probably means: one within two edits, else the one with which it shares the longest beginning (--temprature is
// --temp), else the same with one dash more (-temp); "" if none is like it.
std::string likely_flag(const std::string& name, const std::vector<OptionSpec>& options);

}  // namespace anedvd
