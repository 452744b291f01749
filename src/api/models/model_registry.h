// The models that a server offers: loaded when asked for, let go when the memory is wanted for another.
//
//   request "model": "b" ─ resolve ─▶ entry b ─ loaded? ─yes─▶ ServedModel (shared: lives until its last answer ends)
//                                        └no─▶ the loading thread ─▶ everybody who waited
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "api/api_error.h"
#include "api/models/served_model.h"

namespace anedvd {

struct ModelEntry {
  std::string id;
  std::filesystem::path path;
  std::vector<std::string> aliases = {};
};

enum class ModelState { kAbsent, kLoading, kLoaded, kFailed };

struct ModelStatus {
  ModelFacts facts;
  ModelState state = ModelState::kAbsent;
  std::shared_ptr<ServedModel> model;  // when loaded
};

struct RegistryOptions {
  std::function<Result<std::unique_ptr<Engine>>(const std::filesystem::path&)> load;
  std::string chat_template;   // for Conversation::make
  uint64_t memory_budget = 0;  // bytes of models at a time, by the size of their files; 0: no bound
  bool strict = false;         // names that agents have built in ("claude-…") are unknown
  size_t max_waiting = 256;    // requests that wait for models
  // Told by the loading thread.
  std::function<void(const std::string& id, const Result<std::shared_ptr<ServedModel>>& model)> loaded;
};

// All functions may be called from any thread.
class ModelRegistry {
 public:
  // The first entry is the default one.
  ModelRegistry(std::vector<ModelEntry> entries, RegistryOptions options);
  ~ModelRegistry();  // waits for a load that is under way; those who still wait hear that the server stops

  // Starts the loading thread, which loads the default model at once.
  void start();

  using Waiter = std::function<void(ApiResult<std::shared_ptr<ServedModel>>)>;

  // Which model a request's name means; empty: the default one. 404 lists what is served.
  ApiResult<std::string> resolve(std::string_view name, ApiDialect dialect) const;

  // Gives the model to `waiter`: at once, or from the loading thread when it is there. While the default model is loading for the first time the
  // answer is 503 at once: a client that comes too early should know. `id` is one that resolve() gave.
  void get(const std::string& id, Waiter waiter);

  // In the order of the entries; facts of those that were never looked at have an id and a time only.
  std::vector<ModelStatus> list() const;
  const std::string& default_id() const { return entries_.front().entry.id; }

  // The default model is there.
  bool is_ready() const;
  // Why the default model cannot be loaded.
  std::optional<Error> failure() const;

  void stop();

 private:
  struct Slot {
    ModelEntry entry;
    ModelFacts facts;
    ModelState state = ModelState::kAbsent;
    std::shared_ptr<ServedModel> model;
    std::optional<Error> error;
    std::vector<Waiter> waiting;
    uint64_t last_used = 0;  // by clock_
    bool has_facts = false;  // more than the id and the file's time
    bool was_tried = false;  // a load ended, well or not
  };

  Slot* find(std::string_view id);
  const Slot* find(std::string_view id) const;
  void work();
  void load(Slot& slot, std::unique_lock<std::mutex>& lock);
  void make_room(const Slot& slot, uint64_t bytes, std::unique_lock<std::mutex>& lock);

  const RegistryOptions options_;
  mutable std::mutex mutex_;  // all below
  std::condition_variable changed_;
  std::vector<Slot> entries_;  // never grows or shrinks
  std::vector<size_t> wanted_;
  size_t waiting_ = 0;
  uint64_t clock_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace anedvd
