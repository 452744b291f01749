#include "cli/chat/line_editor.h"

#include <algorithm>
#include <utility>

#include "cli/chat/cell_width.h"
#include "cli/chat/input_layout.h"
#include "text/unicode.h"

namespace anedvd {
namespace {

constexpr std::string_view kBlockMark = "\"\"\"";

// Letters, digits, marks and everything beyond ASCII that is no space: what Alt-B and Alt-F step over as one.
bool is_word(std::string_view text, size_t at) {
  const Char c = char_at(text, at);
  if ((c.classes & (kLetter | kNumber | kMark | kConnector)) != 0) return true;
  return c.code >= 0x80 && (c.classes & (kSpace | kPunctuation)) == 0;
}

bool is_blank(std::string_view text, size_t at) { return (char_at(text, at).classes & kSpace) != 0; }

std::string common_beginning(const std::vector<std::string>& words) {
  std::string common = words.empty() ? std::string() : words[0];
  for (const std::string& word : words) {
    const auto differs = std::mismatch(common.begin(), common.end(), word.begin(), word.end());
    common.erase(differs.first, common.end());
  }
  // Not into the middle of a character.
  while (!common.empty() && char_at(common, previous_boundary(common, common.size())).code == 0xfffd) common.pop_back();
  return common;
}

}  // namespace

std::string LineEditor::prompt() const {
  if (!search_) return options_.prompt;
  return (search_->found ? "(search: " : "(not found: ") + search_->query + ") ";
}

std::string LineEditor::message() const {
  const bool is_block = !is_literal_ && text_.size() >= 2 * kBlockMark.size() && text_.starts_with(kBlockMark) &&
                        text_.ends_with(kBlockMark);
  if (!is_block) return text_;
  std::string_view inner = text_;
  inner.remove_prefix(kBlockMark.size());
  inner.remove_suffix(kBlockMark.size());
  if (inner.starts_with('\n')) inner.remove_prefix(1);
  if (inner.ends_with('\n')) inner.remove_suffix(1);
  return std::string(inner);
}

void LineEditor::start(const std::string& sent) {
  if (!sent.empty()) {
    history_.erase(std::remove(history_.begin(), history_.end(), sent), history_.end());
    history_.push_back(sent);
  }
  start_with({});
}

void LineEditor::start_with(std::string text) {
  set(std::move(text));
  is_literal_ = false;
  history_at_ = SIZE_MAX;
  edited_.clear();
  search_.reset();
}

EditEvent LineEditor::take(const Key& key, int columns) {
  candidates_.clear();
  if (search_) {
    if (const auto event = take_search(key)) return *event;
  }
  was_kill_ = std::exchange(is_kill_, false);
  const EditEvent event = take_edit(key, columns);
  if (text_.empty()) is_literal_ = false;
  return event;
}

EditEvent LineEditor::take_edit(const Key& key, int columns) {
  switch (key.kind) {
    case KeyKind::kText: insert(key.text); break;
    case KeyKind::kPaste:
      if (text_.empty()) is_literal_ = true;
      insert(key.text);
      break;
    case KeyKind::kControl: return take_control(key.letter, columns);
    case KeyKind::kAlt: return take_alt(key.letter);
    case KeyKind::kEnter: return take_enter();
    case KeyKind::kNewline:
      if (options_.enter_is_newline) return EditEvent::kSubmit;
      insert("\n");
      break;
    case KeyKind::kTab: return take_tab();
    case KeyKind::kBackspace: erase(previous_boundary(text_, cursor_), cursor_); break;
    case KeyKind::kAltBackspace: kill(word_left(), cursor_); break;
    case KeyKind::kDelete: erase(cursor_, next_boundary(text_, cursor_)); break;
    case KeyKind::kLeft: cursor_ = previous_boundary(text_, cursor_); break;
    case KeyKind::kRight: cursor_ = next_boundary(text_, cursor_); break;
    case KeyKind::kWordLeft: cursor_ = word_left(); break;
    case KeyKind::kWordRight: cursor_ = word_right(); break;
    case KeyKind::kUp: move_row(-1, columns); break;
    case KeyKind::kDown: move_row(1, columns); break;
    case KeyKind::kHome: cursor_ = line_begin(); break;
    case KeyKind::kEnd: cursor_ = line_end(); break;
    case KeyKind::kEscape:
    case KeyKind::kCursorReport: break;
  }
  return EditEvent::kChanged;
}

EditEvent LineEditor::take_control(char letter, int columns) {
  switch (letter) {
    case 'a': cursor_ = line_begin(); break;
    case 'b': cursor_ = previous_boundary(text_, cursor_); break;
    case 'c':
      if (text_.empty()) return EditEvent::kInterrupt;
      kill(0, text_.size());
      start_with({});
      break;
    case 'd':
      if (text_.empty()) return EditEvent::kEnd;
      if (options_.enter_is_newline && cursor_ == text_.size()) return EditEvent::kSubmit;
      erase(cursor_, next_boundary(text_, cursor_));
      break;
    case 'e': cursor_ = line_end(); break;
    case 'f': cursor_ = next_boundary(text_, cursor_); break;
    case 'k': kill(cursor_, line_end() > cursor_ ? line_end() : next_boundary(text_, cursor_)); break;
    case 'l': return EditEvent::kClearScreen;
    case 'n': move_row(1, columns); break;
    case 'p': move_row(-1, columns); break;
    case 'r': search_ = Search{{}, history_.size(), true, text_, cursor_}; break;
    case 'u': kill(line_begin(), cursor_); break;
    case 'w': kill(blank_word_left(), cursor_); break;
    case 'y': insert(killed_); break;
    case 'z': return EditEvent::kSuspend;
    case '\\': return EditEvent::kQuit;
    default: break;
  }
  return EditEvent::kChanged;
}

EditEvent LineEditor::take_alt(char letter) {
  switch (letter) {
    case 'b': cursor_ = word_left(); break;
    case 'f': cursor_ = word_right(); break;
    case 'd': kill(cursor_, word_right()); break;
    default: break;
  }
  return EditEvent::kChanged;
}

bool LineEditor::is_open_block() const {
  if (is_literal_ || !text_.starts_with(kBlockMark)) return false;
  return text_.size() < 2 * kBlockMark.size() || !text_.ends_with(kBlockMark);
}

EditEvent LineEditor::take_enter() {
  if (options_.enter_is_newline && !(may_be_command() && text_.starts_with('/'))) {
    insert("\n");
    return EditEvent::kChanged;
  }
  if (is_open_block()) {
    insert("\n");
    return EditEvent::kChanged;
  }
  if (!is_literal_ && cursor_ == text_.size() && text_.ends_with('\\')) {
    erase(text_.size() - 1, text_.size());
    insert("\n");
    return EditEvent::kChanged;
  }
  return EditEvent::kSubmit;
}

EditEvent LineEditor::take_tab() {
  if (!options_.completer || !may_be_command()) return EditEvent::kChanged;
  Completion completion = options_.completer(std::string_view(text_).substr(0, cursor_));
  if (completion.candidates.empty()) return EditEvent::kChanged;
  std::string common = common_beginning(completion.candidates);
  const bool is_only = completion.candidates.size() == 1;
  if (is_only && !common.ends_with('/') && cursor_ == text_.size()) common += ' ';
  const size_t typed = cursor_ - completion.from;
  if (common.size() > typed || is_only) {
    text_.replace(completion.from, typed, common);
    cursor_ = completion.from + common.size();
    return EditEvent::kChanged;
  }
  candidates_ = std::move(completion.candidates);
  return EditEvent::kCandidates;
}

std::optional<EditEvent> LineEditor::take_search(const Key& key) {
  Search& search = *search_;
  if (key.kind == KeyKind::kText || key.kind == KeyKind::kPaste) {
    search.query += key.text.substr(0, key.text.find('\n'));
    find_older(std::min(search.index + 1, history_.size()));
    return EditEvent::kChanged;
  }
  if (key.kind == KeyKind::kBackspace) {
    search.query.resize(previous_boundary(search.query, search.query.size()));
    find_older(history_.size());
    return EditEvent::kChanged;
  }
  if (key.is_control('r')) {
    find_older(search.index);
    return EditEvent::kChanged;
  }
  if (key.kind == KeyKind::kEscape || key.is_control('g') || key.is_control('c')) {
    set(search.text_before);
    cursor_ = search.cursor_before;
    search_.reset();
    return EditEvent::kChanged;
  }
  // Any other key takes what was found and then does its work.
  if (search.index < history_.size()) history_at_ = search.index;
  search_.reset();
  return std::nullopt;
}

// The newest entry older than `below` that holds the query; what is shown stays when there is none.
void LineEditor::find_older(size_t below) {
  Search& search = *search_;
  search.found = search.query.empty();
  if (search.query.empty()) return;
  for (size_t i = below; i-- > 0;) {
    const size_t at = history_[i].rfind(search.query);
    if (at == std::string::npos) continue;
    set(history_[i]);
    cursor_ = at;
    search.index = i;
    search.found = true;
    return;
  }
}

void LineEditor::insert(std::string_view text) {
  text_.insert(cursor_, text);
  cursor_ += text.size();
  // What was typed may join the character after it (a mark before its letter's rest): the cursor stays on a boundary.
  while (cursor_ < text_.size() && next_boundary(text_, previous_boundary(text_, cursor_)) > cursor_)
    cursor_ = next_boundary(text_, previous_boundary(text_, cursor_));
}

void LineEditor::erase(size_t begin, size_t end) {
  text_.erase(begin, end - begin);
  cursor_ = begin;
}

void LineEditor::kill(size_t begin, size_t end) {
  if (begin == end) {
    is_kill_ = was_kill_;
    return;
  }
  const std::string piece = text_.substr(begin, end - begin);
  if (!was_kill_)
    killed_ = piece;
  else if (end == cursor_)
    killed_.insert(0, piece);
  else
    killed_ += piece;
  is_kill_ = true;
  erase(begin, end);
}

void LineEditor::set(std::string text) {
  text_ = std::move(text);
  cursor_ = text_.size();
}

void LineEditor::go_to_history(size_t index) {
  edited_[history_at_] = text_;
  history_at_ = index;
  if (const auto it = edited_.find(index); it != edited_.end())
    set(it->second);
  else
    set(index < history_.size() ? history_[index] : std::string());
}

void LineEditor::move_row(int rows, int columns) {
  const std::string whole = prompt() + text_;
  const size_t offset = whole.size() - text_.size();
  const InputLayout layout = lay_out(whole, offset + cursor_, std::max(columns, 1));
  const int row = layout.cursor.row + rows;
  if (row >= 0 && row < int(layout.rows.size())) {
    const size_t at = boundary_at(whole, layout, {row, layout.cursor.column}, std::max(columns, 1));
    cursor_ = std::max(at, offset) - offset;
    return;
  }
  if (rows < 0) {
    const size_t here = std::min(history_at_, history_.size());
    if (here > 0) go_to_history(here - 1);
  } else if (history_at_ != SIZE_MAX) {
    go_to_history(history_at_ + 1 < history_.size() ? history_at_ + 1 : SIZE_MAX);
  }
}

size_t LineEditor::line_begin() const {
  const size_t newline = cursor_ == 0 ? std::string::npos : text_.rfind('\n', cursor_ - 1);
  return newline == std::string::npos ? 0 : newline + 1;
}

size_t LineEditor::line_end() const { return std::min(text_.find('\n', cursor_), text_.size()); }

size_t LineEditor::word_left() const {
  size_t at = cursor_;
  const auto before = [&] { return previous_boundary(text_, at); };
  while (at > 0 && !is_word(text_, before())) at = before();
  while (at > 0 && is_word(text_, before())) at = before();
  return at;
}

size_t LineEditor::word_right() const {
  size_t at = cursor_;
  while (at < text_.size() && !is_word(text_, at)) at = next_boundary(text_, at);
  while (at < text_.size() && is_word(text_, at)) at = next_boundary(text_, at);
  return at;
}

size_t LineEditor::blank_word_left() const {
  size_t at = cursor_;
  const auto before = [&] { return previous_boundary(text_, at); };
  while (at > 0 && is_blank(text_, before())) at = before();
  while (at > 0 && !is_blank(text_, before())) at = before();
  return at;
}

}  // namespace anedvd
