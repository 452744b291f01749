#include <algorithm>
#include <array>

#include "cli/commands/all.h"

namespace anedvd {
namespace {

// The contract's commands and flags whose feature this version lacks. An entry leaves when its feature comes.
constexpr std::array<std::string_view, 0> kLaterCommands{};

struct LaterOption {
  std::string_view command;  // empty: any
  std::string_view option;
};

constexpr LaterOption kLaterOptions[] = {
    {"", "--grammar-json-schema"},
    {"run", "--open"},
};

}  // namespace

const std::vector<Command>& all_commands() {
  static const std::vector<Command> commands = {
      run_command(),       chat_command(),       serve_command(),    conform_command(),    pull_command(),
      list_command(),      rm_command(),         info_command(),     quantize_command(),   bench_command(),
      attnbench_command(), perplexity_command(), tokenize_command(), detokenize_command(), template_command(),
      logits_command(),    check_command(),      verify_command(),   layers_command(),     kernels_command(),
      selftest_command(),  width_command(),      probe_command(),    cpu_command(),        completions_command(),
      help_command(),      version_command(),
  };
  return commands;
}

const Command* find_command(std::string_view name) {
  for (const Command& command : all_commands())
    if (command.name == name) return &command;
  return nullptr;
}

bool is_later_command(std::string_view name) {
  return std::find(std::begin(kLaterCommands), std::end(kLaterCommands), name) != std::end(kLaterCommands);
}

bool is_later_option(std::string_view command, std::string_view option) {
  return std::any_of(std::begin(kLaterOptions), std::end(kLaterOptions), [&](const LaterOption& later) {
    return later.option == option && (later.command.empty() || later.command == command);
  });
}

}  // namespace anedvd
