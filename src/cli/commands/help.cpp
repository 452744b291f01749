// anedvd help [COMMAND] and anedvd version.
#include "cli/help.h"

#include "base/words.h"
#include "cli/args.h"
#include "cli/commands/all.h"
#include "cli/version.h"

namespace anedvd {
namespace {

Result<ExitCode> run_help(const Args& args) {
  const Console console = Console::from(args);
  if (args.positionals().empty()) {
    ANEDVD_TRY_VOID(write_out(program_help(console)));
    return kDone;
  }
  const std::string& name = args.positionals()[0];
  const Command* command = find_command(name);
  if (!command && is_later_command(name))
    return fail(ErrorCode::kUsage, "{}: not in this version; \"anedvd help\" lists what is", name);
  if (!command) return no_such_command(name);
  ANEDVD_TRY_VOID(write_out(full_command_help(*command, console)));
  return kDone;
}

Result<ExitCode> run_version(const Args&) {
  ANEDVD_TRY_VOID(write_out(fmt::format("anedvd {}\n", kVersion)));
  return kDone;
}

}  // namespace

Command help_command() {
  return {.name = "help",
          .summary = "Explain a command with all its flags",
          .arguments = "[COMMAND]",
          .max_arguments = 1,
          .examples = {"anedvd help run"},
          .run = run_help};
}

Command version_command() { return {.name = "version", .summary = "Print the version", .run = run_version}; }

}  // namespace anedvd
