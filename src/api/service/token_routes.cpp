// /tokenize, /detokenize, /apply-template, /v1/embeddings' neighbours: what needs a model's text side only.
#include <nlohmann/json.hpp>

#include "api/fields.h"
#include "api/generation/chat_prompt.h"
#include "api/openai/chat.h"
#include "api/service/service.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;
using Reply = ApiResult<std::unique_ptr<Response>>;

std::unique_ptr<Response> json_response(const Json& json) {
  return whole_response({200, {{"Content-Type", "application/json"}}, json_text(json)});
}

bool is_utf8(const std::string& bytes) {
  // dump() with the strict handler says so by an exception: that is nlohmann's only check.
  try {
    (void)Json(bytes).dump();
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

Json piece_of(const Tokenizer& tokenizer, Token token) {
  std::string bytes;
  tokenizer.append_bytes(token, bytes, true);
  if (is_utf8(bytes)) return bytes;
  Json numbers = Json::array();
  for (const char c : bytes) numbers.push_back(uint8_t(c));
  return numbers;
}

Reply tokens_of(const ServedModel& model, const Json& body) {
  const Fields fields(body);
  const Tokenizer& tokenizer = model.tokenizer();
  const bool is_vllm = !fields.has("content") && (fields.has("prompt") || fields.has("messages"));
  std::vector<Token> ids;
  if (fields.has("messages")) {
    ANEDVD_TRY(const Json messages, read_messages(fields));
    ANEDVD_TRY(const auto add, fields.boolean("add_generation_prompt"));
    ChatPromptInput input;
    input.messages = &messages;
    input.add_generation_prompt = add.value_or(true);
    ANEDVD_TRY(ChatPrompt prompt, render_chat(model, input));
    ids = std::move(prompt.ids);
  } else {
    ANEDVD_TRY(const auto text, fields.text(is_vllm ? "prompt" : "content"));
    if (!text) return missing("content");
    ANEDVD_TRY(const auto add, fields.boolean(is_vllm ? "add_special_tokens" : "add_special"));
    ANEDVD_TRY(const auto parse, fields.boolean("parse_special"));
    ids = tokenizer.encode(*text, parse.value_or(true) ? Specials::kAsTokens : Specials::kAsText);
    if (add.value_or(is_vllm)) add_bos(tokenizer, ids);
  }
  ANEDVD_TRY(const auto with_pieces, fields.boolean("with_pieces"));
  Json tokens = Json::array();
  for (const Token id : ids)
    tokens.push_back(with_pieces.value_or(false) ? Json{{"id", id}, {"piece", piece_of(tokenizer, id)}} : Json(id));
  Json answer = Json::object();
  if (is_vllm) answer = {{"count", ids.size()}, {"max_model_len", model.context()}};
  answer["tokens"] = std::move(tokens);
  return json_response(answer);
}

Reply text_of_tokens(const ServedModel& model, const Json& body) {
  const Fields fields(body);
  ANEDVD_TRY(const Json* given, fields.array("tokens"));
  if (!given) return missing("tokens");
  const int vocab = model.engine().runtime().spec().vocab;
  std::vector<Token> ids;
  for (const Json& id : *given) {
    if (!id.is_number_integer()) return wrong_type("tokens", "an array of integers");
    // Numbers beyond 2^63 are unsigned; they must not turn negative.
    const bool is_small = id.is_number_unsigned() ? id.get<uint64_t>() < uint64_t(vocab)
                                                  : id.get<int64_t>() >= 0 && id.get<int64_t>() < vocab;
    if (!is_small) return bad_value("tokens", fmt::format("an id is no token of the model; it has {}", vocab));
    ids.push_back(id.get<Token>());
  }
  return json_response({{"content", text_of(model.tokenizer(), ids, true)}});
}

Reply prompt_of(const ServedModel& model, const Json& body) {
  const Fields fields(body);
  ANEDVD_TRY(const Json messages, read_messages(fields));
  ANEDVD_TRY(const Json* tools, fields.array("tools"));
  ANEDVD_TRY(const auto extra, read_template_extra(fields, std::nullopt));
  ANEDVD_TRY(const auto add, fields.boolean("add_generation_prompt"));
  ChatPromptInput input;
  input.messages = &messages;
  input.tools = tools && !tools->empty() ? tools : nullptr;
  input.extra = extra.get();
  input.add_generation_prompt = add.value_or(true);
  ANEDVD_TRY(const ChatPrompt prompt, render_chat(model, input));
  return json_response({{"prompt", prompt.text}});
}

}  // namespace

// All of them take a body and a model, and answer at once.
void Service::answer_from_model(std::shared_ptr<const Request> request, Reply (*make)(const ServedModel&, const Json&),
                                Done done) {
  auto body = parse_body(request->body);
  if (!body) return refuse_with(*request, body.error(), done);
  const auto name = Fields(*body).text("model");
  if (!name) return refuse_with(*request, name.error(), done);
  const auto shared = std::make_shared<const Json>(std::move(*body));
  const ApiDialect dialect = dialect_of(*request);
  with_model(
      std::move(request), name->value_or(""), dialect,
      [shared, make](std::shared_ptr<ServedModel> model) { return make(*model, *shared); }, std::move(done));
}

void Service::tokenize(std::shared_ptr<const Request> request, Done done) {
  answer_from_model(std::move(request), tokens_of, std::move(done));
}

void Service::detokenize(std::shared_ptr<const Request> request, Done done) {
  answer_from_model(std::move(request), text_of_tokens, std::move(done));
}

void Service::apply_template(std::shared_ptr<const Request> request, Done done) {
  answer_from_model(std::move(request), prompt_of, std::move(done));
}

void Service::rerank(std::shared_ptr<const Request> request, Done done) {
  refuse_with(*request,
              {.status = 501,
               .type = "not_supported_error",
               .code = "not_supported",
               .message = "No model here ranks documents."},
              done);
}

}  // namespace anedvd
