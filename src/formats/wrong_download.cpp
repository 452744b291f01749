#include "formats/wrong_download.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "base/ascii.h"
#include "base/words.h"

namespace anedvd {
namespace {

constexpr size_t kShown = 16;           // bytes of a foreign file that the message quotes
constexpr size_t kPointerBytes = 1024;  // Git LFS: a pointer file is smaller (git-lfs docs/spec.md)

std::string_view without_leading_space(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // byte order mark
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

bool is_web_page(std::string_view text) {
  constexpr size_t kLongestTag = 9;
  const std::string start = lower_ascii(text.substr(0, kLongestTag));
  for (const std::string_view tag : {"<!doctype", "<html", "<head", "<?xml", "<!--"})
    if (start.starts_with(tag)) return true;
  return false;
}

// " to 98.3 MB", or nothing if the pointer does not say.
std::string pointer_size_words(std::string_view text) {
  const size_t at = text.find("\nsize ");
  if (at == std::string_view::npos) return "";
  uint64_t bytes = 0;
  const char* first = text.data() + at + 6;
  const auto [end, error] = std::from_chars(first, text.data() + text.size(), bytes);
  return error == std::errc() && end != first ? " to " + size_words(bytes) : "";
}

}  // namespace

std::string shown_start(std::string_view text) {
  const size_t end = text.find_first_of(">\r\n");
  return visible(text.substr(0, std::min(end, kShown)));
}

std::optional<Error> wrong_download(std::string_view file, std::string_view where) {
  const std::string_view head = file.substr(0, kPointerBytes);
  const std::string_view text = without_leading_space(head);
  if (is_web_page(text))
    return Error{
        ErrorCode::kBadFile,
        fmt::format("{}: this is a web page, not a model (it starts \"{}\"); download the file itself, not its page",
                    where, shown_start(text))};
  if (head.starts_with("version https://git-lfs"))
    return Error{ErrorCode::kBadFile,
                 fmt::format("{}: this is a Git LFS pointer{}, not the model; run \"git lfs pull\" there", where,
                             pointer_size_words(head))};
  return std::nullopt;
}

}  // namespace anedvd
