#include "engine/generate.h"

#include <chrono>

namespace anedvd {

void follow_format(const Conversation& conversation, GenerationRequest& request) {
  const std::vector<std::string> starts = conversation.turn_starts();
  request.strip_first_space = !starts.empty();
  request.stop.insert(request.stop.end(), starts.begin(), starts.end());
}

Result<GenerateResult> generate(Engine& engine, GenerationRequest request, const TextSink& on_text,
                                const std::function<void(int)>& on_prefilled) {
  constexpr auto kPatience = std::chrono::milliseconds(50);
  ANEDVD_TRY(const auto ticket, engine.submit(std::move(request)));
  GenerateResult result;
  for (;;) {
    auto event = engine.manual() ? ticket->try_next() : ticket->next(kPatience);
    if (!event) {
      // An empty text asks whether to go on: prefill can be long.
      if (on_text && !on_text({})) ticket->cancel();
      if (engine.manual()) engine.step();
      continue;
    }
    if (const auto* started = std::get_if<Started>(&*event)) {
      if (on_prefilled) on_prefilled(started->reused_tokens);
    } else if (const auto* prefilled = std::get_if<Prefilled>(&*event)) {
      if (on_prefilled) on_prefilled(prefilled->done);
    } else if (auto* delta = std::get_if<TextDelta>(&*event)) {
      for (const TokenRecord& record : delta->tokens) result.ids.push_back(record.token);
      result.text += delta->text;
      if (on_text && !delta->text.empty() && !on_text(delta->text)) ticket->cancel();
    } else if (const auto* failed = std::get_if<Failed>(&*event)) {
      return tl::unexpected(failed->error);
    } else if (const auto* finished = std::get_if<Finished>(&*event)) {
      const Usage& usage = finished->usage;
      result.finish = finished->reason;
      result.prompt_tokens = usage.prompt_tokens;
      result.reused_tokens = usage.reused_tokens;
      result.prefill_s = usage.prefill_s;
      result.decode_s = usage.decode_s;
      result.drafted = usage.drafted;
      result.accepted = usage.accepted;
      result.seed = usage.seed;
      return result;
    }
  }
}

}  // namespace anedvd
