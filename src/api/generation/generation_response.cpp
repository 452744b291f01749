#include <algorithm>

#include <nlohmann/json.hpp>

#include "api/generation/generation.h"

namespace anedvd {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kBytesAtOnce = 64 << 10;  // the next events wait until these are written
constexpr auto kStartPatience =
    std::chrono::milliseconds(800);  // of shapers that wait: the first bytes leave within a second

class GenerationResponse : public Response {
 public:
  GenerationResponse(Generation generation, std::unique_ptr<Shaper> shaper, bool is_stream, std::string request_id)
      : generation_(std::move(generation)),
        shaper_(std::move(shaper)),
        is_stream_(is_stream),
        request_id_(std::move(request_id)) {
    shaper_->attached(generation_);
  }

  ~GenerationResponse() override {
    for (Choice& choice : generation_.choices) {
      choice.ticket->on_event({});
      if (!choice.is_done) choice.ticket->cancel();
    }
  }

  void on_ready(std::function<void()> wake) override {
    for (Choice& choice : generation_.choices) choice.ticket->on_event(wake);
  }

  void advance(Outgoing& out) override {
    std::string body;
    if (is_cut_) {
      fail(from_engine({ErrorCode::kCancelled, {}}), body);
    } else {
      if (is_stream_ && !has_begun_ && !shaper_->waits_for_start()) begin(body);
      take_events(body);
    }
    if (error_ && !has_begun_) return answer_error(out);
    if (!error_ && is_done()) {
      if (is_stream_) {
        begin(body);
        shaper_->end(generation_, body);
      } else {
        body = shaper_->whole(generation_);
      }
    }
    out.done = error_.has_value() || is_done();
    if (is_stream_ && !has_begun_) wait_for_start(out, body);
    if (is_stream_ ? has_begun_ && !std::exchange(head_sent_, true) : out.done) out.head = head();
    out.bytes = std::move(body);
  }

  std::string ping() override { return shaper_->ping(); }

  void shut_down() override { is_cut_ = true; }

  RequestRecord record() const override {
    const UsageTotals usage = generation_.usage();
    RequestRecord record;
    record.kind = generation_.kind;
    record.model = generation_.model->id();
    record.prompt = usage.prompt;
    record.reused = usage.reused;
    record.dropped = usage.dropped;
    record.generated = usage.completion;
    record.first_token_s = generation_.first_token_s;
    record.decode_s = usage.decode_s;
    // Of one that was cut nobody told how long it took, and several may have been written one after the other.
    if ((!is_done() || generation_.choices.size() > 1) && record.first_token_s >= 0)
      record.decode_s = std::chrono::duration<double>(Clock::now() - generation_.start).count() - record.first_token_s;
    record.finish = error_ || !is_done() ? "" : finish_reason_name(generation_.choices.front().reason);
    if (error_) record.note = error_->code.empty() ? error_->type : error_->code;
    return record;
  }

 private:
  bool is_done() const {
    return std::all_of(generation_.choices.begin(), generation_.choices.end(),
                       [](const Choice& choice) { return choice.is_done; });
  }

  Head head() const {
    if (!is_stream_) return {200, {{"Content-Type", "application/json"}}, false};
    return {200,
            {{"Content-Type", "text/event-stream; charset=utf-8"},
             {"Cache-Control", "no-cache, no-transform"},
             {"X-Accel-Buffering", "no"}},
            true};
  }

  void begin(std::string& out) {
    if (!std::exchange(has_begun_, true)) shaper_->begin(generation_, out);
  }

  void wait_for_start(Outgoing& out, std::string& body) {
    const auto waited = Clock::now() - generation_.start;
    if (waited >= kStartPatience) return begin(body);
    out.again_after = std::chrono::ceil<std::chrono::milliseconds>(kStartPatience - waited);
  }

  void answer_error(Outgoing& out) {
    Answer answer = error_answer(*error_, shaper_->dialect(), request_id_);
    out.head = Head{answer.status, std::move(answer.headers), false};
    out.bytes = std::move(answer.body);
    out.done = true;
  }

  void fail(ApiError error, std::string& out) {
    if (error_) return;
    error_ = std::move(error);
    if (has_begun_) shaper_->failed(generation_, *error_, out);
  }

  // A little of every choice in turn, so that they interleave.
  void take_events(std::string& out) {
    bool has_more = true;
    while (has_more && out.size() < kBytesAtOnce && !error_) {
      has_more = false;
      for (size_t i = 0; i < generation_.choices.size() && !error_; ++i) {
        if (generation_.choices[i].is_done) continue;
        std::optional<Event> event = generation_.choices[i].ticket->try_next();
        if (!event) continue;
        has_more = true;
        std::visit([&](auto& what) { take(int(i), what, out); }, *event);
      }
    }
  }

