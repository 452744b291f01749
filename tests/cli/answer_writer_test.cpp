#include "cli/terminal/answer_writer.h"

#include <csignal>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace anedvd {
namespace {

// What arrives when the pieces are written one after the other.
std::string written(const std::vector<std::string>& pieces, bool for_terminal) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(pipe(ends), 0);
  AnswerWriter writer(ends[1], for_terminal);
  for (const std::string& piece : pieces) EXPECT_TRUE(writer.write(piece));
  EXPECT_TRUE(writer.finish());
  close(ends[1]);
  std::string out(4096, '\0');
  const ssize_t count = read(ends[0], out.data(), out.size());
  close(ends[0]);
  out.resize(size_t(count));
  return out;
}

TEST(AnswerWriter, EndsWithExactlyOneNewline) {
  EXPECT_EQ(written({}, false), "\n");
  EXPECT_EQ(written({"Paris"}, false), "Paris\n");
  EXPECT_EQ(written({"Paris\n"}, false), "Paris\n");
  EXPECT_EQ(written({"Paris", "\n", "\n\n"}, false), "Paris\n");
  EXPECT_EQ(written({"\n\n"}, false), "\n");
}

TEST(AnswerWriter, KeepsNewlinesThatAreNotTheLast) {
  EXPECT_EQ(written({"\na\n", "\n", "\nb"}, false), "\na\n\n\nb\n");
  EXPECT_EQ(written({"a\n\n", "b\n"}, true), "a\n\nb\n");
}

TEST(AnswerWriter, APipeGetsTheModelsBytes) {
  const std::string bytes = "\x1b]0;title\x07\t\r\n\xc2\x9bx";
  EXPECT_EQ(written({bytes}, false), bytes + "\n");
}

TEST(AnswerWriter, ATerminalIsNotSteered) {
  EXPECT_EQ(written({"\x1b]0;title\x07\tx\r\xc2\x9b"
                     "2J"},
                    true),
            "\\x1b]0;title\\x07\tx\\r\\x9b2J\n");
  EXPECT_EQ(written({"日本語 é\n"}, true), "日本語 é\n");
}

TEST(AnswerWriter, ATerminalGetsLongPiecesWhole) {
  const std::string piece(3000, 'a');
  EXPECT_EQ(written({piece}, true), piece + "\n");
}

TEST(AnswerWriter, AReaderThatLeftIsNoError) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe(ends), 0);
  signal(SIGPIPE, SIG_IGN);
  close(ends[0]);
  AnswerWriter writer(ends[1], false);
  const auto result = writer.write("text");
  ASSERT_TRUE(result);
  EXPECT_EQ(*result, Written::kReaderGone);
  close(ends[1]);
}

TEST(AnswerWriter, AFullDiskIsAnError) {
  const int full = open("/dev/full", O_WRONLY);
  if (full < 0) GTEST_SKIP() << "no /dev/full here";
  AnswerWriter writer(full, false);
  const auto result = writer.write("text");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kIo);
  close(full);
}

}  // namespace
}  // namespace anedvd
