// The engine without its thread: requests in, one step at a time, events out. Internal to the engine; one thread.
//
//   waiting ── admit: place, cached prefix ──▶ running ── scheduler ──▶ columns ── step ──▶ tokens ──▶ finished: its pages stay in the tree
//      ▲                                         │
//      └── no memory: pages to the tree ─────────┘
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "engine/draft_model.h"
#include "engine/engine.h"
#include "engine/job.h"
#include "engine/scheduler.h"
#include "kv/prefix_store.h"
#include "kv/prefix_tree.h"

namespace anedvd {

class EngineCore {
 public:
  // `runtime` outlives it; its tokenizer is there. Errors: kIo (--kv-disk).
  static Result<std::unique_ptr<EngineCore>> make(Runtime& runtime, const Tokenizer& tokenizer,
                                                  const EngineOptions& options);

  // The request was checked.
  void add(GenerationRequest request, std::shared_ptr<Ticket> ticket, std::shared_ptr<QueuePlace> place);

  // One step. False when nobody had anything to do. Whoever ended in it hears of it from announce(), so that what statistics() then says can be
  // told first: who has an answer finds its tokens counted and its place free.
  bool step();
  void announce();

  // Ends everything that is under way, as cancelled, and says so.
  void cancel_all();

  int waiting() const;
  EngineStatistics statistics() const;
  const StepCost& cost() const { return cost_; }

 private:
  struct Part {  // a job's columns in this step
    Job* job;
    std::vector<Token> tokens;
    int drafts = 0;
    int first_row = 0;  // of the step's logits
  };

  EngineCore(Runtime& runtime, const Tokenizer& tokenizer, const EngineOptions& options);

  // Who takes part.
  void drop_cancelled();
  void admit();
  bool make_place_for(const Job& job);
  void take_prefix(Job& job);
  void take_from_disk(Job& job);
  void find_leader(Job& job);
  void follow_leaders();
  std::vector<Demand> demands();
  void propose(Job& job, StepShape shape);

  // Memory.
  bool make_room(int64_t pages, const Job& keep);
  void preempt(Job& job);
  void leave_pages(Job& job);
  void reserve(std::vector<Part>& parts);

  // After the step.
  void run(std::vector<Part>& parts);
  void advance(Part& part);
  void score_prompt(Part& part, int begin);
  void answer(Part& part);
  bool take_token(Job& job, std::span<const float> logits);
  void finish(Job& job, FinishReason reason);
  void fail(Job& job, const Error& error);
  void retire(Job& job);
  void forget_ended();
  Job* find(uint64_t id);

  Runtime& runtime_;
  const Tokenizer& tokenizer_;
  EngineOptions options_;
  PagePool pool_;
  PrefixTree tree_;
  std::unique_ptr<PrefixStore> store_;  // null without --kv-disk
  Scheduler scheduler_;
  StepCost cost_;
  std::unique_ptr<DraftModel> draft_;  // null: the text's own repetitions
  std::vector<Token> end_tokens_;
  std::vector<float> masked_;                                       // logits without end tokens
  std::vector<std::unique_ptr<Job>> jobs_;                          // most urgent first
  std::vector<std::pair<std::shared_ptr<Ticket>, Event>> endings_;  // not announced yet
  EngineStatistics statistics_;
};

}  // namespace anedvd
