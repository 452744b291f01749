#include "cli/chat/chat_session.h"

#include <gtest/gtest.h>

#include "cli/chat/chat_words.h"

namespace anedvd {
namespace {

class ChatSessionTest : public testing::Test {
 protected:
  void open(int max_seq) {
    RuntimeOptions options;
    options.max_seq = max_seq;
    EngineOptions engine;
    engine.manual = true;
    engine_ =
        std::move(*Engine::start(std::move(*Runtime::load(ANEDVD_TEST_DATA "/tiny-llama-q4_1.gguf", options)), engine));
    session_.emplace(std::move(*ChatSession::make(*engine_, "")));
  }

  ChatAnswer ask(std::string question, int max_tokens = 8, const TextSink& sink = {}) {
    log_.add("user", std::move(question), 1);
    auto answer = session_->answer(log_, request(max_tokens), sink);
    EXPECT_TRUE(answer) << (answer ? "" : answer.error().message);
    if (!answer) return {};
    log_.add("assistant", answer->result.text, 2);
    return *answer;
  }

  static GenerationRequest request(int max_tokens) {
    GenerationRequest request;
    request.sampling.temperature = 0;
    request.max_tokens = max_tokens;
    return request;
  }

  std::unique_ptr<Engine> engine_;
  std::optional<ChatSession> session_;
  ChatLog log_;
};

TEST_F(ChatSessionTest, OnlyWhatIsNewIsRead) {
  open(512);
  const ChatAnswer first = ask("the sea and the land and the sky");
  EXPECT_EQ(first.result.reused_tokens, 0);
  const ChatAnswer second = ask("more");
  EXPECT_GE(second.result.reused_tokens, first.result.prompt_tokens - 1);
  EXPECT_EQ(second.dropped_tokens, 0);
}

TEST_F(ChatSessionTest, AnswersAreThoseOfAFreshStart) {
  open(512);
  ask("the sea");
  const ChatAnswer again = ask("and the land");
  auto fresh = ChatSession::make(*engine_, "");
  ChatLog log = log_;
  log.step_back_to_question();
  const auto answer = fresh->answer(log, request(8), {});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->result.ids, again.result.ids);
}

TEST_F(ChatSessionTest, OverflowDropsWholeTurnsFromTheFrontAndKeepsTheSystemPrompt) {
  open(160);
  log_.system = "SYSTEM";
  int dropped = 0;
  for (int i = 0; i < 12; ++i) {
    const ChatAnswer answer = ask("question number " + std::to_string(i) + " about the sea", 6);
    EXPECT_LE(answer.context_tokens, 160);
    EXPECT_GE(answer.dropped_tokens, dropped);
    dropped = answer.dropped_tokens;
  }
  EXPECT_GT(dropped, 0);
  // Between two cuts the cache is of use.
  EXPECT_GT(ask("again", 6).result.reused_tokens, 0);
}

TEST_F(ChatSessionTest, AMessageThatIsTooLongLosesItsBeginning) {
  open(96);
  std::string text;
  for (int i = 0; i < 200; ++i) text += "word ";
  const ChatAnswer answer = ask(text, 4);
  EXPECT_GT(answer.dropped_tokens, 0);
  EXPECT_LE(answer.result.prompt_tokens, 96);
}

TEST_F(ChatSessionTest, AfterAStopTheNextQuestionIsAnswered) {
  open(512);
  int calls = 0;
  const ChatAnswer stopped = ask("the sea", 64, [&](std::string_view text) { return text.empty() || ++calls < 3; });
  EXPECT_EQ(stopped.result.finish, FinishReason::kCancelled);
  EXPECT_FALSE(stopped.result.text.empty());
  const ChatAnswer next = ask("and then");
  EXPECT_GT(next.result.reused_tokens, 0);
  EXPECT_GT(next.result.ids.size(), 0u);
  // Stopped before a word came: that question is not sent again.
  const ChatAnswer silent = ask("never mind", 8, [](std::string_view) { return false; });
  EXPECT_TRUE(silent.result.ids.empty());
  ask("hello");
}

TEST(ChatWords, Status) {
  ChatAnswer answer;
  answer.result.ids.resize(42);
  answer.result.decode_s = 41 / 131.0;  // the first token came with the prompt
  answer.result.finish = FinishReason::kStop;
  answer.result.reused_tokens = 480;
  answer.context_tokens = 512;
  EXPECT_EQ(status_line(answer, 4096), "[42 tokens, 131 tok/s, stop, context 512/4096, 480 reused]");
  answer.dropped_tokens = 1280;
  answer.result.finish = FinishReason::kCancelled;
  EXPECT_EQ(status_line(answer, 4096),
            "[42 tokens, 131 tok/s, stopped, context 512/4096, 480 reused, dropped 1,280 old tokens]");
  answer.result.ids.resize(1);
  answer.dropped_tokens = answer.result.reused_tokens = 0;
  EXPECT_EQ(status_line(answer, 4096), "[1 token, – tok/s, stopped, context 512/4096]");
  EXPECT_EQ(reading_line({1024, 3210}), "reading 1,024/3,210 tokens");
}

}  // namespace
}  // namespace anedvd
