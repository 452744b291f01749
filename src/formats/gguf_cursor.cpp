#include "formats/gguf_cursor.h"

#include <limits>

#include "base/words.h"

namespace anedvd {

tl::unexpected<Error> GgufCursor::overrun(std::string_view where, std::string_view what) const {
  if (!wanted_end_ || *wanted_end_ > kNoFileIsThisLong) {
    return fail(ErrorCode::kBadFile,
                "{}: {} claims more bytes than any file has (at byte {}); the file is damaged, fetch it again", where,
                what, number_words(offset_));
  }
  return fail(ErrorCode::kBadFile,
              "{}: {} reaches byte {} but the file has {}; the download stopped early, fetch it again", where, what,
              number_words(*wanted_end_), number_words(size()));
}

std::string number_words(uint64_t value) {
  constexpr auto kLargest = uint64_t(std::numeric_limits<int64_t>::max());
  if (value <= kLargest) return with_commas(int64_t(value));
  // The upper half of the range has 19 or 20 digits: everything above the last thousand, then its three digits.
  return fmt::format("{},{:03}", with_commas(int64_t(value / 1000)), value % 1000);
}

}  // namespace anedvd