  void take(int index, Started& started, std::string& out) {
    Choice& choice = generation_.choices[size_t(index)];
    choice.has_started = true;
    choice.started_prompt = started.prompt_tokens;
    choice.started_reused = started.reused_tokens;
    const bool all = std::all_of(generation_.choices.begin(), generation_.choices.end(),
                                 [](const Choice& c) { return c.has_started; });
    if (is_stream_ && all) begin(out);
  }

  void take(int index, Prefilled& prefilled, std::string& out) {
    if (is_stream_ && has_begun_) shaper_->progress(generation_, index, prefilled.done, prefilled.total, out);
  }

  void take(int index, PromptScored& scored, std::string& out) {
    generation_.choices[size_t(index)].prompt_tokens = std::move(scored.tokens);
    if (!is_stream_) return;
    begin(out);
    shaper_->prompt_scored(generation_, index, out);
  }

  void take(int index, TextDelta& delta, std::string& out) {
    if (generation_.first_token_s < 0)
      generation_.first_token_s = std::chrono::duration<double>(Clock::now() - generation_.start).count();
    Choice& choice = generation_.choices[size_t(index)];
    choice.seen_tokens += int(delta.tokens.size());
    give(index, choice.splitter.push(delta.text), std::move(delta.tokens), out);
  }

  void take(int, Embedded&, std::string&) {}

  void take(int index, Finished& finished, std::string& out) {
    Choice& choice = generation_.choices[size_t(index)];
    give(index, choice.splitter.finish(), {}, out);
    choice.is_done = true;
    choice.has_started = true;
    choice.reason = finished.reason;
    const auto& starts = generation_.turn_starts;
    if (std::find(starts.begin(), starts.end(), finished.stop) == starts.end()) choice.stop = std::move(finished.stop);
    choice.usage = finished.usage;
    if (!is_stream_) return;
    begin(out);
    shaper_->choice_done(generation_, index, out);
  }

  void take(int index, Failed& failed, std::string& out) {
    Choice& choice = generation_.choices[size_t(index)];
    choice.usage.completion_tokens = choice.seen_tokens;
    choice.is_done = true;
    fail(from_engine(failed.error), out);
  }

  void give(int index, ReasoningSplitter::Parts parts, std::vector<TokenRecord> tokens, std::string& out) {
    Choice& choice = generation_.choices[size_t(index)];
    Piece piece{std::move(parts.text), std::move(parts.reasoning), {}};
    // Tokens belong to the part that their text ends in.
    const bool is_thinking = piece.text.empty() && choice.splitter.is_thinking();
    if (is_thinking) choice.reasoning_tokens += int(tokens.size());
    if (!is_thinking && generation_.with_logprobs) piece.tokens = std::move(tokens);
    if (piece.text.empty() && piece.reasoning.empty() && piece.tokens.empty()) return;
    choice.text += piece.text;
    choice.reasoning += piece.reasoning;
    choice.tokens.insert(choice.tokens.end(), piece.tokens.begin(), piece.tokens.end());
    if (!is_stream_) return;
    begin(out);
    shaper_->piece(generation_, index, piece, out);
  }

  Generation generation_;
  std::unique_ptr<Shaper> shaper_;
  const bool is_stream_;
  const std::string request_id_;
  bool has_begun_ = false, head_sent_ = false, is_cut_ = false;
  std::optional<ApiError> error_;
};

}  // namespace

UsageTotals Generation::usage() const {
  UsageTotals totals;
  totals.dropped = dropped;
  for (const int size : prompt_sizes) totals.prompt += size;
  std::vector<bool> is_counted(prompt_sizes.size(), false);
  for (const Choice& choice : choices) {
    const int reused = choice.is_done ? choice.usage.reused_tokens : choice.started_reused;
    if (size_t(choice.prompt) < is_counted.size() && !is_counted[size_t(choice.prompt)]) {
      is_counted[size_t(choice.prompt)] = true;
      totals.reused += reused;
    }
    totals.completion += choice.is_done ? choice.usage.completion_tokens : choice.seen_tokens;
    totals.reasoning += choice.reasoning_tokens;
    totals.drafted += choice.usage.drafted;
    totals.accepted += choice.usage.accepted;
    totals.queue_s = std::max(totals.queue_s, choice.usage.queue_s);
    totals.prefill_s = std::max(totals.prefill_s, choice.usage.prefill_s);
    totals.decode_s = std::max(totals.decode_s, choice.usage.decode_s);
  }
  return totals;
}

bool Generation::filled_context(const Choice& choice) const {
  return choice.reason == FinishReason::kLength && (max_tokens < 0 || choice.usage.completion_tokens < max_tokens);
}

void append_event(std::string& out, std::string_view name, std::string_view json) {
  if (!name.empty()) {
    out += "event: ";
    out += name;
    out += '\n';
  }
  out += "data: ";
  out += json;
  out += "\n\n";
}

std::unique_ptr<Response> generation_response(Generation generation, std::unique_ptr<Shaper> shaper, bool is_stream,
                                              std::string request_id) {
  return std::make_unique<GenerationResponse>(std::move(generation), std::move(shaper), is_stream,
                                              std::move(request_id));
}

}  // namespace anedvd
