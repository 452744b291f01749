#include <array>
#include <ctime>

#include "http/connection.h"

namespace anedvd {
namespace {

struct StatusRow {
  int status;
  std::string_view words;
};

constexpr StatusRow kStatus[] = {
    {200, "OK"},
    {204, "No Content"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {411, "Length Required"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {529, "Overloaded"},
};

// Sun, 06 Nov 1994 08:49:37 GMT (RFC 9110 §5.6.7), whatever the locale.
std::string date_now() {
  constexpr std::string_view kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::string_view kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", kDays[parts.tm_wday], parts.tm_mday,
                     kMonths[parts.tm_mon], parts.tm_year + 1900, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace

std::string_view status_words(int status) {
  for (const StatusRow& row : kStatus)
    if (row.status == status) return row.words;
  return "Status";
}

std::string head_bytes(const Head& head, const std::vector<Header>& common, int version, bool keep_alive,
                       int64_t length) {
  std::string out = fmt::format("HTTP/1.{} {} {}\r\n", version >= 11 ? 1 : 0, head.status, status_words(head.status));
  out += fmt::format("Date: {}\r\n", date_now());
  for (const auto* list : {&common, &head.headers})
    for (const Header& header : *list) out += fmt::format("{}: {}\r\n", header.name, header.value);
  if (length >= 0) {
    if (head.status != 204 && head.status != 304) out += fmt::format("Content-Length: {}\r\n", length);
  } else if (version >= 11) {
    out += "Transfer-Encoding: chunked\r\n";
  }
  if (!keep_alive) out += "Connection: close\r\n";
  if (keep_alive && version < 11) out += "Connection: keep-alive\r\n";
  return out + "\r\n";
}

std::string chunk_bytes(std::string_view bytes) { return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes); }

}  // namespace anedvd
