#include "cli/chat/line_editor.h"

#include <gtest/gtest.h>

#include "cli/chat/slash_commands.h"

namespace anedvd {
namespace {

constexpr int kColumns = 80;

struct Typed {
  LineEditor editor;
  EditEvent last = EditEvent::kChanged;

  explicit Typed(std::string_view bytes, std::vector<std::string> history = {}, EditorOptions options = {})
      : editor(std::move(options), std::move(history)) {
    type(bytes);
  }
  void type(std::string_view bytes) {
    KeyDecoder decoder;
    std::vector<Key> keys;
    decoder.push(bytes, keys);
    decoder.flush(keys);
    for (const Key& key : keys) last = editor.take(key, kColumns);
  }
  // The text with the cursor as |.
  std::string shown() const {
    std::string text = editor.text();
    return text.insert(editor.cursor(), "|");
  }
};

struct Case {
  std::string_view bytes;
  std::string_view shown;
};

TEST(LineEditor, Keys) {
  const Case cases[] = {
      {"abc\x02X", "abX|c"},                // Ctrl-B
      {"abc\x01X\x05Y", "XabcY|"},          // Ctrl-A Ctrl-E
      {"abc\x1b[D\x1b[D\x7f", "|bc"},       // two lefts, Backspace
      {"abc\x1b[H\x1b[3~", "|bc"},          // Home Delete
      {"abc\x01\x04", "|bc"},               // Ctrl-D
      {"one two three\x17", "one two |"},   // Ctrl-W
      {"one two\x15X", "X|"},               // Ctrl-U
      {"one two\x01\x0b", "|"},             // Ctrl-K
      {"one two\x17\x17\x19", "one two|"},  // kills in a row come back as one
      {"one two\x01\x0b\x19\x19", "one twoone two|"},
      {"one two\x1b"
       "b\x1b"
       "bX",
       "X|one two"},
      {"one two\x01\x1b"
       "f",
       "one| two"},
      {"one two\x01\x1b"
       "d\x05\x19",
       " twoone|"},  // Alt-D, yanked at the end
      {"one, two\x1b\x7f", "one, |"},
      {"a\nb\x1b[A", "|a\nb"},            // Ctrl-J, up within the text
      {"ab\ncd\x01X\x0b", "ab\nX|"},      // line beginnings, Ctrl-K to the line's end
      {"ab\ncd\x1b[A\x05\x0b", "ab|cd"},  // Ctrl-K at the end takes the newline
      {"\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\x1b[D\x7f", "\xe6\x97\xa5|\xe8\xaa\x9e"},
      {"e\xcc\x81x\x1b[D\x7f", "|x"},                             // a letter with its mark is one
      {"a\U0001F469\u200D\U0001F469\u200D\U0001F467\x7f", "a|"},  // so is a family
      {"x\x03\x19", "x|"},                                        // what Ctrl-C clears can be yanked
      {"\x07\x1b[99~a", "a|"},
  };
  for (const Case& c : cases) {
    std::string wanted(c.shown);
    EXPECT_EQ(Typed(c.bytes).shown(), wanted) << testing::PrintToString(c.bytes);
  }
}

TEST(LineEditor, WhatKeysAskFor) {
  EXPECT_EQ(Typed("a\r").last, EditEvent::kSubmit);
  EXPECT_EQ(Typed("\x03").last, EditEvent::kInterrupt);
  EXPECT_EQ(Typed("a\x03").last, EditEvent::kChanged);
  EXPECT_EQ(Typed("a\x03\x03").last, EditEvent::kInterrupt);
  EXPECT_EQ(Typed("\x04").last, EditEvent::kEnd);
  EXPECT_EQ(Typed("a\x04").last, EditEvent::kChanged);
  EXPECT_EQ(Typed("\x1a").last, EditEvent::kSuspend);
  EXPECT_EQ(Typed("\x0c").last, EditEvent::kClearScreen);
}

TEST(LineEditor, SeveralLinesByBackslashBlockAndPaste) {
  Typed backslash("one\\\rtwo\r");
  EXPECT_EQ(backslash.last, EditEvent::kSubmit);
  EXPECT_EQ(backslash.editor.message(), "one\ntwo");

  Typed block("\"\"\"one\r\rtwo\\\rthree\"\"\"\r");
  EXPECT_EQ(block.last, EditEvent::kSubmit);
  EXPECT_EQ(block.editor.message(), "one\n\ntwo\\\nthree");
  EXPECT_EQ(Typed("\"\"\"one").editor.message(), "\"\"\"one");

  // Nothing that was pasted means anything.
  for (const char* text : {"\"\"\"open\nblock", "ends with \\", "/temp 9\nsecond", "\"\"\"a\"\"\""}) {
    Typed paste("\x1b[200~" + std::string(text) + "\x1b[201~\r");
    EXPECT_EQ(paste.last, EditEvent::kSubmit) << text;
    EXPECT_EQ(paste.editor.message(), text);
    EXPECT_FALSE(paste.editor.may_be_command());
  }
  EXPECT_TRUE(Typed("/temp 9").editor.may_be_command());
}

TEST(LineEditor, MultilineKeepsEnterForLines) {
  Typed typed("one\rtwo", {}, {.enter_is_newline = true});
  EXPECT_EQ(typed.editor.text(), "one\ntwo");
  typed.type("\x1b\r");
  EXPECT_EQ(typed.last, EditEvent::kSubmit);
  EXPECT_EQ(Typed("one\x04", {}, {.enter_is_newline = true}).last, EditEvent::kSubmit);
  EXPECT_EQ(Typed("/exit\r", {}, {.enter_is_newline = true}).last, EditEvent::kSubmit);
}

TEST(LineEditor, History) {
  const std::vector<std::string> history = {"first", "two\nlines", "last"};
  EXPECT_EQ(Typed("\x1b[A", history).shown(), "last|");
  EXPECT_EQ(Typed("\x1b[A\x1b[A", history).shown(), "two\nlines|");
  // Within an entry of two lines ↑ goes up a row first.
  EXPECT_EQ(Typed("\x1b[A\x1b[A\x1b[A", history).shown(), "|two\nlines");
  EXPECT_EQ(Typed("\x10\x10\x10\x10\x10", history).shown(), "first|");
  // A draft waits behind the last entry, and changes to an entry stay while one looks around.
  EXPECT_EQ(Typed("draft\x1b[A\x1b[B", history).shown(), "draft|");
  EXPECT_EQ(Typed("\x1b[AX\x1b[B\x1b[A", history).shown(), "lastX|");
  Typed typed("new\r", history);
  typed.editor.start(typed.editor.text());
  typed.type("\x1b[A");
  EXPECT_EQ(typed.shown(), "new|");
}

TEST(LineEditor, SearchGoesBackwards) {
  const std::vector<std::string> history = {"the sea", "the land", "a sea"};
  Typed typed("draft\x12sea", history);
  EXPECT_EQ(typed.shown(), "a |sea");
  EXPECT_EQ(typed.editor.prompt(), "(search: sea) ");
  typed.type("\x12");
  EXPECT_EQ(typed.shown(), "the |sea");
  typed.type("\x12");
  EXPECT_EQ(typed.editor.prompt(), "(not found: sea) ");
  typed.type("\x07");
  EXPECT_EQ(typed.shown(), "draft|");
  typed.type("\x12land\r");
  EXPECT_EQ(typed.last, EditEvent::kSubmit);
  EXPECT_EQ(typed.editor.text(), "the land");
}

TEST(LineEditor, CompletesCommands) {
  const EditorOptions options{.completer = complete_chat_line};
  EXPECT_EQ(Typed("/he\t", {}, options).shown(), "/help |");
  EXPECT_EQ(Typed("/re\t", {}, options).last, EditEvent::kCandidates);
  EXPECT_EQ(Typed("/re\t", {}, options).editor.candidates(), (std::vector<std::string>{"/reset", "/retry", "/rep"}));
  EXPECT_EQ(Typed("/nothing\t", {}, options).shown(), "/nothing|");
  EXPECT_EQ(Typed("word\t", {}, options).shown(), "word|");
  EXPECT_EQ(Typed("/load " ANEDVD_TEST_DATA "/tiny-llama-q4_1.gg\t", {}, options).shown(),
            "/load " ANEDVD_TEST_DATA "/tiny-llama-q4_1.gguf |");
  EXPECT_EQ(Typed("/load " ANEDVD_TEST_DATA "/fami\t", {}, options).shown(), "/load " ANEDVD_TEST_DATA "/families/|");
}

TEST(SlashCommands, Lines) {
  EXPECT_EQ(std::get<std::string>(parse_chat_line("hello /temp")), "hello /temp");
  EXPECT_EQ(std::get<std::string>(parse_chat_line("//usr is a folder")), "/usr is a folder");
  EXPECT_EQ(std::get<UnknownSlash>(parse_chat_line("/foo bar")).name, "/foo");
  const auto call = std::get<SlashCall>(parse_chat_line("/system  be kind "));
  EXPECT_EQ(call.kind, SlashKind::kSystem);
  EXPECT_EQ(call.argument, "be kind");
  for (const char* leave : {"/exit", "/quit", "/bye"})
    EXPECT_EQ(std::get<SlashCall>(parse_chat_line(leave)).kind, SlashKind::kExit);
  for (const char* promised : {"/help", "/reset", "/system", "/temp", "/topp", "/rep", "/save", "/load", "/exit",
                               "/retry", "/undo", "/edit", "/set", "/show", "/copy"})
    EXPECT_TRUE(std::holds_alternative<SlashCall>(parse_chat_line(promised))) << promised;
}

}  // namespace
}  // namespace anedvd
