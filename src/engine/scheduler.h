// Who gets how many columns of the next step. Pure: demands in, shares out, no model, no clock.
//
//   every stream one column; then prompts, oldest and shortest first by halves; then drafts with what is left
//
// Promises, for any sequence of demands:
//   no step is wider than the width;
//   streams wait for at most ⌈streams / (width − floor)⌉ − 1 steps, none at all while they fit;
//   a prompt gets columns in every step in which it is the oldest of its priority (interactive ones before background ones), and a background one
//   that was passed over kPatience times comes first;
//   while anybody streams, a step with prompts costs no more than kStretch of one without (or kLeastSeconds), but for the floor.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/request.h"
#include "engine/step_cost.h"

namespace anedvd {

// One sequence that could use columns now.
struct Demand {
  uint64_t id = 0;       // ascending with arrival
  bool streams = false;  // has given its first token: wants one column, and drafts if there is room
  int tokens = 1;        // of the prompt that are left; 1 when it streams
  int drafts = 0;        // proposed tokens that could be checked along
  int position = 0;      // tokens in the cache
  Priority priority = Priority::kInteractive;
};

struct Share {
  uint64_t id = 0;
  int tokens = 0;  // of the prompt, or 1
  int drafts = 0;
};

class Scheduler {
 public:
  static constexpr int kPatience = 16;
  static constexpr double kStretch = 4;
  static constexpr double kLeastSeconds = 0.03;

  explicit Scheduler(int width) : width_(width) {}

  // Shares in ascending order of id, none empty.
  std::vector<Share> next(std::span<const Demand> demands, const StepCost& cost);

  // Columns that prompts get in any case while there are some.
  int floor() const { return width_ >= 8 ? width_ / 8 : 1; }

 private:
  struct Waiting {
    uint64_t id;
    int steps;
  };
  int steps_without(uint64_t id) const;
  void remember(std::span<const Demand> demands, const std::vector<Share>& shares);

  int width_;
  bool prompts_turn_ = false;     // of a width of one
  std::vector<Waiting> waiting_;  // passed over in the last steps, ascending ids
};

}  // namespace anedvd
