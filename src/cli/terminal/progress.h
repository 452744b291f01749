// How far a piece of work has come, on stderr.
//
// On a terminal a bar, once the work lasts over half a second; it is erased at the end, and the caller leaves one finished line.
// Elsewhere, and on a dumb terminal, a plain line every ten seconds. Nothing under --quiet. Time comes in as an argument.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "cli/terminal/console.h"

namespace anedvd {

// What is counted: bytes as "61.2/98.3 MB", tokens as "1,024/3,210 tokens".
enum class Amount { kBytes, kTokens };

class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  // label: "pull". total: the amount in all, 0 when unknown. done: what was there before the work began (it does not count for the speed).
  Progress(const Console& console, std::string label, uint64_t total, uint64_t done, Amount amount = Amount::kBytes,
           Clock::time_point now = Clock::now());
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Call as often as wished; it draws at most ten times a second. done: the amount in all so far.
  void update(uint64_t done, Clock::time_point now = Clock::now());

  // Takes the bar off the screen. Also done by the destructor.
  void clear();

  // What update() would write at this moment, without escapes: "pull  ━━━╸━━━  61.2/98.3 MB  12.4 MB/s  0:03 left". columns: the
  // terminal's width; 0 leaves the bar out.
  std::string line(uint64_t done, Clock::time_point now, int columns) const;

 private:
  double speed(uint64_t done, Clock::time_point now) const;

  Console console_;
  std::string label_;
  uint64_t total_;
  Amount amount_;
  bool has_bar_;
  bool is_drawn_ = false;
  Clock::time_point start_, last_;
  std::deque<std::pair<Clock::time_point, uint64_t>> recent_;  // of the last seconds, for the speed
};

// "61.2/98.3 MB" in the unit of the total; "61.2 MB" when the total is 0.
std::string progress_words(uint64_t done, uint64_t total, Amount amount = Amount::kBytes);

}  // namespace anedvd
