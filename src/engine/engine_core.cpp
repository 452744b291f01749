#include "engine/engine_core.h"

#include <algorithm>
#include <limits>

#include "engine/cache_identity.h"
#include "engine/logprobs.h"

namespace anedvd {
namespace {

double seconds_between(EngineClock::time_point from, EngineClock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

std::string_view finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop: return "stop";
    case FinishReason::kLength: return "length";
    case FinishReason::kCancelled: return "cancelled";
  }
  return "";
}

EngineCore::EngineCore(Runtime& runtime, const Tokenizer& tokenizer, const EngineOptions& options)
    : runtime_(runtime),
      tokenizer_(tokenizer),
      options_(options),
      pool_(runtime.layout().page_bytes(),
            int64_t(options.kv_memory) / std::max<int64_t>(runtime.layout().page_bytes(), 1)),
      scheduler_(runtime.executable().max_columns()) {
  for (Token token = 0; token < runtime.spec().vocab; ++token)
    if (tokenizer.is_end(token)) end_tokens_.push_back(token);
}

Result<std::unique_ptr<EngineCore>> EngineCore::make(Runtime& runtime, const Tokenizer& tokenizer,
                                                     const EngineOptions& options) {
  std::unique_ptr<EngineCore> core(new EngineCore(runtime, tokenizer, options));
  if (options.draft) {
    ANEDVD_TRY(core->draft_, DraftModel::make(options.draft, runtime));
  }
  if (options.kv_disk > 0) {
    ANEDVD_TRY(core->store_, PrefixStore::open(options.kv_folder, options.kv_disk, cache_identity(runtime),
                                               runtime.layout().page_bytes()));
  }
  return core;
}

void EngineCore::add(GenerationRequest request, std::shared_ptr<Ticket> ticket, std::shared_ptr<QueuePlace> place) {
  auto job = std::make_unique<Job>(std::move(request), std::move(ticket), tokenizer_, pool_);
  job->place = std::move(place);
  const int room = runtime_.info().max_seq - job->usage.prompt_tokens;
  const int wanted = job->request.max_tokens;
  job->limit = job->usage.prompt_tokens + (wanted < 0 ? room : std::min(wanted, room));
  const auto at =
      std::find_if(jobs_.begin(), jobs_.end(), [&](const auto& other) { return job->more_urgent_than(*other); });
  jobs_.insert(at, std::move(job));
}

bool EngineCore::step() {
  drop_cancelled();
  admit();
  follow_leaders();
  const std::vector<Demand> wanted = demands();
  if (wanted.empty()) return false;
  std::vector<Part> parts;
  for (const Share& share : scheduler_.next(wanted, cost_)) {
    Job& job = *find(share.id);
    const auto begin = job.tokens.begin() + job.fed;
    Part part{&job, {begin, begin + share.tokens}, share.drafts, 0};
    part.tokens.insert(part.tokens.end(), job.drafts.begin(), job.drafts.begin() + share.drafts);
    parts.push_back(std::move(part));
  }
  reserve(parts);
  if (!parts.empty()) run(parts);
  forget_ended();
  return true;
}

void EngineCore::run(std::vector<Part>& parts) {
  std::vector<Slice> slices;
  StepShape shape;
  int rows = 0;
  const auto start = EngineClock::now();
  for (Part& part : parts) {
    Job& job = *part.job;
    if (!job.started) {
      job.started = true;
      job.first_step = start;
      job.usage.queue_s = seconds_between(job.submitted, start);
      job.usage.reused_tokens = job.fed;
      job.ticket->post(Started{job.usage.prompt_tokens, job.fed});
    }
    const int columns = int(part.tokens.size());
    const bool reaches_end = job.fed + columns - part.drafts == int(job.tokens.size());
    Slice slice;
    slice.kv.pages = job.cache.pages();
    slice.first_position = job.fed;
    slice.tokens = part.tokens;
    slice.want_all_logits = part.drafts > 0 || job.request.kind == RequestKind::kEmbedding ||
                            (job.request.prompt_logprobs >= 0 && !job.answering);
    slice.want_last_logits = reaches_end;
    part.first_row = rows;
    rows += slice.want_all_logits ? columns : reaches_end ? 1 : 0;
    slices.push_back(slice);
    shape.columns += columns;
    shape.cache_entries += int64_t(columns) * job.fed + int64_t(columns) * (columns + 1) / 2;
  }
  const auto done = runtime_.executable().run(slices);
  ++statistics_.steps;
  statistics_.columns += uint64_t(shape.columns);
  if (!done) {
    for (Part& part : parts) fail(*part.job, done.error());
    return;
  }
  cost_.observe(shape, seconds_between(start, EngineClock::now()));
  for (Part& part : parts) advance(part);
}

// The part's columns are in the cache: what follows from them.
void EngineCore::advance(Part& part) {
  Job& job = *part.job;
  const int begin = job.fed;
  const int columns = int(part.tokens.size()) - part.drafts;
  job.fed += columns;
  if (!job.answering) {
    if (job.request.prompt_logprobs >= 0) score_prompt(part, begin);
    if (job.request.kind == RequestKind::kEmbedding) {
      for (int i = 0; i < columns; ++i) {
        const auto hidden = runtime_.executable().hidden(part.first_row + i);
        if (hidden.empty())
          return fail(
              job, {ErrorCode::kUnsupported, "embeddings: this device does not give hidden states; use --device cpu"});
        job.hidden_sum.resize(hidden.size());
        for (size_t d = 0; d < hidden.size(); ++d) job.hidden_sum[d] += double(hidden[d]);
      }
    }
  }
  // What was read can be taken by others at once, page by page.
  const bool reads = job.left() > 0 || !job.answering;
  if (reads && begin / kPageTokens != job.fed / kPageTokens)
    tree_.insert(std::span(job.tokens).first(size_t(job.fed / kPageTokens * kPageTokens)), job.cache);
  if (job.left() > 0) {
    if (!job.answering && !job.ticket->full()) job.ticket->post(Prefilled{job.fed, job.usage.prompt_tokens});
    return;
  }
  if (!job.answering) {
    job.answering = true;
    job.first_logits = EngineClock::now();
    job.usage.prefill_s = seconds_between(job.first_step, job.first_logits);
    if (job.request.prompt_logprobs >= 0) job.ticket->post(PromptScored{std::move(job.prompt_records)});
    if (job.request.kind == RequestKind::kEmbedding) {
      Embedded embedded;
      for (const double sum : job.hidden_sum) embedded.values.push_back(float(sum / job.usage.prompt_tokens));
      job.ticket->post(std::move(embedded));
      return finish(job, FinishReason::kStop);
    }
  }
  answer(part);
}

// Column i predicts the token behind it.
void EngineCore::score_prompt(Part& part, int begin) {
  Job& job = *part.job;
  if (begin == 0) job.prompt_records.push_back({job.tokens[0], 0, {}});
  for (int i = 0; i < int(part.tokens.size()); ++i) {
    const int next = begin + i + 1;
    if (next >= job.usage.prompt_tokens) break;
    job.prompt_records.push_back(record_of(runtime_.executable().logits(part.first_row + i), job.tokens[size_t(next)],
                                           job.request.prompt_logprobs));
  }
}

void EngineCore::answer(Part& part) {
  Job& job = *part.job;
  if (int(job.tokens.size()) >= job.limit) return finish(job, FinishReason::kLength);
  // With drafts every column has logits; without, only the last.
  int row = part.first_row;
  if (part.drafts == 0 && job.request.prompt_logprobs >= 0 && int(job.tokens.size()) == job.usage.prompt_tokens)
    row += int(part.tokens.size()) - 1;
  job.usage.drafted += part.drafts;
  statistics_.drafted_tokens += uint64_t(part.drafts);
  int accepted = 0;
  while (take_token(job, runtime_.executable().logits(row + accepted)) && accepted < part.drafts &&
         job.tokens.back() == job.drafts[size_t(accepted)]) {
    ++accepted;
    ++job.fed;
    ++job.usage.accepted;
  }
  statistics_.accepted_tokens += uint64_t(accepted);
  job.draft_length.observe(part.drafts, accepted);
}

// Draws the next token. False when the answer is over.
bool EngineCore::take_token(Job& job, std::span<const float> logits) {
  const GenerationRequest& request = job.request;
  const bool masked = request.ignore_end || job.usage.completion_tokens < request.min_tokens;
  if (masked) {
    masked_.assign(logits.begin(), logits.end());
    for (const Token token : end_tokens_) masked_[size_t(token)] = -std::numeric_limits<float>::infinity();
  }
  const auto drawn = job.sampler.sample(masked ? std::span<const float>(masked_) : logits);
  if (!drawn) {
    fail(job, drawn.error());
    return false;
  }
  if (tokenizer_.is_end(*drawn)) {
    finish(job, FinishReason::kStop);
    return false;
  }
  job.sampler.accept(*drawn);
  job.tokens.push_back(*drawn);
  ++job.usage.completion_tokens;
  job.last_token = EngineClock::now();
  ++statistics_.generated_tokens;
  TokenRecord record{*drawn, 0, {}};
  if (request.top_logprobs >= 0) record = record_of(logits, *drawn, request.top_logprobs);
  TextDelta delta = job.answer.push(std::move(record));
  if (!delta.text.empty() || !delta.tokens.empty()) job.ticket->post(std::move(delta));
  if (job.answer.stopped()) {
    finish(job, FinishReason::kStop);
    return false;
  }
  if (int(job.tokens.size()) >= job.limit) {
    finish(job, FinishReason::kLength);
    return false;
  }
  return true;
}

void EngineCore::finish(Job& job, FinishReason reason) {
  if (reason != FinishReason::kCancelled) {
    TextDelta rest = job.answer.finish();
    if (!rest.text.empty() || !rest.tokens.empty()) job.ticket->post(std::move(rest));
    if (job.answer.stopped()) reason = FinishReason::kStop;
  }
  if (job.started && !job.answering) job.usage.prefill_s = seconds_between(job.first_step, EngineClock::now());
  // The step that told the end, or was stopped, gave no token.
  if (job.usage.completion_tokens > 0) job.usage.decode_s = seconds_between(job.first_logits, job.last_token);
  statistics_.prompt_tokens += uint64_t(job.usage.prompt_tokens);
  statistics_.reused_tokens += uint64_t(job.usage.reused_tokens);
  statistics_.prefill_seconds += job.usage.prefill_s;
  statistics_.decode_seconds += job.usage.decode_s;
  ++(reason == FinishReason::kCancelled ? statistics_.cancelled : statistics_.finished);
  Finished finished{reason, {}, job.usage};
  if (reason == FinishReason::kStop && job.answer.stopped()) finished.stop = job.answer.stop();
  retire(job);
  endings_.emplace_back(job.ticket, std::move(finished));
}

void EngineCore::fail(Job& job, const Error& error) {
  ++statistics_.failed;
  retire(job);
  endings_.emplace_back(job.ticket, Failed{error});
}

void EngineCore::announce() {
  for (auto& [ticket, event] : endings_) ticket->post(std::move(event));
  endings_.clear();
}

// Its pages stay for whoever begins alike.
void EngineCore::retire(Job& job) {
  leave_pages(job);
  if (draft_) draft_->forget(job.id());
  job.state = JobState::kEnded;
}

void EngineCore::forget_ended() {
  std::erase_if(jobs_, [](const auto& job) { return job->state == JobState::kEnded; });
}

Job* EngineCore::find(uint64_t id) {
  const auto at = std::find_if(jobs_.begin(), jobs_.end(), [&](const auto& job) { return job->id() == id; });
  return at == jobs_.end() ? nullptr : at->get();
}

void EngineCore::cancel_all() {
  for (const auto& job : jobs_) finish(*job, FinishReason::kCancelled);
  forget_ended();
  announce();
}

int EngineCore::waiting() const {
  return int(
      std::count_if(jobs_.begin(), jobs_.end(), [](const auto& job) { return job->state != JobState::kRunning; }));
}

EngineStatistics EngineCore::statistics() const {
  EngineStatistics now = statistics_;
  now.waiting = waiting();
  now.running = int(jobs_.size()) - now.waiting;
  now.kv_bytes = uint64_t(pool_.pages_in_use() * pool_.page_bytes());
  now.kv_limit_bytes = uint64_t(pool_.max_pages() * pool_.page_bytes());
  if (store_) now.kv_disk_bytes = store_->bytes();
  now.kv_cached_bytes = uint64_t(tree_.pages() * pool_.page_bytes());
  return now;
}

}  // namespace anedvd
