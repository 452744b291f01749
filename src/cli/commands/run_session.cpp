#include "cli/commands/run_session.h"

#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/log.h"
#include "base/words.h"
#include "cli/commands/model_words.h"
#include "cli/devices.h"
#include "cli/model_path.h"
#include "cli/models/known_models.h"
#include "cli/terminal/input.h"
#include "model/quantise_at_load.h"
#include "text/conversation.h"

namespace anedvd {
namespace {

constexpr int kSmallestRoom = 64;  // tokens for a question and an answer beside the chat format

Result<std::string> read_text(const std::string& path) {
  ANEDVD_TRY(std::string text, read_input(path));
  // Editors and echo end a text with a newline that nobody meant to ask about.
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

// "2=-inf", "15043+1", "15043-0.5".
Result<std::pair<int32_t, float>> parse_bias(const std::string& text) {
  const auto bad = [&] {
    return fail(ErrorCode::kUsage, "--logit-bias {}: not a token id and a number; for example --logit-bias 2=-inf",
                visible(text, 60));
  };
  const size_t digits = text.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string::npos || digits > 9) return bad();
  std::string value = text.substr(text[digits] == '=' ? digits + 1 : digits);
  if (value.empty() || std::isspace(uint8_t(value[0]))) return bad();
  char* end = nullptr;
  const float bias = std::strtof(value.c_str(), &end);
  if (end != value.c_str() + value.size() || std::isnan(bias)) return bad();
  return std::pair{int32_t(std::stol(text.substr(0, digits))), bias};
}

// The smallest usual context that holds `tokens`, or 0 if the model's does not.
int larger_context(size_t tokens, int trained) {
  for (int context = 1024; context > 0 && context <= trained; context *= 2)
    if (size_t(context) >= tokens) return context;
  return tokens <= size_t(trained) ? trained : 0;
}

}  // namespace

Result<RunWords> read_run_words(const Args& args) {
  const std::string_view name = args.command().name;
  ANEDVD_TRY(const ModelWords words, split_words(args, args.given("--prompt") || args.given("--prompt-file")));
  if (words.text && args.given("--prompt"))
    return fail(ErrorCode::kUsage, "{}: \"{}\" and --prompt are both prompts; leave one out", name,
                visible(*words.text, 60));
  std::optional<std::string> prompt = words.text;
  if (args.given("--prompt")) prompt = args.text("--prompt");
  if (const auto file = args.text("--prompt-file")) {
    ANEDVD_TRY(const std::string text, read_text(*file));
    prompt = prompt ? *prompt + "\n\n" + text : text;
  }
  if (!prompt && isatty(STDIN_FILENO) == 0) {
    ANEDVD_TRY(prompt, read_text("-"));
  }
  // White space alone asks nothing, whatever a model may say to it.
  if (!prompt || prompt->find_first_not_of(" \t\r\n\v\f") == std::string::npos) {
    // A model that does not exist is the first thing to say.
    if (!args.positionals().empty() && !find_known_model(words.model)) ANEDVD_TRY_VOID(model_path(words.model));
    return fail(ErrorCode::kUsage, "{}: no prompt; for example anedvd {} \"Why is the sky blue?\"", name, name);
  }
  return RunWords{words.model, *prompt};
}

Result<RuntimeOptions> runtime_options_of(const Args& args) {
  RuntimeOptions options;
  ANEDVD_TRY(DeviceChoice device, choose_device(args));
  // Asked for nothing, nobody wants to hear of it before every answer; `info` tells it, too.
  if (const Console console = Console::from(args); console.verbose && !device.why_not_ane.empty())
    console.note(fmt::format("the CPU answers: the Neural Engine cannot be used: {}", device.why_not_ane));
  options.device = std::move(device.compiler);
  options.threads = int(args.integer("--threads").value_or(0));
  options.max_seq = int(args.integer("--max-seq").value_or(0));
  options.chunk = int(args.integer("--chunk").value_or(0));
  options.exact = args.given("--exact");
  if (const auto quant = args.text("--quant")) {
    ANEDVD_TRY(options.quant, quant_type(*quant));
  }
  options.rope_hf = args.given("--rope-hf");
  options.rope_adjacent = args.given("--rope-adjacent");
  if (options.rope_hf && options.rope_adjacent)
    return fail(ErrorCode::kUsage, "--rope-hf: contradicts --rope-adjacent; give one of them");
  return options;
}

SamplingParams sampling_of(const Args& args) {
  SamplingParams sampling;
  sampling.temperature = float(*args.number("--temp"));
  sampling.top_k = int(*args.integer("--top-k"));
  sampling.top_p = float(*args.number("--top-p"));
  sampling.min_p = float(*args.number("--min-p"));
  sampling.repeat_penalty = float(*args.number("--repeat-penalty"));
  sampling.presence_penalty = float(*args.number("--presence-penalty"));
  sampling.frequency_penalty = float(*args.number("--frequency-penalty"));
  return sampling;
}

Result<GenerationRequest> request_of(const Args& args) {
  GenerationRequest request;
  request.sampling = sampling_of(args);
  SamplingParams& sampling = request.sampling;
  if (const auto seed = args.integer("--seed")) sampling.seed = uint64_t(*seed);
  for (const std::string& text : args.texts("--logit-bias")) {
    ANEDVD_TRY(const auto bias, parse_bias(text));
    sampling.logit_bias.push_back(bias);
  }
  request.stop = args.texts("--stop");
  for (const std::string& stop : request.stop)
    if (stop.empty()) return fail(ErrorCode::kUsage, "--stop: an empty text stops at once; give some characters");
  if (const auto limit = args.integer("--max-tokens"))
    request.max_tokens = int(std::min<int64_t>(*limit, std::numeric_limits<int>::max()));
  return request;
}

Result<std::unique_ptr<Runtime>> load_runtime(const std::string& model, const RuntimeOptions& options) {
  ANEDVD_TRY(const auto path, model_path(model));
  return Runtime::load(path, options);
}

namespace {

using Json = nlohmann::ordered_json;

// The ids of one question in the model's chat format, or of the text as it is.
class Question {
 public:
  static Result<Question> make(Runtime& runtime, const Args& args) {
    ANEDVD_TRY(const Tokenizer* tokenizer, runtime.tokenizer());
    Question question(*tokenizer);
    if (args.given("--no-chat")) {
      if (args.given("--system"))
        return fail(ErrorCode::kUsage, "--system: has no place with --no-chat; put the text into the prompt");
      return question;
    }
    ANEDVD_TRY(Conversation conversation,
               Conversation::make(runtime.source(), *tokenizer, args.text("--chat-template").value_or("")));
    question.conversation_ = std::move(conversation);
    question.system_ = args.text("--system").value_or("");
    return question;
  }

