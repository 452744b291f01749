#include "api/models/model_registry.h"

#include <algorithm>
#include <chrono>

#include "base/words.h"

namespace anedvd {
namespace {

ApiError stopping_error() {
  return {.status = 503,
          .type = "unavailable_error",
          .code = "shutting_down",
          .message = "The server is shutting down.",
          .retry_after = 5};
}

ApiError loading_error(std::string_view id) {
  return {.status = 503,
          .type = "unavailable_error",
          .code = "model_loading",
          .message = fmt::format("The model {} is loading; ask again in a moment.", visible(id)),
          .retry_after = 1};
}

}  // namespace

ModelRegistry::ModelRegistry(std::vector<ModelEntry> entries, RegistryOptions options) : options_(std::move(options)) {
  ANEDVD_CHECK(!entries.empty(), "a registry without models");
  for (ModelEntry& entry : entries) {
    Slot slot;
    slot.facts.id = entry.id;
    slot.facts.created = changed_at(entry.path);
    slot.entry = std::move(entry);
    entries_.push_back(std::move(slot));
  }
  entries_.front().state = ModelState::kLoading;
  wanted_.push_back(0);
}

void ModelRegistry::start() {
  thread_ = std::thread([this] { work(); });
}

ModelRegistry::~ModelRegistry() {
  stop();
  if (thread_.joinable()) thread_.join();
}

void ModelRegistry::stop() {
  std::vector<Waiter> left;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (Slot& slot : entries_) {
      std::move(slot.waiting.begin(), slot.waiting.end(), std::back_inserter(left));
      slot.waiting.clear();
    }
    waiting_ = 0;
  }
  changed_.notify_all();
  for (const Waiter& waiter : left) waiter(refuse(stopping_error()));
}

const ModelRegistry::Slot* ModelRegistry::find(std::string_view id) const {
  for (const Slot& slot : entries_)
    if (slot.entry.id == id ||
        std::find(slot.entry.aliases.begin(), slot.entry.aliases.end(), id) != slot.entry.aliases.end())
      return &slot;
  return nullptr;
}

ModelRegistry::Slot* ModelRegistry::find(std::string_view id) {
  return const_cast<Slot*>(static_cast<const ModelRegistry*>(this)->find(id));
}

ApiResult<std::string> ModelRegistry::resolve(std::string_view name, ApiDialect dialect) const {
  if (name.empty()) return default_id();
  const std::lock_guard lock(mutex_);
  if (const Slot* slot = find(name)) return slot->entry.id;
  if (dialect == ApiDialect::kAnthropic && !options_.strict && name.starts_with("claude-"))
    return entries_.front().entry.id;
  std::string ids;
  for (const Slot& slot : entries_) ids += (ids.empty() ? "" : ", ") + slot.entry.id;
  return refuse(
      {.status = 404,
       .type = "not_found_error",
       .code = "model_not_found",
       .param = "model",
       .message = fmt::format("The model '{}' does not exist; this server has: {}.", visible(name, 80), ids)});
}

void ModelRegistry::get(const std::string& id, Waiter waiter) {
  std::unique_lock lock(mutex_);
  Slot* slot = find(id);
  ANEDVD_CHECK(slot != nullptr, "model {} was never resolved", id);
  slot->last_used = ++clock_;
  if (stopping_) {
    lock.unlock();
    return waiter(refuse(stopping_error()));
  }
  if (slot->state == ModelState::kLoaded) {
    auto model = slot->model;
    lock.unlock();
    return waiter(std::move(model));
  }
  const bool is_first_load = slot == &entries_.front() && slot->state == ModelState::kLoading && !slot->was_tried;
  if (is_first_load || waiting_ >= options_.max_waiting) {
    lock.unlock();
    return waiter(refuse(loading_error(id)));
  }
  slot->waiting.push_back(std::move(waiter));
  ++waiting_;
  if (slot->state == ModelState::kLoading) return;
  slot->state = ModelState::kLoading;
  wanted_.push_back(size_t(slot - entries_.data()));
  lock.unlock();
  changed_.notify_all();
}

