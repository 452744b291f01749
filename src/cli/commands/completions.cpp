// anedvd completions bash|zsh|fish: the shell's own script, made from the commands' data.
// The scripts themselves ask `anedvd completions models` or `here` for names of models, when a key is pressed.
#include <algorithm>
#include <set>

#include "base/words.h"
#include "cli/args.h"
#include "cli/commands/all.h"
#include "cli/models/known_models.h"
#include "cli/models/model_cache.h"
#include "cli/terminal/console.h"
#include "convert/recipe.h"

namespace anedvd {
namespace {

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

std::string choice_list(const OptionSpec& option) { return replaced(std::string(option.choices), "|", " "); }

// Inside single quotes of a shell.
std::string shell_quoted(std::string_view text) { return "'" + replaced(std::string(text), "'", "'\\''") + "'"; }

std::string command_names() {
  std::string names;
  for (const Command& command : all_commands()) names += fmt::format("{}{}", names.empty() ? "" : " ", command.name);
  return names;
}

// What may stand at one place.
struct Offer {
  std::string words = {};       // "auto cpu"
  std::string_view names = {};  // of models: what `anedvd completions NAMES` lists when the key is pressed
  bool has_files = false;

  bool operator==(const Offer&) const = default;
  bool empty() const { return *this == Offer{}; }
};

constexpr std::string_view kModels = "models";  // in the cache, or known
constexpr std::string_view kHere = "here";      // in the cache

Offer value_of(const OptionSpec& option) {
  const bool is_model = option.value == "MODEL";
  return {choice_list(option), is_model ? kModels : "", is_model || option.kind == OptionKind::kFile};
}

// What follows a command's name besides options, word by word; the last counts for further words, too. Empty: nothing does.
std::vector<Offer> words_after(const Command& command) {
  if (command.name == "help") return {{command_names()}};
  if (command.name == "completions") return {{"bash zsh fish"}};
  if (command.name == "rm") return {{"", kHere}};
  if (command.name == "pull") return {{"list rm", kModels}, {"", kHere}};
  if (command.name == "quantize") return {{"", "", true}, {"", "", true}, {replaced(recipe_names(), ", ", " ")}};
  if (command.arguments.find("MODEL") != std::string_view::npos) return {{"", kModels, true}};
  return {};
}

// The arguments of a script's function that offers: WORDS NAMES FILES.
std::string arguments_of(const Offer& offer) {
  return fmt::format("{} {} {}", shell_quoted(offer.words), shell_quoted(offer.names),
                     offer.has_files ? "files" : "''");
}

// 'run --model'|'run -m') _anedvd_offer …; return ;;      flags of one command that take the same are one row
std::string bash_values(const Command& command) {
  std::vector<std::pair<Offer, std::string>> rows;
  for (const OptionSpec& option : all_options(command)) {
    if (option.kind == OptionKind::kFlag) continue;
    const Offer offer = value_of(option);
    auto row = std::find_if(rows.begin(), rows.end(), [&](const auto& known) { return known.first == offer; });
    if (row == rows.end()) row = rows.insert(rows.end(), {offer, ""});
    for (const std::string_view name : {option.name, option.alias})
      if (!name.empty()) row->second += fmt::format("{}'{} {}'", row->second.empty() ? "" : "|", command.name, name);
  }
  std::string out;
  for (const auto& [offer, flags] : rows)
    out += fmt::format("    {}) _anedvd_offer {}; return ;;\n", flags, arguments_of(offer));
  return out;
}

std::string bash_script() {
  // Lines are read one by one: names may hold blanks, and the bash of macOS has no mapfile. A path of the program itself may begin with ~.
  std::string out =
      "# Completion for bash: eval \"$(anedvd completions bash)\"\n"
      "_anedvd_offer() {\n"
      "  local line\n"
      "  COMPREPLY=()\n"
      "  while IFS= read -r line; do COMPREPLY+=(\"$line\"); done < <(\n"
      "    compgen -W \"$1\" -- \"$word\"\n"
      "    if [ -n \"$2\" ]; then compgen -W \"$(\"${COMP_WORDS[0]/#\\~/$HOME}\" completions \"$2\" 2>/dev/null)\" -- "
      "\"$word\"; fi\n"
      "    if [ -n \"$3\" ]; then compgen -f -- \"$word\"; fi\n"
      "  )\n"
      "  if [ -n \"$3\" ]; then compopt -o filenames 2>/dev/null; fi\n"
      "}\n"
      "_anedvd() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} flags= at=0 i\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n";
  out += fmt::format("    _anedvd_offer {} '' ''\n", shell_quoted(command_names() + " --help --version"));
  out +=
      "    return\n"
      "  fi\n"
      "  if [ \"$word\" = = ]; then word=; elif [ \"$before\" = = ]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
      "  case \"${COMP_WORDS[1]} $before\" in\n";
  std::string flags, words;
  for (const Command& command : all_commands()) {
    std::string names;
    for (const OptionSpec& option : all_options(command))
      names += fmt::format("{}{}", names.empty() ? "" : " ", option.name);
    out += bash_values(command);
    flags += fmt::format("    {}) flags={} ;;\n", command.name, shell_quoted(names));
    const std::vector<Offer> offers = words_after(command);
    for (size_t i = 0; i < offers.size(); ++i)
      words += fmt::format("    '{} '{}) _anedvd_offer {} ;;\n", command.name,
                           i + 1 == offers.size() ? "*" : std::to_string(i), arguments_of(offers[i]));
  }
  out +=
      "  esac\n  case \"${COMP_WORDS[1]}\" in\n" + flags +
      "  esac\n"
      "  case \"$word\" in -*) _anedvd_offer \"$flags\" '' ''; return ;; esac\n"
      "  for ((i = 2; i < COMP_CWORD; ++i)); do case \"${COMP_WORDS[i]}\" in -*) ;; *) at=$((at + 1)) ;; esac; done\n"
      "  case \"${COMP_WORDS[1]} $at\" in\n" +
      words +
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

std::string zsh_action(const Offer& offer) {
  if (offer.empty()) return " ";
  if (offer == Offer{.has_files = true}) return "_files";
  if (offer == Offer{.words = offer.words}) return fmt::format("({})", offer.words);
  return fmt::format("{{_anedvd_offer {}}}", arguments_of(offer));
}

std::string zsh_script() {
  std::string out =
      "#compdef anedvd\n"
      "# Completion for zsh: eval \"$(anedvd completions zsh)\"\n"
      "_anedvd_offer() {\n"
      "  local -a names\n"
      "  names=(${=1})\n"
      "  if [[ -n $2 ]]; then names+=(${(f)\"$(${~program} completions $2 2>/dev/null)\"}); fi\n"
      "  compadd -a names\n"
      "  if [[ -n $3 ]]; then _files; fi\n"
      "}\n"
      "_anedvd() {\n"
      "  local program=${words[1]}\n"
      "  local -a commands\n"
      "  commands=(\n";
  for (const Command& command : all_commands())
    out += fmt::format("    {}\n", shell_quoted(fmt::format("{}:{}", command.name, zsh_text(command.summary))));
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
      const std::string action = option.kind == OptionKind::kFlag
                                     ? ""
                                     : fmt::format(":{}:{}", zsh_text(option.value), zsh_action(value_of(option)));
      const std::string description = fmt::format("{}[{}]{}", option.name, zsh_text(option.help), action);
      out += fmt::format(" \\\n        {}", shell_quoted((option.is_repeatable ? "*" : "") + description));
    }
    const std::vector<Offer> offers = words_after(command);
    for (size_t i = 0; i < offers.size(); ++i) {
      const std::string place = i + 1 == offers.size() ? "*" : std::to_string(i + 1);
      out += fmt::format(" \\\n        {}", shell_quoted(fmt::format("{}:word:{}", place, zsh_action(offers[i]))));
    }
    out += "\n      ;;\n";
  }
  out +=
      "  esac\n"
      "}\n"
      "if [ \"$funcstack[1]\" = _anedvd ]; then _anedvd \"$@\"; else compdef _anedvd anedvd; fi\n";
  return out;
}

std::string fish_quoted(std::string_view text) {
  return "'" + replaced(replaced(std::string(text), "\\", "\\\\"), "'", "\\'") + "'";
}

// "-a 'list rm (anedvd completions models)'", or nothing.
std::string fish_words(const Offer& offer) {
  std::string words = offer.words;
  if (!offer.names.empty())
    words += fmt::format("{}(anedvd completions {} 2>/dev/null)", words.empty() ? "" : " ", offer.names);
  return words.empty() ? "" : "-a " + fish_quoted(words);
}

std::string fish_script() {
  std::string out =
      "# Completion for fish: anedvd completions fish | source\n"
      "complete -c anedvd -n __fish_use_subcommand -l help -d 'this help' -f\n"
      "complete -c anedvd -n __fish_use_subcommand -l version -d 'print the version' -f\n";
  for (const Command& command : all_commands()) {
    out += fmt::format("complete -c anedvd -n __fish_use_subcommand -f -a {} -d {}\n", command.name,
                       fish_quoted(command.summary));
    const std::string condition = fmt::format("'__fish_seen_subcommand_from {}'", command.name);
    const std::vector<Offer> offers = words_after(command);
    for (size_t i = 0; i < offers.size(); ++i) {
      // The words so far are the program, the command and i more; flags among them make it wrong by their number.
      const std::string place = offers.size() == 1 ? condition
                                                   : fmt::format(
                                                         "'__fish_seen_subcommand_from {}; and test (count "
                                                         "(commandline -opc)) {} {}'",
                                                         command.name, i + 1 == offers.size() ? "-ge" : "-eq", i + 2);
      out += fmt::format("complete -c anedvd -n {} {}{}\n", place, offers[i].has_files ? "" : "-f ",
                         fish_words(offers[i]));
    }
    if (offers.empty()) out += fmt::format("complete -c anedvd -n {} -f\n", condition);
    for (const OptionSpec& option : all_options(command)) {
      out += fmt::format("complete -c anedvd -n {} -l {}", condition, option.name.substr(2));
      if (!option.alias.empty()) out += fmt::format(" -s {}", option.alias.substr(1));
      if (option.kind != OptionKind::kFlag) {
        const Offer offer = value_of(option);
        const std::string words = fish_words(offer);
        out += fmt::format(" {}{}{}", offer.has_files ? "-r -F" : "-x", words.empty() ? "" : " ", words);
      }
      out += fmt::format(" -d {}\n", fish_quoted(option.help));
    }
  }
  return out;
}

// What the scripts ask for: a name a line.
std::string model_names(std::string_view which) {
  std::set<std::string> names;
  if (const auto cache = ModelCache::find())
    for (const CachedModel& model : cache->list()) names.insert(model.name);
  for (const KnownModel& known : known_models())
    if (which == kModels || names.count(std::string(known.name)) != 0) names.emplace(known.alias);
  std::string lines;
  for (const std::string& name : names) lines += name + "\n";
  return lines;
}

Result<ExitCode> run_completions(const Args& args) {
  const std::string& shell = args.positionals()[0];
  if (shell == kModels || shell == kHere) {
    ANEDVD_TRY_VOID(write_out(model_names(shell)));
    return kDone;
  }
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
