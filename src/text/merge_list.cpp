#include "text/merge_list.h"

#include <algorithm>
#include <bit>

#include "text/vocabulary.h"

namespace anedvd {
namespace {

uint64_t hash_pair(std::string_view left, std::string_view right) {
  const uint64_t a = hash_bytes(left);
  const uint64_t b = hash_bytes(right);
  const uint64_t mixed = (std::rotl(a, 23) ^ b) * 0x9E3779B97F4A7C15u;
  return mixed ^ mixed >> 32;
}

}  // namespace

void MergeList::build() {
  slots_.assign(std::bit_ceil(std::max<size_t>(lines_.size() * 2, 16)), {});
  mask_ = slots_.size() - 1;
  for (size_t i = 0; i < lines_.size(); ++i) {
    const std::string_view line = lines_[i];
    const size_t middle = line.find(separator_, 1);
    if (middle == std::string_view::npos) continue;
    const uint64_t hash = hash_pair(line.substr(0, middle), line.substr(middle + 1));
    // A repeated pair lands behind its first line, where rank() finds the first.
    uint64_t at = hash & mask_;
    while (slots_[at].line != 0) at = (at + 1) & mask_;
    slots_[at] = {static_cast<uint32_t>(i + 1), static_cast<uint32_t>(hash >> 32)};
  }
}

bool MergeList::is_line(std::string_view line, std::string_view left, std::string_view right) const {
  return line.size() == left.size() + 1 + right.size() && line.starts_with(left) && line[left.size()] == separator_ &&
         line.ends_with(right) && line.find(separator_, 1) == left.size();
}

uint32_t MergeList::rank(std::string_view left, std::string_view right) const {
  const uint64_t hash = hash_pair(left, right);
  const auto tag = static_cast<uint32_t>(hash >> 32);
  for (uint64_t at = hash & mask_; slots_[at].line != 0; at = (at + 1) & mask_) {
    if (slots_[at].tag == tag && is_line(lines_[slots_[at].line - 1], left, right)) return slots_[at].line - 1;
  }
  return kNoMerge;
}

}  // namespace anedvd
