#include "api/service/request_log.h"

#include <ctime>

#include <nlohmann/json.hpp>

#include "api/fields.h"
#include "base/words.h"

namespace anedvd {
namespace {

std::string clock_words(int64_t now) {
  const std::time_t time = std::time_t(now);
  std::tm parts{};
  ::localtime_r(&time, &parts);
  return fmt::format("{:02}:{:02}:{:02}", parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string time_stamp(int64_t now) {
  const std::time_t time = std::time_t(now);
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  return fmt::format("{}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

// Tokens a second; the first token came out of the prompt. 0: unknown.
double rate(const RequestRecord& record) {
  return record.decode_s > 0 && record.generated > 1 ? (record.generated - 1) / record.decode_s : 0;
}

std::string_view end_words(const LoggedRequest& request) {
  if (request.status == 499) return "client left";
  return request.record.finish;
}

std::string terminal_line(const LoggedRequest& request, int64_t now) {
  const RequestRecord& record = request.record;
  std::string line = fmt::format("{}  {}  ", clock_words(now), request.status);
  if (record.kind.empty() || record.prompt < 0) {
    line += visible(request.route, 60);
    if (request.status == 499) line += "  client left";
    if (!record.note.empty()) line += "  " + visible(record.note, 160);
    return line;
  }
  const std::string reused = record.reused > 0 ? fmt::format("({} reused) ", with_commas(record.reused)) : "";
  line += fmt::format("{:<8} {:>5} in {}→ {:>4} out  {:>5} tok/s  {}  {}", record.kind, with_commas(record.prompt),
                      reused, with_commas(record.generated), rate(record) > 0 ? three_digits(rate(record)) : "–",
                      duration_words(request.seconds), end_words(request));
  return line;
}

// Spaces and quotes make a value quoted.
std::string value_words(std::string_view text) {
  const std::string shown = visible(text, 160);
  if (!shown.empty() && shown.find_first_of(" \"=") == std::string::npos) return shown;
  std::string quoted = "\"";
  for (const char c : shown) quoted += c == '"' ? std::string("'") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::string log_line_of(const LoggedRequest& request, LogStyle style, int64_t now) {
  const RequestRecord& record = request.record;
  if (style == LogStyle::kTerminal) return terminal_line(request, now);
  nlohmann::ordered_json fields = {{"ts", time_stamp(now)},
                                   {"level", request.status >= 500 ? "error" : "info"},
                                   {"event", "request"},
                                   {"id", request.id},
                                   {"route", visible(request.route, 200)},
                                   {"status", request.status}};
  if (!record.kind.empty() && record.prompt >= 0) {
    fields["model"] = record.model;
    fields["prompt"] = record.prompt;
    fields["reused"] = record.reused;
    fields["dropped"] = record.dropped;
    fields["new"] = record.generated;
    if (record.first_token_s >= 0) fields["ttft_ms"] = std::int64_t(record.first_token_s * 1e3);
    if (rate(record) > 0) fields["tok_s"] = double(std::int64_t(rate(record) * 10)) / 10.0;
  }
  fields["total_ms"] = std::int64_t(request.seconds * 1e3);
  if (!end_words(request).empty()) fields["finish"] = end_words(request);
  if (!record.note.empty()) fields["note"] = record.note;
  if (style == LogStyle::kJson) return json_text(fields);
  std::string line;
  for (const auto& [key, value] : fields.items())
    line += fmt::format("{}{}={}", line.empty() ? "" : " ", key,
                        value_words(value.is_string() ? value.get<std::string>() : value.dump()));
  return line;
}

std::string dropped_line_of(const LoggedRequest& request, LogStyle style, int64_t now, int context) {
  const RequestRecord& record = request.record;
  if (style != LogStyle::kTerminal || record.dropped <= 0) return {};
  return fmt::format("{}  warn dropped {} of {} prompt tokens (context {}); --max-seq {} would keep them",
                     clock_words(now), with_commas(record.dropped), with_commas(record.prompt + record.dropped),
                     with_commas(context), record.prompt + record.dropped + 256);
}

}  // namespace anedvd
