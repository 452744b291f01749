// Answers under way by the id of their request, for those who want to end one from another connection.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/ticket.h"

namespace anedvd {

// Any thread. Made as a shared_ptr: registrations hold it.
class RunningRequests : public std::enable_shared_from_this<RunningRequests> {
 public:
  // Listed as long as what is returned lives. Clients choose ids, so several requests may bear the same one.
  std::shared_ptr<void> add(const std::string& id, std::vector<std::weak_ptr<Ticket>> tickets);

  // Ends every answer to a request of that id with what it has come to. False: there is none.
  bool cancel(const std::string& id);

 private:
  std::mutex mutex_;  // both below
  uint64_t next_ = 0;
  std::map<std::pair<std::string, uint64_t>, std::vector<std::weak_ptr<Ticket>>> tickets_;
};

}  // namespace anedvd