std::vector<ModelStatus> ModelRegistry::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<ModelStatus> all;
  for (const Slot& slot : entries_) all.push_back({slot.facts, slot.state, slot.model});
  return all;
}

bool ModelRegistry::is_ready() const {
  const std::lock_guard lock(mutex_);
  // Let go for another model's sake, it comes back when it is asked for.
  return entries_.front().was_tried && entries_.front().state != ModelState::kFailed;
}

std::optional<Error> ModelRegistry::failure() const {
  const std::lock_guard lock(mutex_);
  return entries_.front().error;
}

void ModelRegistry::work() {
  std::unique_lock lock(mutex_);
  bool has_looked = false;
  while (!stopping_) {
    if (!wanted_.empty()) {
      const size_t index = wanted_.front();
      wanted_.erase(wanted_.begin());
      load(entries_[index], lock);
      continue;
    }
    if (!std::exchange(has_looked, true)) {
      // Clients ask for the context of models that are not loaded yet.
      for (Slot& slot : entries_) {
        if (slot.has_facts) continue;
        lock.unlock();
        auto facts = read_facts(slot.entry.id, slot.entry.path);
        lock.lock();
        slot.has_facts = facts.has_value();
        if (facts) slot.facts = std::move(*facts);
      }
      continue;
    }
    changed_.wait(lock);
  }
}

// The file's size is what the packed weights take, within some per cent; the cache of an engine bounds itself by what is free.
void ModelRegistry::make_room(const Slot& slot, uint64_t bytes, std::unique_lock<std::mutex>& lock) {
  if (options_.memory_budget == 0) return;
  while (true) {
    uint64_t held = 0;
    Slot* oldest = nullptr;
    for (Slot& other : entries_) {
      if (other.state != ModelState::kLoaded || &other == &slot) continue;
      held += other.facts.file_bytes;
      if (!oldest || other.last_used < oldest->last_used) oldest = &other;
    }
    if (!oldest || held + bytes <= options_.memory_budget) return;
    std::weak_ptr<ServedModel> leaving = oldest->model;
    oldest->state = ModelState::kAbsent;
    auto model = std::move(oldest->model);
    lock.unlock();
    model.reset();
    // Its running answers end first; half a minute of them is enough.
    for (int i = 0; i < 1500 && !leaving.expired(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    lock.lock();
  }
}

void ModelRegistry::load(Slot& slot, std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  auto facts = read_facts(slot.entry.id, slot.entry.path);
  lock.lock();
  slot.has_facts = facts.has_value();
  if (facts) slot.facts = *facts;  // clients that look while it loads find them
  if (facts) make_room(slot, facts->file_bytes, lock);
  lock.unlock();
  Result<std::shared_ptr<ServedModel>> model = tl::unexpected(facts ? Error{} : facts.error());
  if (facts) {
    if (auto engine = options_.load(slot.entry.path)) {
      model = std::make_shared<ServedModel>(*facts, std::move(*engine), options_.chat_template);
    } else {
      model = tl::unexpected(std::move(engine).error());
    }
  }
  lock.lock();
  slot.was_tried = true;
  slot.state = model ? ModelState::kLoaded : ModelState::kFailed;
  if (model) slot.model = *model;
  if (!model) slot.error = model.error();
  if (model) slot.error.reset();
  std::vector<Waiter> waiting = std::exchange(slot.waiting, {});
  waiting_ -= waiting.size();
  lock.unlock();
  if (options_.loaded) options_.loaded(slot.entry.id, model);
  for (const Waiter& waiter : waiting) {
    if (model) {
      waiter(*model);
    } else {
      // The file's fault is for the log; the client learns that this model is not to be had.
      waiter(refuse({.status = 503,
                     .type = "unavailable_error",
                     .code = "model_failed",
                     .message = fmt::format("The model {} could not be loaded; the server's log says why.",
                                            visible(slot.entry.id)),
                     .retry_after = 30}));
    }
  }
  lock.lock();
}

}  // namespace anedvd
