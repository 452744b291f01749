// The two ends of a request's way through the engine: events come out, a cancellation goes in.
//
//   client threads:  next() try_next() on_event() cancel()          engine thread:  post() full() cancelled()
//
// Shared by both sides, which let go of it in any order. When a client reads slowly its channel fills and the engine passes the sequence over
// until there is room: nobody else waits, and no event is lost.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "engine/request.h"

namespace anedvd {

class Ticket {
 public:
  Ticket(uint64_t id, size_t capacity) : id_(id), capacity_(capacity) {}

  uint64_t id() const { return id_; }

  // The next event, waiting for it; nothing after `wait`, or when the last event was taken before.
  std::optional<Event> next(std::chrono::milliseconds wait);
  std::optional<Event> try_next();

  // `wake` is called from the engine's thread, or at once from the caller's, whenever an event came into an empty channel. It must not block and
  // must not call back into the ticket. An empty function ends it: after that call returns, the former one is not running.
  void on_event(std::function<void()> wake);

  // The request ends within a step, wherever it is, with Finished{kCancelled}. Callable at any time, more than once.
  void cancel();

  // Engine's side. post() never blocks: a few events may come when the channel is full already (a request's last ones).
  void post(Event event);
  bool full() const;
  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }

  // What cancel() and making room do to wake a sleeping engine. May be called when the engine is gone.
  void attach(std::function<void()> poke);

 private:
  const uint64_t id_;
  const size_t capacity_;
  std::atomic<bool> cancelled_ = false;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Event> events_;
  bool ended_ = false;  // the last event was posted
  std::function<void()> wake_, poke_;
};

}  // namespace anedvd
