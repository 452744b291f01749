#include "cli/chat/input_view.h"

#include <gtest/gtest.h>

#include "cli/chat/cell_width.h"
#include "cli/chat/input_layout.h"

namespace anedvd {
namespace {

constexpr std::string_view kFamily = "\U0001F469\u200D\U0001F469\u200D\U0001F467";  // woman, woman, girl

// A terminal of the kind that the program draws on: cells, wrapping with a pending wrap, scrolling, and the few escapes that InputView uses.
class FakeScreen {
 public:
  FakeScreen(int columns, int lines) : columns_(columns), rows_(size_t(lines)) {}

  void write(std::string_view bytes) {
    for (size_t at = 0; at < bytes.size();) {
      if (bytes[at] == '\x1b') {
        at = escape(bytes, at);
      } else if (bytes[at] == '\r') {
        column_ = 0;
        ++at;
      } else if (bytes[at] == '\n') {
        down();
        ++at;
      } else {
        const Cluster cluster = cluster_at(bytes, at);
        put(std::string(bytes.substr(at, cluster.bytes)), cluster.cells);
        at += cluster.bytes;
      }
    }
  }

  // The rows with text, and the cursor as "row:column".
  std::string shown() const {
    std::string out;
    size_t last = 0;
    for (size_t r = 0; r < rows_.size(); ++r)
      if (!text(r).empty()) last = r;
    for (size_t r = 0; r <= last; ++r) out += text(r) + "|";
    return out + std::to_string(row_) + ":" + std::to_string(std::min(column_, columns_ - 1));
  }

  std::string scrolled;  // rows that left at the top

 private:
  struct Cell {
    std::string text = " ";
  };

  std::string text(size_t r) const {
    std::string out;
    for (const Cell& cell : rows_[r]) out += cell.text;
    out.erase(out.find_last_not_of(' ') + 1);
    return out;
  }

  void down() {
    if (row_ + 1 < int(rows_.size())) {
      ++row_;
      return;
    }
    scrolled += text(0) + "|";
    rows_.erase(rows_.begin());
    rows_.emplace_back();
  }

  void put(const std::string& cluster, int cells) {
    if (column_ + cells > columns_) {
      column_ = 0;
      down();
    }
    auto& row = rows_[size_t(row_)];
    row.resize(std::max(row.size(), size_t(column_ + std::max(cells, 1))));
    if (cells == 0) {
      row[size_t(std::max(0, column_ - 1))].text += cluster;
      return;
    }
    row[size_t(column_)].text = cluster;
    for (int i = 1; i < cells; ++i) row[size_t(column_ + i)].text.clear();
    column_ += cells;
  }

  size_t escape(std::string_view bytes, size_t at) {
    size_t end = at + 2;
    int number = 0;
    while (end < bytes.size() && bytes[end] >= '0' && bytes[end] <= '9') number = number * 10 + (bytes[end++] - '0');
    auto& row = rows_[size_t(row_)];
    switch (bytes[end]) {
      case 'A': row_ = std::max(0, row_ - std::max(1, number)); break;
      case 'B': row_ = std::min(int(rows_.size()) - 1, row_ + std::max(1, number)); break;
      case 'C': column_ = std::min(columns_ - 1, column_ + std::max(1, number)); break;
      case 'K': row.resize(std::min(row.size(), size_t(column_))); break;
      case 'J':
        row.resize(std::min(row.size(), size_t(column_)));
        for (size_t r = size_t(row_) + 1; r < rows_.size(); ++r) rows_[r].clear();
        break;
      default: ADD_FAILURE() << "unknown escape " << bytes.substr(at, end + 1 - at);
    }
    return end + 1;
  }

