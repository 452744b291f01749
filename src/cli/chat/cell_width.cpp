#include "cli/chat/cell_width.h"

#include <algorithm>

#include <utf8proc.h>

#include "base/words.h"
#include "text/unicode.h"

namespace anedvd {
namespace {

bool is_regional_indicator(char32_t code) { return code >= 0x1f1e6 && code <= 0x1f1ff; }

bool is_control(std::string_view cluster) {
  return cluster.size() == 1 && (uint8_t(cluster[0]) < 0x20 || cluster[0] == '\x7f');
}

}  // namespace

Cluster cluster_at(std::string_view text, size_t at) {
  const Char first = char_at(text, at);
  Cluster cluster{first.bytes};
  if (first.bytes == 0) return cluster;
  if (first.code == '\n') {
    cluster.is_newline = true;
    return cluster;
  }
  char32_t before = first.code;
  utf8proc_int32_t state = 0;
  cluster.cells = utf8proc_charwidth(utf8proc_int32_t(first.code));
  // Plain text followed by plain text is by far the most common: no table is needed to part it.
  for (Char next; (first.classes & kBroken) == 0;) {
    next = char_at(text, at + cluster.bytes);
    if (next.bytes == 0 || (before < 0x80 && next.code < 0x80)) break;
    if ((next.classes & kBroken) != 0 ||
        utf8proc_grapheme_break_stateful(utf8proc_int32_t(before), utf8proc_int32_t(next.code), &state))
      break;
    const int cells = utf8proc_charwidth(utf8proc_int32_t(next.code));
    if (is_regional_indicator(before) && is_regional_indicator(next.code))
      cluster.cells = 2;
    else
      cluster.cells = std::max(cluster.cells, cells);
    cluster.bytes += next.bytes;
    before = next.code;
  }
  const std::string_view bytes = text.substr(at, cluster.bytes);
  if (bytes.size() == 1 && uint8_t(bytes[0]) >= 0x20 && uint8_t(bytes[0]) < 0x7f) return cluster;
  const std::string image = cluster_image(bytes);
  if (image != bytes) {
    cluster.is_escaped = true;
    cluster.cells = int(image.size());
  }
  return cluster;
}

size_t next_boundary(std::string_view text, size_t at) { return at + cluster_at(text, at).bytes; }

size_t previous_boundary(std::string_view text, size_t at) {
  if (at == 0) return 0;
  if (text[at - 1] == '\n') return at - 1;
  // Nothing joins over a newline: clusters are counted from there.
  const size_t line = text.rfind('\n', at - 1);
  size_t boundary = line == std::string_view::npos ? 0 : line + 1;
  for (;;) {
    const size_t next = next_boundary(text, boundary);
    if (next >= at) return boundary;
    boundary = next;
  }
}

std::string cluster_image(std::string_view cluster) {
  if (is_control(cluster)) return {'^', char(uint8_t(cluster[0]) ^ 0x40)};
  return visible(cluster, cluster.size() * 8);
}

int cell_count(std::string_view text) {
  int cells = 0;
  for (size_t at = 0; at < text.size();) {
    const Cluster cluster = cluster_at(text, at);
    cells += cluster.cells;
    at += cluster.bytes;
  }
  return cells;
}

}  // namespace anedvd
