#include "engine/ticket.h"

namespace anedvd {

std::optional<Event> Ticket::next(std::chrono::milliseconds wait) {
  {
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, wait, [&] { return !events_.empty() || ended_; });
  }
  return try_next();
}

std::optional<Event> Ticket::try_next() {
  std::function<void()> poke;
  std::optional<Event> event;
  {
    const std::lock_guard lock(mutex_);
    if (events_.empty()) return std::nullopt;
    event = std::move(events_.front());
    events_.pop_front();
    // The sequence may have been passed over.
    if (events_.size() + 1 == capacity_) poke = poke_;
  }
  if (poke) poke();
  return event;
}

void Ticket::on_event(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
  if (wake_ && !events_.empty()) wake_();
}

void Ticket::cancel() {
  cancelled_.store(true, std::memory_order_release);
  std::function<void()> poke;
  {
    const std::lock_guard lock(mutex_);
    poke = poke_;
  }
  if (poke) poke();
}

void Ticket::post(Event event) {
  const std::lock_guard lock(mutex_);
  ended_ = ended_ || is_last(event);
  events_.push_back(std::move(event));
  arrived_.notify_one();
  // Under the lock: whoever takes the function away waits until it came back.
  if (wake_ && events_.size() == 1) wake_();
}

bool Ticket::full() const {
  const std::lock_guard lock(mutex_);
  return events_.size() >= capacity_;
}

void Ticket::attach(std::function<void()> poke) {
  const std::lock_guard lock(mutex_);
  poke_ = std::move(poke);
}

}  // namespace anedvd
