// Draws the input on a terminal: text, cursor and size in, screen operations out. Pure: the caller writes the string.
//
// Only the input's own rows are ever touched; the cursor does not go above them. Input that is taller than the screen shows the rows around
// the cursor, and all of it once it is sent. Rows that a terminal has scrolled away while it wrapped them anew are left where they are.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace anedvd {

struct ScreenSize {
  int columns = 80;
  int lines = 24;
};

class InputView {
 public:
  // Makes the screen show `prompt` and `text` with the cursor before byte `cursor` of the text. What was drawn before is replaced. After a
  // change of size the terminal is taken to have wrapped the old rows anew, as most do.
  std::string draw(std::string_view prompt, std::string_view text, size_t cursor, ScreenSize size);

  // The terminal has another size and has wrapped what was drawn anew; its cursor is in this row of the screen.
  void resized(int cursor_row, ScreenSize size);

  // The input is done: shows all of it and goes to the row below.
  std::string finish(std::string_view prompt, std::string_view text, ScreenSize size);

  // Takes the input off the screen.
  std::string erase(ScreenSize size);

  // The screen was cleared by somebody: the next draw() begins where the cursor is.
  void forget();

 private:
  std::string drawn_;        // prompt and text as they stand on the screen, from the beginning of a row
  size_t drawn_cursor_ = 0;  // byte in it
  size_t base_ = 0;     // byte of prompt and text at which it begins: not 0 when the input is taller than the screen
  size_t reached_ = 0;  // byte in it where the first row begins that the cursor can go to
  int first_row_ = 0;   // of the whole input, when it is taller than the screen
};

}  // namespace anedvd
