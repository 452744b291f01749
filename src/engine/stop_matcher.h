// Ends a text before the first stop string, holding back only what might become one.
//
//   stops {"own fox"}:  push("The quick br") → "The quick br"   push("own f") → ""   push("ox") → "", found()
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace anedvd {

class StopMatcher {
 public:
  // `stops` must outlive the matcher; empty strings in it are ignored.
  explicit StopMatcher(std::span<const std::string> stops) : stops_(stops) {}

  // Takes more text, returns what is final. After found() nothing more comes out.
  std::string push(std::string_view text);

  // The end: what was held back.
  std::string finish();

  bool found() const { return found_ != nullptr; }

  // The one that was found.
  const std::string& stop() const { return *found_; }

 private:
  std::span<const std::string> stops_;
  std::string held_;
  const std::string* found_ = nullptr;
};

}  // namespace anedvd
