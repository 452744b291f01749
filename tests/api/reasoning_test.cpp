#include "api/generation/reasoning.h"

#include <gtest/gtest.h>

namespace anedvd {
namespace {

// Both parts after the text went in by pieces of `size` bytes: "reasoning|text".
std::string split(const std::string& text, size_t size, bool is_open = false) {
  ReasoningSplitter splitter(true, is_open);
  std::string reasoning, answer;
  const auto add = [&](const ReasoningSplitter::Parts& parts) {
    reasoning += parts.reasoning;
    answer += parts.text;
  };
  for (size_t at = 0; at < text.size(); at += size) add(splitter.push(text.substr(at, size)));
  add(splitter.finish());
  return reasoning + "|" + answer;
}

struct Case {
  const char *text, *parts;
  bool is_open;
};

TEST(Reasoning, PartsAreTheSameHoweverTheTextIsCut) {
  const Case cases[] = {
      {"<think>\nTwo and two\n</think>\n\nFour.", "Two and two|Four.", false},
      {"\n<think>a</think>b", "a|b", false},
      {"Two </think> four.", "Two|four.", true},
      {"No thinking <think>here</think>.", "|No thinking <think>here</think>.", false},
      {" leading space stays", "| leading space stays", false},
      {"<think></think>x", "|x", false},
      {"<think>cut off  ", "cut off|", false},
      {"<thin", "|<thin", false},
      {"<think>a </thin b</think>c", "a </thin b|c", false},
      {"", "|", false},
  };
  for (const Case& one : cases)
    for (const size_t size : {1, 2, 3, 5, 100})
      EXPECT_EQ(split(one.text, size, one.is_open), one.parts) << one.text << " by " << size;
}

TEST(Reasoning, OffMeansEverythingIsText) {
  ReasoningSplitter splitter(false);
  EXPECT_EQ(splitter.push("<think>a</think>").text, "<think>a</think>");
}

TEST(Reasoning, OpenPromptsAreSeen) {
  EXPECT_TRUE(opens_thinking("<|im_start|>assistant\n<think>\n"));
  EXPECT_FALSE(opens_thinking("<think>\n\n</think>\n\n"));
}

}  // namespace
}  // namespace anedvd
