#include "engine/scheduler.h"

#include <algorithm>

namespace anedvd {
namespace {

int64_t entries(int position, int columns) {
  return int64_t(columns) * position + int64_t(columns) * (columns - 1) / 2;
}

// The most columns of prompts that keep a step below `seconds`.
int columns_within(double seconds, StepShape shape, int position, int most, const StepCost& cost) {
  int least = 0;
  while (least < most) {
    const int middle = (least + most + 1) / 2;
    StepShape with = shape;
    with.columns += middle;
    with.cache_entries += entries(position, middle);
    if (cost.predict(with) <= seconds)
      least = middle;
    else
      most = middle - 1;
  }
  return least;
}

}  // namespace

int Scheduler::steps_without(uint64_t id) const {
  const auto at = std::lower_bound(waiting_.begin(), waiting_.end(), id,
                                   [](const Waiting& w, uint64_t wanted) { return w.id < wanted; });
  return at != waiting_.end() && at->id == id ? at->steps : 0;
}

std::vector<Share> Scheduler::next(std::span<const Demand> demands, const StepCost& cost) {
  std::vector<const Demand*> streams, prompts;
  for (const Demand& demand : demands) (demand.streams ? streams : prompts).push_back(&demand);

  std::vector<Share> shares;
  StepShape shape;
  // Streams: who waited longest comes first.
  const int reserved = prompts.empty() ? 0 : std::min(floor(), width_ - 1);
  std::stable_sort(streams.begin(), streams.end(), [&](const Demand* a, const Demand* b) {
    const int wait_a = steps_without(a->id), wait_b = steps_without(b->id);
    return wait_a != wait_b ? wait_a > wait_b : a->id < b->id;
  });
  if (width_ == 1 && !prompts.empty() && !streams.empty()) {
    // One column for both sorts: they take turns.
    prompts_turn_ = !prompts_turn_;
    (prompts_turn_ ? streams : prompts).clear();
  }
  for (const Demand* stream : streams) {
    if (shape.columns == width_ - (prompts.empty() ? 0 : reserved)) break;
    shares.push_back({stream->id, 1, 0});
    ++shape.columns;
    shape.cache_entries += stream->position + 1;
  }

  // Prompts.
  if (!prompts.empty()) {
    const auto rank = [&](const Demand* p) {
      if (p->priority == Priority::kInteractive) return 1;
      return steps_without(p->id) >= kPatience ? 0 : 2;
    };
    std::stable_sort(prompts.begin(), prompts.end(), [&](const Demand* a, const Demand* b) {
      return rank(a) != rank(b) ? rank(a) < rank(b) : a->id < b->id;
    });
    int room = width_ - shape.columns;
    if (shape.columns > 0) {
      const double bound = std::max(kStretch * cost.predict(shape), kLeastSeconds);
      room = std::min(room, std::max(reserved, columns_within(bound, shape, prompts.front()->position, room, cost)));
    }
    const auto give = [&](const Demand* prompt, int columns) {
      const auto known = std::find_if(shares.begin(), shares.end(), [&](const Share& s) { return s.id == prompt->id; });
      const int before = known == shares.end() ? 0 : known->tokens;
      columns = std::min({columns, room, prompt->tokens - before});
      if (columns <= 0) return;
      if (known == shares.end())
        shares.push_back({prompt->id, columns, 0});
      else
        known->tokens += columns;
      room -= columns;
      shape.columns += columns;
      shape.cache_entries += entries(prompt->position + before, columns);
    };
    // The oldest gets half, the one that is done soonest the other: a short question does not wait for a long document, which goes on at half speed.
    const Demand* soonest = *std::min_element(prompts.begin(), prompts.end(), [&](const Demand* a, const Demand* b) {
      return rank(a) != rank(b) ? rank(a) < rank(b) : a->tokens < b->tokens;
    });
    give(prompts.front(), soonest == prompts.front() ? room : (room + 1) / 2);
    give(soonest, room);
    for (const Demand* prompt : prompts) give(prompt, room);
  }

  // Drafts, in the same order as the streams got their columns.
  for (Share& share : shares) {
    const int room = width_ - shape.columns;
    if (room <= 0) break;
    const auto demand =
        std::find_if(streams.begin(), streams.end(), [&](const Demand* stream) { return stream->id == share.id; });
    if (demand == streams.end()) continue;
    share.drafts = std::min((*demand)->drafts, room);
    shape.columns += share.drafts;
  }
  std::sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) { return a.id < b.id; });
  remember(demands, shares);
  return shares;
}

void Scheduler::remember(std::span<const Demand> demands, const std::vector<Share>& shares) {
  std::vector<Waiting> now;
  for (const Demand& demand : demands) {
    const bool served = std::binary_search(shares.begin(), shares.end(), Share{demand.id, 0, 0},
                                           [](const Share& a, const Share& b) { return a.id < b.id; });
    if (!served) now.push_back({demand.id, steps_without(demand.id) + 1});
  }
  std::sort(now.begin(), now.end(), [](const Waiting& a, const Waiting& b) { return a.id < b.id; });
  waiting_ = std::move(now);
}

}  // namespace anedvd
