#include <nlohmann/json.hpp>

#include "api/anthropic/messages.h"
#include "api/fields.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

class MessagesShaper : public Shaper {
 public:
  MessagesShaper(std::string model, std::string request_id)
      : model_(std::move(model)), request_id_(std::move(request_id)) {}

  ApiDialect dialect() const override { return ApiDialect::kAnthropic; }
  bool waits_for_start() const override { return true; }  // message_start tells what was cached

  std::string whole(const Generation& generation) override {
    const Choice& choice = generation.choices.front();
    Json content = Json::array();
    if (!choice.reasoning.empty())
      content.push_back({{"type", "thinking"}, {"thinking", choice.reasoning}, {"signature", ""}});
    if (!choice.text.empty() || content.empty())
      content.push_back({{"type", "text"}, {"text", choice.text}, {"citations", nullptr}});
    Json message = base(generation, std::move(content));
    message["stop_reason"] = stop_reason(generation, choice);
    message["stop_sequence"] = choice.stop.empty() ? Json() : Json(choice.stop);
    message["usage"] = usage(generation, generation.usage().completion);
    if (generation.trace) message["anedvd_trace"] = *generation.trace;
    return json_text(message);
  }

  void begin(const Generation& generation, std::string& out) override {
    Json message = base(generation, Json::array());
    message["stop_reason"] = nullptr;
    message["stop_sequence"] = nullptr;
    message["usage"] = usage(generation, 0);
    append(out, {{"type", "message_start"}, {"message", std::move(message)}});
    append(out, {{"type", "ping"}});
  }

  void piece(const Generation&, int, const Piece& piece, std::string& out) override {
    if (!piece.reasoning.empty()) {
      open(Block::kThinking, out);
      delta({{"type", "thinking_delta"}, {"thinking", piece.reasoning}}, out);
    }
    if (!piece.text.empty()) {
      open(Block::kText, out);
      delta({{"type", "text_delta"}, {"text", piece.text}}, out);
    }
  }

  void choice_done(const Generation&, int, std::string& out) override {
    if (index_ < 0) open(Block::kText, out);  // an empty answer is an empty text
    close(out);
  }

  void end(const Generation& generation, std::string& out) override {
    const Choice& choice = generation.choices.front();
    Json message = {{"type", "message_delta"},
                    {"delta",
                     {{"stop_reason", stop_reason(generation, choice)},
                      {"stop_sequence", choice.stop.empty() ? Json() : Json(choice.stop)}}},
                    {"usage", usage(generation, generation.usage().completion)}};
    if (generation.trace) message["anedvd_trace"] = *generation.trace;
    append(out, message);
    append(out, {{"type", "message_stop"}});
  }

  void failed(const Generation&, const ApiError& error, std::string& out) override {
    append_event(out, "error", error_json(error, ApiDialect::kAnthropic, request_id_));
  }

  std::string ping() const override { return "event: ping\ndata: {\"type\":\"ping\"}\n\n"; }

 private:
  enum class Block { kNone, kText, kThinking };

  static void append(std::string& out, const Json& event) {
    append_event(out, event["type"].get<std::string>(), json_text(event));
  }

  // Blocks never overlap: another kind ends the one before.
  void open(Block block, std::string& out) {
    if (open_ == block) return;
    close(out);
    open_ = block;
    ++index_;
    const Json content = block == Block::kText ? Json{{"type", "text"}, {"text", ""}}
                                               : Json{{"type", "thinking"}, {"thinking", ""}, {"signature", ""}};
    append(out, {{"type", "content_block_start"}, {"index", index_}, {"content_block", content}});
  }

  void close(std::string& out) {
    if (open_ == Block::kNone) return;
    if (open_ == Block::kThinking) delta({{"type", "signature_delta"}, {"signature", ""}}, out);
    append(out, {{"type", "content_block_stop"}, {"index", index_}});
    open_ = Block::kNone;
  }

  void delta(Json what, std::string& out) {
    append(out, {{"type", "content_block_delta"}, {"index", index_}, {"delta", std::move(what)}});
  }

  Json base(const Generation& generation, Json content) const {
    return {{"id", generation.id},
            {"type", "message"},
            {"role", "assistant"},
            {"model", model_.empty() ? generation.model->id() : model_},
            {"content", std::move(content)}};
  }

  static std::string_view stop_reason(const Generation& generation, const Choice& choice) {
    if (!choice.stop.empty()) return "stop_sequence";
    if (choice.reason != FinishReason::kLength) return "end_turn";
    return generation.filled_context(choice) ? "model_context_window_exceeded" : "max_tokens";
  }

  // Anthropic counts cached tokens apart from the others.
  static Json usage(const Generation& generation, int output) {
    const UsageTotals totals = generation.usage();
    return {{"input_tokens", totals.prompt - totals.reused},
            {"cache_creation_input_tokens", 0},
            {"cache_read_input_tokens", totals.reused},
            {"output_tokens", output},
            {"output_tokens_details", {{"thinking_tokens", totals.reasoning}}},
            {"service_tier", "standard"},
            {"prompt_tokens_dropped", totals.dropped}};
  }

  const std::string model_, request_id_;
  Block open_ = Block::kNone;
  int index_ = -1;
};

}  // namespace

std::unique_ptr<Shaper> messages_shaper(std::string model, std::string request_id) {
  return std::make_unique<MessagesShaper>(std::move(model), std::move(request_id));
}

}  // namespace anedvd
