#include "cli/chat/answer_stream.h"

#include <utility>

#include <unistd.h>

#include "cli/chat/chat_words.h"

namespace anedvd {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kReadingAfter{500};  // a shorter wait needs no words
constexpr milliseconds kReadingEvery{100};

}  // namespace

AnswerStream::AnswerStream(const Console& console, bool is_styled, std::function<bool()> interrupted,
                           std::function<ReadingProgress()> progress)
    : console_(console),
      writer_(STDOUT_FILENO, console.out_is_terminal),
      interrupted_(std::move(interrupted)),
      progress_(std::move(progress)) {
  if (is_styled)
    writer_ = AnswerWriter(STDOUT_FILENO, true, [this](std::string_view text) { return style_.push(text); });
}

void AnswerStream::show_reading() {
  const auto now = Clock::now();
  if (!interrupted_ || console_.quiet || now - start_ < kReadingAfter) return;
  if (is_reading_shown_ && now - drawn_at_ < kReadingEvery) return;
  drawn_at_ = now;
  is_reading_shown_ = true;
  (void)write_all(STDERR_FILENO, "\r\x1b[K" + console_.err(Tone::kDim, reading_line(progress_())));
}

void AnswerStream::clear_reading() {
  if (std::exchange(is_reading_shown_, false)) (void)write_all(STDERR_FILENO, "\r\x1b[K");
}

bool AnswerStream::take(std::string_view text) {
  if (text.empty()) {
    if (!has_text_) show_reading();
  } else {
    has_text_ = true;
    clear_reading();
    const auto written = writer_.write(text);
    if (!written) error_ = written.error();
    is_reader_gone_ = is_reader_gone_ || (written && *written == Written::kReaderGone);
  }
  return !error_ && !is_reader_gone_ && !(interrupted_ && interrupted_());
}

Result<Written> AnswerStream::finish() {
  clear_reading();
  if (error_) return tl::unexpected(*error_);
  if (is_reader_gone_) return Written::kReaderGone;
  // What the style held back, and its end.
  ANEDVD_TRY_VOID(write_out(style_.finish()));
  return writer_.finish();
}

}  // namespace anedvd
