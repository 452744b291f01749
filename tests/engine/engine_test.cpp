// Many requests through one engine: each gets the tokens that it gets alone, whatever the others do, and every page comes back.
#include "engine/engine.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <map>
#include <random>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

namespace anedvd {
namespace {

const std::string kModel = std::string(ANEDVD_TEST_DATA) + "/tiny-llama-q4_1.gguf";

std::unique_ptr<Engine> start(EngineOptions options, int chunk = 0, int threads = 1, int max_seq = 0) {
  RuntimeOptions runtime_options;
  runtime_options.threads = threads;
  runtime_options.chunk = chunk;
  runtime_options.max_seq = max_seq;
  auto runtime = Runtime::load(kModel, runtime_options);
  EXPECT_TRUE(runtime) << (runtime ? "" : runtime.error().message);
  auto engine = Engine::start(std::move(*runtime), options);
  EXPECT_TRUE(engine) << (engine ? "" : engine.error().message);
  return std::move(*engine);
}

struct Answer {
  std::vector<Token> ids;
  std::string text;
  std::optional<Finished> finished;
  std::optional<Error> error;
  std::vector<TokenRecord> prompt;
};

// Takes what is there; true when the request has ended.
bool collect(Ticket& ticket, Answer& answer) {
  while (auto event = ticket.try_next()) {
    if (auto* delta = std::get_if<TextDelta>(&*event)) {
      answer.text += delta->text;
      for (const TokenRecord& record : delta->tokens) answer.ids.push_back(record.token);
    } else if (auto* scored = std::get_if<PromptScored>(&*event)) {
      answer.prompt = scored->tokens;
    } else if (auto* finished = std::get_if<Finished>(&*event)) {
      answer.finished = *finished;
    } else if (auto* failed = std::get_if<Failed>(&*event)) {
      answer.error = failed->error;
    }
    if (is_last(*event)) return true;
  }
  return false;
}

Answer run_alone(Engine& engine, const GenerationRequest& request) {
  Answer answer;
  auto ticket = engine.submit(request);
  EXPECT_TRUE(ticket) << (ticket ? "" : ticket.error().message);
  while (!collect(**ticket, answer))
    if (!engine.step()) break;
  collect(**ticket, answer);
  EXPECT_TRUE(answer.finished || answer.error);
  return answer;
}

std::vector<Token> random_tokens(std::mt19937& random, int count, int vocab) {
  std::vector<Token> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(Token(random() % uint32_t(vocab)));
  return tokens;
}

GenerationRequest random_request(std::mt19937& random, const std::vector<std::vector<Token>>& beginnings, int vocab) {
  GenerationRequest request;
  if (random() % 2 == 0) request.prompt = beginnings[random() % beginnings.size()];
  const int more = int(1 + random() % (random() % 6 == 0 ? 120 : 20));
  const auto rest = random_tokens(random, more, vocab);
  request.prompt.insert(request.prompt.end(), rest.begin(), rest.end());
  // A text that repeats itself, for drafts.
  if (random() % 3 == 0) {
    const auto part = random_tokens(random, 8, vocab);
    for (int i = 0; i < 3; ++i) request.prompt.insert(request.prompt.end(), part.begin(), part.end());
  }
  // And an answer that does, now and then.
  if (random() % 3 == 0)
    for (Token token = 50; token < 53; ++token)
      request.sampling.logit_bias.push_back({token, std::numeric_limits<float>::infinity()});
  request.sampling.temperature = random() % 2 == 0 ? 0.0f : 1.0f;
  request.sampling.seed = random();
  if (random() % 4 == 0) request.sampling.repeat_penalty = 1.3f;
  request.max_tokens = int(random() % 24);
  request.ignore_end = random() % 2 == 0;
  request.priority = random() % 4 == 0 ? Priority::kBackground : Priority::kInteractive;
  request.reuse = random() % 8 != 0;
  if (random() % 6 == 0) request.top_logprobs = 2;
  if (random() % 10 == 0) request.prompt_logprobs = 1;
  if (random() % 4 == 0) request.speculate = int(random() % 5);
  return request;
}

// One thousand mixed requests, some cancelled, against the same ones alone on an engine without drafts, cache and company.
TEST(Engine, AThousandMixedRequestsGetTheTokensTheyGetAlone) {
  EngineOptions alone_options;
  alone_options.manual = true;
  alone_options.parallel = 1;
  alone_options.speculate = 0;
  const auto alone = start(alone_options, 0, 1, 256);
  const int vocab = alone->runtime().spec().vocab;
  std::mt19937 random(42);
  std::vector<std::vector<Token>> beginnings;
  for (const int length : {5, 16, 40, 100}) beginnings.push_back(random_tokens(random, length, vocab));

  struct Case {
    int chunk, parallel, pages;
  };
  int compared = 0;
  uint64_t preempted = 0, drafted = 0, restored = 0;
  for (const Case& c : {Case{8, 8, 24}, Case{64, 16, 200}, Case{1, 2, 20}, Case{5, 40, 40}}) {
    EngineOptions options;
    options.manual = true;
    options.parallel = c.parallel;
    options.queue = 1000;
    options.unread_events = 4;
    {
      const auto probe = Runtime::load(kModel, {.threads = 1});
      options.kv_memory = uint64_t(c.pages) * uint64_t((*probe)->layout().page_bytes());
    }
    struct Live {
      GenerationRequest request;
      std::shared_ptr<Ticket> ticket;
      Answer answer;
      int cancel_at = -1;
    };
    // A disk that holds a part of it.
    const auto folder = std::filesystem::temp_directory_path() / ("anedvd requests " + std::to_string(::getpid()));
    std::filesystem::remove_all(folder);
    if (c.chunk != 64) {
      options.kv_disk = 60 * options.kv_memory / uint64_t(c.pages);
      options.kv_folder = folder;
    }
    auto engine = start(options, c.chunk, 1, 256);
    std::vector<Live> live;
    std::vector<Live> done;
    for (int sent = 0; sent < 250 || !live.empty();) {
      if (sent < 250 && random() % 3 == 0) {
        Live one;
        one.request = random_request(random, beginnings, vocab);
        auto ticket = engine->submit(one.request);
        ASSERT_TRUE(ticket) << ticket.error().message;
        one.ticket = *ticket;
        if (random() % 8 == 0) one.cancel_at = int(random() % 20);
        live.push_back(std::move(one));
        ++sent;
      }
      engine->step();
      for (Live& one : live) {
        if (one.cancel_at >= 0 && one.cancel_at-- == 0) one.ticket->cancel();
        if (random() % 3 != 0) continue;  // clients read when they like
        if (collect(*one.ticket, one.answer)) {
          done.push_back(std::move(one));
          one.ticket = nullptr;
        }
      }
      std::erase_if(live, [](const Live& one) { return one.ticket == nullptr; });
    }
    for (const Live& one : done) {
      ASSERT_FALSE(one.answer.error) << one.answer.error->message;
      const Answer want = run_alone(*alone, one.request);
      ASSERT_FALSE(want.error) << want.error->message;
      if (one.answer.finished->reason == FinishReason::kCancelled) {
        ASSERT_LE(one.answer.ids.size(), want.ids.size());
        ASSERT_TRUE(std::equal(one.answer.ids.begin(), one.answer.ids.end(), want.ids.begin()));
        continue;
      }
      ASSERT_EQ(one.answer.ids, want.ids)
          << "chunk " << c.chunk << " prompt of " << one.request.prompt.size() << ", " << one.request.max_tokens
          << " at most, drafts " << one.request.speculate << ", logprobs " << one.request.top_logprobs << "/"
          << one.request.prompt_logprobs << ", temperature " << one.request.sampling.temperature;
      ASSERT_EQ(one.answer.text, want.text);
      ASSERT_EQ(one.answer.finished->reason, want.finished->reason);
      ASSERT_EQ(one.answer.finished->usage.completion_tokens, want.finished->usage.completion_tokens);
      ASSERT_EQ(one.answer.prompt.size(), want.prompt.size());
      for (size_t i = 0; i < want.prompt.size(); ++i) ASSERT_EQ(one.answer.prompt[i].logprob, want.prompt[i].logprob);
      ++compared;
    }
    const EngineStatistics end = engine->statistics();
    EXPECT_EQ(end.running + end.waiting, 0);
    restored += end.restored_tokens;
    engine.reset();
    std::filesystem::remove_all(folder);
    EXPECT_EQ(end.kv_bytes, end.kv_cached_bytes) << "pages that nobody holds but the cache";
    EXPECT_GT(end.reused_tokens, 0u);
    drafted += end.drafted_tokens;
    preempted += end.preempted;
  }
  EXPECT_GT(compared, 700);
  EXPECT_GT(preempted, 0u);
  EXPECT_GT(drafted, 0u);
  EXPECT_GT(restored, 0u);
}

TEST(Engine, AfterARestartPrefixesComeFromDisk) {
  const auto folder = std::filesystem::temp_directory_path() / ("anedvd engine " + std::to_string(::getpid()));
  std::filesystem::remove_all(folder);
  EngineOptions options;
  options.manual = true;
  options.kv_disk = 64 << 20;
  options.kv_folder = folder;
  std::mt19937 random(9);
  GenerationRequest request;
  request.sampling.temperature = 0;
  request.ignore_end = true;
  request.max_tokens = 40;
  Answer first, second;
  {
    const auto engine = start(options, 16);
    request.prompt = random_tokens(random, 100, engine->runtime().spec().vocab);
    first = run_alone(*engine, request);
  }
  {
    const auto engine = start(options, 5);
    second = run_alone(*engine, request);
    EXPECT_EQ(engine->statistics().restored_tokens, 96u);
  }
  EXPECT_EQ(second.finished->usage.reused_tokens, 96);
  EXPECT_EQ(second.ids, first.ids);
  {
    // Computed in another way: other keys and values.
    auto runtime = Runtime::load(kModel, {.threads = 1, .exact = true});
    const auto engine = *Engine::start(std::move(*runtime), options);
    EXPECT_EQ(run_alone(*engine, request).finished->usage.reused_tokens, 0);
  }
  std::filesystem::remove_all(folder);
}

TEST(Engine, TwoWithTheSameLongBeginningReadItOnce) {
  EngineOptions options;
  options.manual = true;
  const auto engine = start(options, 16);
  std::mt19937 random(1);
  const int vocab = engine->runtime().spec().vocab;
  GenerationRequest request;
  request.prompt = random_tokens(random, 160, vocab);
  request.max_tokens = 2;
  std::vector<std::shared_ptr<Ticket>> tickets;
  for (int i = 0; i < 3; ++i) {
    GenerationRequest one = request;
    one.prompt.push_back(Token(i));
    tickets.push_back(*engine->submit(one));
  }
  while (engine->step()) {}
  int computed = 0;
  for (const auto& ticket : tickets) {
    Answer answer;
    ASSERT_TRUE(collect(*ticket, answer));
    computed += answer.finished->usage.prompt_tokens - answer.finished->usage.reused_tokens;
  }
  EXPECT_EQ(computed, 161 + 1 + 1);
}

TEST(Engine, ACancelledOneEndsWithinAStepWhereverItIs) {
  EngineOptions options;
  options.manual = true;
  options.parallel = 1;
  const auto engine = start(options, 8);
  std::mt19937 random(2);
  GenerationRequest request;
  request.prompt = random_tokens(random, 100, engine->runtime().spec().vocab);
  const auto reading = *engine->submit(request);
  const auto queued = *engine->submit(request);
  ASSERT_TRUE(engine->step());
  reading->cancel();
  queued->cancel();
  engine->step();
  for (const auto& ticket : {reading, queued}) {
    Answer answer;
    ASSERT_TRUE(collect(*ticket, answer));
    EXPECT_EQ(answer.finished->reason, FinishReason::kCancelled);
  }
}

TEST(Engine, TheTimeOfAnAnswerEndsWithItsLastToken) {
  EngineOptions options;
  options.manual = true;
  const auto engine = start(options);
  GenerationRequest request;
  request.prompt = {3, 4, 5};
  request.ignore_end = true;
  const auto ticket = *engine->submit(request);
  Answer answer;
  while (answer.ids.size() < 3) {
    ASSERT_TRUE(engine->step());
    ASSERT_FALSE(collect(*ticket, answer));
  }
  // A client that takes its time before it gives up: what it did not get took no time.
  constexpr auto kPause = std::chrono::milliseconds(300);
  std::this_thread::sleep_for(kPause);
  ticket->cancel();
  engine->step();
  ASSERT_TRUE(collect(*ticket, answer));
  EXPECT_GT(answer.finished->usage.decode_s, 0);
  EXPECT_LT(answer.finished->usage.decode_s, std::chrono::duration<double>(kPause).count());
}

TEST(Engine, ASlowReaderWaitsAloneAndLosesNothing) {
  EngineOptions options;
  options.manual = true;
  options.unread_events = 3;
  options.speculate = 0;
  const auto engine = start(options, 8);
  std::mt19937 random(3);
  GenerationRequest request;
  request.prompt = random_tokens(random, 4, engine->runtime().spec().vocab);
  request.max_tokens = 30;
  request.ignore_end = true;
  request.sampling.temperature = 0;
  const auto slow = *engine->submit(request);
  request.prompt = random_tokens(random, 4, engine->runtime().spec().vocab);
  const auto quick = *engine->submit(request);
  Answer quick_answer;
  while (!collect(*quick, quick_answer)) ASSERT_TRUE(engine->step());
  EXPECT_EQ(quick_answer.ids.size(), 30u);
  while (engine->step()) {}
  Answer slow_answer;
  EXPECT_FALSE(collect(*slow, slow_answer));  // it stands where its reader stopped
  while (!collect(*slow, slow_answer)) ASSERT_TRUE(engine->step());
  EXPECT_EQ(slow_answer.ids.size(), 30u);
}

TEST(Engine, AnInteractiveRequestTakesABackgroundOnesPlace) {
  EngineOptions options;
  options.manual = true;
  options.parallel = 1;
  const auto engine = start(options, 8);
  std::mt19937 random(4);
  GenerationRequest request;
  request.prompt = random_tokens(random, 6, engine->runtime().spec().vocab);
  request.max_tokens = 40;
  request.ignore_end = true;
  request.priority = Priority::kBackground;
  const auto patient = *engine->submit(request);
  for (int i = 0; i < 5; ++i) engine->step();
  request.priority = Priority::kInteractive;
  request.max_tokens = 10;
  const auto urgent = *engine->submit(request);
  Answer first, second;
  while (!collect(*urgent, first)) ASSERT_TRUE(engine->step());
  EXPECT_FALSE(collect(*patient, second));
  while (!collect(*patient, second)) ASSERT_TRUE(engine->step());
  EXPECT_EQ(second.ids.size(), 40u);
}

TEST(Engine, WhatDoesNotFitIntoTheCacheFailsAloneAndTakesNobodyAlong) {
  EngineOptions options;
  options.manual = true;
  const auto layout_of = Runtime::load(kModel, {.threads = 1});
  options.kv_memory = 6 * uint64_t((*layout_of)->layout().page_bytes());  // 96 tokens
  const auto engine = start(options, 64);
  std::mt19937 random(8);
  const int vocab = engine->runtime().spec().vocab;
  GenerationRequest request;
  request.max_tokens = 3;
  request.ignore_end = true;
  request.prompt = random_tokens(random, 20, vocab);
  const auto before = *engine->submit(request);
  request.prompt = random_tokens(random, 200, vocab);
  const auto large = *engine->submit(request);
  request.prompt =
      random_tokens(random, 5, vocab);  // streams when the large one fails, and lost its pages to it just then
  request.max_tokens = 30;
  const auto behind = *engine->submit(request);
  std::map<const Ticket*, Answer> answers;
  for (int step = 0; step < 200; ++step) {
    engine->step();
    for (const auto& ticket : {before, large, behind}) collect(*ticket, answers[ticket.get()]);
  }
  EXPECT_EQ(answers[before.get()].ids.size(), 3u);
  EXPECT_EQ(answers[behind.get()].ids.size(), 30u);
  ASSERT_TRUE(answers[large.get()].error);
  EXPECT_EQ(answers[large.get()].error->code, ErrorCode::kNoMemory);
  EXPECT_EQ(engine->statistics().running + engine->statistics().waiting, 0);
}

TEST(Engine, RefusesWhatCannotBeServed) {
  EngineOptions options;
  options.manual = true;
  options.parallel = 1;
  options.queue = 1;
  const auto engine = start(options);
  GenerationRequest request;
  EXPECT_EQ(engine->submit(request).error().code, ErrorCode::kUsage);
  request.prompt = {-1};
  EXPECT_EQ(engine->submit(request).error().code, ErrorCode::kUsage);
  request.prompt.assign(100000, 1);
  EXPECT_EQ(engine->submit(request).error().code, ErrorCode::kUsage);
  request.prompt = {1};
  request.sampling.top_p = 7;
  EXPECT_EQ(engine->submit(request).error().code, ErrorCode::kUsage);
  request.sampling.top_p = 1;
  request.max_tokens = 1;
  EXPECT_TRUE(engine->submit(request));  // has the place
  EXPECT_TRUE(engine->submit(request));  // waits for it
  EXPECT_EQ(engine->submit(request).error().code, ErrorCode::kBusy);
  while (engine->step()) {}
  EXPECT_TRUE(engine->submit(request));
  engine->close();
  EXPECT_EQ(engine->submit(request).error().code, ErrorCode::kBusy);
  EXPECT_EQ(engine->statistics().rejected, 1u);
}

// However many parts a request has, it takes one place: what fits an idle engine once is never refused as too much.
TEST(Engine, PartsOfOneRequestTakeOnePlaceInTheQueue) {
  EngineOptions options;
  options.manual = true;
  options.parallel = 1;
  options.queue = 0;
  const auto engine = start(options);
  GenerationRequest request;
  request.prompt = {1};
  request.max_tokens = 2;
  request.ignore_end = true;
  const auto parts = engine->submit_all(std::vector<GenerationRequest>(50, request));
  ASSERT_TRUE(parts);
  EXPECT_EQ(engine->submit(request).error().code, ErrorCode::kBusy);
  const auto is_over = [](Ticket& ticket) {
    while (const auto event = ticket.try_next())
      if (is_last(*event)) return true;
    return false;
  };
  while (!is_over(*parts->back())) {
    EXPECT_EQ(engine->submit(request).error().code, ErrorCode::kBusy);  // the last part still holds the place
    ASSERT_TRUE(engine->step());
  }
  for (size_t i = 0; i + 1 < parts->size(); ++i) EXPECT_TRUE(is_over(*(*parts)[i])) << i;
  EXPECT_TRUE(engine->submit(request));
  // One bad part: none of them.
  std::vector<GenerationRequest> mixed(2, request);
  mixed[1].prompt = {-1};
  EXPECT_EQ(engine->submit_all(mixed).error().code, ErrorCode::kUsage);
}

TEST(Engine, WithoutAQueueFreePlacesAreServed) {
  EngineOptions options;
  options.parallel = 2;
  options.queue = 0;
  const auto engine = start(options);
  GenerationRequest request;
  request.prompt = {1};
  request.max_tokens = 3;
  request.ignore_end = true;
  // Whoever has its answer leaves its place to the next, and its tokens are counted: told before the answer ends, not some time after.
  for (uint64_t i = 1; i <= 100; ++i) {
    const auto ticket = engine->submit(request);
    ASSERT_TRUE(ticket) << i;
    while (const auto event = (*ticket)->next(std::chrono::seconds(20)))
      if (std::holds_alternative<Finished>(*event)) break;
    ASSERT_EQ(engine->statistics().generated_tokens, 3 * i);
    ASSERT_EQ(engine->statistics().running, 0);
  }
  request.max_tokens = 500;
  const auto one = engine->submit(request), other = engine->submit(request);
  EXPECT_TRUE(one && other);
  EXPECT_EQ(engine->submit(request).error().code, ErrorCode::kBusy);
  (*one)->cancel();
  (*other)->cancel();
}

TEST(Engine, EmbeddingsDoNotDependOnCompany) {
  EngineOptions options;
  options.manual = true;
  const auto engine = start(options, 8);
  std::mt19937 random(6);
  const int vocab = engine->runtime().spec().vocab;
  const auto embed = [&](const std::vector<Token>& prompt, int company) {
    GenerationRequest request;
    request.kind = RequestKind::kEmbedding;
    request.prompt = prompt;
    const auto ticket = *engine->submit(request);
    std::vector<std::shared_ptr<Ticket>> others;
    for (int i = 0; i < company; ++i) {
      GenerationRequest other;
      other.prompt = random_tokens(random, 9, vocab);
      other.max_tokens = 5;
      others.push_back(*engine->submit(other));
    }
    while (engine->step()) {}
    std::vector<float> values;
    while (auto event = ticket->try_next())
      if (auto* embedded = std::get_if<Embedded>(&*event)) values = embedded->values;
    return values;
  };
  for (const int length : {1, 3, 30}) {
    const auto prompt = random_tokens(random, length, vocab);
    const auto alone = embed(prompt, 0);
    EXPECT_EQ(alone.size(), size_t(engine->runtime().spec().hidden));
    EXPECT_EQ(embed(prompt, 5), alone);
  }
}

// Clients on several threads, an engine on its own: for the thread sanitizer, and nobody may hang.
TEST(Engine, ServesClientsOnManyThreads) {
  EngineOptions options;
  options.parallel = 4;
  options.unread_events = 4;
  const auto engine = start(options, 16);
  const int vocab = engine->runtime().spec().vocab;
  std::vector<std::thread> clients;
  std::atomic<int> ended = 0;
  for (uint32_t c = 0; c < 4; ++c)
    clients.emplace_back([&, c] {
      std::mt19937 random(c);
      for (int i = 0; i < 12; ++i) {
        GenerationRequest request;
        request.prompt = random_tokens(random, int(1 + random() % 60), vocab);
        request.max_tokens = int(1 + random() % 20);
        const auto ticket = engine->submit(request);
        ASSERT_TRUE(ticket);
        const bool gives_up = random() % 4 == 0;
        for (;;) {
          const auto event = (*ticket)->next(std::chrono::seconds(60));
          ASSERT_TRUE(event) << "nothing came";
          if (gives_up && random() % 4 == 0) (*ticket)->cancel();
          if (is_last(*event)) break;
        }
        (void)engine->statistics();
        ++ended;
      }
    });
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(ended, 48);
}

TEST(Engine, GoesAwayInTheMiddleOfWorkAndTellsItsClients) {
  std::shared_ptr<Ticket> ticket;
  {
    const auto engine = start({}, 8);
    GenerationRequest request;
    request.prompt = {1, 2, 3};
    request.ignore_end = true;
    ticket = *engine->submit(request);
    (void)ticket->next(std::chrono::seconds(60));
  }
  bool ended = false;
  while (auto event = ticket->try_next()) ended = ended || is_last(*event);
  EXPECT_TRUE(ended);
  ticket->cancel();
}

}  // namespace
}  // namespace anedvd
