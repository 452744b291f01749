#include "formats/wrong_download.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "base/words.h"

namespace anedvd {
namespace {

constexpr size_t kShown = 16;  // bytes of a foreign file that the message quotes

std::string_view without_leading_space(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // byte order mark
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

bool starts_like(std::string_view text, std::string_view lower_case) {
  if (text.size() < lower_case.size()) return false;
  return std::equal(lower_case.begin(), lower_case.end(), text.begin(),
                    [](char want, char got) { return want == (got >= 'A' && got <= 'Z' ? char(got + 32) : got); });
}

bool is_web_page(std::string_view text) {
  return starts_like(text, "<!doctype") || starts_like(text, "<html") || starts_like(text, "<head") ||
         starts_like(text, "<?xml") || starts_like(text, "<!--");
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

std::optional<Error> wrong_download(std::string_view head, std::string_view where) {
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
