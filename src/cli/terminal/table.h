// Tables of numbers for people: two blanks between columns, text left, numbers right, no frames.
//
//   test    tokens  tok/s      min–max
//   prompt     512  1,430  1,391–1,452
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace anedvd {

enum class Align { kLeft, kRight };

struct Column {
  std::string title;  // with its unit
  Align align = Align::kRight;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // One cell a column.
  void add(std::vector<std::string> cells);

  // The table as lines. Columns that do not fit into `columns` cells (0: no limit) are left out from the right, and a last line says so.
  // No line ends with blanks.
  std::string render(int columns = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// "label     value" lines, values in one column.
std::string labelled(const std::vector<std::pair<std::string, std::string>>& rows);

// Characters of UTF-8 text; each is taken to be one cell wide, which holds for everything that anedvd itself puts into tables.
size_t character_count(std::string_view text);

}  // namespace anedvd
