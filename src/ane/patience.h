// How often and after which pause a refused call is made again: docs/ane.md#retries.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace anedvd {

struct Patience {
  int load_tries = 7;  // pauses of 0.1, 0.2, … 3.2 s between them
  std::chrono::milliseconds first_load_pause{100};
  int evaluate_tries = 8;
  std::chrono::milliseconds evaluate_pause{3};

  // Waits; tests only count.
  std::function<void(std::chrono::milliseconds)> wait = [](std::chrono::milliseconds time) {
    std::this_thread::sleep_for(time);
  };
};

}  // namespace anedvd
