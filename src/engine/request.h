// What one request asks of the engine, and what it hears back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "sampling/sampler.h"
#include "text/tokenizer.h"

namespace anedvd {

// An interactive request takes the place of a background one when all places are taken; the one that waits keeps its cache.
enum class Priority { kInteractive, kBackground };

// Where the answer is wanted from.
enum class RequestKind {
  kGenerate,   // tokens after the prompt
  kEmbedding,  // the prompt's pooled hidden state, no tokens
};

struct GenerationRequest {
  RequestKind kind = RequestKind::kGenerate;
  std::vector<Token> prompt;  // at least one
  SamplingParams sampling;
  int max_tokens = -1;            // −1: to the end of the context; 0: the prompt is only read (and scored)
  int min_tokens = 0;             // end tokens are not drawn before so many
  bool ignore_end = false;        // end tokens are never drawn
  std::vector<std::string> stop;  // the answer ends before the first of these; none of their bytes is emitted
  int top_logprobs = -1;          // −1: none; k: each generated token's log-probability and the k most probable
  int prompt_logprobs = -1;       // the same for the prompt's tokens
  bool from_template =
      false;  // the answer is a message: a space that the vocabulary puts before every text is none of it
  bool strip_first_space = false;  // the same of the format that the prompt is in
  bool emit_control = false;       // text of control tokens is part of the answer
  bool reuse = true;   // may take a cached prefix; cached states have no logits, so prompt_logprobs turns it off
  int speculate = -1;  // drafted tokens a step at most; −1: the engine's choice, 0: none
  Priority priority = Priority::kInteractive;
};

enum class FinishReason { kStop, kLength, kCancelled };
std::string_view finish_reason_name(FinishReason reason);  // "stop", "length", "cancelled"

struct TokenLogprob {
  Token token = -1;
  float logprob = 0;  // of the raw logits at temperature 1; −∞ for a token that was impossible
};

// A token of the answer (or of the prompt) with what was asked about it.
struct TokenRecord {
  Token token = -1;
  float logprob = 0;              // 0 when none was asked for, and for the prompt's first token
  std::vector<TokenLogprob> top;  // descending, ties by id
};

// Counts and times of one request. Times in seconds.
struct Usage {
  int prompt_tokens = 0;
  int reused_tokens = 0;      // of the prompt, found in the cache
  int completion_tokens = 0;  // the end token not counted
  int drafted = 0, accepted = 0;
  double queue_s = 0;    // until the first step that had a token of it
  double prefill_s = 0;  // from there to the first logits
  double decode_s = 0;   // from there to the last token
  uint64_t seed = 0;
};

// The first step with a token of this request is about to run.
struct Started {
  int prompt_tokens = 0, reused_tokens = 0;
};

// So many of the prompt's tokens are done.
struct Prefilled {
  int done = 0, total = 0;
};

// The prompt's tokens with their log-probabilities, all at once, after prefill.
struct PromptScored {
  std::vector<TokenRecord> tokens;
};

// Text that is final: whole characters, never part of a stop string. `tokens` are those whose text it ends; a token held back comes later, and one
// behind a stop string never.
struct TextDelta {
  std::string text;
  std::vector<TokenRecord> tokens;
};

struct Embedded {
  std::vector<float> values;  // [hidden], not normalised
};

// The last event of a request that was served, cancelled ones included.
struct Finished {
  FinishReason reason = FinishReason::kLength;
  std::string stop;  // the stop string that ended it, if one did
  Usage usage;
};

// The last event of one that was not.
struct Failed {
  Error error;
};

using Event = std::variant<Started, Prefilled, PromptScored, TextDelta, Embedded, Finished, Failed>;

inline bool is_last(const Event& event) {
  return std::holds_alternative<Finished>(event) || std::holds_alternative<Failed>(event);
}

}  // namespace anedvd
