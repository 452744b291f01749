// anedvd tokenize and detokenize: text to token ids and back, without loading weights.
#include <charconv>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/json.h"
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

constexpr size_t kFlushBytes = 1 << 20;  // answers are gathered to this size while more lines are waiting

struct TokenizeOptions {
  bool special = false;  // text of control tokens stands for the tokens
  bool bos = true;       // begin with BOS where the model wants one
};

std::vector<Token> encode(const Tokenizer& tokenizer, std::string_view text, const TokenizeOptions& options) {
  std::vector<Token> ids = tokenizer.encode(text, options.special ? Specials::kAsTokens : Specials::kAsText);
  if (options.bos && tokenizer.adds_bos() && tokenizer.bos()) ids.insert(ids.begin(), *tokenizer.bos());
  return ids;
}

void append_array(const std::vector<Token>& ids, std::string& out) {
  out += '[';
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i > 0) out += ',';
    char digits[12];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, ids[i]).ptr);
  }
  out += "]\n";
}

// One line of --jsonl: "text" or {"text": …, "special": bool, "bos": bool}.
Result<std::vector<Token>> encode_line(const Tokenizer& tokenizer, std::string_view line, const std::string& where,
                                       TokenizeOptions options) {
  ANEDVD_TRY(const nlohmann::json json, parse_json(line, where));
  if (json.is_string()) return encode(tokenizer, json.get_ref<const std::string&>(), options);
  if (!json.is_object())
    return fail(ErrorCode::kBadFile, "{}: neither a string nor an object; write {{\"text\": \"…\"}}", where);
  const auto text = json.find("text");
  if (text == json.end() || !text->is_string())
    return fail(ErrorCode::kBadFile, "{}: no \"text\" that is a string; write {{\"text\": \"…\"}}", where);
  for (const auto& [name, target] : {std::pair{"special", &options.special}, std::pair{"bos", &options.bos}}) {
    const auto value = json.find(name);
    if (value == json.end() || value->is_null()) continue;
    if (!value->is_boolean())
      return fail(ErrorCode::kBadFile, "{}: \"{}\" is neither true nor false; correct it", where, name);
    *target = value->get<bool>();
  }
  return encode(tokenizer, text->get_ref<const std::string&>(), options);
}

Result<ExitCode> tokenize_lines(const Tokenizer& tokenizer, const TokenizeOptions& options) {
  LineReader reader(STDIN_FILENO);
  std::string out;
  const auto flush = [&]() -> Result<Written> {
    ANEDVD_TRY(const Written written, write_out(out));
    out.clear();
    return written;
  };
  for (int64_t number = 1;; ++number) {
    // The other side may wait for its answers before it writes more.
    if (reader.would_wait() || out.size() > kFlushBytes) {
      ANEDVD_TRY(const Written written, flush());
      if (written == Written::kReaderGone) return kDone;
    }
    ANEDVD_TRY(const auto line, reader.next());
    if (!line) break;
    auto ids = encode_line(tokenizer, *line, fmt::format("standard input: line {}", with_commas(number)), options);
    if (!ids) {
      ANEDVD_TRY_VOID(flush());
      return tl::unexpected(std::move(ids).error());
    }
    append_array(*ids, out);
  }
  ANEDVD_TRY_VOID(flush());
  return kDone;
}

// --chat M.json: the ids of the rendered conversation, control tokens only where the template wrote them.
Result<std::vector<Token>> encode_chat(const OpenTokenizer& open, const Args& args) {
  if (!open.source) return fail(ErrorCode::kUsage, "--chat: this folder has only a tokenizer; give a model");
  ANEDVD_TRY(const ChatFile file, ChatFile::read(*args.text("--chat")));
  ANEDVD_TRY(const Conversation conversation,
             Conversation::make(*open.source, *open.tokenizer, args.text("--chat-template").value_or("")));
  return conversation.encode(*open.tokenizer, file.input());
}

