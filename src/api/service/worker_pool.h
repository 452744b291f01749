// A few threads for what takes as long as a prompt: parsing, templates, tokens.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace anedvd {

class WorkerPool {
 public:
  WorkerPool(int threads, size_t most_waiting);
  ~WorkerPool() { stop(); }

  // Finishes what is queued and ends the threads.
  void stop();

  // False: too much is waiting already, or the pool was stopped. Any thread.
  bool run(std::function<void()> work);

 private:
  void work();

  const size_t most_waiting_;
  std::mutex mutex_;  // the next three
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace anedvd
