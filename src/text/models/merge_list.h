// A vocabulary's merges as the file lists them, best first, and an index that finds a pair's rank.
//
// Half a million merges are listed by the largest vocabularies. Turning each into token ids would cost three look-ups a merge before the
// first token is out; the index only hashes the lines, and a pair's result is looked up when a text first needs it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/models/merge_symbols.h"
#include "text/models/text_index.h"

namespace anedvd {

class MergeList {
 public:
  // Lines LEFT separator RIGHT, borrowed. The separator is the first one that is not the line's first character.
  MergeList(std::vector<std::string_view> lines, char separator) : lines_(std::move(lines)), separator_(separator) {}

  // Builds the index. Call once before rank().
  void build();

  // Position of the pair in the list; kNoMerge: it is not there. Of repeated pairs the first counts.
  uint32_t rank(std::string_view left, std::string_view right) const;

 private:
  std::vector<std::string_view> lines_;
  char separator_;
  TextIndex index_;
};

}  // namespace anedvd
