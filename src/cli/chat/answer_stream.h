// Shows one answer while it comes: text on stdout, how far the reading is on stderr.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "cli/chat/answer_style.h"
#include "cli/chat/chat_session.h"
#include "cli/terminal/answer_writer.h"
#include "cli/terminal/console.h"

namespace anedvd {

class AnswerStream {
 public:
  using Clock = std::chrono::steady_clock;

  // interrupted: may be empty (no terminal to draw on). progress: asked while the prompt is read.
  AnswerStream(const Console& console, bool is_styled, std::function<bool()> interrupted,
               std::function<ReadingProgress()> progress);
  AnswerStream(const AnswerStream&) = delete;
  AnswerStream& operator=(const AnswerStream&) = delete;

  // As a TextSink: false stops the answer.
  bool take(std::string_view text);

  bool has_text() const { return has_text_; }

  // The newline at the end. Error kIo: standard output.
  Result<Written> finish();

 private:
  void show_reading();
  void clear_reading();

  const Console& console_;
  AnswerStyle style_;
  AnswerWriter writer_;
  std::function<bool()> interrupted_;
  std::function<ReadingProgress()> progress_;
  Clock::time_point start_ = Clock::now(), drawn_at_ = start_;
  bool has_text_ = false, is_reading_shown_ = false, is_reader_gone_ = false;
  std::optional<Error> error_;
};

}  // namespace anedvd
