#include "api/generation/generation_job.h"

#include <nlohmann/json.hpp>

#include "api/generation/chat_prompt.h"
#include "api/generation/fill_in_middle.h"
#include "engine/generate.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

struct Prepared {
  std::vector<Token> ids;
  std::string text;
  bool begins_message = false;  // the answer is a message of its own, not the rest of one
};

ApiResult<std::vector<Prepared>> prepare_chat(const ServedModel& model, const GenerationJob& job,
                                              Generation& generation, std::string& messages) {
  ChatPromptInput input;
  input.messages = job.messages.get();
  input.extra = job.extra.get();
  input.truncate = job.truncate;
  input.max_tokens = job.request.max_tokens;
  input.param = job.prompt_param;
  ANEDVD_TRY(ChatPrompt prompt, make_chat_prompt(model, input));
  generation.dropped = prompt.dropped;
  messages = std::move(prompt.messages);
  std::vector<Prepared> prepared;
  const Json& last = job.messages->back();
  const bool continues = last.is_object() && last.value("role", "") == "assistant";
  prepared.push_back({std::move(prompt.ids), std::move(prompt.text), !continues});
  return prepared;
}

ApiResult<std::vector<Prepared>> prepare_raw(const ServedModel& model, const GenerationJob& job,
                                             Generation& generation) {
  const Tokenizer& tokenizer = model.tokenizer();
  const int vocab = model.engine().runtime().spec().vocab;
  std::vector<Prepared> prepared;
  for (const RawPrompt& prompt : job.prompts) {
    Prepared one;
    if (prompt.is_ids) {
      for (const Token id : prompt.ids)
        if (id < 0 || id >= vocab)
          return bad_value("prompt", fmt::format("{} is no token of the model; it has {}", id, vocab));
      one.ids = prompt.ids;
      one.text = text_of(tokenizer, one.ids, true);
    } else if (job.has_suffix) {
      ANEDVD_TRY(one.ids, fill_in_middle(tokenizer, prompt.text, job.suffix));
      one.text = prompt.text;
    } else {
      one.ids = encode_raw(tokenizer, prompt.text);
      one.text = prompt.text;
    }
    if (one.ids.empty()) return bad_value("prompt", "at least one token is expected");
    const int room = job.request.max_tokens == 0 ? 0 : 1;
    if (auto fits = check_fits(model, one.ids.size(), room, "prompt"); !fits) {
      const int keep = model.context() - std::clamp(job.request.max_tokens, std::max(1, model.context() / 16),
                                                    std::max(1, model.context() / 4));
      if (!job.truncate || job.has_suffix || keep < 1) return refuse(fits.error());
      generation.dropped += int(one.ids.size()) - keep;
      one.ids.erase(one.ids.begin(), one.ids.end() - keep);
      one.text = text_of(tokenizer, one.ids, true);  // what is repeated is what was read
    }
    prepared.push_back(std::move(one));
  }
  return prepared;
}

Json trace_of(const ServedModel& model, const std::vector<Prepared>& prepared, const std::string& messages) {
  Json trace = {{"device", model.device()}, {"prompts", Json::array()}};
  for (const Prepared& one : prepared) trace["prompts"].push_back({{"text", one.text}, {"ids", one.ids}});
  if (!messages.empty()) trace["messages"] = Json::parse(messages, nullptr, false);
  return trace;
}

}  // namespace

ApiResult<std::unique_ptr<Response>> start_generation(std::shared_ptr<ServedModel> model, GenerationJob job,
                                                      const JobContext& context) {
  Generation generation;
  generation.start = std::chrono::steady_clock::now();
  generation.kind = job.kind;
  generation.version = job.version;
  generation.id = random_id(job.id_prefix);
  generation.created =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  generation.max_tokens = job.request.max_tokens;
  generation.with_logprobs = job.with_logprobs;
  generation.top_logprobs = job.top_logprobs;
  ANEDVD_TRY_VOID(check_bias(job.request, *model));
  std::string messages;
  ANEDVD_TRY(std::vector<Prepared> prepared,
             job.messages ? prepare_chat(*model, job, generation, messages) : prepare_raw(*model, job, generation));
  if (context.with_trace) generation.trace = std::make_shared<const Json>(trace_of(*model, prepared, messages));

  const Conversation* conversation = nullptr;
  if (const auto made = model->conversation(); job.messages && made) conversation = *made;
  if (conversation) generation.turn_starts = conversation->turn_starts();
  std::vector<GenerationRequest> parts;
  for (size_t p = 0; p < prepared.size(); ++p) {
    generation.prompt_sizes.push_back(int(prepared[p].ids.size()));
    generation.prompt_texts.push_back(job.echo ? prepared[p].text : std::string());
    for (int i = 0; i < job.n; ++i) {
      GenerationRequest request = job.request;
      request.prompt = prepared[p].ids;
      request.from_template = prepared[p].begins_message;
      if (conversation) follow_format(*conversation, request);
      request.strip_first_space &= prepared[p].begins_message;
      // Each choice draws for itself, and the same seed gives the same choices again.
      if (request.sampling.seed && i > 0) *request.sampling.seed += uint64_t(i);
      parts.push_back(std::move(request));
      Choice choice;
      choice.prompt = int(p);
      if (job.messages) choice.splitter = ReasoningSplitter(job.split_reasoning, opens_thinking(prepared[p].text));
      generation.choices.push_back(std::move(choice));
    }
  }
  const auto submitted = model->engine().submit_all(std::move(parts));
  if (!submitted) return refuse(refused_by_engine(submitted.error(), context.no_queue));
  for (size_t i = 0; i < submitted->size(); ++i) generation.choices[i].ticket = (*submitted)[i];
  generation.model = std::move(model);
  std::vector<std::weak_ptr<Ticket>> tickets;
  for (const Choice& choice : generation.choices) tickets.push_back(choice.ticket);
  generation.registration = context.running->add(context.request_id, std::move(tickets));
  return generation_response(std::move(generation), job.shaper(), job.stream, context.request_id);
}

}  // namespace anedvd
