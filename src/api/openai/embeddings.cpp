#include "api/openai/embeddings.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <nlohmann/json.hpp>

#include "api/fields.h"
#include "api/generation/chat_prompt.h"
#include "api/openai/completions.h"
#include "base/base64.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxInputs = 2048;

// To length 1; a vector of zeros stays.
void normalise(std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += double(value) * double(value);
  if (sum <= 0) return;
  const double factor = 1 / std::sqrt(sum);
  for (float& value : values) value = float(double(value) * factor);
}

ApiError fault_of(const Error& error) {
  if (error.code != ErrorCode::kUnsupported) return from_engine(error);
  return {.status = 501,
          .type = "not_supported_error",
          .code = "not_supported",
          .message = "The model gives no embeddings on this device."};
}

class EmbeddingsResponse : public Response {
 public:
  EmbeddingsResponse(std::shared_ptr<ServedModel> model, EmbeddingsJob job, std::string request_id)
      : model_(std::move(model)), job_(std::move(job)), request_id_(std::move(request_id)) {}

  ~EmbeddingsResponse() override {
    for (const auto& ticket : tickets_) {
      ticket->on_event({});
      ticket->cancel();
    }
  }

  void add(std::shared_ptr<Ticket> ticket) {
    tickets_.push_back(std::move(ticket));
    vectors_.emplace_back();
    is_done_.push_back(false);
  }

  void on_ready(std::function<void()> wake) override {
    for (const auto& ticket : tickets_) ticket->on_event(wake);
  }

  void advance(Outgoing& out) override {
    for (size_t i = 0; i < tickets_.size(); ++i)
      while (auto event = is_done_[i] ? std::nullopt : tickets_[i]->try_next()) take(i, *event);
    if (is_cut_) error_ = from_engine({ErrorCode::kCancelled, {}});
    if (!error_ && !std::all_of(is_done_.begin(), is_done_.end(), [](bool done) { return done; })) return;
    Answer answer = error_ ? error_answer(*error_, ApiDialect::kOpenAi, request_id_)
                           : Answer{200, {{"Content-Type", "application/json"}}, body()};
    out.head = Head{answer.status, std::move(answer.headers), false};
    out.bytes = std::move(answer.body);
    out.done = true;
  }

  void shut_down() override { is_cut_ = true; }

  RequestRecord record() const override {
    RequestRecord record;
    record.kind = "embed";
    record.model = model_->id();
    record.prompt = prompt_tokens_;
    record.finish = "done";
    if (error_) record.note = error_->code.empty() ? error_->type : error_->code;
    return record;
  }

 private:
  void take(size_t index, Event& event) {
    if (auto* embedded = std::get_if<Embedded>(&event)) vectors_[index] = std::move(embedded->values);
    if (auto* failed = std::get_if<Failed>(&event)) error_ = fault_of(failed->error);
    if (auto* finished = std::get_if<Finished>(&event)) prompt_tokens_ += finished->usage.prompt_tokens;
    if (is_last(event)) is_done_[index] = true;
  }

  std::string body() {
    Json data = Json::array();
    for (size_t i = 0; i < vectors_.size(); ++i) {
      std::vector<float>& values = vectors_[i];
      if (job_.dimensions > 0) values.resize(size_t(job_.dimensions));
      normalise(values);
      data.push_back({{"object", "embedding"},
                      {"index", i},
                      {"embedding", job_.as_base64 ? Json(base64_of(values)) : Json(values)}});
    }
    return json_text({{"object", "list"},
                      {"data", std::move(data)},
                      {"model", model_->id()},
                      {"usage", {{"prompt_tokens", prompt_tokens_}, {"total_tokens", prompt_tokens_}}}});
  }

  std::shared_ptr<ServedModel> model_;
  const EmbeddingsJob job_;
  const std::string request_id_;
  std::vector<std::shared_ptr<Ticket>> tickets_;
  std::vector<std::vector<float>> vectors_;
  std::vector<bool> is_done_;
  std::optional<ApiError> error_;
  int prompt_tokens_ = 0;
  bool is_cut_ = false;
};

}  // namespace

std::string base64_of(const std::vector<float>& values) {
  std::string bytes;
  for (const float value : values) {
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    for (int shift = 0; shift < 32; shift += 8) bytes += char(bits >> shift & 0xff);
  }
  return base64_of(bytes);
}

ApiResult<EmbeddingsJob> read_embeddings_request(const Json& body) {
  const Fields fields(body);
  EmbeddingsJob job;
  ANEDVD_TRY(const auto model, fields.text("model"));
  job.model = model.value_or("");
  const Json* input = fields.find("input");
  if (!input) return missing("input");
  ANEDVD_TRY(job.inputs, read_raw_prompts(*input, "input", kMaxInputs));
  for (const RawPrompt& prompt : job.inputs)
    if (!prompt.is_ids && prompt.text.empty()) return bad_value("input", "a text is empty");
  ANEDVD_TRY(const auto format, fields.text("encoding_format"));
  if (format && *format != "float" && *format != "base64")
    return bad_value("encoding_format", "float or base64 is expected");
  job.as_base64 = format == "base64";
  ANEDVD_TRY(const auto dimensions, fields.integer("dimensions", 1, 1 << 20));
  job.dimensions = int(dimensions.value_or(0));
  return job;
}

ApiResult<std::unique_ptr<Response>> start_embeddings(std::shared_ptr<ServedModel> model, const EmbeddingsJob& job,
                                                      bool no_queue, std::string request_id) {
  const ModelSpec& spec = model->engine().runtime().spec();
  if (job.dimensions > spec.hidden) return bad_value("dimensions", fmt::format("the model gives {}", spec.hidden));
  std::vector<std::vector<Token>> prompts;
  for (const RawPrompt& input : job.inputs) {
    std::vector<Token> ids = input.is_ids ? input.ids : encode_raw(model->tokenizer(), input.text);
    for (const Token id : ids)
      if (id < 0 || id >= spec.vocab)
        return bad_value("input", fmt::format("{} is no token of the model; it has {}", id, spec.vocab));
    if (ids.empty()) return bad_value("input", "a text has no token");
    ANEDVD_TRY_VOID(check_fits(*model, ids.size(), 0, "input"));
    prompts.push_back(std::move(ids));
  }
  std::vector<GenerationRequest> parts;
  for (std::vector<Token>& prompt : prompts) {
    GenerationRequest request;
    request.kind = RequestKind::kEmbedding;
    request.prompt = std::move(prompt);
    request.sampling.temperature = 0;
    request.priority = Priority::kBackground;
    parts.push_back(std::move(request));
  }
  auto tickets = model->engine().submit_all(std::move(parts));
  if (!tickets) return refuse(refused_by_engine(tickets.error(), no_queue));
  auto response = std::make_unique<EmbeddingsResponse>(model, job, std::move(request_id));
  for (auto& ticket : *tickets) response->add(std::move(ticket));
  return std::unique_ptr<Response>(std::move(response));
}

}  // namespace anedvd
