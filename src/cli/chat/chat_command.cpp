// anedvd chat: a conversation in the terminal.
#include "cli/chat/chat_loop.h"
#include "cli/commands/all.h"
#include "cli/commands/model_words.h"
#include "cli/engine_options.h"
#include "cli/option_groups.h"

namespace anedvd {
namespace {

Result<ExitCode> run_chat_command(const Args& args) {
  ANEDVD_TRY(const ModelWords words, split_words(args, true));
  return run_chat(args, words.model, false);
}

std::vector<OptionSpec> system_option() {
  return {{.name = "--system",
           .group = OptionGroup::kPrompt,
           .kind = OptionKind::kText,
           .value = "TEXT",
           .help = "what the model should be",
           .example = "\"Answer in one word.\""}};
}

}  // namespace

Command chat_command() {
  return {.name = "chat",
          .group = CommandGroup::kUse,
          .summary = "Talk with a model",
          .arguments = "[MODEL]",
          .max_arguments = 1,
          .examples = {"anedvd chat", "anedvd chat smollm2 --system \"Answer in one sentence.\" --temp 0.7"},
          .options = join({model_option(), system_option(), sampling_options(), chat_options(), chat_template_option(),
                           runtime_options(), speculation_options(), cache_options()}),
          .run = run_chat_command};
}

}  // namespace anedvd
