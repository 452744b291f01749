// A running model: one thread that takes every request's next columns through the model together.
//
//   submit (any thread) → queue → places → [scheduler → one step → samplers → events]* → tickets
//
// All public functions may be called from any thread unless they say otherwise.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/request.h"
#include "engine/runtime.h"
#include "engine/ticket.h"

namespace anedvd {

struct EngineOptions {
  int parallel = 0;                 // sequences in flight; 0: as many as pay (16)
  int queue = 256;                  // requests that may wait for a place
  uint64_t kv_memory = 0;           // bytes for the cache; 0: a share of what is free, and at least one full context
  uint64_t kv_disk = 0;             // bytes for prefixes on disk; 0: none
  std::filesystem::path kv_folder;  // where: needed with kv_disk
  int speculate = -1;               // drafted tokens a sequence and step at most; −1: adapted, 0: never
  size_t unread_events = 256;       // a sequence whose client has more to read waits
  std::shared_ptr<Runtime> draft;   // a smaller model that guesses, instead of the text's own repetitions
  bool manual = false;  // no thread: the owner calls step(), for tests and for commands that wait for one answer
};

// A snapshot, for /metrics and /slots.
struct EngineStatistics {
  int running = 0, waiting = 0;
  uint64_t steps = 0, columns = 0;
  uint64_t prompt_tokens = 0, reused_tokens = 0, generated_tokens = 0;
  uint64_t restored_tokens = 0;  // read from disk instead of computed
  uint64_t drafted_tokens = 0, accepted_tokens = 0;
  uint64_t finished = 0, cancelled = 0, failed = 0, rejected = 0, preempted = 0;
  double prefill_seconds = 0, decode_seconds = 0;  // summed over requests
  uint64_t kv_bytes = 0, kv_limit_bytes = 0;       // pages in use, by sequences and by the prefix cache
  uint64_t kv_cached_bytes = 0;                    // of these, known to the prefix cache
  uint64_t kv_disk_bytes = 0;
};

class Engine {
 public:
  static Result<std::unique_ptr<Engine>> start(std::unique_ptr<Runtime> runtime, const EngineOptions& options);

  // Cancels what is under way and joins the thread.
  virtual ~Engine() = default;

  // Queues what belongs together, all of it or nothing: however many they are, they take one place in the queue. Errors: kUsage (empty or too long a
  // prompt, an id outside the vocabulary, a bad parameter: named), kBusy (the queue is full, or the engine is closing).
  virtual Result<std::vector<std::shared_ptr<Ticket>>> submit_all(std::vector<GenerationRequest> parts) = 0;

  // One request by itself.
  Result<std::shared_ptr<Ticket>> submit(GenerationRequest request);

  // No new requests from here on; those under way go on.
  virtual void close() = 0;

  virtual bool manual() const = 0;

  // One step of a manual engine. False when there was nothing to do.
  virtual bool step() = 0;

  virtual EngineStatistics statistics() const = 0;

  // What the model is: constant while the engine lives. The tokenizer may be used by several threads at once.
  virtual const Runtime& runtime() const = 0;
  virtual const Tokenizer& tokenizer() const = 0;
};

}  // namespace anedvd
