#include <ctime>

#include <nlohmann/json.hpp>

#include "api/fields.h"
#include "api/openai/openai_json.h"
#include "api/openai/responses.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kObjectBytes = 64;  // a JSON value in memory costs some of these beside its text

class ResponsesShaper : public Shaper {
 public:
  explicit ResponsesShaper(const ResponsesShape& shape)
      : shape_(shape), message_id_(random_id("msg_")), reasoning_id_(random_id("rs_")) {}

  ~ResponsesShaper() override {
    if (!id_.empty()) shape_.store->end(id_);
  }

  void attached(const Generation& generation) override {
    id_ = generation.id;
    std::vector<std::weak_ptr<Ticket>> tickets;
    for (const Choice& choice : generation.choices) tickets.push_back(choice.ticket);
    const Json response = object(generation, "in_progress", Json::array(), nullptr);
    shape_.store->begin(id_, json_text(response), [tickets] {
      for (const auto& ticket : tickets)
        if (const auto alive = ticket.lock()) alive->cancel();
    });
  }

  std::string whole(const Generation& generation) override {
    Json body = finished(generation);
    if (generation.trace) body["anedvd_trace"] = *generation.trace;
    return keep(generation, json_text(body));
  }

  void begin(const Generation& generation, std::string& out) override {
    const Json response = object(generation, "in_progress", Json::array(), nullptr);
    append(out, "response.created", {{"response", response}});
    append(out, "response.in_progress", {{"response", response}});
  }

  void piece(const Generation& generation, int, const Piece& piece, std::string& out) override {
    if (!piece.reasoning.empty()) {
      if (open_ != Part::kReasoning) open_reasoning(out);
      append(out, "response.reasoning_text.delta",
             {{"item_id", reasoning_id_}, {"output_index", index_}, {"content_index", 0}, {"delta", piece.reasoning}});
    }
    if (piece.text.empty() && piece.tokens.empty()) return;
    if (open_ != Part::kMessage) open_message(generation, out);
    append(out, "response.output_text.delta",
           {{"item_id", message_id_},
            {"output_index", index_},
            {"content_index", 0},
            {"delta", piece.text},
            {"logprobs", logprobs(generation, piece.tokens)}});
  }

  void choice_done(const Generation& generation, int, std::string& out) override {
    if (index_ < 0 || open_ == Part::kReasoning) open_message(generation, out);  // an empty answer is a message too
    close(generation, out);
  }

  void end(const Generation& generation, std::string& out) override {
    Json body = finished(generation);
    keep(generation, json_text(body));
    if (generation.trace) body["anedvd_trace"] = *generation.trace;
    const bool is_whole = body["status"] == "completed";
    append(out, is_whole ? "response.completed" : "response.incomplete", {{"response", std::move(body)}});
  }

  void failed(const Generation& generation, const ApiError& error, std::string& out) override {
    Json body = object(generation, "failed", Json::array(), usage(generation));
    body["error"] = {{"code", error.code.empty() ? "server_error" : error.code}, {"message", error.message}};
    append(out, "response.failed", {{"response", std::move(body)}});
  }

 private:
  enum class Part { kNone, kReasoning, kMessage };

  void append(std::string& out, std::string_view type, Json fields) {
    Json event = {{"type", type}, {"sequence_number", sequence_++}};
    event.update(fields);
    append_event(out, type, json_text(event));
  }

  // ---- items ----

  static Json logprobs(const Generation& generation, const std::vector<TokenRecord>& tokens) {
    if (!generation.with_logprobs) return Json::array();
    return logprob_entries(generation.model->tokenizer(), tokens, generation.top_logprobs);
  }

  static Json text_part(const Generation& generation, const Choice& choice) {
    return {{"type", "output_text"},
            {"text", choice.text},
            {"annotations", Json::array()},
            {"logprobs", logprobs(generation, choice.tokens)}};
  }

  Json message_item(std::string_view status, Json content) const {
    return {{"id", message_id_},
            {"type", "message"},
            {"status", status},
            {"role", "assistant"},
            {"content", std::move(content)}};
  }

  Json reasoning_item(std::string_view status, const std::string& text) const {
    Json content = Json::array();
    if (!text.empty()) content.push_back({{"type", "reasoning_text"}, {"text", text}});
    return {{"id", reasoning_id_},
            {"type", "reasoning"},
            {"summary", Json::array()},
            {"content", std::move(content)},
            {"status", status}};
  }

  void open_reasoning(std::string& out) {
    open_ = Part::kReasoning;
    ++index_;
    append(out, "response.output_item.added", {{"output_index", index_}, {"item", reasoning_item("in_progress", {})}});
  }

