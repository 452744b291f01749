#include "cli/chat/chat.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "base/words.h"
#include "cli/chat/answer_stream.h"
#include "cli/chat/chat_export.h"
#include "cli/chat/chat_words.h"
#include "cli/chat/clipboard.h"
#include "cli/chat/external_editor.h"
#include "cli/chat/key_decoder.h"
#include "cli/chat/private_file.h"
#include "cli/commands/run_session.h"
#include "cli/model_path.h"
#include "cli/terminal/input.h"

namespace anedvd {
namespace {

std::string model_shown(const Runtime& runtime) { return visible(model_title(runtime.source().path())); }

// A file that /save may write over: none, an empty one, or an earlier save of this chat.
Result<> check_replaceable(const std::string& path, const std::string& id) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored) || std::filesystem::file_size(path, ignored) == 0) return {};
  ANEDVD_TRY(const std::string text, read_input(path, kMaxChatFileBytes));
  const auto import = import_chats(text, path);
  const bool is_same = import && import->problems.empty() && import->chats.size() == 1 && import->chats[0].id == id;
  if (is_same) return {};
  return fail(ErrorCode::kIo, "{}: is there and is not an earlier save of this chat; choose another name",
              visible(path));
}

}  // namespace

Result<Chat> Chat::make(Engine& engine, const Args& args, const Console& console, const ChatTerminal* terminal) {
  ANEDVD_TRY(ChatSession session, ChatSession::make(engine, args.text("--chat-template").value_or("")));
  ChatSettings settings = ChatSettings::from(args);
  ANEDVD_TRY(const GenerationRequest request, settings.request());
  ANEDVD_TRY_VOID(check_bias(engine.runtime(), request));
  const bool is_styled = terminal && console.out_is_terminal && console.out_color && !args.given("--plain");
  Chat chat(engine, console, terminal, std::move(session), std::move(settings), is_styled);
  chat.log_.id = new_chat_id();
  chat.log_.system = args.text("--system").value_or("");
  chat.log_.model = model_shown(engine.runtime());
  return chat;
}

std::string Chat::banner() const {
  return fmt::format("{} · {} · context {}", model_shown(engine_->runtime()), engine_->runtime().info().device,
                     with_commas(session_.context_size()));
}

// What a command answers: on stderr, also under --quiet, since it was asked for.
void Chat::say(std::string_view line) const { (void)write_all(STDERR_FILENO, fmt::format("{}\n", line)); }

Result<Chat::Next> Chat::take_line(const std::string& line) {
  const ChatLine parsed = parse_chat_line(line);
  if (const auto* text = std::get_if<std::string>(&parsed)) return take_message(*text);
  if (const auto* unknown = std::get_if<UnknownSlash>(&parsed)) {
    say(fmt::format("no command {}; /help lists them", visible(unknown->name, 60)));
    return Next::kGoOn;
  }
  auto next = take_command(std::get<SlashCall>(parsed));
  if (next || !terminal_) return next;
  say(visible(next.error().message, 2000));
  return Next::kGoOn;
}

Result<Chat::Next> Chat::take_message(const std::string& text) {
  if (text.find_first_not_of(" \t\n") == std::string::npos) return Next::kGoOn;
  const std::vector<size_t> branch = log_.branch;
  const size_t count = log_.messages.size();
  log_.add("user", text, now_ms());
  auto next = ask();
  if (next) return next;
  // The message is no part of the conversation; it is still in the history of the line.
  log_.messages.resize(count);
  log_.branch = branch;
  if (!terminal_) return next;
  say(visible(next.error().message, 2000));
  return Next::kGoOn;
}

