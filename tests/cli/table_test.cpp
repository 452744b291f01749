#include "cli/terminal/table.h"

#include <gtest/gtest.h>

namespace anedvd {
namespace {

Table sample() {
  Table table({{"test", Align::kLeft}, {"tokens"}, {"tok/s"}, {"min–max"}});
  table.add({"prompt", "512", "1,430", "1,391–1,452"});
  table.add({"answer", "128", "289", "–"});
  return table;
}

TEST(Table, TextIsLeftAndNumbersAreRight) {
  EXPECT_EQ(sample().render(),
            "test    tokens  tok/s      min–max\n"
            "prompt     512  1,430  1,391–1,452\n"
            "answer     128    289            –\n");
}

TEST(Table, ColumnsThatDoNotFitAreNamed) {
  EXPECT_EQ(sample().render(34), sample().render());
  EXPECT_EQ(sample().render(33),
            "test    tokens  tok/s\n"
            "prompt     512  1,430\n"
            "answer     128    289\n"
            "(too narrow for: min–max)\n");
  EXPECT_EQ(sample().render(1),
            "test\n"
            "prompt\n"
            "answer\n"
            "(too narrow for: tokens, tok/s, min–max)\n");
}

TEST(Table, LabelledValuesShareAColumn) {
  EXPECT_EQ(labelled({{"model", "SmolLM2"}, {"a longer one", "x"}, {"empty", ""}}),
            "model         SmolLM2\n"
            "a longer one  x\n"
            "empty\n");
}

}  // namespace
}  // namespace anedvd
