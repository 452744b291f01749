// Answers under way for one request, and the interface of what writes them down in a dialect.
//
//   tickets ─events─▶ GenerationResponse ─pieces─▶ Shaper ─bytes─▶ client
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "api/api_error.h"
#include "api/exchange.h"
#include "api/generation/reasoning.h"
#include "api/models/served_model.h"
#include "engine/request.h"
#include "engine/ticket.h"

namespace anedvd {

// One answer, as far as it has come.
struct Choice {
  std::shared_ptr<Ticket> ticket;
  ReasoningSplitter splitter;
  int prompt = 0;  // index of the prompt that it answers
  std::string text, reasoning;
  std::vector<TokenRecord> tokens;            // of the text, when their log-probabilities were asked for
  std::vector<TokenRecord> prompt_tokens;     // likewise of the prompt
  int reasoning_tokens = 0, seen_tokens = 0;  // seen: all that came so far
  bool has_started = false, is_done = false;
  int started_prompt = 0, started_reused = 0;
  FinishReason reason = FinishReason::kLength;
  std::string stop;  // the stop string that ended it
  Usage usage;
};

// Sums over the choices; a prompt counts once however many answers it has.
struct UsageTotals {
  int prompt = 0, reused = 0, completion = 0, reasoning = 0, dropped = 0, drafted = 0, accepted = 0;
  double queue_s = 0, prefill_s = 0, decode_s = 0;  // the longest
};

struct Generation {
  std::shared_ptr<ServedModel> model;
  std::string_view kind;  // for the log: "chat"
  std::string version;    // of the program
  std::string id;         // "chatcmpl-…"
  int64_t created = 0;    // seconds since 1970
  std::vector<Choice> choices;
  std::vector<std::string> prompt_texts;  // of completions that repeat them
  std::vector<int> prompt_sizes;          // tokens
  int dropped = 0;                        // tokens of the prompt that were left out
  int max_tokens = -1;                    // that were asked for
  std::vector<std::string> turn_starts;   // that end an answer without being the client's stop strings
  bool with_logprobs = false;
  int top_logprobs = 0;
  std::shared_ptr<const nlohmann::ordered_json> trace;  // for x-anedvd-trace: 1
  std::shared_ptr<void> registration;                   // among the running requests, as long as it lives
  std::chrono::steady_clock::time_point start;
  double first_token_s = -1;

  UsageTotals usage() const;
  // The context was full before the answer's own limit.
  bool filled_context(const Choice& choice) const;
};

// What came at once for one choice.
struct Piece {
  std::string text, reasoning;
  std::vector<TokenRecord> tokens;  // of the text, when asked for
};

// How a dialect writes answers. The functions add bytes to `out`; those for streams are called in the order begin, then pieces and ends, then end.
class Shaper {
 public:
  virtual ~Shaper() = default;

  virtual ApiDialect dialect() const { return ApiDialect::kOpenAi; }
  virtual bool waits_for_start() const {
    return false;
  }  // begin() wants to tell what was cached: a second is waited for it

  virtual void attached(const Generation&) {}  // the requests are on their way

  virtual std::string whole(const Generation& generation) = 0;

  virtual void begin(const Generation&, std::string&) {}
  virtual void progress(const Generation&, int /*choice*/, int /*done*/, int /*total*/, std::string&) {}
  virtual void prompt_scored(const Generation&, int /*choice*/, std::string&) {}
  virtual void piece(const Generation& generation, int choice, const Piece& piece, std::string& out) = 0;
  virtual void choice_done(const Generation& generation, int choice, std::string& out) = 0;
  virtual void end(const Generation& generation, std::string& out) = 0;
  virtual void failed(const Generation& generation, const ApiError& error, std::string& out) = 0;
  virtual std::string ping() const { return ": ping\n\n"; }
};

// "data: JSON\n\n", with "event: NAME\n" before it if there is one.
void append_event(std::string& out, std::string_view name, std::string_view json);

// The tickets' choices are submitted already. `request_id` is the HTTP request's.
std::unique_ptr<Response> generation_response(Generation generation, std::unique_ptr<Shaper> shaper, bool is_stream,
                                              std::string request_id);

}  // namespace anedvd
