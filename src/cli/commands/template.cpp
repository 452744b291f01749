// anedvd template: a conversation as the text that the model gets.
#include "base/words.h"
#include "cli/args.h"
#include "cli/commands/all.h"
#include "cli/commands/chat_file.h"
#include "cli/commands/model_words.h"
#include "cli/commands/open_tokenizer.h"
#include "cli/option_groups.h"
#include "cli/terminal/answer_writer.h"
#include "cli/terminal/console.h"
#include "cli/terminal/input.h"

namespace anedvd {
namespace {

// A template's own words say what is wrong, seldom what to do.
tl::unexpected<Error> refused(Error error) {
  if (!template_refusal(error).empty()) error.message += "; change the messages, or use another template";
  return tl::unexpected(std::move(error));
}

Result<std::string> render_file(const std::string& path, const ConversationInput& input) {
  ANEDVD_TRY(const std::string source, read_input(path));
  ANEDVD_TRY(const ChatTemplate chat_template, ChatTemplate::parse(source, visible(path)));
  ChatInput chat;
  chat.messages = input.messages;
  chat.tools = input.tools;
  chat.extra = input.extra;
  chat.add_generation_prompt = input.add_generation_prompt;
  const std::time_t now = std::time(nullptr);
  ::localtime_r(&now, &chat.now);
  return chat_template.render(chat);
}

Result<ExitCode> run_template(const Args& args) {
  ANEDVD_TRY(const ChatFile file, ChatFile::read(*args.text("--messages")));
  std::string text;
  if (args.given("--file")) {
    auto rendered = render_file(*args.text("--file"), file.input());
    if (!rendered) return refused(std::move(rendered).error());
    text = std::move(*rendered);
  } else {
    ANEDVD_TRY(const OpenTokenizer open,
               open_tokenizer(args.positionals().empty() ? *args.text("--model") : args.positionals()[0]));
    if (!open.source)
      return fail(ErrorCode::kUsage, "template: this folder has only a tokenizer; give a model, or --file TEMPLATE");
    ANEDVD_TRY(const Conversation conversation,
               Conversation::make(*open.source, *open.tokenizer, args.text("--chat-template").value_or("")));
    auto rendered = conversation.render(file.input());
    if (!rendered) return refused(std::move(rendered).error());
    text = std::move(rendered->text);
  }
  if (Console::from(args).out_is_terminal) text = terminal_safe(text) + (text.ends_with('\n') ? "" : "\n");
  ANEDVD_TRY_VOID(write_out(text));
  return kDone;
}

}  // namespace

Command template_command() {
  return {.name = "template",
          .group = CommandGroup::kPieces,
          .summary = "Show a conversation as the text that the model gets",
          .arguments = "[MODEL]",
          .max_arguments = 1,
          .examples = {"anedvd template smollm2 --messages chat.json",
                       "anedvd template --file chat_template.jinja --messages chat.json"},
          .options = join({model_option(),
                           {{.name = "--messages",
                             .group = OptionGroup::kInput,
                             .kind = OptionKind::kFile,
                             .value = "FILE",
                             .help = "{\"messages\":[…],\"tools\":[…],…}; - is standard input",
                             .fallback = "-",
                             .example = "chat.json"},
                            {.name = "--file",
                             .group = OptionGroup::kInput,
                             .kind = OptionKind::kFile,
                             .value = "FILE",
                             .help = "this template, without a model",
                             .example = "chat_template.jinja"}},
                           chat_template_option()}),
          .run = run_template};
}

}  // namespace anedvd
