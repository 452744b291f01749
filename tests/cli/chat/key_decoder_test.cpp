#include "cli/chat/key_decoder.h"

#include <gtest/gtest.h>

namespace anedvd {
namespace {

std::string name_of(const Key& key) {
  switch (key.kind) {
    case KeyKind::kText: return key.text;
    case KeyKind::kPaste: return "paste(" + key.text + ")";
    case KeyKind::kControl: return std::string("C-") + key.letter;
    case KeyKind::kAlt: return std::string("M-") + key.letter;
    case KeyKind::kEnter: return "Enter";
    case KeyKind::kNewline: return "Newline";
    case KeyKind::kTab: return "Tab";
    case KeyKind::kBackspace: return "Backspace";
    case KeyKind::kAltBackspace: return "M-Backspace";
    case KeyKind::kDelete: return "Delete";
    case KeyKind::kLeft: return "Left";
    case KeyKind::kRight: return "Right";
    case KeyKind::kWordLeft: return "WordLeft";
    case KeyKind::kWordRight: return "WordRight";
    case KeyKind::kUp: return "Up";
    case KeyKind::kDown: return "Down";
    case KeyKind::kHome: return "Home";
    case KeyKind::kEnd: return "End";
    case KeyKind::kEscape: return "Escape";
    case KeyKind::kCursorReport: return "row " + std::to_string(key.row);
  }
  return "";
}

std::string names_of(const std::vector<Key>& keys) {
  std::string names;
  for (const Key& key : keys) names += (names.empty() ? "" : " ") + name_of(key);
  return names;
}

std::string decoded(std::string_view bytes, bool flush = false) {
  KeyDecoder decoder;
  std::vector<Key> keys;
  decoder.push(bytes, keys);
  if (flush) decoder.flush(keys);
  return names_of(keys);
}

struct Case {
  std::string_view bytes;
  std::string_view keys;
};

// What xterm, VTE, kitty, Terminal.app and tmux send (xterm's ctlseqs.txt, terminfo entries).
constexpr Case kCases[] = {
    {"a", "a"},
    {"ab\xc3\xa9\xe6\x97\xa5", "a b é 日"},
    {"\r\n\t", "Enter Newline Tab"},
    {"\x7f\b", "Backspace Backspace"},
    {"\x01\x03\x1a\x1c", "C-a C-c C-z C-\\"},
    {"\x1b[A\x1b[B\x1b[C\x1b[D", "Up Down Right Left"},
    {"\x1bOA\x1bOB\x1bOC\x1bOD\x1bOH\x1bOF", "Up Down Right Left Home End"},
    {"\x1b[H\x1b[F\x1b[1~\x1b[4~\x1b[7~\x1b[8~", "Home End Home End Home End"},
    {"\x1b[3~", "Delete"},
    {"\x1b[12;40R", "row 12"},
    {"\x1b[1;5C\x1b[1;5D\x1b[1;3C", "WordRight WordLeft WordRight"},
    {"\x1b[1;2C", "Right"},
    {"\x1b\r\x1b\n", "Newline Newline"},
    {"\x1b"
     "b\x1b"
     "f\x1b"
     "d\x1b\x7f",
     "M-b M-f M-d M-Backspace"},
    {"\x1b[13;2u\x1b[13u\x1b[27;5;13~", "Newline Enter Newline"},
    {"\x1b[200~one\r\ntwo\rthree\x1b[201~x", "paste(one\ntwo\nthree) x"},
    {"\x1b[200~\x1b[31m\x03\x1b[201~", "paste(\x1b[31m\x03)"},
    {"\x1b[201~x", "x"},
    {"\x1b[I\x1b[O\x1b[99~\x1b[?1;2cx", "x"},
    {"\x1b[1;\x03", "C-c"},  // cut: the key after it counts
    {"\xff"
     "a\xc3"
     "b",
     "\xef\xbf\xbd a \xef\xbf\xbd"
     "b"},
    {"\xe6\x97\r", "\xef\xbf\xbd Enter"},
};

TEST(KeyDecoder, KnowsWhatTerminalsSend) {
  for (const Case& c : kCases) EXPECT_EQ(decoded(c.bytes), c.keys) << testing::PrintToString(c.bytes);
}

TEST(KeyDecoder, TakesBytesCutAnywhere) {
  for (const Case& c : kCases) {
    KeyDecoder decoder;
    std::vector<Key> keys;
    for (const char byte : c.bytes) decoder.push({&byte, 1}, keys);
    EXPECT_EQ(names_of(keys), c.keys) << testing::PrintToString(c.bytes);
  }
}

TEST(KeyDecoder, EscapeAloneIsAKeyAfterAWhile) {
  KeyDecoder decoder;
  std::vector<Key> keys;
  decoder.push("\x1b", keys);
  EXPECT_TRUE(decoder.is_waiting());
  EXPECT_TRUE(keys.empty());
  decoder.flush(keys);
  EXPECT_FALSE(decoder.is_waiting());
  EXPECT_EQ(names_of(keys), "Escape");
  EXPECT_EQ(decoded("\x1b[", true), "M-[");
  EXPECT_EQ(decoded("\x1b[1;", true), "");
}

TEST(KeyDecoder, APasteOfAnySizeIsOneKey) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "line " + std::to_string(i) + " \xe6\x97\xa5\n";
  KeyDecoder decoder;
  std::vector<Key> keys;
  decoder.push("\x1b[200~" + text + "\x1b[201~", keys);
  ASSERT_EQ(keys.size(), 1u);
  EXPECT_EQ(keys[0].text, text);
}

TEST(KeyDecoder, AnEndlessSequenceTakesNoMemory) {
  KeyDecoder decoder;
  std::vector<Key> keys;
  decoder.push("\x1b[" + std::string(1 << 20, '1') + "A", keys);
  EXPECT_EQ(names_of(keys), "Up");
}

}  // namespace
}  // namespace anedvd
