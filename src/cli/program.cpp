#include "cli/program.h"

#include <limits>
#include <new>

#include "base/log.h"
#include "base/words.h"
#include "cli/args.h"
#include "cli/help.h"
#include "cli/terminal/console.h"
#include "cli/version.h"

namespace anedvd {
namespace {

int report(const Error& error) {
  // Messages quote foreign text already made visible; a second pass costs nothing and lets no control character through.
  log_line(LogLevel::kError, visible(error.message, std::numeric_limits<size_t>::max()));
  switch (error.code) {
    case ErrorCode::kUsage: return kWrongUsage;
    case ErrorCode::kCancelled: return kInterrupted;
    default: return kFailed;
  }
}

Result<ExitCode> print(const std::string& text) {
  ANEDVD_TRY_VOID(write_out(text));
  return kDone;
}

tl::unexpected<Error> unknown_command(const std::string& word) {
  if (is_later_command(word))
    return fail(ErrorCode::kUsage, "{}: not in this version; \"anedvd help\" lists what is", word);
  if (word.rfind('-', 0) == 0)
    return fail(ErrorCode::kUsage, "{}: flags come after the command; \"anedvd help\" lists the commands",
                visible(word));
  return no_such_command(word);
}

Result<ExitCode> run_words(std::vector<std::string> words) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h") return print(program_help(Console::plain()));
  if (words[0] == "--version") return print(fmt::format("anedvd {}\n", kVersion));
  const Command* command = find_command(words[0]);
  if (!command) return unknown_command(words[0]);
  words.erase(words.begin());
  ANEDVD_TRY(const Args args, Args::parse(*command, words));
  if (args.given("--help")) return print(command_help(*command, Console::from(args)));
  set_log_level(args.given("--quiet")     ? LogLevel::kError
                : args.given("--verbose") ? LogLevel::kVerbose
                                          : LogLevel::kInfo);
  return command->run(args);
}

}  // namespace

int run_program(const std::vector<std::string>& words) {
  try {
    const Result<ExitCode> result = run_words(words);
    return result ? int(*result) : report(result.error());
  } catch (const std::bad_alloc&) {
    return report({ErrorCode::kNoMemory, "memory: not enough of it is free; use a smaller model or --max-seq"});
  } catch (const std::exception& error) {
    return report({ErrorCode::kIo, fmt::format("internal error: {}; please report this", error.what())});
  }
}

}  // namespace anedvd
