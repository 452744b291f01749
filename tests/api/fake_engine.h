// An engine whose answers a test writes: the tiny model's tokenizer and sizes, no computing.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace anedvd {

class FakeEngine : public Engine {
 public:
  using Script = std::function<void(const GenerationRequest&, Ticket&)>;

  FakeEngine(std::unique_ptr<Runtime> runtime, Script script)
      : runtime_(std::move(runtime)), script_(std::move(script)) {
    tokenizer_ = *runtime_->tokenizer();
  }

  Result<std::vector<std::shared_ptr<Ticket>>> submit_all(std::vector<GenerationRequest> parts) override {
    if (is_full) return fail(ErrorCode::kBusy, "queue: full");
    std::vector<std::shared_ptr<Ticket>> made;
    for (GenerationRequest& part : parts) {
      made.push_back(std::make_shared<Ticket>(++last_id_, 256));
      script_(part, *made.back());
      const std::lock_guard lock(mutex_);
      requests_.push_back(std::move(part));
      tickets_.push_back(made.back());
    }
    return made;
  }

  void close() override {}
  bool manual() const { return false; }
  bool step() override { return false; }
  EngineStatistics statistics() const override { return {}; }
  const Runtime& runtime() const override { return *runtime_; }
  const Tokenizer& tokenizer() const override { return *tokenizer_; }

  // What was submitted, in order.
  std::vector<GenerationRequest> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  std::vector<std::shared_ptr<Ticket>> tickets() const {
    const std::lock_guard lock(mutex_);
    return tickets_;
  }

  bool is_full = false;

 private:
  std::unique_ptr<Runtime> runtime_;
  const Tokenizer* tokenizer_ = nullptr;
  Script script_;
  uint64_t last_id_ = 0;
  mutable std::mutex mutex_;
  std::vector<GenerationRequest> requests_;
  std::vector<std::shared_ptr<Ticket>> tickets_;
};

// Answers with these pieces of text, a token each, and the reason; `reused` of the prompt's tokens count as cached.
struct Answering {
  std::vector<std::string> pieces = {"Hello", " there", "."};
  FinishReason reason = FinishReason::kStop;
  std::string stop = {};
  int reused = 0;

  void operator()(const GenerationRequest& request, Ticket& ticket) const {
    const int prompt = int(request.prompt.size());
    ticket.post(Started{prompt, reused});
    ticket.post(Prefilled{prompt, prompt});
    const auto record = [&](Token token) {
      TokenRecord made{token, -0.5f, {}};
      for (int i = 0; i < request.top_logprobs; ++i) made.top.push_back({token + i, -0.5f - float(i)});
      return made;
    };
    if (request.kind == RequestKind::kEmbedding) {
      ticket.post(Embedded{{3, 4, 0, 0}});
    } else {
      if (request.prompt_logprobs >= 0) {
        PromptScored scored;
        for (const Token token : request.prompt) scored.tokens.push_back(record(token));
        ticket.post(std::move(scored));
      }
      Token token = 40;
      if (request.max_tokens != 0)
        for (const std::string& piece : pieces) ticket.post(TextDelta{piece, {record(token++)}});
    }
    Finished finished;
    finished.reason = request.max_tokens == 0 ? FinishReason::kLength : reason;
    finished.stop = stop;
    finished.usage.prompt_tokens = prompt;
    finished.usage.reused_tokens = reused;
    finished.usage.completion_tokens = request.max_tokens == 0 ? 0 : int(pieces.size());
    finished.usage.prefill_s = 0.5;
    finished.usage.decode_s = 0.25;
    ticket.post(std::move(finished));
  }
};

}  // namespace anedvd
