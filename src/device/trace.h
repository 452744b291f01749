// What each thread did when: steps, their phases, device programs and waits.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace anedvd {

class Trace {
 public:
  using Clock = std::chrono::steady_clock;

  // Threads 0 … threads − 1 may add events at the same time, each its own.
  explicit Trace(int threads) : threads_(size_t(threads)), start_(Clock::now()) {}

  // `kind` groups events: step, columns, linear, attention, moe, program, host, wait.
  void add(int thread, std::string_view name, const char* kind, Clock::time_point begin, Clock::time_point end,
           int columns);

  struct Event {
    std::string name;
    const char* kind;
    int64_t begin_ns, end_ns;  // since the trace was made
    int columns;
  };

  int threads() const { return int(threads_.size()); }
  // In the order of their ends. Valid while nothing adds.
  const std::vector<Event>& events(int thread) const { return threads_[size_t(thread)].events; }

 private:
  // On cache lines of their own: threads append at the same time.
  struct alignas(64) Track {
    std::vector<Event> events;
  };
  std::vector<Track> threads_;
  Clock::time_point start_;
};

// From its construction to its end, if there is a trace at all.
class TraceSpan {
 public:
  TraceSpan(Trace* trace, int thread, std::string_view name, const char* kind, int columns)
      : trace_(trace), thread_(thread), columns_(columns), name_(name), kind_(kind) {
    if (trace_ != nullptr) begin_ = Trace::Clock::now();
  }
  ~TraceSpan() {
    if (trace_ != nullptr) trace_->add(thread_, name_, kind_, begin_, Trace::Clock::now(), columns_);
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

 private:
  Trace* trace_;
  int thread_, columns_;
  std::string_view name_;
  const char* kind_;
  Trace::Clock::time_point begin_;
};

}  // namespace anedvd
