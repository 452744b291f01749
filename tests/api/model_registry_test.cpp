// Several models in one server: loaded when asked for, let go for another.
#include "api/models/model_registry.h"

#include <condition_variable>
#include <mutex>

#include <gtest/gtest.h>

#include "api/fake_engine.h"

namespace anedvd {
namespace {

std::string data(const std::string& name) { return std::string(ANEDVD_TEST_DATA) + "/" + name; }

class Registry : public testing::Test {
 protected:
  RegistryOptions options() {
    RegistryOptions made;
    made.load = [this](const std::filesystem::path& path) -> Result<std::unique_ptr<Engine>> {
      ANEDVD_TRY(auto runtime, Runtime::load(path, {.threads = 1}));
      ++loads_;
      return std::unique_ptr<Engine>(std::make_unique<FakeEngine>(std::move(runtime), Answering{}));
    };
    return made;
  }

  // Waits for the model; an error's code otherwise.
  std::string get(ModelRegistry& registry, const std::string& id) {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<std::string> got;
    registry.get(id, [&](ApiResult<std::shared_ptr<ServedModel>> model) {
      const std::lock_guard lock(mutex);
      got = model ? (*model)->id() : model.error().code;
      changed.notify_all();
    });
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(30), [&] { return got.has_value(); }));
    return got.value_or("nothing");
  }

  void wait_ready(const ModelRegistry& registry) {
    for (int i = 0; i < 3000 && !registry.is_ready() && !registry.failure(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }

  std::atomic<int> loads_ = 0;
};

TEST_F(Registry, FirstLoadOfTheDefaultModelAnswersAtOnce) {
  std::mutex gate;
  gate.lock();
  RegistryOptions slow = options();
  slow.load = [&, inner = slow.load](const std::filesystem::path& path) {
    const std::lock_guard lock(gate);
    return inner(path);
  };
  ModelRegistry registry({{"a", data("tiny-llama-q4_1.gguf")}}, std::move(slow));
  EXPECT_EQ(get(registry, "a"), "model_loading");
  EXPECT_GT(registry.list()[0].facts.created, 1'000'000'000);  // the file's time is known before anything is read
  registry.start();
  // Clients that look once, at their start, find what the head of the file says.
  for (int i = 0; i < 3000 && registry.list()[0].facts.context == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_GT(registry.list()[0].facts.context, 0);
  EXPECT_GT(registry.list()[0].facts.parameters, 0);
  EXPECT_EQ(get(registry, "a"), "model_loading");
  EXPECT_FALSE(registry.is_ready());
  gate.unlock();
  wait_ready(registry);
  EXPECT_EQ(get(registry, "a"), "a");
}

TEST_F(Registry, OthersAreLoadedWhenAskedForAndTheOldestIsLetGo) {
  RegistryOptions small = options();
  small.memory_budget = 1;  // one model at a time
  ModelRegistry registry({{"a", data("tiny-llama-q4_1.gguf")}, {"b", data("tiny-llama-f32.gguf")}}, std::move(small));
  registry.start();
  wait_ready(registry);
  EXPECT_EQ(registry.list()[1].state, ModelState::kAbsent);
  EXPECT_EQ(get(registry, "b"), "b");
  EXPECT_EQ(registry.list()[0].state, ModelState::kAbsent);
  EXPECT_TRUE(registry.is_ready());  // it comes back when asked for
  EXPECT_EQ(get(registry, "a"), "a");
  EXPECT_EQ(loads_, 3);
}

TEST_F(Registry, WithinTheBudgetBothStay) {
  RegistryOptions large = options();
  large.memory_budget = 1 << 30;
  ModelRegistry registry({{"a", data("tiny-llama-q4_1.gguf")}, {"b", data("tiny-llama-f32.gguf")}}, std::move(large));
  registry.start();
  wait_ready(registry);
  EXPECT_EQ(get(registry, "b"), "b");
  EXPECT_EQ(get(registry, "a"), "a");
  EXPECT_EQ(loads_, 2);
}

TEST_F(Registry, BrokenFilesAreToldToTheLogAndNotToTheClient) {
  std::string told;
  RegistryOptions broken = options();
  broken.loaded = [&](const std::string& id, const Result<std::shared_ptr<ServedModel>>& model) {
    told = id + (model ? " ok" : " failed");
  };
  ModelRegistry registry({{"a", data("tiny-llama-f32.ids.json")}}, std::move(broken));
  registry.start();
  wait_ready(registry);
  EXPECT_TRUE(registry.failure());
  EXPECT_EQ(get(registry, "a"), "model_failed");
}

TEST_F(Registry, NamesResolve) {
  ModelRegistry registry({{"a", "a.gguf", {"first"}}, {"b", "b.gguf"}}, options());
  EXPECT_EQ(registry.resolve("", ApiDialect::kOpenAi), "a");
  EXPECT_EQ(registry.resolve("first", ApiDialect::kOpenAi), "a");
  EXPECT_EQ(registry.resolve("b", ApiDialect::kAnthropic), "b");
  EXPECT_EQ(registry.resolve("claude-haiku-9", ApiDialect::kAnthropic), "a");
  EXPECT_EQ(registry.resolve("claude-haiku-9", ApiDialect::kOpenAi).error().status, 404);
  RegistryOptions strict = options();
  strict.strict = true;
  ModelRegistry other({{"a", "a.gguf"}}, std::move(strict));
  EXPECT_EQ(other.resolve("claude-haiku-9", ApiDialect::kAnthropic).error().status, 404);
}

}  // namespace
}  // namespace anedvd
