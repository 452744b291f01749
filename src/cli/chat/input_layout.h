// Where the input's characters stand when the terminal wraps them.
//
//   columns 8:   you> abc        row 0: "you> abc", full
//                de|             row 1: "de", the cursor behind it
//
// The terminal does the wrapping, so copied text has no breaks in it; this tells what it will do. A wide character that no longer fits moves
// to the next row; a row that is full keeps the cursor at its end until something follows.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace anedvd {

struct Place {
  int row = 0;
  int column = 0;
  bool operator==(const Place&) const = default;
};

struct InputLayout {
  std::vector<size_t> rows;  // byte at which each row begins; at least one
  Place cursor;
  Place end;  // where the terminal's cursor is left after the text: column == columns when the last row is full
  bool needs_break = false;  // the cursor stands at the end of a full last row: on a row that has to be opened first

  // The row that holds byte `at`.
  int row_of(size_t at) const;
};

// `cursor` is a byte of the text, on a boundary. columns ≥ 1.
InputLayout lay_out(std::string_view text, size_t cursor, int columns);

// The boundary that is shown at `place`, or the nearest before it in that row.
size_t boundary_at(std::string_view text, const InputLayout& layout, Place place, int columns);

}  // namespace anedvd
