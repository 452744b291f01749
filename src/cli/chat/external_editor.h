// A text in the person's own editor.
#pragma once

#include <string>

#include "base/result.h"

namespace anedvd {

// Opens $VISUAL, $EDITOR or vi on a file that holds `text` (readable by its owner only, gone afterwards) and returns what was saved, without the
// newline that editors put at the end. The terminal must be in its usual modes. Error kIo: the editor failed or left with an error.
Result<std::string> edit_text(const std::string& text);

}  // namespace anedvd
