// anedvd completions bash|zsh|fish: the shell's own script, made from the commands' data.
#include <algorithm>

#include "base/words.h"
#include "cli/args.h"
#include "cli/commands/all.h"
#include "cli/terminal/console.h"

namespace anedvd {
namespace {

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

std::string choice_list(const OptionSpec& option) { return replaced(std::string(option.choices), "|", " "); }

// Inside single quotes of a shell.
std::string quoted(std::string_view text) { return "'" + replaced(std::string(text), "'", "'\\''") + "'"; }

std::string command_names() {
  std::string names;
  for (const Command& command : all_commands()) names += fmt::format("{}{}", names.empty() ? "" : " ", command.name);
  return names;
}

// What follows a command's name besides options: "commands" for help, "shells" for completions, else files.
std::string words_after(const Command& command) {
  if (command.name == "help") return command_names();
  if (command.name == "completions") return "bash zsh fish";
  return "";
}

std::string bash_script() {
  std::string out =
      "# Completion for bash: eval \"$(anedvd completions bash)\"\n"
      "_anedvd() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} flags= words=\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n";
  out += fmt::format("    COMPREPLY=($(compgen -W {} -- \"$word\"))\n", quoted(command_names() + " --help --version"));
  out += "    return\n  fi\n  case \"${COMP_WORDS[1]} $before\" in\n";
  std::string flags;
  for (const Command& command : all_commands()) {
    std::string names;
    for (const OptionSpec& option : all_options(command)) {
      names += fmt::format("{}{}", names.empty() ? "" : " ", option.name);
      if (option.kind == OptionKind::kChoice)
        out += fmt::format("    '{} {}') COMPREPLY=($(compgen -W {} -- \"$word\")); return ;;\n", command.name,
                           option.name, quoted(choice_list(option)));
    }
    flags += fmt::format("    {}) flags={} words={} ;;\n", command.name, quoted(names), quoted(words_after(command)));
  }
  out += "  esac\n  case \"${COMP_WORDS[1]}\" in\n" + flags +
         "  esac\n"
         "  case \"$word\" in\n"
         "    -*) COMPREPLY=($(compgen -W \"$flags\" -- \"$word\")) ;;\n"
         "    *) if [ -n \"$words\" ]; then COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "       else compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- \"$word\")); fi ;;\n"
         "  esac\n"
         "}\n"
         "complete -F _anedvd anedvd\n";
  return out;
}

// A description inside _arguments' brackets.
std::string zsh_text(std::string_view text) {
  std::string out(text);
  for (const char* special : {"\\", "[", "]", ":"}) out = replaced(out, special, std::string("\\") + special);
  return out;
}

std::string zsh_script() {
  std::string out =
      "#compdef anedvd\n"
      "# Completion for zsh: eval \"$(anedvd completions zsh)\"\n"
      "_anedvd() {\n"
      "  local -a commands\n"
      "  commands=(\n";
  for (const Command& command : all_commands())
    out += fmt::format("    {}\n", quoted(fmt::format("{}:{}", command.name, zsh_text(command.summary))));
  out +=
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  local command=${words[2]}\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $command in\n";
  for (const Command& command : all_commands()) {
    out += fmt::format("    {})\n      _arguments", command.name);
    for (const OptionSpec& option : all_options(command)) {
      std::string action;
      if (option.kind == OptionKind::kChoice)
        action = fmt::format(":{}:({})", option.value, choice_list(option));
      else if (option.kind == OptionKind::kFile)
        action = fmt::format(":{}:_files", option.value);
      else if (option.kind != OptionKind::kFlag)
        action = fmt::format(":{}: ", option.value);
      const std::string description = fmt::format("{}[{}]{}", option.name, zsh_text(option.help), action);
      out += fmt::format(" \\\n        {}", quoted((option.is_repeatable ? "*" : "") + description));
    }
    const std::string after = words_after(command);
    out += after.empty() ? std::string(" \\\n        '*:file:_files'\n")
                         : fmt::format(" \\\n        '*:word:({})'\n", after);
    out += "      ;;\n";
  }
  out +=
      "  esac\n"
      "}\n"
      "if [ \"$funcstack[1]\" = _anedvd ]; then _anedvd \"$@\"; else compdef _anedvd anedvd; fi\n";
  return out;
}

std::string fish_script() {
  std::string out =
      "# Completion for fish: anedvd completions fish | source\n"
      "complete -c anedvd -n __fish_use_subcommand -l help -d 'this help' -f\n"
      "complete -c anedvd -n __fish_use_subcommand -l version -d 'print the version' -f\n";
  const auto fish_quoted = [](std::string_view text) {
    return "'" + replaced(replaced(std::string(text), "\\", "\\\\"), "'", "\\'") + "'";
  };
  for (const Command& command : all_commands()) {
    out += fmt::format("complete -c anedvd -n __fish_use_subcommand -f -a {} -d {}\n", command.name,
                       fish_quoted(command.summary));
    const std::string condition = fmt::format("'__fish_seen_subcommand_from {}'", command.name);
    if (const std::string after = words_after(command); !after.empty())
      out += fmt::format("complete -c anedvd -n {} -f -a {}\n", condition, fish_quoted(after));
    for (const OptionSpec& option : all_options(command)) {
      out += fmt::format("complete -c anedvd -n {} -l {}", condition, option.name.substr(2));
      if (!option.alias.empty()) out += fmt::format(" -s {}", option.alias.substr(1));
      if (option.kind == OptionKind::kChoice)
        out += fmt::format(" -x -a {}", fish_quoted(choice_list(option)));
      else if (option.kind == OptionKind::kFile)
        out += " -r -F";
      else if (option.kind != OptionKind::kFlag)
        out += " -x";
      out += fmt::format(" -d {}\n", fish_quoted(option.help));
    }
  }
  return out;
}

Result<ExitCode> run_completions(const Args& args) {
  const std::string& shell = args.positionals()[0];
  const auto make = shell == "bash"   ? bash_script
                    : shell == "zsh"  ? zsh_script
                    : shell == "fish" ? fish_script
                                      : nullptr;
  if (!make)
    return fail(ErrorCode::kUsage, "completions {}: no such shell here; one of bash, zsh, fish", visible(shell, 60));
  ANEDVD_TRY_VOID(write_out(make()));
  return kDone;
}

}  // namespace

Command completions_command() {
  return {.name = "completions",
          .summary = "Print a script that completes commands and flags in your shell",
          .arguments = "bash|zsh|fish",
          .min_arguments = 1,
          .max_arguments = 1,
          .examples = {"eval \"$(anedvd completions bash)\"", "anedvd completions fish | source"},
          .run = run_completions};
}

}  // namespace anedvd
