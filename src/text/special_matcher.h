// Finds whole tokens (control tokens, user-defined pieces) in raw text, before any splitting: leftmost first, then longest.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/models/prefix_index.h"
#include "text/tokenizer.h"

namespace anedvd {

class SpecialMatcher {
 public:
  struct Entry {
    std::string_view text = {};
    Token token = -1;
    bool strips_left = false;   // white space before it belongs to the match
    bool strips_right = false;  // white space after it too
    bool single_word = false;   // no match next to a character of \w
  };

  SpecialMatcher() = default;
  // Empty texts are ignored. Of equal texts the first counts.
  explicit SpecialMatcher(std::vector<Entry> entries);

  struct Match {
    size_t start = 0, end = 0;  // start == npos: nothing found
    Token token = -1;
  };
  // The first match that starts at or after `from`; white space that belongs to it is inside [start, end), but not before `from`.
  Match find(std::string_view text, size_t from) const;

  bool empty() const { return entries_.empty(); }

  // Calls run(piece) for stretches without a match and hit(token) for matches, in order.
  template <class Run, class Hit>
  void partition(std::string_view text, Run&& run, Hit&& hit) const {
    for (size_t at = 0; at < text.size();) {
      const Match match = find(text, at);
      if (match.start == std::string_view::npos) {
        run(text.substr(at));
        return;
      }
      if (match.start > at) run(text.substr(at, match.start - at));
      hit(match.token);
      at = match.end;
    }
  }

 private:
  std::vector<Entry> entries_;
  PrefixIndex index_;  // values: positions in entries_
};

}  // namespace anedvd
