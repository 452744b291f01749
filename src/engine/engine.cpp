#include "engine/engine.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "base/machine/processor.h"
#include "base/words.h"
#include "engine/engine_core.h"

namespace anedvd {
namespace {

constexpr int kParallel = 32;

// A quarter of what is free, at least one full context and no more than `parallel` of them need.
uint64_t default_kv_memory(const Runtime& runtime, int parallel) {
  const auto page = uint64_t(runtime.layout().page_bytes());
  const uint64_t context = (uint64_t(runtime.info().max_seq) + kPageTokens - 1) / kPageTokens * page;
  const uint64_t share = available_memory() / 4;
  return std::max(context, std::min(share, context * uint64_t(parallel)));
}

// What wakes a sleeping engine. Tickets hold it, too: a client may cancel when there is no engine any more.
class Wakeup {
 public:
  void poke() {
    {
      const std::lock_guard lock(mutex_);
      poked_ = true;
    }
    arrived_.notify_one();
  }

  void wait() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return poked_; });
    poked_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  bool poked_ = false;
};

class ThreadedEngine : public Engine {
 public:
  ThreadedEngine(std::unique_ptr<Runtime> runtime, const Tokenizer& tokenizer, const EngineOptions& options,
                 std::unique_ptr<EngineCore> core)
      : runtime_(std::move(runtime)), tokenizer_(tokenizer), options_(options), core_(std::move(core)) {
    statistics_ = core_->statistics();
    if (!options_.manual) thread_ = std::thread([this] { serve(); });
  }

  ~ThreadedEngine() override {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    stopping_ = true;
    wakeup_->poke();
    if (thread_.joinable()) thread_.join();
    take_incoming();
    core_->cancel_all();
  }

  Result<std::vector<std::shared_ptr<Ticket>>> submit_all(std::vector<GenerationRequest> parts) override {
    for (const GenerationRequest& part : parts) ANEDVD_TRY_VOID(check_request(part));
    std::vector<std::shared_ptr<Ticket>> tickets;
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return fail(ErrorCode::kBusy, "the engine is closing; no new requests");
      // Who finds a free place does not wait: without a queue there is still room for `parallel` answers.
      const int held = held_->load();
      if (held >= options_.parallel + options_.queue) {
        ++rejected_;
        return fail(ErrorCode::kBusy, "{} requests are waiting already; try again later",
                    std::max(0, held - options_.parallel));
      }
      const auto place = std::make_shared<QueuePlace>(held_);
      for (GenerationRequest& part : parts) {
        tickets.push_back(std::make_shared<Ticket>(++last_id_, options_.unread_events));
        tickets.back()->attach([wakeup = wakeup_] { wakeup->poke(); });
        incoming_.push_back({std::move(part), tickets.back(), place});
      }
    }
    wakeup_->poke();
    return tickets;
  }

  void close() override {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }

  bool manual() const override { return options_.manual; }

  bool step() override {
    ANEDVD_CHECK(options_.manual, "step() of an engine that has its own thread");
    return turn();
  }

  EngineStatistics statistics() const override {
    const std::lock_guard lock(mutex_);
    EngineStatistics now = statistics_;
    now.waiting += int(incoming_.size());
    now.rejected = rejected_;
    return now;
  }

  const Runtime& runtime() const override { return *runtime_; }
  const Tokenizer& tokenizer() const override { return tokenizer_; }

 private:
  struct Incoming {
    GenerationRequest request;
    std::shared_ptr<Ticket> ticket;
    std::shared_ptr<QueuePlace> place;
  };

  Result<> check_request(const GenerationRequest& request) const {
    if (request.prompt.empty()) return fail(ErrorCode::kUsage, "prompt: it is empty; give at least one token");
    const int room = runtime_->info().max_seq;
    if (int64_t(request.prompt.size()) > room)
      return fail(ErrorCode::kUsage, "prompt: {} tokens, the context holds {}; shorten it, or use a larger --max-seq",
                  with_commas(int64_t(request.prompt.size())), with_commas(room));
    const int vocab = runtime_->spec().vocab;
    for (const Token token : request.prompt)
      if (token < 0 || token >= vocab)
        return fail(ErrorCode::kUsage, "token id {}: the vocabulary has {} entries", token, with_commas(vocab));
    return check(request.sampling, vocab);
  }

  void take_incoming() {
    std::vector<Incoming> incoming;
    {
      const std::lock_guard lock(mutex_);
      incoming.swap(incoming_);
      // Until the core tells, they count as waiting.
      statistics_.waiting += int(incoming.size());
    }
    for (Incoming& one : incoming) core_->add(std::move(one.request), std::move(one.ticket), std::move(one.place));
  }

  bool turn() {
    take_incoming();
    const bool worked = core_->step();
    const EngineStatistics now = core_->statistics();
    {
      const std::lock_guard lock(mutex_);
      statistics_ = now;
    }
    core_->announce();
    return worked;
  }

  void serve() {
    while (!stopping_)
      if (!turn() && !stopping_) wakeup_->wait();
  }

  const std::unique_ptr<Runtime> runtime_;
  const Tokenizer& tokenizer_;
  const EngineOptions options_;
  const std::unique_ptr<EngineCore> core_;  // the engine's thread only, once that runs

  mutable std::mutex mutex_;  // what follows
  std::vector<Incoming> incoming_;
  EngineStatistics statistics_;
  uint64_t last_id_ = 0, rejected_ = 0;
  bool closed_ = false;

  const std::shared_ptr<std::atomic<int>> held_ =
      std::make_shared<std::atomic<int>>(0);  // places in the queue and beyond it
  const std::shared_ptr<Wakeup> wakeup_ = std::make_shared<Wakeup>();
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace

Result<std::shared_ptr<Ticket>> Engine::submit(GenerationRequest request) {
  std::vector<GenerationRequest> alone;
  alone.push_back(std::move(request));
  ANEDVD_TRY(const auto tickets, submit_all(std::move(alone)));
  return tickets.front();
}

Result<std::unique_ptr<Engine>> Engine::start(std::unique_ptr<Runtime> runtime, const EngineOptions& options) {
  ANEDVD_TRY(const Tokenizer* tokenizer, runtime->tokenizer());
  EngineOptions own = options;
  if (own.parallel <= 0) own.parallel = kParallel;
  if (own.kv_memory == 0) own.kv_memory = default_kv_memory(*runtime, own.parallel);
  const auto page = uint64_t(runtime->layout().page_bytes());
  if (page > 0 && own.kv_memory < 2 * page)
    return fail(ErrorCode::kUsage, "--kv-memory: {} hold not even two pages of {}; use a larger one",
                size_words(own.kv_memory), size_words(page));
  // Refused beforehand rather than killed by the system later.
  if (const uint64_t free = available_memory(); free > 0 && own.kv_memory > free)
    return fail(ErrorCode::kNoMemory,
                "--kv-memory: the cache would take {} ({} for each context of {} tokens), free are {}; use {}",
                size_words(own.kv_memory),
                size_words(uint64_t(runtime->info().max_seq) * runtime->info().kv_token_bytes),
                with_commas(runtime->info().max_seq), size_words(free),
                options.kv_memory > 0 ? "a smaller one" : "a smaller --max-seq");
  ANEDVD_TRY(auto core, EngineCore::make(*runtime, *tokenizer, own));
  return std::make_unique<ThreadedEngine>(std::move(runtime), *tokenizer, own, std::move(core));
}

}  // namespace anedvd
