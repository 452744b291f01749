#include "engine/generate.h"

#include <algorithm>
#include <chrono>

#include "base/words.h"
#include "engine/stop_matcher.h"
#include "text/utf8_stream.h"

namespace anedvd {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point a, Clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

Result<> check_request(const Runtime& runtime, const GenerateRequest& request) {
  if (request.prompt.empty()) return fail(ErrorCode::kUsage, "prompt: it is empty; give at least one token");
  const int room = runtime.info().max_seq;
  if (int(request.prompt.size()) > room)
    return fail(ErrorCode::kUsage, "prompt: {} tokens, the context holds {}; shorten it, or use a larger --max-seq",
                with_commas(int64_t(request.prompt.size())), with_commas(room));
  return check(request.sampling, runtime.spec().vocab);
}

// The text of one answer: bytes of tokens in, characters out, nothing past a stop string.
class Answer {
 public:
  Answer(const Tokenizer& tokenizer, std::span<const std::string> stops, const TextSink& sink)
      : tokenizer_(tokenizer), stops_(stops), sink_(sink) {}

  // Returns false when the answer ended: at a stop string, or because the sink said so.
  bool take(Token token, GenerateResult& result) {
    std::string bytes;
    tokenizer_.append_bytes(token, bytes);
    emit(stops_.push(characters_.push(bytes)), result);
    if (stops_.found()) result.finish = FinishReason::kStop;
    return !stops_.found() && !refused_;
  }

  void finish(GenerateResult& result) {
    if (stops_.found()) return;
    emit(stops_.push(characters_.finish()), result);
    if (stops_.found()) {
      result.finish = FinishReason::kStop;
      return;
    }
    emit(stops_.finish(), result);
  }

  bool refused() const { return refused_; }

 private:
  void emit(const std::string& text, GenerateResult& result) {
    if (text.empty() || refused_) return;
    result.text += text;
    if (sink_ && !sink_(text)) refused_ = true;
  }

  const Tokenizer& tokenizer_;
  Utf8Stream characters_;
  StopMatcher stops_;
  const TextSink& sink_;
  bool refused_ = false;
};

}  // namespace

Result<GenerateResult> generate(Runtime& runtime, Sequence& sequence, const GenerateRequest& request,
                                const TextSink& on_text) {
  ANEDVD_TRY_VOID(check_request(runtime, request));
  ANEDVD_TRY(const Tokenizer* tokenizer, runtime.tokenizer());
  GenerateResult result;
  Sampler sampler(request.sampling);
  result.seed = sampler.seed();
  sampler.accept_prompt(request.prompt);
  result.prompt_tokens = int(request.prompt.size());
  result.reused_tokens = sequence.size();
  ANEDVD_CHECK(sequence.size() < result.prompt_tokens, "a sequence of {} tokens for a prompt of {}", sequence.size(),
               result.prompt_tokens);
  const int room = runtime.info().max_seq - result.prompt_tokens;
  const int limit = request.max_tokens < 0 ? room : std::min(request.max_tokens, room);

  // An empty text asks the sink whether to go on: prefill can be long.
  bool stopped = false;
  const auto cancelled = [&] { return stopped = on_text && !on_text({}); };
  const auto start = Clock::now();
  auto logits = runtime.append(sequence, std::span(request.prompt).subspan(size_t(sequence.size())), cancelled);
  if (!logits) {
    if (logits.error().code != ErrorCode::kCancelled) return tl::unexpected(logits.error());
    result.finish = FinishReason::kCancelled;
    return result;
  }
  const auto prefilled = Clock::now();
  result.prefill_s = seconds_between(start, prefilled);
  Answer answer(*tokenizer, request.stop, on_text);
  while (int(result.ids.size()) < limit) {
    ANEDVD_TRY(const Token token, sampler.sample(*logits));
    if (tokenizer->is_end(token)) {
      result.finish = FinishReason::kStop;
      break;
    }
    sampler.accept(token);
    result.ids.push_back(token);
    if (!answer.take(token, result)) break;
    if (int(result.ids.size()) == limit) break;
    logits = runtime.append(sequence, {&token, 1});
    if (!logits) return tl::unexpected(logits.error());
  }
  answer.finish(result);
  if (answer.refused()) result.finish = FinishReason::kCancelled;
  result.decode_s = seconds_between(prefilled, Clock::now());
  return result;
}

Result<GenerateResult> generate(Engine& engine, GenerationRequest request, const TextSink& on_text,
                                const std::function<void(int)>& on_prefilled) {
  constexpr auto kPatience = std::chrono::milliseconds(50);
  ANEDVD_TRY(const auto ticket, engine.submit(std::move(request)));
  GenerateResult result;
  for (;;) {
    auto event = engine.manual() ? ticket->try_next() : ticket->next(kPatience);
    if (!event) {
      // An empty text asks whether to go on: prefill can be long.
      if (on_text && !on_text({})) ticket->cancel();
      if (engine.manual()) engine.step();
      continue;
    }
    if (const auto* started = std::get_if<Started>(&*event)) {
      if (on_prefilled) on_prefilled(started->reused_tokens);
    } else if (const auto* prefilled = std::get_if<Prefilled>(&*event)) {
      if (on_prefilled) on_prefilled(prefilled->done);
    } else if (auto* delta = std::get_if<TextDelta>(&*event)) {
      for (const TokenRecord& record : delta->tokens) result.ids.push_back(record.token);
      result.text += delta->text;
      if (on_text && !delta->text.empty() && !on_text(delta->text)) ticket->cancel();
    } else if (const auto* failed = std::get_if<Failed>(&*event)) {
      return tl::unexpected(failed->error);
    } else if (const auto* finished = std::get_if<Finished>(&*event)) {
      const Usage& usage = finished->usage;
      result.finish = finished->reason;
      result.prompt_tokens = usage.prompt_tokens;
      result.reused_tokens = usage.reused_tokens;
      result.prefill_s = usage.prefill_s;
      result.decode_s = usage.decode_s;
      result.drafted = usage.drafted;
      result.accepted = usage.accepted;
      result.seed = usage.seed;
      return result;
    }
  }
}

}  // namespace anedvd
