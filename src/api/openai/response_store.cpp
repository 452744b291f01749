#include "api/openai/response_store.h"

#include <algorithm>

namespace anedvd {

void ResponseStore::put(StoredResponse response) {
  const std::lock_guard lock(mutex_);
  if (const auto old = by_id_.find(response.id); old != by_id_.end()) {
    bytes_ -= old->second->bytes;
    kept_.erase(old->second);
    by_id_.erase(old);
  }
  running_.erase(response.id);
  bytes_ += response.bytes;
  kept_.push_back(std::move(response));
  by_id_[kept_.back().id] = std::prev(kept_.end());
  trim();
}

std::optional<StoredResponse> ResponseStore::get(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return std::nullopt;
  return *found->second;
}

std::optional<std::string> ResponseStore::body_with_item(const std::string& item) const {
  const std::lock_guard lock(mutex_);
  for (const StoredResponse& one : kept_)
    if (std::find(one.items.begin(), one.items.end(), item) != one.items.end()) return one.body;
  return std::nullopt;
}

bool ResponseStore::erase(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return false;
  bytes_ -= found->second->bytes;
  kept_.erase(found->second);
  by_id_.erase(found);
  return true;
}

void ResponseStore::begin(const std::string& id, std::string body, std::function<void()> cancel) {
  const std::lock_guard lock(mutex_);
  running_[id] = {std::move(body), std::move(cancel)};
}

void ResponseStore::end(const std::string& id) {
  const std::lock_guard lock(mutex_);
  running_.erase(id);
}

std::optional<std::string> ResponseStore::running(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = running_.find(id);
  if (found == running_.end()) return std::nullopt;
  return found->second.body;
}

std::optional<std::string> ResponseStore::cancel(const std::string& id) {
  Running running;
  {
    const std::lock_guard lock(mutex_);
    const auto found = running_.find(id);
    if (found == running_.end()) return std::nullopt;
    running = found->second;
  }
  running.cancel();
  return running.body;
}

void ResponseStore::trim() {
  while (!kept_.empty() && (kept_.size() > most_ || bytes_ > most_bytes_)) {
    bytes_ -= kept_.front().bytes;
    by_id_.erase(kept_.front().id);
    kept_.pop_front();
  }
}

}  // namespace anedvd
