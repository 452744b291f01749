#include "cli/chat/input_view.h"

#include <algorithm>

#include <fmt/core.h>

#include "cli/chat/cell_width.h"
#include "cli/chat/input_layout.h"

namespace anedvd {
namespace {

constexpr std::string_view kEraseRow = "\x1b[K";
constexpr std::string_view kDown = "\x1b[B";

std::string up(int rows) { return rows > 0 ? fmt::format("\x1b[{}A", rows) : std::string(); }
std::string right(int columns) { return columns > 0 ? fmt::format("\x1b[{}C", columns) : std::string(); }

std::string image(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const Cluster cluster = cluster_at(text, at);
    if (cluster.is_newline)
      out += "\r\n";
    else
      out += cluster_image(text.substr(at, cluster.bytes));
    at += cluster.bytes;
  }
  return out;
}

}  // namespace

std::string InputView::erase(ScreenSize size) {
  const InputLayout before = lay_out(drawn_, drawn_cursor_, std::max(size.columns, 1));
  const int first = before.row_of(reached_);
  const int below = std::min(int(before.rows.size()) - first, std::max(size.lines, 1)) - 1;
  std::string out = "\r" + up(before.cursor.row - first) + std::string(kEraseRow);
  // Row by row: tmux takes an erasure of the whole screen for a page that is to be kept, and would show the rows a second time.
  for (int row = 0; row < below; ++row) out += std::string(kDown) + std::string(kEraseRow);
  forget();
  return out + up(below);
}

void InputView::forget() {
  drawn_.clear();
  drawn_cursor_ = base_ = reached_ = 0;
}

void InputView::resized(int cursor_row, ScreenSize size) {
  const InputLayout layout = lay_out(drawn_, drawn_cursor_, std::max(size.columns, 1));
  reached_ = layout.rows[size_t(std::max(0, layout.cursor.row - std::max(cursor_row, 0)))];
}

std::string InputView::draw(std::string_view prompt, std::string_view text, size_t cursor, ScreenSize size) {
  size.columns = std::max(size.columns, 1);
  const int lines = std::max(size.lines, 1);
  const size_t at = prompt.size() + cursor;
  std::string whole = std::string(prompt) + std::string(text);
  // The cursor always stands on a character: behind a full row it would have no place of its own, and a terminal that wraps the rows anew
  // could leave it on either.
  if (at == whole.size()) whole += ' ';

  // What was scrolled away is out of reach, as long as nothing in it changes.
  size_t floor = base_ == 0 && whole.compare(0, reached_, drawn_, 0, reached_) == 0 ? reached_ : 0;
  std::string out = erase(size);
  const InputLayout all = lay_out(whole, at, size.columns);
  const int rows = int(all.rows.size());
  int floor_row = all.row_of(floor);
  if (all.rows[size_t(floor_row)] != floor || all.cursor.row < floor_row) {
    floor = 0;
    floor_row = 0;
  }

  // As little scrolling as shows the cursor.
  first_row_ = std::min(first_row_, all.cursor.row);
  first_row_ = std::max({first_row_, floor_row, all.cursor.row - lines + 1});
  first_row_ = std::clamp(first_row_, floor_row, std::max(floor_row, rows - lines));
  const size_t begin = all.rows[size_t(first_row_)];
  size_t end = first_row_ + lines < rows ? all.rows[size_t(first_row_ + lines)] : whole.size();
  // The newline behind the last row that is shown would scroll.
  if (end < whole.size() && end > begin && whole[end - 1] == '\n') --end;
  base_ = begin == floor ? 0 : begin;
  reached_ = begin == floor ? floor : 0;
  drawn_ = whole.substr(base_, end - base_);
  drawn_cursor_ = at - base_;

  const InputLayout layout = lay_out(drawn_, drawn_cursor_, size.columns);
  out += image(std::string_view(whole).substr(begin, end - begin));
  return out += "\r" + up(layout.end.row - layout.cursor.row) + right(layout.cursor.column);
}

std::string InputView::finish(std::string_view prompt, std::string_view text, ScreenSize size) {
  const std::string whole = std::string(prompt) + std::string(text);
  const bool is_kept = base_ == 0 && reached_ <= whole.size() && whole.compare(0, reached_, drawn_, 0, reached_) == 0;
  const size_t begin = is_kept ? reached_ : 0;
  std::string out = erase(size) + image(std::string_view(whole).substr(begin)) + "\r\n";
  first_row_ = 0;
  return out;
}

}  // namespace anedvd