Result<Chat::Next> Chat::ask() {
  const bool has_reader = !terminal_ || !console_->out_is_terminal;
  if (has_answered_ && has_reader) ANEDVD_TRY_VOID(write_out("\n"));
  AnswerStream stream(*console_, is_styled_, terminal_ ? terminal_->interrupted : std::function<bool()>(),
                      [&] { return session_.progress(); });
  auto request = settings_.request();
  auto answer = request ? session_.answer(log_, *request, [&](std::string_view text) { return stream.take(text); })
                        : tl::unexpected(request.error());
  if (!answer) {
    if (stream.has_text()) (void)stream.finish();
    return tl::unexpected(answer.error());
  }
  ANEDVD_TRY(const Written written, stream.finish());
  has_answered_ = true;
  const GenerateResult& result = answer->result;
  ChatMessage& message = log_.add("assistant", result.text, now_ms());
  message.model = log_.model;
  message.finish = finish_reason_name(result.finish);
  message.state = result.finish == FinishReason::kCancelled ? "stopped"
                  : result.finish == FinishReason::kLength  ? "length"
                                                            : "complete";
  message.prompt_tokens = result.prompt_tokens;
  message.completion_tokens = int64_t(result.ids.size());
  console_->note(console_->err(Tone::kDim, status_line(*answer, session_.context_size())));
  return written == Written::kReaderGone ? Next::kReaderGone : Next::kGoOn;
}

Result<Chat::Next> Chat::take_command(const SlashCall& call) {
  const std::string& argument = call.argument;
  const auto done = [](const Result<>& result) -> Result<Next> {
    if (!result) return tl::unexpected(result.error());
    return Next::kGoOn;
  };
  switch (call.kind) {
    case SlashKind::kExit: return Next::kLeave;
    case SlashKind::kHelp: {
      const std::string help = slash_help();
      say(std::string_view(help).substr(0, help.size() - 1));
      return Next::kGoOn;
    }
    case SlashKind::kReset: reset(); return Next::kGoOn;
    case SlashKind::kSystem: return done(set_system(argument));
    case SlashKind::kTemp: return done(set_value("temp", argument));
    case SlashKind::kTopP: return done(set_value("top-p", argument));
    case SlashKind::kRepeat: return done(set_value("repeat-penalty", argument));
    case SlashKind::kSet: return done(set_pair(argument));
    case SlashKind::kShow: show(); return Next::kGoOn;
    case SlashKind::kRetry: return retry();
    case SlashKind::kUndo: return done(undo());
    case SlashKind::kEdit: return edit();
    case SlashKind::kCopy: return done(copy());
    case SlashKind::kSave: return done(save(argument));
    case SlashKind::kLoad: return done(load(argument));
  }
  return Next::kGoOn;
}

void Chat::reset() {
  ChatLog fresh;
  fresh.id = new_chat_id();
  fresh.system = log_.system;
  fresh.model = log_.model;
  say(fmt::format("forgot {}", count_words(int64_t(log_.branch.size()), "message")));
  log_ = std::move(fresh);
  session_.forget_cut();
}

Result<> Chat::set_system(const std::string& text) {
  if (!text.empty()) {
    log_.system = text == "\"\"" ? "" : text;
    session_.forget_cut();
  }
  say(log_.system.empty() ? "no system prompt" : fmt::format("system \"{}\"", visible(log_.system, 2000)));
  return {};
}

Result<> Chat::set_value(const std::string& name, const std::string& value) {
  if (!value.empty()) {
    ChatSettings changed = settings_;
    ANEDVD_TRY_VOID(changed.set(name, value));
    ANEDVD_TRY(const GenerationRequest request, changed.request());
    ANEDVD_TRY_VOID(check_bias(engine_->runtime(), request));
    settings_ = std::move(changed);
  }
  const std::string now = settings_.value(name);
  say(fmt::format("{} {}", name, now.empty() ? "–" : now));
  return {};
}

Result<> Chat::set_pair(const std::string& argument) {
  if (argument.empty()) {
    say(settings_.words());
    return {};
  }
  const size_t blank = argument.find_first_of(" \t=");
  std::string name = argument.substr(0, blank);
  if (name.starts_with("--")) name.erase(0, 2);
  const size_t value = blank == std::string::npos ? blank : argument.find_first_not_of(" \t=", blank);
  return set_value(name, value == std::string::npos ? "" : argument.substr(value));
}

void Chat::show() {
  const auto row = [&](std::string_view what, const std::string& words) { say(fmt::format("{:<9}{}", what, words)); };
  row("model", fmt::format("{} · {} · chat template: {}", model_shown(engine_->runtime()),
                           engine_->runtime().info().device, visible(session_.template_origin())));
  row("context", fmt::format("{} of {} tokens in use", with_commas(session_.progress().done),
                             with_commas(session_.context_size())));
  row("chat", log_.branch.empty()
                  ? "no messages"
                  : fmt::format("{} · {}", count_words(int64_t(log_.branch.size()), "message"), visible(log_.title)));
  row("system", log_.system.empty() ? "–" : visible(log_.system, 2000));
  row("settings", settings_.words());
}