  void open_message(const Generation& generation, std::string& out) {
    close(generation, out);
    open_ = Part::kMessage;
    ++index_;
    append(out, "response.output_item.added",
           {{"output_index", index_}, {"item", message_item("in_progress", Json::array())}});
    const Json part = {
        {"type", "output_text"}, {"text", ""}, {"annotations", Json::array()}, {"logprobs", Json::array()}};
    append(out, "response.content_part.added",
           {{"item_id", message_id_}, {"output_index", index_}, {"content_index", 0}, {"part", part}});
  }

  void close(const Generation& generation, std::string& out) {
    const Choice& choice = generation.choices.front();
    if (open_ == Part::kReasoning) {
      append(out, "response.reasoning_text.done",
             {{"item_id", reasoning_id_}, {"output_index", index_}, {"content_index", 0}, {"text", choice.reasoning}});
      append(out, "response.output_item.done",
             {{"output_index", index_}, {"item", reasoning_item("completed", choice.reasoning)}});
    }
    if (open_ == Part::kMessage) {
      const Json part = text_part(generation, choice);
      append(out, "response.output_text.done",
             {{"item_id", message_id_},
              {"output_index", index_},
              {"content_index", 0},
              {"text", choice.text},
              {"logprobs", part["logprobs"]}});
      append(out, "response.content_part.done",
             {{"item_id", message_id_}, {"output_index", index_}, {"content_index", 0}, {"part", part}});
      append(out, "response.output_item.done",
             {{"output_index", index_}, {"item", message_item(status(choice), Json::array({part}))}});
    }
    open_ = Part::kNone;
  }

  // ---- the response object ----

  static std::string_view status(const Choice& choice) {
    return choice.reason == FinishReason::kStop ? "completed" : "incomplete";
  }

  static Json usage(const Generation& generation) {
    const UsageTotals totals = generation.usage();
    return {{"input_tokens", totals.prompt},
            {"input_tokens_details", {{"cached_tokens", totals.reused}, {"cache_write_tokens", 0}}},
            {"output_tokens", totals.completion},
            {"output_tokens_details", {{"reasoning_tokens", totals.reasoning}}},
            {"total_tokens", totals.prompt + totals.completion},
            {"prompt_tokens_dropped", totals.dropped}};
  }

  Json object(const Generation& generation, std::string_view state, Json output, Json used) const {
    Json body = {{"id", generation.id},
                 {"object", "response"},
                 {"created_at", generation.created},
                 {"status", state},
                 {"completed_at", nullptr},
                 {"error", nullptr},
                 {"incomplete_details", nullptr},
                 {"model", generation.model->id()},
                 {"output", std::move(output)}};
    body.update(*shape_.echo);
    body["usage"] = std::move(used);
    return body;
  }

  Json finished(const Generation& generation) const {
    const Choice& choice = generation.choices.front();
    Json output = Json::array();
    if (!choice.reasoning.empty()) output.push_back(reasoning_item("completed", choice.reasoning));
    output.push_back(message_item(status(choice), Json::array({text_part(generation, choice)})));
    const bool is_cancelled = choice.reason == FinishReason::kCancelled;
    Json body = object(generation, is_cancelled ? "cancelled" : status(choice), std::move(output), usage(generation));
    body["completed_at"] = int64_t(std::time(nullptr));
    if (choice.reason == FinishReason::kLength) body["incomplete_details"] = {{"reason", "max_output_tokens"}};
    return body;
  }

  // Returns the text it was given.
  std::string keep(const Generation& generation, std::string body) {
    if (!shape_.is_stored) return body;
    Json conversation = *shape_.messages;
    Json answer = {{"role", "assistant"}, {"content", generation.choices.front().text}};
    conversation.push_back(std::move(answer));
    StoredResponse stored;
    stored.id = generation.id;
    stored.body = body;
    stored.items = {message_id_};
    if (!generation.choices.front().reasoning.empty()) stored.items.push_back(reasoning_id_);
    stored.bytes = 2 * body.size() + json_text(conversation).size() + kObjectBytes * conversation.size();
    stored.conversation = std::make_shared<const Json>(std::move(conversation));
    shape_.store->put(std::move(stored));
    return body;
  }

  const ResponsesShape shape_;
  const std::string message_id_, reasoning_id_;
  std::string id_;
  Part open_ = Part::kNone;
  int index_ = -1;
  int64_t sequence_ = 0;
};

}  // namespace

std::unique_ptr<Shaper> responses_shaper(const ResponsesShape& shape) {
  return std::make_unique<ResponsesShaper>(shape);
}

}  // namespace anedvd
