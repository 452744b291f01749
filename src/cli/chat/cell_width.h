// How wide text is on a terminal: grapheme clusters and cells.
//
//   "日" → 2 cells     "e" + acute → 1     woman + ZWJ + woman + ZWJ + girl → one cluster, 2 cells     U+0007 → "^G", 2 cells
//
// Clusters and widths are those of utf8proc's tables; a cluster is as wide as its widest code point, two regional indicators are 2.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace anedvd {

struct Cluster {
  size_t bytes = 0;  // 0 only at the end of the text
  int cells = 0;     // 0 for a newline and for marks that stand alone
  bool is_newline = false;
  bool is_escaped = false;  // shown by cluster_image() in ASCII, a cell a character
};

// The cluster that begins at byte `at`, which must be a boundary. Text is UTF-8; a stray byte is a cluster of its own.
Cluster cluster_at(std::string_view text, size_t at);

// The next and the previous boundary; the ends of the text are boundaries.
size_t next_boundary(std::string_view text, size_t at);
size_t previous_boundary(std::string_view text, size_t at);

// What a terminal is given for the cluster: the text itself, or ^X, \x9b, \u202e for what a terminal would obey.
std::string cluster_image(std::string_view cluster);

// Cells of text without newlines.
int cell_count(std::string_view text);

}  // namespace anedvd
