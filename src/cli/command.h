// A command as data: its words for help and completions, its options for the parser, and the function that does the work.
//
//   commands/NAME.cpp ──Command──▶ args.cpp (parse) ──Args──▶ Command::run
//                              └─▶ help.cpp, commands/completions.cpp
//
// One description feeds them all, so help lists what the parser knows.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"

namespace anedvd {

class Args;

// What the process returns, decided in the command line contract.
enum ExitCode : int { kDone = 0, kFailed = 1, kWrongUsage = 2, kDifferent = 3, kInterrupted = 130 };

enum class OptionKind {
  kFlag,     // no value
  kInteger,  // whole number in [low, high]
  kNumber,   // number in [low, high]
  kChoice,   // one of `choices`
  kText,     // anything
  kFile,     // a path (completed as such)
};

// Headings of help, in this order.
enum class OptionGroup { kModel, kPrompt, kSampling, kInput, kServer, kMeasure, kOutput, kDevice };

struct OptionSpec {
  std::string_view name;        // "--temp"
  std::string_view alias = {};  // "-t"
  OptionGroup group = OptionGroup::kOutput;
  OptionKind kind = OptionKind::kFlag;
  std::string_view value = {};     // the value's word in help: "N"
  std::string_view help = {};      // a few words, no full stop
  std::string_view fallback = {};  // the default: shown in brackets, and what Args answers when the option is absent
  double low = 0, high = 0;        // bounds of numbers, both allowed
  std::string_view choices = {};   // "auto|cpu": what help offers; of a kText or kFile only what completions do
  std::string_view later_choices = {};  // promised by the contract, but not part of this version
  std::string_view example = {};        // a value to show beside an error: "0.7"
  bool is_repeatable = false;
  bool is_rare = false;  // explained by `anedvd help COMMAND`; --help only names it
};

// Headings of the list of commands, in this order.
enum class CommandGroup { kUse, kMeasure, kCheck, kPieces, kOther };

struct Command {
  std::string_view name;
  CommandGroup group = CommandGroup::kOther;
  std::string_view summary;         // one sentence without full stop
  std::string_view arguments = {};  // "[MODEL] [PROMPT]": positionals in the usage line
  int min_arguments = 0, max_arguments = 0;
  std::vector<std::string_view> examples = {};  // complete command lines
  std::vector<OptionSpec> options = {};
  Result<ExitCode> (*run)(const Args&) = nullptr;
};

// Every command of this version, in the order of the list that `anedvd` alone prints.
const std::vector<Command>& all_commands();

// nullptr: no such command.
const Command* find_command(std::string_view name);

// Promised by the command line contract, but not part of this version: answered in words instead of as a mistake.
bool is_later_command(std::string_view name);
bool is_later_option(std::string_view command, std::string_view option);

}  // namespace anedvd
