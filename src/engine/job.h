// A request under way. Internal to the engine.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "engine/answer_text.h"
#include "engine/draft.h"
#include "engine/request.h"
#include "engine/ticket.h"
#include "kv/sequence_cache.h"

namespace anedvd {

using EngineClock = std::chrono::steady_clock;

enum class JobState {
  kWaiting,  // for a place; may have had one before
  kRunning,
  kParked,  // its place was taken by a more urgent one; keeps its cache
  kEnded,   // its last event was posted; it goes before the next step
};

// A request's place in the queue and among the answers: taken as long as one of its parts is there.
class QueuePlace {
 public:
  explicit QueuePlace(std::shared_ptr<std::atomic<int>> held) : held_(std::move(held)) { ++*held_; }
  ~QueuePlace() { --*held_; }
  QueuePlace(const QueuePlace&) = delete;
  QueuePlace& operator=(const QueuePlace&) = delete;

 private:
  const std::shared_ptr<std::atomic<int>> held_;
};

struct Job {
  Job(GenerationRequest wanted, std::shared_ptr<Ticket> channel, const Tokenizer& tokenizer, PagePool& pool)
      : request(std::move(wanted)),
        ticket(std::move(channel)),
        tokens(request.prompt),
        cache(pool),
        sampler(request.sampling),
        answer(tokenizer, request.stop, request.emit_control,
               request.strip_first_space || (request.from_template && tokenizer.drops_first_space())) {
    sampler.accept_prompt(request.prompt);
    usage.prompt_tokens = int(request.prompt.size());
    usage.seed = sampler.seed();
  }

  uint64_t id() const { return ticket->id(); }
  int left() const { return int(tokens.size()) - fed; }      // tokens that are not in the cache
  bool streams() const { return answering && left() == 1; }  // a preempted one reads its own answer again first
  bool more_urgent_than(const Job& other) const {
    if (request.priority != other.request.priority) return request.priority == Priority::kInteractive;
    return id() < other.id();
  }

  // Whether it may begin with pages that others computed: those have no logits and no hidden states.
  bool takes_prefix() const {
    return request.reuse && request.prompt_logprobs < 0 && request.kind == RequestKind::kGenerate;
  }

  const GenerationRequest request;
  const std::shared_ptr<Ticket> ticket;
  std::shared_ptr<QueuePlace> place;
  std::vector<Token> tokens;  // the prompt, then the answer
  int limit = 0;              // tokens it may have at most, prompt included
  SequenceCache cache;
  int fed = 0;  // tokens whose keys and values are in the cache
  Sampler sampler;
  AnswerText answer;
  JobState state = JobState::kWaiting;
  bool answering = false;  // the first logits were there

  // Another sequence reads the same prompt just now: this one waits until that has come to `shared_tokens`, then takes its pages.
  uint64_t leader = 0;  // 0: none
  int shared_tokens = 0;

  PromptLookup lookup;
  DraftLength draft_length;
  std::vector<Token> drafts;  // for this step

  std::vector<TokenRecord> prompt_records;
  std::vector<double> hidden_sum;  // of an embedding request
  Usage usage;
  bool started = false;
  EngineClock::time_point submitted = EngineClock::now(), first_step, first_logits, last_token;
};

}  // namespace anedvd
