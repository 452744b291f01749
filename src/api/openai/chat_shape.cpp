#include <nlohmann/json.hpp>

#include "api/openai/chat.h"
#include "api/openai/openai_json.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

class ChatShaper : public Shaper {
 public:
  explicit ChatShaper(const ChatShape& shape) : shape_(shape) {}

  std::string whole(const Generation& generation) override {
    Json choices = Json::array();
    for (size_t i = 0; i < generation.choices.size(); ++i) {
      const Choice& choice = generation.choices[i];
      Json message = {{"role", "assistant"}, {"content", choice.text}, {"refusal", nullptr}};
      add_reasoning(message, choice.reasoning);
      choices.push_back({{"index", i},
                         {"message", std::move(message)},
                         {"logprobs", logprobs(generation, choice.tokens)},
                         {"finish_reason", openai_finish(choice.reason)}});
    }
    Json body = base(generation, "chat.completion");
    body["choices"] = std::move(choices);
    body["usage"] = usage_json(generation);
    body["timings"] = timings_json(generation);
    if (generation.trace) body["anedvd_trace"] = *generation.trace;
    return json_text(body);
  }

  void begin(const Generation& generation, std::string& out) override {
    for (size_t i = 0; i < generation.choices.size(); ++i)
      append(generation, out, int(i), {{"role", "assistant"}, {"content", ""}}, nullptr, nullptr);
  }

  void progress(const Generation& generation, int choice, int done, int total, std::string& out) override {
    if (!shape_.return_progress) return;
    Json chunk = chunk_of(generation, choice, Json::object(), nullptr, nullptr);
    chunk["prompt_progress"] = {
        {"total", total}, {"cache", generation.choices[size_t(choice)].started_reused}, {"processed", done}};
    append_event(out, {}, json_text(chunk));
  }

  void piece(const Generation& generation, int choice, const Piece& piece, std::string& out) override {
    if (!piece.reasoning.empty()) {
      Json delta = Json::object();
      add_reasoning(delta, piece.reasoning);
      append(generation, out, choice, std::move(delta), nullptr, nullptr);
    }
    if (!piece.text.empty() || !piece.tokens.empty())
      append(generation, out, choice, {{"content", piece.text}}, logprobs(generation, piece.tokens), nullptr);
  }

  void choice_done(const Generation& generation, int choice, std::string& out) override {
    append(generation, out, choice, Json::object(), nullptr, openai_finish(generation.choices[size_t(choice)].reason));
  }

  void end(const Generation& generation, std::string& out) override {
    append_openai_end(out, generation, shape_.include_usage, base(generation, "chat.completion.chunk"));
  }

  void failed(const Generation&, const ApiError& error, std::string& out) override {
    append_openai_failure(out, error);
  }

 private:
  static Json base(const Generation& generation, std::string_view object) {
    return {{"id", generation.id},
            {"object", object},
            {"created", generation.created},
            {"model", generation.model->id()},
            {"system_fingerprint", system_fingerprint(generation)}};
  }

  static void add_reasoning(Json& message, const std::string& reasoning) {
    if (reasoning.empty()) return;
    // Clients read one of the two names.
    message["reasoning_content"] = reasoning;
    message["reasoning"] = reasoning;
  }

  static Json logprobs(const Generation& generation, const std::vector<TokenRecord>& tokens) {
    if (!generation.with_logprobs) return nullptr;
    return chat_logprobs(generation.model->tokenizer(), tokens, generation.top_logprobs);
  }

  Json chunk_of(const Generation& generation, int choice, Json delta, Json token_logprobs, Json finish) const {
    Json chunk = base(generation, "chat.completion.chunk");
    chunk["choices"] = Json::array({{{"index", choice},
                                     {"delta", std::move(delta)},
                                     {"logprobs", std::move(token_logprobs)},
                                     {"finish_reason", std::move(finish)}}});
    if (shape_.include_usage) chunk["usage"] = nullptr;
    return chunk;
  }

  void append(const Generation& generation, std::string& out, int choice, Json delta, Json token_logprobs,
              Json finish) const {
    Json chunk = chunk_of(generation, choice, std::move(delta), std::move(token_logprobs), std::move(finish));
    // The timings of an answer belong to its last chunk even where nobody asked for usage: pages show them.
    const bool is_last = !chunk["choices"][0]["finish_reason"].is_null();
    if (shape_.timings_per_token || is_last) chunk["timings"] = timings_json(generation);
    append_event(out, {}, json_text(chunk));
  }

  const ChatShape shape_;
};

}  // namespace

std::unique_ptr<Shaper> chat_shaper(const ChatShape& shape) { return std::make_unique<ChatShaper>(shape); }

}  // namespace anedvd
