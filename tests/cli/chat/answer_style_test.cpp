#include "cli/chat/answer_style.h"

#include <gtest/gtest.h>

namespace anedvd {
namespace {

// Escapes as letters: «b bold, «d dim, «c code, » plain.
std::string readable(std::string text) {
  for (const auto& [escape, letter] :
       {std::pair{"\x1b[0m", "»"}, {"\x1b[1m", "«b"}, {"\x1b[2m", "«d"}, {"\x1b[36m", "«c"}})
    for (size_t at = 0; (at = text.find(escape, at)) != std::string::npos;)
      text.replace(at, std::string_view(escape).size(), letter);
  return text;
}

std::string styled(std::string_view text, size_t piece) {
  AnswerStyle style;
  std::string out;
  for (size_t at = 0; at < text.size(); at += piece) out += style.push(text.substr(at, piece));
  return readable(out + style.finish());
}

struct Case {
  std::string_view text, wanted;
};

constexpr Case kCases[] = {
    {"plain text", "plain text"},
    {"a **b** c", "a «d**»«bb»«d**» c"},
    {"**a", "«d**»«ba»"},
    {"**a\nb", "«d**»«ba»\nb"},  // a style ends with its line
    {"2 ** 3 ** 4, 5 * 6", "2 ** 3 ** 4, 5 * 6"},
    {"*it* and * item", "*it* and * item"},
    {"use `x**y` here", "use «d`»«cx**y»«d`» here"},
    {"# Title **x**\ntext", "«d#»«b Title »«d**»«bx»«d**»\ntext"},
    {"#hash", "#hash"},
    {"```py\nx = 1\n# no title\n```\nend", "«d```py»\n«cx = 1»\n«c# no title»\n«d```»\nend"},
    {"  ~~~\n``` **x**\n  ~~~\nend", "«d  ~~~»\n«c``` **x**»\n«d  ~~~»\nend"},
    {"``x", "«d``»x"},
    {"\n\n  \nx", "\n\n  \nx"},
    {"**", "**"},
    {"``", "``"},
    {"$5 to $7, snake_case", "$5 to $7, snake_case"},
};

TEST(AnswerStyle, KeepsTheTextAndMarksItsParts) {
  for (const Case& c : kCases) EXPECT_EQ(styled(c.text, c.text.size()), c.wanted) << c.text;
}

TEST(AnswerStyle, PiecesOfAnySizeGiveTheSame) {
  for (const Case& c : kCases)
    for (const size_t piece : {1, 2, 3, 5}) EXPECT_EQ(styled(c.text, piece), styled(c.text, c.text.size())) << c.text;
}

TEST(AnswerStyle, LeavesNothingOut) {
  for (const Case& c : kCases) {
    std::string text = styled(c.text, 2);
    for (const char* mark : {"«b", "«d", "«c", "»"})
      for (size_t at = 0; (at = text.find(mark)) != std::string::npos;) text.erase(at, std::string_view(mark).size());
    EXPECT_EQ(text, c.text);
  }
}

TEST(AnswerStyle, BeginsAnewAfterTheEnd) {
  AnswerStyle style;
  style.push("```\ncode");
  style.finish();
  EXPECT_EQ(style.push("plain"), "plain");
}

}  // namespace
}  // namespace anedvd
