#include "api/generation/running_requests.h"

namespace anedvd {

std::shared_ptr<void> RunningRequests::add(const std::string& id, std::vector<std::weak_ptr<Ticket>> tickets) {
  const std::lock_guard lock(mutex_);
  const auto key = std::make_pair(id, next_++);
  tickets_.emplace(key, std::move(tickets));
  return {nullptr, [self = shared_from_this(), key](void*) {
            const std::lock_guard guard(self->mutex_);
            self->tickets_.erase(key);
          }};
}

bool RunningRequests::cancel(const std::string& id) {
  std::vector<std::weak_ptr<Ticket>> found;
  bool is_known = false;
  {
    const std::lock_guard lock(mutex_);
    for (auto entry = tickets_.lower_bound({id, 0}); entry != tickets_.end() && entry->first.first == id; ++entry) {
      is_known = true;
      found.insert(found.end(), entry->second.begin(), entry->second.end());
    }
  }
  for (const auto& ticket : found)
    if (const auto alive = ticket.lock()) alive->cancel();
  return is_known;
}

}  // namespace anedvd
