#include "cli/commands/run_session.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "cli/commands/all.h"

namespace anedvd {
namespace {

const std::string kModel = std::string(ANEDVD_TEST_DATA) + "/tiny-llama-q4_1.gguf";

GenerationRequest request_for(const std::vector<std::string>& words) {
  static const Command command = run_command();
  const auto args = Args::parse(command, words);
  EXPECT_TRUE(args) << (args ? "" : args.error().message);
  auto runtime = load_runtime(kModel, {.threads = 1});
  EXPECT_TRUE(runtime);
  auto request = request_of(*args);
  EXPECT_TRUE(request);
  const auto set = set_prompt(**runtime, *args, "hi", *request);
  EXPECT_TRUE(set) << (set ? "" : set.error().message);
  return *request;
}

TEST(RunSession, AnAnswerInAPlainTranscriptEndsBeforeTheNextTurn) {
  const GenerationRequest request = request_for({"--chat-template", "plain", "--stop", "X"});
  for (const char* stop : {"X", "\n\nUser:", "\n\nSystem:"})
    EXPECT_NE(std::find(request.stop.begin(), request.stop.end(), stop), request.stop.end()) << stop;
  EXPECT_TRUE(request.strip_first_space);
  EXPECT_TRUE(request.from_template);
}

TEST(RunSession, OtherFormatsHaveTheirOwnEnds) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{}, {"--no-chat"}}) {
    const GenerationRequest request = request_for(words);
    EXPECT_TRUE(request.stop.empty());
    EXPECT_FALSE(request.strip_first_space);
    EXPECT_EQ(request.from_template, words.empty());
  }
}

}  // namespace
}  // namespace anedvd
