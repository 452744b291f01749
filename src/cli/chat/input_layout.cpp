#include "cli/chat/input_layout.h"

#include <algorithm>

#include "cli/chat/cell_width.h"

namespace anedvd {
namespace {

// Moves as a terminal does when it prints one character of `cells` cells. Returns whether a new row began before it.
bool print(Place& place, int cells, int columns) {
  const bool wraps = cells > 0 && place.column > 0 && place.column + cells > columns;
  if (wraps) place = {place.row + 1, 0};
  place.column = std::min(place.column + cells, columns);
  return wraps;
}

}  // namespace

int InputLayout::row_of(size_t at) const {
  const auto after = std::upper_bound(rows.begin(), rows.end(), at);
  return int(after - rows.begin()) - 1;
}

InputLayout lay_out(std::string_view text, size_t cursor, int columns) {
  InputLayout layout;
  layout.rows.push_back(0);
  Place place;
  for (size_t at = 0; at < text.size();) {
    const Cluster cluster = cluster_at(text, at);
    if (cluster.is_newline) {
      if (at == cursor) layout.cursor = {place.row, std::min(place.column, columns - 1)};
      place = {place.row + 1, 0};
      layout.rows.push_back(at + 1);
    } else {
      Place start = place;
      // An escape is plain ASCII to the terminal, which may wrap within it.
      const int pieces = cluster.is_escaped ? cluster.cells : 1;
      for (int piece = 0; piece < pieces; ++piece) {
        if (print(place, cluster.is_escaped ? 1 : cluster.cells, columns))
          layout.rows.push_back(piece == 0 ? at : at + cluster.bytes);
        if (piece == 0) start = {place.row, std::max(0, place.column - (cluster.is_escaped ? 1 : cluster.cells))};
      }
      if (at == cursor) layout.cursor = start;
    }
    at += cluster.bytes;
  }
  layout.end = place;
  if (cursor < text.size()) return layout;
  layout.needs_break = place.column >= columns;
  layout.cursor = layout.needs_break ? Place{place.row + 1, 0} : place;
  if (layout.needs_break) layout.rows.push_back(text.size());
  return layout;
}

size_t boundary_at(std::string_view text, const InputLayout& layout, Place place, int columns) {
  const auto row = size_t(std::clamp(place.row, 0, int(layout.rows.size()) - 1));
  size_t at = layout.rows[row];
  const size_t end = row + 1 < layout.rows.size() ? layout.rows[row + 1] : text.size();
  int column = 0;
  while (at < end) {
    const Cluster cluster = cluster_at(text, at);
    // The last place of a row that goes on below is before its last character: behind it is the next row's beginning.
    const bool ends_row = at + cluster.bytes >= end && row + 1 < layout.rows.size();
    if (cluster.is_newline || ends_row || column + cluster.cells > std::min(place.column, columns)) break;
    column += cluster.cells;
    at += cluster.bytes;
  }
  return at;
}

}  // namespace anedvd