  int columns_;
  int row_ = 0, column_ = 0;
  std::vector<std::vector<Cell>> rows_;
};

TEST(CellWidth, ClustersAndCells) {
  struct Case {
    std::string_view text;
    size_t bytes;
    int cells;
  };
  const Case cases[] = {
      {"a", 1, 1},
      {"\xc3\xa9", 2, 1},
      {"e\xcc\x81x", 3, 1},            // e and a combining acute
      {"\xe6\x97\xa5", 3, 2},          // CJK
      {"\xe2\x97\x8c\xcc\x81", 5, 1},  // dotted circle and acute
      {kFamily, kFamily.size(), 2},
      {"\U0001F44D\U0001F3FD", 8, 2},  // thumb and skin tone
      {"\U0001F1EB\U0001F1F7", 8, 2},  // a flag of two letters
      {"\xea\xb0\x80", 3, 2},          // Hangul syllable
      {"\xef\xbd\xb1", 3, 1},          // half-width katakana
      {"\x07", 1, 2},
      {"\x7f", 1, 2},          // ^G ^?
      {"\xc2\x9b", 2, 4},      // \x9b
      {"\xe2\x80\xae", 3, 6},  // \u202e
      {"\t", 1, 2},
      {"\n", 1, 0},
      {"\xff", 1, 4},
  };
  for (const Case& c : cases) {
    const Cluster cluster = cluster_at(c.text, 0);
    EXPECT_EQ(cluster.bytes, c.bytes) << testing::PrintToString(c.text);
    EXPECT_EQ(cluster.cells, c.cells) << testing::PrintToString(c.text);
  }
  EXPECT_EQ(cluster_image("\x07"), "^G");
  EXPECT_EQ(cluster_image("\x7f"), "^?");
  EXPECT_EQ(cell_count("a\xe6\x97\xa5"
                       "b"),
            4);
}

TEST(CellWidth, BoundariesRunBothWays) {
  const std::string text = "a\xe6\x97\xa5\n" + std::string(kFamily) + "e\xcc\x81";
  std::vector<size_t> forward, backward;
  for (size_t at = 0; at < text.size(); at = next_boundary(text, at)) forward.push_back(at);
  for (size_t at = text.size(); at > 0;) backward.insert(backward.begin(), at = previous_boundary(text, at));
  EXPECT_EQ(forward, backward);
  EXPECT_EQ(forward.size(), 5u);
}

TEST(InputLayout, WrapsAsTheTerminalDoes) {
  const InputLayout full = lay_out("you> abc", 8, 8);
  EXPECT_TRUE(full.needs_break);
  EXPECT_EQ(full.cursor, (Place{1, 0}));
  const InputLayout wide = lay_out("you> ab\xe6\x97\xa5", 7, 8);  // one cell is left, the character takes two
  EXPECT_EQ(wide.rows, (std::vector<size_t>{0, 7}));
  EXPECT_EQ(wide.cursor, (Place{1, 0}));
  EXPECT_EQ(wide.end, (Place{1, 2}));
  EXPECT_EQ(lay_out("ab\ncd", 2, 80).cursor, (Place{0, 2}));
  EXPECT_EQ(lay_out("ab\ncd", 3, 80).cursor, (Place{1, 0}));
}

// Draws every beginning of the text, then walks back through it: each time the screen shows what a fresh drawing would.
TEST(InputView, ScreenIsAlwaysWhatAFreshDrawingGives) {
  const std::string text =
      "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e" + std::string(kFamily) + "e\xcc\x81 abc\x07 x\n\xe6\x97\xa5 second";
  for (const int columns : {7, 8, 9, 20, 80, 200}) {
    FakeScreen screen(columns, 24);
    InputView view;
    const auto check = [&](const std::string& part, size_t cursor) {
      screen.write(view.draw("you> ", part, cursor, {columns, 24}));
      FakeScreen fresh(columns, 24);
      fresh.write(InputView().draw("you> ", part, cursor, {columns, 24}));
      ASSERT_EQ(screen.shown(), fresh.shown()) << columns << " " << part << " " << cursor;
    };
    for (size_t at = 0; at <= text.size(); at = at < text.size() ? next_boundary(text, at) : at + 1)
      check(text.substr(0, at), at);
    for (size_t at = text.size(); at > 0; at = previous_boundary(text, at)) check(text, at);
  }
}

TEST(InputView, Golden) {
  FakeScreen screen(10, 5);
  InputView view;
  screen.write(view.draw("you> ", "abcde", 5, {10, 5}));
  EXPECT_EQ(screen.shown(), "you> abcde|1:0");
  screen.write(view.draw("you> ", "abcdefg", 2, {10, 5}));
  EXPECT_EQ(screen.shown(), "you> abcde|fg|0:7");
  screen.write(view.finish("you> ", "abcdefg", {10, 5}));
  EXPECT_EQ(screen.shown(), "you> abcde|fg|2:0");
}

TEST(InputView, TallInputShowsTheRowsAroundTheCursorAndAllOfItOnceSent) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += (i > 0 ? "\n" : "") + std::to_string(i);
  FakeScreen screen(20, 6);
  InputView view;
  screen.write("before\r\n");
  screen.write(view.draw("> ", text, text.size(), {20, 6}));
  EXPECT_EQ(screen.shown(), "14|15|16|17|18|19|5:2");
  screen.write(view.draw("> ", text, 0, {20, 6}));
  EXPECT_EQ(screen.shown(), "> 0|1|2|3|4|5|0:2");
  screen.write(view.finish("> ", text, {20, 6}));
  EXPECT_EQ(screen.scrolled, "before|> 0|1|2|3|4|5|6|7|8|9|10|11|12|13|14|");
  EXPECT_EQ(screen.shown(), "15|16|17|18|19|5:0");
}

TEST(InputView, TheTerminalDoesTheWrapping) {
  const std::string drawn = InputView().draw("you> ", std::string(100, 'x'), 100, {20, 24});
  EXPECT_NE(drawn.find(std::string(100, 'x')), std::string::npos) << "a break would be copied with the text";
}

}  // namespace
}  // namespace anedvd
