#include "text/models/merge_list.h"

#include <string>

namespace anedvd {

void MergeList::build() {
  index_.build(lines_.size(), [this](size_t i) { return lines_[i]; });
}

uint32_t MergeList::rank(std::string_view left, std::string_view right) const {
  std::string line(left);
  line.push_back(separator_);
  line.append(right);
  // A left part with the separator inside would be cut elsewhere: such a line says something else.
  if (line.find(separator_, 1) != left.size()) return kNoMerge;
  const size_t found = index_.find(line, [&](size_t i) { return lines_[i] == line; });
  return found == TextIndex::npos ? kNoMerge : static_cast<uint32_t>(found);
}

}  // namespace anedvd