Result<ExitCode> run_tokenize(const Args& args) {
  const bool jsonl = args.given("--jsonl"), chat = args.given("--chat");
  ANEDVD_TRY(const ModelWords words, split_words(args, jsonl || chat || args.given("--text")));
  if (words.text && (jsonl || chat || args.given("--text")))
    return fail(ErrorCode::kUsage, "tokenize: \"{}\" and {} are both texts; leave one out", visible(*words.text, 60),
                jsonl  ? "--jsonl"
                : chat ? "--chat"
                       : "--text");
  if (jsonl && args.given("--text"))
    return fail(ErrorCode::kUsage, "--text: --jsonl reads its texts from standard input");
  ANEDVD_TRY(const OpenTokenizer open, open_tokenizer(words.model));
  const TokenizeOptions options{args.given("--special"), !args.given("--no-bos")};
  if (jsonl) return tokenize_lines(*open.tokenizer, options);
  std::string text;
  if (args.given("--text")) {
    text = *args.text("--text");
  } else if (words.text) {
    text = *words.text;
  } else if (!chat) {
    ANEDVD_TRY(text, read_input("-"));
  }
  std::vector<Token> ids;
  if (chat) {
    ANEDVD_TRY(ids, encode_chat(open, args));
  } else {
    ids = encode(*open.tokenizer, text, options);
  }
  const Console console = Console::from(args);
  if (console.verbose) {
    for (const Token id : ids) {
      std::string piece;
      open.tokenizer->append_bytes(id, piece, true);
      console.note(fmt::format("{:>7}  {}", id, visible(piece)));
    }
  }
  std::string out;
  append_array(ids, out);
  ANEDVD_TRY_VOID(write_out(out));
  return kDone;
}

Result<ExitCode> run_detokenize(const Args& args) {
  const std::string file = *args.text("--ids-file");
  const std::string where = file == "-" ? "standard input" : visible(file);
  ANEDVD_TRY(const std::string json, read_input(file));
  ANEDVD_TRY(const std::vector<int32_t> ids, parse_ids(json, where));
  ANEDVD_TRY(const OpenTokenizer open,
             open_tokenizer(args.positionals().empty() ? *args.text("--model") : args.positionals()[0]));
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= open.tokenizer->vocab_size())
      return fail(ErrorCode::kBadFile, "{}: item {} is {}, but the vocabulary ends at {}; use ids of this model", where,
                  with_commas(int64_t(i)), ids[i], open.tokenizer->vocab_size() - 1);
  }
  std::string text = text_of(*open.tokenizer, ids, args.given("--special"));
  if (args.given("--json")) {
    const nlohmann::ordered_json object = {{"text", text}};
    text = object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  } else if (Console::from(args).out_is_terminal) {
    text = terminal_safe(text) + (text.ends_with('\n') ? "" : "\n");
  }
  ANEDVD_TRY_VOID(write_out(text));
  return kDone;
}

}  // namespace

Command tokenize_command() {
  return {
      .name = "tokenize",
      .group = CommandGroup::kPieces,
      .summary = "Turn text into token ids, printed as a JSON array",
      .arguments = "[MODEL] [TEXT]",
      .max_arguments = 2,
      .examples = {"anedvd tokenize smollm2 --text \"Hello there\"", "anedvd tokenize smollm2 --jsonl < texts.jsonl"},
      .options = join({model_option(),
                       {{.name = "--text",
                         .group = OptionGroup::kInput,
                         .kind = OptionKind::kText,
                         .value = "TEXT",
                         .help = "the text [standard input, bytes as they are]",
                         .example = "\"Hello\""},
                        {.name = "--jsonl",
                         .group = OptionGroup::kInput,
                         .help = "a text a line: a JSON string or {\"text\",\"special\",\"bos\"}"},
                        {.name = "--special",
                         .group = OptionGroup::kInput,
                         .help = "read the text of control tokens as these tokens"},
                        {.name = "--chat",
                         .group = OptionGroup::kInput,
                         .kind = OptionKind::kFile,
                         .value = "FILE",
                         .help = "a conversation, as the template command takes it",
                         .example = "chat.json"},
                        {.name = "--no-bos", .group = OptionGroup::kInput, .help = "do not begin with BOS"}},
                       {{.name = "--json", .help = "a JSON array, as without it"}},
                       chat_template_option()}),
      .run = run_tokenize};
}

Command detokenize_command() {
  return {.name = "detokenize",
          .group = CommandGroup::kPieces,
          .summary = "Turn token ids into the bytes of their text",
          .arguments = "[MODEL]",
          .max_arguments = 1,
          .examples = {"anedvd detokenize smollm2 --ids-file ids.json",
                       "anedvd tokenize smollm2 --text \"Hello\" | anedvd detokenize smollm2"},
          .options = join(
              {model_option(),
               {{.name = "--ids-file",
                 .group = OptionGroup::kInput,
                 .kind = OptionKind::kFile,
                 .value = "FILE",
                 .help = "a JSON array of ids; - is standard input",
                 .fallback = "-",
                 .example = "ids.json"},
                {.name = "--special", .group = OptionGroup::kInput, .help = "show the text of control tokens too"}},
               json_option()}),
          .run = run_detokenize};
}

}  // namespace anedvd
