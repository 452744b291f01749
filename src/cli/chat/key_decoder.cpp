#include "cli/chat/key_decoder.h"

#include <charconv>
#include <utility>

namespace anedvd {
namespace {

constexpr char kEscapeByte = '\x1b';
constexpr std::string_view kPasteEnd = "\x1b[201~";
constexpr size_t kMaxParameters = 32;  // the longest sequence that means something here has 8

// "1;5" → {1, 5}; what is no number counts as 0.
std::pair<int, int> two_numbers(std::string_view parameters) {
  const auto number = [](std::string_view text) {
    int value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  };
  const size_t cut = parameters.find(';');
  if (cut == std::string_view::npos) return {number(parameters), 0};
  return {number(parameters.substr(0, cut)), number(parameters.substr(cut + 1))};
}

}  // namespace

std::string pasted_text(std::string_view text) {
  std::string lines;
  lines.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      lines += text[i];
      continue;
    }
    lines += '\n';
    if (i + 1 < text.size() && text[i + 1] == '\n') ++i;
  }
  Utf8Stream characters;
  std::string whole = characters.push(lines);
  return whole += characters.finish();
}

void KeyDecoder::push(std::string_view bytes, std::vector<Key>& keys) {
  for (const char byte : bytes) take(byte, keys);
}

void KeyDecoder::take(char byte, std::vector<Key>& keys) {
  switch (state_) {
    case State::kGround: take_ground(byte, keys); return;
    case State::kEscape: take_after_escape(byte, keys); return;
    case State::kPaste: take_paste(byte, keys); return;
    case State::kSequence:
    case State::kShift3: break;
  }
  const auto code = uint8_t(byte);
  if (code >= 0x40 && code <= 0x7e) {
    finish_sequence(byte, keys);
  } else if (code >= 0x20 && code < 0x40) {
    if (parameters_.size() < kMaxParameters) parameters_ += byte;
  } else {
    // No part of a sequence: it was cut, and this byte stands for itself.
    state_ = State::kGround;
    take_ground(byte, keys);
  }
}

void KeyDecoder::end_text(std::vector<Key>& keys) {
  std::string rest = characters_.finish();
  if (!rest.empty()) keys.push_back({KeyKind::kText, std::move(rest)});
}

void KeyDecoder::take_ground(char byte, std::vector<Key>& keys) {
  const auto code = uint8_t(byte);
  if (code >= 0x20 && code != 0x7f) {
    std::string text = characters_.push({&byte, 1});
    if (!text.empty()) keys.push_back({KeyKind::kText, std::move(text)});
    return;
  }
  end_text(keys);
  switch (byte) {
    case kEscapeByte: state_ = State::kEscape; return;
    case '\r': keys.push_back({KeyKind::kEnter}); return;
    case '\n': keys.push_back({KeyKind::kNewline}); return;
    case '\t': keys.push_back({KeyKind::kTab}); return;
    case '\x7f':
    case '\b': keys.push_back({KeyKind::kBackspace}); return;
    default: break;
  }
  // The terminal's own rule: Ctrl takes bits 5 and 6 away from a letter.
  const auto letter = char(code + '@');
  keys.push_back({KeyKind::kControl, {}, letter >= 'A' && letter <= 'Z' ? char(letter - 'A' + 'a') : letter, 0});
}

void KeyDecoder::take_after_escape(char byte, std::vector<Key>& keys) {
  state_ = State::kGround;
  parameters_.clear();
  switch (byte) {
    case '[': state_ = State::kSequence; return;
    case 'O': state_ = State::kShift3; return;
    case kEscapeByte:
      keys.push_back({KeyKind::kEscape});
      state_ = State::kEscape;
      return;
    case '\r':
    case '\n': keys.push_back({KeyKind::kNewline}); return;
    case '\x7f':
    case '\b': keys.push_back({KeyKind::kAltBackspace}); return;
    default: break;
  }
  const auto code = uint8_t(byte);
  if (code >= 0x20 && code < 0x7f) {
    keys.push_back({KeyKind::kAlt, {}, byte});
    return;
  }
  keys.push_back({KeyKind::kEscape});
  take_ground(byte, keys);
}

void KeyDecoder::take_paste(char byte, std::vector<Key>& keys) {
  if (paste_.size() < kMaxPasteBytes) {
    paste_ += byte;
  } else {
    // Full: only the end mark is still looked for, in the last bytes.
    paste_.erase(kMaxPasteBytes - kPasteEnd.size(), 1);
    paste_ += byte;
  }
  if (!paste_.ends_with(kPasteEnd)) return;
  paste_.resize(paste_.size() - kPasteEnd.size());
  keys.push_back({KeyKind::kPaste, pasted_text(paste_)});
  paste_ = {};
  state_ = State::kGround;
}

void KeyDecoder::finish_sequence(char final, std::vector<Key>& keys) {
  state_ = State::kGround;
  const auto [first, second] = two_numbers(parameters_);
  // xterm's modifiers: 1 and the bits shift 1, alt 2, control 4.
  const bool by_word = second > 1 && (((second - 1) & 6) != 0);
  const auto key = [&](KeyKind kind) { keys.push_back({kind}); };
  switch (final) {
    case 'A': return key(KeyKind::kUp);
    case 'B': return key(KeyKind::kDown);
    case 'C': return key(by_word ? KeyKind::kWordRight : KeyKind::kRight);
    case 'D': return key(by_word ? KeyKind::kWordLeft : KeyKind::kLeft);
    case 'H': return key(KeyKind::kHome);
    case 'F': return key(KeyKind::kEnd);
    case 'M':  // Enter of the number block, in application mode
      if (parameters_.empty()) key(KeyKind::kEnter);
      return;
    case 'R':
      if (first > 0 && second > 0) keys.push_back({KeyKind::kCursorReport, {}, 0, first});
      return;
    case 'u':  // the key's code and its modifiers
      if (first == 13) key(second > 1 ? KeyKind::kNewline : KeyKind::kEnter);
      return;
    case '~': break;
    default: return;
  }
  switch (first) {
    case 1:
    case 7: return key(KeyKind::kHome);
    case 4:
    case 8: return key(KeyKind::kEnd);
    case 3: return key(KeyKind::kDelete);
    case 27:  // xterm's modifyOtherKeys: 27;modifiers;13~ is Enter with a modifier
      if (parameters_.ends_with(";13")) key(KeyKind::kNewline);
      return;
    case 200:
      state_ = State::kPaste;
      paste_.clear();
      return;
    default: return;
  }
}

void KeyDecoder::flush(std::vector<Key>& keys) {
  if (state_ == State::kEscape) keys.push_back({KeyKind::kEscape});
  if (state_ == State::kSequence && parameters_.empty()) keys.push_back({KeyKind::kAlt, {}, '['});
  if (state_ == State::kShift3 && parameters_.empty()) keys.push_back({KeyKind::kAlt, {}, 'O'});
  if (is_waiting()) state_ = State::kGround;
}

}  // namespace anedvd
