#include "engine/stop_matcher.h"

#include <algorithm>

namespace anedvd {

std::string StopMatcher::push(std::string_view text) {
  if (found()) return "";
  held_ += text;
  size_t end = std::string::npos;
  for (const std::string& stop : stops_) {
    const size_t at = stop.empty() ? std::string::npos : held_.find(stop);
    if (at >= end) continue;
    end = at;
    found_ = &stop;
  }
  if (found()) {
    held_.resize(end);
    return std::move(held_);
  }
  // Hold back the longest end of the text that begins a stop string.
  size_t held = 0;
  for (const std::string& stop : stops_)
    for (size_t length = std::min(stop.size() - (stop.empty() ? 0 : 1), held_.size()); length > held; --length)
      if (std::string_view(held_).ends_with(std::string_view(stop).substr(0, length))) held = length;
  std::string out = held_.substr(0, held_.size() - held);
  held_.erase(0, held_.size() - held);
  return out;
}

std::string StopMatcher::finish() { return found() ? "" : std::move(held_); }

}  // namespace anedvd
