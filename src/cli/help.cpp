#include "cli/help.h"

#include <algorithm>

#include "base/words.h"
#include "cli/args.h"
#include "cli/terminal/table.h"

namespace anedvd {
namespace {

struct GroupTitle {
  OptionGroup group;
  std::string_view title;
};

constexpr GroupTitle kOptionGroups[] = {
    {OptionGroup::kModel, "Model"},   {OptionGroup::kPrompt, "Prompt"}, {OptionGroup::kSampling, "Sampling"},
    {OptionGroup::kInput, "Input"},   {OptionGroup::kServer, "Server"}, {OptionGroup::kMeasure, "Measure"},
    {OptionGroup::kOutput, "Output"}, {OptionGroup::kDevice, "Device"},
};

struct CommandGroupTitle {
  CommandGroup group;
  std::string_view title;
};

constexpr CommandGroupTitle kCommandGroups[] = {
    {CommandGroup::kUse, "Use"},       {CommandGroup::kMeasure, "Measure"}, {CommandGroup::kCheck, "Check"},
    {CommandGroup::kPieces, "Pieces"}, {CommandGroup::kOther, "Other"},
};

constexpr size_t kTitleWidth = 10;
constexpr size_t kChoicesWidth = 30;
constexpr size_t kHelpWidth = 80;  // the terminal that help is laid out for

std::string pad(std::string text, size_t width) {
  const size_t count = character_count(text);
  if (count < width) text.append(width - count, ' ');
  return text;
}

// "-n, --max-tokens N"; options without a short name are indented to the same column.
std::string option_words(const OptionSpec& option) {
  std::string words = option.alias.empty() ? "    " : fmt::format("{}, ", option.alias);
  words += option.name;
  // A long list of choices stands in the option's help: it would push every row's words to the right.
  if (option.kind == OptionKind::kChoice && option.choices.size() <= kChoicesWidth)
    words += fmt::format(" {}", option.choices);
  else if (!option.value.empty())
    words += fmt::format(" {}", option.value);
  return words;
}

std::string option_help(const OptionSpec& option) {
  std::string help(option.help);
  if (option.is_repeatable) help += ", repeatable";
  if (!option.fallback.empty()) help += fmt::format(" [{}]", option.fallback);
  return help;
}

void append_head(const Command& command, const Console& console, std::string& out) {
  out += fmt::format("{}.\n", command.summary);
  out += fmt::format("usage: anedvd {}{}{} [flags]\n", command.name, command.arguments.empty() ? "" : " ",
                     command.arguments);
  for (const std::string_view example : command.examples)
    out += console.out(Tone::kDim, fmt::format("  {}", example)) + "\n";
}

void append_options(const std::vector<OptionSpec>& options, bool with_rare, const Console& console, std::string& out) {
  size_t width = 0;
  for (const OptionSpec& option : options)
    if (with_rare || !option.is_rare) width = std::max(width, character_count(option_words(option)));
  for (const auto& [group, title] : kOptionGroups) {
    bool is_first = true;
    for (const OptionSpec& option : options) {
      if (option.group != group || (option.is_rare && !with_rare)) continue;
      out += is_first ? console.out(Tone::kBold, title) + std::string(kTitleWidth - title.size(), ' ')
                      : std::string(kTitleWidth, ' ');
      is_first = false;
      std::string line = pad(option_words(option), width + 2) + option_help(option);
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
  }
}

// "more: --chunk --exact … (anedvd help run)", wrapped at kHelpWidth.
void append_rare(const Command& command, const std::vector<OptionSpec>& options, std::string& out) {
  std::string line = pad("more:", kTitleWidth);
  const auto add = [&](std::string_view word) {
    if (character_count(line) + word.size() > kHelpWidth) {
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
      line = std::string(kTitleWidth, ' ');
    }
    line += fmt::format("{} ", word);
  };
  for (const OptionSpec& option : options)
    if (option.is_rare) add(option.name);
  add(fmt::format("· anedvd help {}", command.name));
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + "\n";
}

}  // namespace

std::string program_help(const Console& console) {
  std::string out =
      "anedvd runs language models on this machine.\n"
      "usage: anedvd COMMAND [MODEL] [flags]\n";
  for (const std::string_view example : {"anedvd run \"What is the capital of France?\"", "anedvd info smollm2"})
    out += console.out(Tone::kDim, fmt::format("  {}", example)) + "\n";
  out += "\n";
  size_t width = 0;
  for (const Command& command : all_commands()) width = std::max(width, command.name.size());
  for (const auto& [group, title] : kCommandGroups) {
    const std::string head = console.out(Tone::kBold, title) + std::string(kTitleWidth - title.size(), ' ');
    if (group != CommandGroup::kUse && group != CommandGroup::kMeasure) {
      // What few people need is named in one row, so that the page fits a small terminal.
      std::string names;
      for (const Command& command : all_commands())
        if (command.group == group) names += (names.empty() ? "" : " ") + std::string(command.name);
      if (!names.empty()) out += head + names + "\n";
      continue;
    }
    bool is_first = true;
    for (const Command& command : all_commands()) {
      if (command.group != group) continue;
      out += is_first ? head : std::string(kTitleWidth, ' ');
      is_first = false;
      out += pad(std::string(command.name), width + 2) + std::string(command.summary) + "\n";
    }
  }
  out += "\nmore: anedvd COMMAND --help · anedvd help COMMAND (every flag) · anedvd --version\n";
  return out;
}

std::string command_help(const Command& command, const Console& console) {
  std::string out;
  const std::vector<OptionSpec> options = all_options(command);
  append_head(command, console, out);
  append_options(options, false, console, out);
  append_rare(command, options, out);
  return out;
}

std::string full_command_help(const Command& command, const Console& console) {
  std::string out;
  append_head(command, console, out);
  append_options(all_options(command), true, console, out);
  return out;
}

tl::unexpected<Error> no_such_command(const std::string& word) {
  std::vector<std::string> names;
  for (const Command& command : all_commands()) names.emplace_back(command.name);
  const std::string like = nearest(word, names);
  if (!like.empty()) return fail(ErrorCode::kUsage, "{}: no such command; did you mean {}?", visible(word), like);
  return fail(ErrorCode::kUsage, "{}: no such command; \"anedvd help\" lists them", visible(word, 60));
}

}  // namespace anedvd
