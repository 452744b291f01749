#include "cli/terminal/table.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/result.h"

namespace anedvd {
namespace {

constexpr size_t kGap = 2;  // blanks between columns

std::string padded(const std::string& text, size_t width, Align align) {
  const size_t count = character_count(text);
  const std::string blanks(width > count ? width - count : 0, ' ');
  return align == Align::kLeft ? text + blanks : blanks + text;
}

void end_line(std::string& out) {
  out.erase(out.find_last_not_of(' ') + 1);
  out += '\n';
}

}  // namespace

size_t character_count(std::string_view text) {
  return size_t(std::count_if(text.begin(), text.end(), [](char c) { return (uint8_t(c) & 0xc0) != 0x80; }));
}

void Table::add(std::vector<std::string> cells) {
  ANEDVD_CHECK(cells.size() == columns_.size(), "{} cells for {} columns", cells.size(), columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::render(int columns) const {
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    size_t width = character_count(columns_[c].title);
    for (const auto& row : rows_) width = std::max(width, character_count(row[c]));
    widths.push_back(width);
  }
  size_t shown = columns_.size();
  const auto total = [&] {
    size_t sum = 0;
    for (size_t c = 0; c < shown; ++c) sum += widths[c] + (c > 0 ? kGap : 0);
    return sum;
  };
  while (columns > 0 && shown > 1 && total() > size_t(columns)) --shown;

  std::string out;
  const auto add_line = [&](const auto& cell) {
    std::string line;
    for (size_t c = 0; c < shown; ++c) {
      if (c > 0) line.append(kGap, ' ');
      line += padded(cell(c), widths[c], columns_[c].align);
    }
    end_line(line);
    out += line;
  };
  add_line([&](size_t c) { return columns_[c].title; });
  for (const auto& row : rows_) add_line([&](size_t c) { return row[c]; });
  if (shown < columns_.size()) {
    std::string names;
    for (size_t c = shown; c < columns_.size(); ++c) names += (names.empty() ? "" : ", ") + columns_[c].title;
    out += fmt::format("(too narrow for: {})\n", names);
  }
  return out;
}

std::string labelled(const std::vector<std::pair<std::string, std::string>>& rows) {
  size_t width = 8;
  for (const auto& row : rows) width = std::max(width, character_count(row.first));
  std::string out;
  for (const auto& [label, value] : rows) {
    std::string line = padded(label, width + kGap, Align::kLeft) + value;
    end_line(line);
    out += line;
  }
  return out;
}

}  // namespace anedvd
