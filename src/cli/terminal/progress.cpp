#include "cli/terminal/progress.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <sys/ioctl.h>
#include <unistd.h>

#include "base/words.h"

namespace anedvd {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 500ms;  // shorter work shows no bar
constexpr auto kRedraw = 100ms;    // a bar
constexpr auto kLineEvery = 10s;   // where there is no terminal
constexpr auto kSpeedWindow = 5s;  // long enough to be steady, short enough to follow a change
constexpr int kLongestBar = 40;    // cells
constexpr int kShortestBar = 8;

bool terminal_can_erase() {
  const char* term = std::getenv("TERM");
  return term && std::strcmp(term, "dumb") != 0;
}

int columns_of_stderr() {
  winsize size = {};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string repeated(std::string_view piece, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += piece;
  return out;
}

// m:ss, hours as minutes.
std::string clock_words(double seconds) {
  const auto whole = int64_t(seconds + 0.5);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

std::string progress_words(uint64_t done, uint64_t total, Amount amount) {
  if (amount == Amount::kTokens)
    return total == 0 ? fmt::format("{} tokens", with_commas(int64_t(done)))
                      : fmt::format("{}/{} tokens", with_commas(int64_t(done)), with_commas(int64_t(total)));
  if (total == 0) return size_words(done);
  // The unit that size_words picks for the total.
  const std::string all = size_words(total);
  const size_t blank = all.find(' ');
  const std::string unit = all.substr(blank + 1);
  const double scale = unit == "GB" ? 1e9 : unit == "MB" ? 1e6 : unit == "kB" || unit == "KB" ? 1e3 : 1;
  if (scale == 1) return fmt::format("{}/{}", done, all);
  return fmt::format("{:.1f}/{}", double(done) / scale, all);
}

Progress::Progress(const Console& console, std::string label, uint64_t total, uint64_t done, Amount amount,
                   Clock::time_point now)
    : console_(console),
      label_(std::move(label)),
      total_(total),
      amount_(amount),
      has_bar_(console.err_is_terminal && terminal_can_erase()),
      start_(now),
      last_(now) {
  recent_.emplace_back(now, done);
}

Progress::~Progress() { clear(); }

double Progress::speed(uint64_t done, Clock::time_point now) const {
  const auto& [since, before] = recent_.front();
  const double seconds = std::chrono::duration<double>(now - since).count();
  return seconds > 0 && done > before ? double(done - before) / seconds : 0;
}

std::string Progress::line(uint64_t done, Clock::time_point now, int columns) const {
  std::string facts = progress_words(done, total_, amount_);
  const double rate = speed(done, now);
  if (rate > 0)
    facts += amount_ == Amount::kTokens ? fmt::format("  {} tok/s", three_digits(rate))
                                        : fmt::format("  {}/s", size_words(uint64_t(rate)));
  if (rate > 0 && total_ > done) facts += fmt::format("  {} left", clock_words(double(total_ - done) / rate));
  const int cells = std::min(kLongestBar, columns - 1 - int(label_.size() + facts.size()) - 4);
  if (total_ == 0 || cells < kShortestBar) return fmt::format("{}  {}", label_, facts);
  const int filled = int(double(cells) * double(std::min(done, total_)) / double(total_));
  const bool has_rest = filled < cells;
  return fmt::format(
      "{}  {}{}{}  {}", label_, repeated("━", filled), has_rest ? "╸" : "",
      console_.err(Tone::kDim, repeated(console_.err_color ? "━" : "─", cells - filled - (has_rest ? 1 : 0))), facts);
}

void Progress::update(uint64_t done, Clock::time_point now) {
  if (console_.quiet) return;
  while (recent_.size() > 1 && now - recent_.front().first > kSpeedWindow) recent_.pop_front();
  if (now - recent_.back().first >= kRedraw) recent_.emplace_back(now, done);
  if (!has_bar_) {
    if (now - last_ < kLineEvery) return;
    last_ = now;
    console_.note(line(done, now, 0));
    return;
  }
  if (now - start_ < kPatience || (is_drawn_ && now - last_ < kRedraw)) return;
  last_ = now;
  is_drawn_ = true;
  // \r and "erase to the end of the line": the cursor never leaves its line.
  (void)write_all(STDERR_FILENO, fmt::format("\r{}\x1b[K", line(done, now, columns_of_stderr())));
}

void Progress::clear() {
  if (is_drawn_) (void)write_all(STDERR_FILENO, "\r\x1b[K");
  is_drawn_ = false;
}

}  // namespace anedvd