Result<Chat::Next> Chat::retry() {
  const std::vector<size_t> branch = log_.branch;
  if (!log_.step_back_to_question()) return fail(ErrorCode::kUsage, "/retry: no message yet; write one");
  auto next = ask();
  if (!next) log_.branch = branch;
  return next;
}

Result<> Chat::undo() {
  if (!log_.forget_last_turn()) return fail(ErrorCode::kUsage, "/undo: no message yet; write one");
  session_.forget_cut();
  say(fmt::format("forgot the last message and its answer; {} left",
                  count_words(int64_t(log_.branch.size()), "message")));
  return {};
}

Result<Chat::Next> Chat::edit() {
  if (!terminal_) return fail(ErrorCode::kUsage, "/edit: needs a terminal; leave it out");
  ChatLog before = log_;
  if (!before.step_back_to_question()) return fail(ErrorCode::kUsage, "/edit: no message yet; write one");
  Result<std::string> edited;
  terminal_->with_terminal([&] { edited = edit_text(before.last()->text); });
  if (!edited) return tl::unexpected(edited.error());
  const std::string text = pasted_text(*edited);
  if (text == before.last()->text || text.find_first_not_of(" \t\n") == std::string::npos) {
    say("/edit: nothing changed, nothing sent");
    return Next::kGoOn;
  }
  before.step_back_before_question();
  ChatLog kept = std::exchange(log_, std::move(before));
  auto next = take_message(text);
  if (log_.messages.size() == kept.messages.size()) log_ = std::move(kept);  // it failed
  return next;
}

Result<> Chat::copy() {
  const ChatMessage* answer = log_.last_answer();
  if (!answer) return fail(ErrorCode::kUsage, "/copy: no answer yet; write a message");
  if (!terminal_) return fail(ErrorCode::kUsage, "/copy: needs a terminal; leave it out");
  (void)write_all(STDERR_FILENO, clipboard_escape(answer->text));
  say(fmt::format("copied {}, if the terminal allows it", size_words(answer->text.size())));
  return {};
}

Result<> Chat::save(const std::string& argument) {
  if (argument.empty()) return fail(ErrorCode::kUsage, "/save: no file; for example /save chat.json");
  if (log_.messages.empty()) return fail(ErrorCode::kUsage, "/save: no message yet; write one");
  const std::string path = with_home(argument);
  ANEDVD_TRY_VOID(check_replaceable(path, log_.id));
  log_.settings = settings_.to_json().dump();
  const std::string text = export_chat(log_, now_ms());
  ANEDVD_TRY_VOID(write_private_file(path, text));
  say(fmt::format("saved {} to {}", count_words(int64_t(log_.branch.size()), "message"), visible(path)));
  return {};
}

Result<> Chat::load(const std::string& argument) {
  if (argument.empty()) return fail(ErrorCode::kUsage, "/load: no file; for example /load chat.json");
  const std::string path = with_home(argument);
  ANEDVD_TRY(const std::string text, read_input(path, kMaxChatFileBytes));
  ANEDVD_TRY(ChatImport import, import_chats(text, visible(path)));
  for (const std::string& problem : import.problems) warn("{}: {}; it was left out", visible(path), visible(problem));
  const size_t count = import.chats.size();
  // The page exports all chats: one goes on with the one that was used last.
  auto newest = std::max_element(import.chats.begin(), import.chats.end(),
                                 [](const ChatLog& a, const ChatLog& b) { return a.updated < b.updated; });
  ChatLog log = std::move(*newest);
  ANEDVD_TRY(const nlohmann::ordered_json settings, parse_ordered_json(log.settings, visible(path)));
  const std::vector<std::string> refused = settings_.take(settings);
  for (const std::string& name : refused) warn("{}: setting {} was left out", visible(path), visible(name, 60));
  log.model = log_.model;
  log_ = std::move(log);
  session_.forget_cut();
  say(fmt::format("loaded {}{}: {}", count_words(int64_t(log_.branch.size()), "message"),
                  count > 1 ? fmt::format(" of the newest of {} chats", with_commas(int64_t(count))) : "",
                  log_.title.empty() ? "no title" : visible(log_.title)));
  return {};
}

}  // namespace anedvd
