// One answer: prompt ids in, text and ids out, streamed as they come: for whoever waits for one.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "engine/request.h"
#include "text/conversation.h"

namespace anedvd {

struct GenerateResult {
  std::string text;
  std::vector<Token> ids;  // generated, the end token not included
  FinishReason finish = FinishReason::kLength;
  int prompt_tokens = 0;
  int reused_tokens = 0;  // of the prompt, found in the cache
  int drafted = 0, accepted = 0;
  double prefill_s = 0;  // until the first logits
  double decode_s = 0;   // from there to the last token
  uint64_t seed = 0;

  // Tokens a second of the steps after the prompt: the first token costs none of them. Not a number (shown as "–", null in JSON) below two.
  double decode_rate() const {
    return ids.size() > 1 && decode_s > 0 ? double(ids.size() - 1) / decode_s
                                          : std::numeric_limits<double>::quiet_NaN();
  }
};

// What a conversation's format asks of the answer to it: where it begins and ends (Conversation::turn_starts).
void follow_format(const Conversation& conversation, GenerationRequest& request);

// Receives text that is final: whole characters, never part of a stop string. Returns false to stop (finish kCancelled).
using TextSink = std::function<bool(std::string_view)>;

// One answer through an engine, beside whatever else it serves; a manual engine is stepped. `on_prefilled` (may be empty) hears how many of the
// prompt's tokens are done. Errors: those of Engine::submit; kNumeric (logits not finite), kDevice, kNoMemory.
Result<GenerateResult> generate(Engine& engine, GenerationRequest request, const TextSink& on_text,
                                const std::function<void(int)>& on_prefilled = {});

}  // namespace anedvd
