#include "cli/help.h"

#include <algorithm>
#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "cli/args.h"

namespace anedvd {
namespace {

constexpr int kRows = 24;
constexpr size_t kColumns = 110;  // a row of help may be wider than 80 cells, but not endless

std::set<std::string> flags_in(const std::string& text) {
  std::set<std::string> flags;
  const std::regex flag("(^|[ |])(--[a-z][a-z0-9-]*)");
  // Examples show flags too; the rows behind them are what help promises.
  for (auto it = std::sregex_iterator(text.begin(), text.end(), flag); it != std::sregex_iterator(); ++it)
    flags.insert((*it)[2].str());
  return flags;
}

std::string without_examples(const Command& command, std::string text) {
  for (const std::string_view example : command.examples) {
    const size_t at = text.find(example);
    EXPECT_NE(at, std::string::npos) << command.name;
    text.erase(at, example.size());
  }
  return text;
}

TEST(Help, ListsExactlyTheFlagsThatTheParserKnows) {
  for (const Command& command : all_commands()) {
    std::set<std::string> known;
    for (const OptionSpec& option : all_options(command)) known.emplace(option.name);
    EXPECT_EQ(flags_in(without_examples(command, command_help(command, {}))), known) << command.name;
    EXPECT_EQ(flags_in(without_examples(command, full_command_help(command, {}))), known) << command.name;
    for (const std::string& flag : known) {
      const auto args = Args::parse(command, {flag + "=\x01"});
      const bool is_unknown = !args && args.error().message.find("has no such flag") != std::string::npos;
      EXPECT_FALSE(is_unknown) << command.name << " " << flag;
    }
  }
}

TEST(Help, ExamplesUseFlagsThatExist) {
  for (const Command& command : all_commands()) {
    std::set<std::string> known;
    for (const OptionSpec& option : all_options(command)) known.emplace(option.name);
    for (const std::string_view example : command.examples)
      for (const std::string& flag : flags_in(std::string(example)))
        EXPECT_TRUE(known.count(flag) || example.find('|') != std::string_view::npos) << example;
  }
}

TEST(Help, FitsTheSmallestTerminal) {
  for (const Command& command : all_commands()) {
    const std::string help = command_help(command, {});
    // The names of the rare flags follow: of the commands with most of them they take some rows more.
    const auto end = help.begin() + int64_t(std::min(help.find("\nmore:"), help.size()));
    EXPECT_LE(std::count(help.begin(), end, '\n'), kRows) << help;
    EXPECT_LE(std::count(end, help.end(), '\n'), 10) << help;
  }
  const std::string help = program_help({});
  EXPECT_LE(std::count(help.begin(), help.end(), '\n'), kRows) << help;
}

TEST(Help, TheServersLimitsStandWithTheServer) {
  const std::string help = command_help(*find_command("serve"), {});
  EXPECT_NE(help.find("\nServer    "), std::string::npos) << help;
  EXPECT_EQ(help.find("\nMeasure"), std::string::npos) << help;
  EXPECT_EQ(help.find("\nInput"), std::string::npos) << help;
}

TEST(Help, NoRowIsEndless) {
  for (const Command& command : all_commands()) {
    const std::string help = full_command_help(command, {});
    for (size_t begin = 0, end = 0; (end = help.find('\n', begin)) != std::string::npos; begin = end + 1)
      EXPECT_LE(end - begin, kColumns) << help.substr(begin, end - begin);
  }
}

TEST(Help, EveryOptionIsDescribedOnce) {
  for (const Command& command : all_commands()) {
    std::set<std::string_view> names;
    for (const OptionSpec& option : all_options(command)) {
      EXPECT_TRUE(names.insert(option.name).second) << command.name << " " << option.name;
      if (!option.alias.empty()) {
        EXPECT_TRUE(names.insert(option.alias).second) << command.name << " " << option.alias;
      }
      EXPECT_FALSE(option.help.empty()) << command.name << " " << option.name;
      EXPECT_FALSE(is_later_option(command.name, option.name)) << command.name << " " << option.name;
    }
    EXPECT_FALSE(is_later_command(command.name)) << command.name;
  }
}

TEST(Help, ColoursOnlyWhereTheyShow) {
  const Console colourful{.out_color = true};
  for (const Command& command : all_commands()) {
    EXPECT_EQ(command_help(command, {}).find('\x1b'), std::string::npos);
    EXPECT_NE(command_help(command, colourful).find('\x1b'), std::string::npos);
  }
}

}  // namespace
}  // namespace anedvd
