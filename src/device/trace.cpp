#include "device/trace.h"

namespace anedvd {

void Trace::add(int thread, std::string_view name, const char* kind, Clock::time_point begin, Clock::time_point end,
                int columns) {
  const auto since_start = [this](Clock::time_point time) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time - start_).count();
  };
  threads_[size_t(thread)].events.push_back({std::string(name), kind, since_start(begin), since_start(end), columns});
}

}  // namespace anedvd