  Result<std::vector<Token>> ids(const std::string& text) const {
    if (!conversation_) {
      std::vector<Token> ids = tokenizer_->encode(text, Specials::kAsTokens);
      add_bos(*tokenizer_, ids);
      return ids;
    }
    Json messages = Json::array();
    if (!system_.empty()) messages.push_back({{"role", "system"}, {"content", system_}});
    messages.push_back({{"role", "user"}, {"content", text}});
    ConversationInput input;
    input.messages = &messages;
    return conversation_->encode(*tokenizer_, input);
  }

  // What the format asks of the answer.
  void shape(GenerationRequest& request) const {
    request.from_template = conversation_.has_value();
    if (conversation_) follow_format(*conversation_, request);
  }

  const Tokenizer& tokenizer() const { return *tokenizer_; }

 private:
  explicit Question(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  const Tokenizer* tokenizer_;
  std::optional<Conversation> conversation_;
  std::string system_;
};

}  // namespace

std::string without_oldest(const Tokenizer& tokenizer, const std::string& text, size_t count) {
  const std::vector<Token> ids = tokenizer.encode(text, Specials::kAsText);
  std::string rest;
  for (size_t i = std::min(count, ids.size()); i < ids.size(); ++i) tokenizer.append_bytes(ids[i], rest);
  while (!rest.empty() && (uint8_t(rest[0]) & 0xc0) == 0x80) rest.erase(0, 1);
  return rest;
}

Result<> set_prompt(Runtime& runtime, const Args& args, const std::string& prompt, GenerationRequest& request) {
  ANEDVD_TRY(const Question question, Question::make(runtime, args));
  question.shape(request);
  const int max_tokens = request.max_tokens;
  ANEDVD_TRY(std::vector<Token> ids, question.ids(prompt));
  const int max_seq = runtime.info().max_seq;
  // An answer needs room: a sixteenth of the context, unless the person wants less.
  const int room = std::max(1, max_tokens < 0 ? max_seq / 16 : std::min(max_tokens, max_seq / 16));
  const auto limit = size_t(std::max(1, max_seq - room));
  const size_t before = ids.size();
  std::string text = prompt;
  while (ids.size() > limit) {
    if (text.empty())
      return fail(ErrorCode::kUsage, "--max-seq {}: the chat format alone takes {} tokens; use --max-seq {} or more",
                  max_seq, ids.size(), ids.size() + size_t(kSmallestRoom));
    text = without_oldest(question.tokenizer(), text, ids.size() - limit);
    ANEDVD_TRY(ids, question.ids(text));
  }
  if (ids.size() < before) {
    const int larger = larger_context(before + size_t(room), runtime.spec().context);
    warn("prompt: {} tokens, the context holds {}; the oldest {} were left out{}", with_commas(int64_t(before)),
         with_commas(max_seq), with_commas(int64_t(before - ids.size())),
         larger > max_seq ? fmt::format(", --max-seq {} would keep them", larger) : "");
  }
  if (ids.empty()) return fail(ErrorCode::kUsage, "prompt: no token in it; give some text");
  request.prompt = std::move(ids);
  return {};
}

Result<> check_bias(const Runtime& runtime, const GenerationRequest& request) {
  for (const auto& [id, bias] : request.sampling.logit_bias)
    if (id >= runtime.spec().vocab)
      return fail(ErrorCode::kUsage, "--logit-bias {}={}: the vocabulary ends at {}; \"anedvd tokenize\" tells ids", id,
                  bias, runtime.spec().vocab - 1);
  return {};
}

void tell_settings(const Console& console, const Runtime& runtime, const GenerationRequest& request, bool as_chat) {
  const RuntimeInfo& info = runtime.info();
  const SamplingParams& sampling = request.sampling;
  console.note(fmt::format("model   {} · {} · context {} · loaded in {}", visible(runtime.source().path().string()),
                           size_words(runtime.source().file_bytes()), with_commas(info.max_seq),
                           duration_words(info.load_seconds)));
  console.note(fmt::format("device  {} {} · {} · weights {} · cache {} a token", info.device, info.simd,
                           count_words(info.threads, "thread"), size_words(info.weight_bytes),
                           size_words(info.kv_token_bytes)));
  console.note(fmt::format("sample  temp {} · top-k {} · top-p {} · min-p {} · repeat {} · presence {} · frequency {}",
                           sampling.temperature, sampling.top_k, sampling.top_p, sampling.min_p,
                           sampling.repeat_penalty, sampling.presence_penalty, sampling.frequency_penalty));
  console.note(fmt::format("prompt  {} tokens · {}", with_commas(int64_t(request.prompt.size())),
                           as_chat ? "chat template" : "as it is"));
}

}  // namespace anedvd
