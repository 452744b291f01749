// Who has a place, whose pages are where: the engine's part before a step.
#include <algorithm>

#include <fmt/core.h>

#include "engine/engine_core.h"

namespace anedvd {
namespace {

int64_t pages_for(int tokens) { return (int64_t(tokens) + kPageTokens - 1) / kPageTokens; }

int common_prefix(std::span<const Token> a, std::span<const Token> b) {
  return int(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

}  // namespace

void EngineCore::drop_cancelled() {
  for (const auto& job : jobs_)
    if (job->ticket->cancelled()) finish(*job, FinishReason::kCancelled);
  forget_ended();
}

// jobs_ is sorted by urgency, so places go to the most urgent.
void EngineCore::admit() {
  auto running =
      std::count_if(jobs_.begin(), jobs_.end(), [](const auto& job) { return job->state == JobState::kRunning; });
  for (const auto& job : jobs_) {
    if (job->state == JobState::kRunning) continue;
    if (running >= options_.parallel && !make_place_for(*job)) break;
    if (job->state == JobState::kWaiting) {
      // Starting what would only push others out again helps nobody; with nobody there it must fit.
      const int64_t needs = pages_for(int(job->tokens.size()) + 1);
      if (running > 0 && pool_.pages_left() < needs && pool_.pages_left() + tree_.idle_pages() < needs) break;
      take_prefix(*job);
      find_leader(*job);
    }
    job->state = JobState::kRunning;
    running =
        std::count_if(jobs_.begin(), jobs_.end(), [](const auto& other) { return other->state == JobState::kRunning; });
  }
}

// Parks the least urgent running job if it is background and `job` is not.
bool EngineCore::make_place_for(const Job& job) {
  if (job.request.priority == Priority::kBackground) return false;
  const auto last =
      std::find_if(jobs_.rbegin(), jobs_.rend(), [](const auto& other) { return other->state == JobState::kRunning; });
  if (last == jobs_.rend() || (*last)->request.priority == Priority::kInteractive) return false;
  (*last)->state = JobState::kParked;
  ++statistics_.preempted;
  return true;
}

// The longest cached prefix; the last token is always computed, because its logits are wanted.
void EngineCore::take_prefix(Job& job) {
  job.cache.truncate(0);
  job.fed = 0;
  if (!job.takes_prefix()) return;
  PrefixMatch match = tree_.find(std::span(job.tokens).first(job.tokens.size() - 1));
  for (PageHandle& page : match.pages) job.cache.append_shared(std::move(page));
  job.fed = int(job.cache.handles().size()) * kPageTokens;
  if (store_) take_from_disk(job);
  if (job.fed > int(match.pages.size()) * kPageTokens) return;
  // A copy costs less than computing the positions it saves, but not another sequence's place.
  if (match.beginning_tokens > 0 && (pool_.pages_left() > 0 || tree_.evict(1) > 0) &&
      job.cache.append_copy(match.beginning))
    job.fed += match.beginning_tokens;
}

// Goes on where the tree ends.
void EngineCore::take_from_disk(Job& job) {
  const std::span<const Token> tokens = std::span(job.tokens).first(job.tokens.size() - 1);
  PrefixStore::Key key = store_->root();
  for (int begin = 0; begin + kPageTokens <= int(tokens.size()); begin += kPageTokens) {
    const auto page_tokens = tokens.subspan(size_t(begin), kPageTokens);
    key = PrefixStore::next(key, page_tokens);
    if (begin < job.fed) continue;
    if (pool_.pages_left() == 0 && tree_.evict(1) == 0) return;
    auto page = pool_.take();
    if (!page || !store_->load(key, page_tokens, page->words())) return;
    job.cache.append_shared(std::move(*page));
    job.fed += kPageTokens;
    statistics_.restored_tokens += kPageTokens;
  }
}

void EngineCore::find_leader(Job& job) {
  job.leader = 0;
  job.shared_tokens = 0;
  if (!job.takes_prefix()) return;
  for (const auto& other : jobs_) {
    if (other.get() == &job || other->state != JobState::kRunning || other->leader != 0 || other->answering) continue;
    if (other->ticket->full()) continue;
    const int most = std::min(int(job.tokens.size()) - 1, other->usage.prompt_tokens);
    const int common =
        common_prefix(std::span(job.tokens).first(size_t(most)), other->tokens) / kPageTokens * kPageTokens;
    if (common <= std::max({job.fed, other->fed, job.shared_tokens})) continue;
    job.leader = other->id();
    job.shared_tokens = common;
  }
}

// Lets go of those whose leader came far enough, or will not.
void EngineCore::follow_leaders() {
  for (const auto& job : jobs_) {
    if (job->leader == 0 || job->state != JobState::kRunning) continue;
    const Job* leader = find(job->leader);
    const bool hopeful = leader != nullptr && leader->state == JobState::kRunning && !leader->ticket->full();
    if (hopeful && leader->fed < job->shared_tokens) continue;
    take_prefix(*job);
    find_leader(*job);
  }
}

std::vector<Demand> EngineCore::demands() {
  std::vector<Demand> wanted;
  StepShape streams;
  for (const auto& job : jobs_) {
    if (job->state != JobState::kRunning || job->leader != 0 || job->ticket->full()) continue;
    Demand demand;
    demand.id = job->id();
    demand.streams = job->streams();
    demand.tokens = job->left();
    demand.position = job->fed;
    demand.priority = job->request.priority;
    if (demand.streams) {
      ++streams.columns;
      streams.cache_entries += job->fed + 1;
    }
    wanted.push_back(demand);
  }
  for (Demand& demand : wanted) {
    if (!demand.streams) continue;
    Job& job = *find(demand.id);
    propose(job, streams);
    demand.drafts = int(job.drafts.size());
  }
  return wanted;
}

void EngineCore::propose(Job& job, StepShape shape) {
  job.drafts.clear();
  const int most_here = options_.speculate, wanted = job.request.speculate;
  if (most_here == 0 || wanted == 0) return;
  int most = wanted < 0 ? most_here : most_here < 0 ? wanted : std::min(wanted, most_here);
  const int room = job.limit - int(job.tokens.size()) - 1;  // what is checked along must be wanted
  const double seconds_a_guess = draft_ ? draft_->seconds_a_guess() : 0;
  if (most < 0) most = job.draft_length.choose(shape, job.fed, cost_, seconds_a_guess);
  most = std::clamp(most, 0, std::max(room, 0));
  job.drafts = draft_ ? draft_->propose(job.id(), job.tokens, most) : job.lookup.propose(job.tokens, most);
}

// Whole columns for every part, or fewer parts. A request that fits nowhere fails by itself.
void EngineCore::reserve(std::vector<Part>& parts) {
  for (const Part& part : parts) {
    Job& job = *part.job;
    if (job.state != JobState::kRunning) continue;  // made room for one before it
    const int tokens = job.fed + int(part.tokens.size());
    const int64_t missing = pages_for(tokens) - int64_t(job.cache.handles().size());
    if (missing > pool_.pages_left() && !make_room(missing, job)) {
      // Everything that can go is gone: what is left belongs to more urgent ones. It waits.
      const bool alone = std::none_of(jobs_.begin(), jobs_.end(), [&](const auto& other) {
        return other.get() != &job && other->state == JobState::kRunning && !other->cache.handles().empty();
      });
      if (alone)
        fail(job, Error{ErrorCode::kNoMemory,
                        fmt::format("cache: {} tokens do not fit into --kv-memory; use a larger one", tokens)});
      else
        preempt(job);
      continue;
    }
    if (const auto room = job.cache.reserve(tokens); !room) fail(job, room.error());  // the system itself has none
  }
  std::erase_if(parts, [](const Part& part) { return part.job->state != JobState::kRunning; });
}

// Cached prefixes first, then sequences less urgent than `keep`, least urgent first.
bool EngineCore::make_room(int64_t pages, const Job& keep) {
  tree_.evict(pages - pool_.pages_left());
  if (store_ && pool_.pages_left() < pages) {
    store_->collect(true);  // pages on their way to the disk
    tree_.evict(pages - pool_.pages_left());
  }
  for (auto at = jobs_.rbegin(); at != jobs_.rend() && pool_.pages_left() < pages; ++at) {
    Job& other = **at;
    if (&other == &keep) break;
    if (other.state == JobState::kWaiting || other.cache.handles().empty()) continue;
    preempt(other);
    tree_.evict(pages - pool_.pages_left());
  }
  return pool_.pages_left() >= pages;
}

// What a sequence computed stays for whoever begins alike, in memory and on disk.
void EngineCore::leave_pages(Job& job) {
  const std::span<const Token> tokens = std::span(job.tokens).first(size_t(job.fed));
  tree_.insert(tokens, job.cache);
  if (store_) {
    PrefixStore::Key key = store_->root();
    for (size_t i = 0; (i + 1) * kPageTokens <= tokens.size(); ++i) {
      const auto page_tokens = tokens.subspan(i * kPageTokens, kPageTokens);
      key = PrefixStore::next(key, page_tokens);
      if (!store_->keep(key, page_tokens, job.cache.handles()[i]))
        break;  // without it those behind it are out of reach
    }
  }
  job.cache.truncate(0);
}

// Its pages become part of the tree; it waits and comes back to whatever of them is left then.
void EngineCore::preempt(Job& job) {
  leave_pages(job);
  job.fed = 0;
  job.prompt_records.clear();
  job.hidden_sum.clear();
  job.state = JobState::kWaiting;
  job.leader = 0;
  ++statistics_.preempted;
}

}  // namespace anedvd
