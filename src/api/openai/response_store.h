// The last answers of /v1/responses, for previous_response_id: bounded by count and by bytes, the oldest go first.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace anedvd {

struct StoredResponse {
  std::string id;
  std::string body;                                            // the response object as JSON text
  std::shared_ptr<const nlohmann::ordered_json> conversation;  // messages up to this answer, it included
  std::vector<std::string> items;                              // ids of its output
  size_t bytes = 0;                                            // of all
};

// Any thread.
class ResponseStore {
 public:
  ResponseStore(size_t most, size_t most_bytes) : most_(most), most_bytes_(most_bytes) {}

  // The answer is whole: it is not being written any more.
  void put(StoredResponse response);
  std::optional<StoredResponse> get(const std::string& id) const;
  // The body of the response whose output has this item.
  std::optional<std::string> body_with_item(const std::string& item) const;
  bool erase(const std::string& id);

  // Answers that are being written: the response object as it is at their beginning (JSON text), and what cancelling them means.
  void begin(const std::string& id, std::string body, std::function<void()> cancel);
  void end(const std::string& id);
  // nullopt: no such answer is being written.
  std::optional<std::string> running(const std::string& id) const;
  std::optional<std::string> cancel(const std::string& id);

 private:
  struct Running {
    std::string body;
    std::function<void()> cancel;
  };

  void trim();

  const size_t most_, most_bytes_;
  mutable std::mutex mutex_;        // all below
  std::list<StoredResponse> kept_;  // oldest first
  std::unordered_map<std::string, std::list<StoredResponse>::iterator> by_id_;
  std::unordered_map<std::string, Running> running_;
  size_t bytes_ = 0;
};

}  // namespace anedvd
