#include <algorithm>
#include <cmath>
#include <numeric>

#include <nlohmann/json.hpp>

#include "api/fields.h"
#include "api/openai/completions.h"
#include "api/openai/openai_json.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

// The old form of log-probabilities: four lists of the same length.
class LegacyLogprobs {
 public:
  // `prompt`: the text that the first tokens spell, when they are a prompt's.
  LegacyLogprobs(const Tokenizer& tokenizer, int top, size_t offset, std::string_view prompt)
      : tokenizer_(tokenizer), top_(top), offset_(offset), prompt_left_(prompt) {}

  void add(const TokenRecord& token, bool is_first_of_prompt) {
    const std::string text = token_text(tokenizer_, token.token);
    tokens_.push_back(text);
    offsets_.push_back(offset_);
    offset_ += characters(token.token, is_first_of_prompt);
    if (is_first_of_prompt) {
      // Nothing stands before it, so it has no probability.
      values_.push_back(nullptr);
      tops_.push_back(nullptr);
      return;
    }
    values_.push_back(finite(token.logprob));
    Json top = Json::object();
    for (size_t i = 0; i < token.top.size() && int(i) < top_; ++i)
      top[token_text(tokenizer_, token.top[i].token)] = finite(token.top[i].logprob);
    tops_.push_back(std::move(top));
  }

  Json json() && {
    return {{"tokens", std::move(tokens_)},
            {"token_logprobs", std::move(values_)},
            {"top_logprobs", top_ > 0 ? std::move(tops_) : Json()},
            {"text_offset", std::move(offsets_)}};
  }

  size_t offset() const { return offset_; }

 private:
  // Characters of the text that begin in this token: clients count in them, and one may be spread over several tokens. A BOS that was added, and the
  // space that some vocabularies put before every text, are none of it.
  size_t characters(Token token, bool is_first_of_prompt) {
    std::string bytes;
    tokenizer_.append_bytes(token, bytes, true);
    if (!prompt_left_.empty() && bytes.starts_with(' ') && !prompt_left_.starts_with(bytes)) bytes.erase(0, 1);
    const bool is_prompts = prompt_left_.starts_with(bytes);
    if (is_first_of_prompt && !is_prompts) return 0;
    prompt_left_ = is_prompts ? prompt_left_.substr(bytes.size()) : std::string_view();
    return size_t(std::count_if(bytes.begin(), bytes.end(), [](char c) { return (uint8_t(c) & 0xc0) != 0x80; }));
  }

  static double finite(float logprob) { return std::isfinite(logprob) ? double(logprob) : -9999.0; }

  const Tokenizer& tokenizer_;
  const int top_;
  size_t offset_;
  std::string_view prompt_left_;
  Json tokens_ = Json::array(), values_ = Json::array(), tops_ = Json::array(), offsets_ = Json::array();
};

class CompletionsShaper : public Shaper {
 public:
  explicit CompletionsShaper(const CompletionsShape& shape) : shape_(shape) {}

  std::string whole(const Generation& generation) override {
    Json choices = Json::array();
    for (size_t prompt = 0; prompt < generation.prompt_sizes.size(); ++prompt) {
      const std::vector<size_t> best = best_of(generation, prompt);
      for (size_t j = 0; j < best.size(); ++j)
        choices.push_back(whole_choice(generation, best[j], prompt * size_t(shape_.n) + j));
    }
    Json body = base(generation);
    body["choices"] = std::move(choices);
    body["usage"] = usage_json(generation);
    body["timings"] = timings_json(generation);
    if (generation.trace) body["anedvd_trace"] = *generation.trace;
    return json_text(body);
  }

  void begin(const Generation& generation, std::string& out) override {
    offsets_.assign(generation.choices.size(), 0);
    if (!shape_.echo || generation.with_logprobs) return;
    for (size_t i = 0; i < generation.choices.size(); ++i)
      append(generation, out, int(i), generation.prompt_texts[size_t(generation.choices[i].prompt)], nullptr, nullptr);
  }

  void prompt_scored(const Generation& generation, int index, std::string& out) override {
    const Choice& choice = generation.choices[size_t(index)];
    if (!shape_.echo) return;
    append(generation, out, index, generation.prompt_texts[size_t(choice.prompt)],
           logprobs(generation, choice.prompt_tokens, index, generation.prompt_texts[size_t(choice.prompt)]), nullptr);
  }

  void piece(const Generation& generation, int index, const Piece& piece, std::string& out) override {
    append(generation, out, index, piece.text,
           shows_logprobs(generation) ? logprobs(generation, piece.tokens, index, {}) : Json(), nullptr);
  }

  void choice_done(const Generation& generation, int index, std::string& out) override {
    append(generation, out, index, "", nullptr, openai_finish(generation.choices[size_t(index)].reason));
  }

  void end(const Generation& generation, std::string& out) override {
    append_openai_end(out, generation, shape_.include_usage, base(generation));
  }

  void failed(const Generation&, const ApiError& error, std::string& out) override {
    append_openai_failure(out, error);
  }

 private:
  bool shows_logprobs(const Generation& generation) const { return generation.with_logprobs && !shape_.rank_only; }

  static Json base(const Generation& generation) {
    return {{"id", generation.id},
            {"object", "text_completion"},
            {"created", generation.created},
            {"model", generation.model->id()},
            {"system_fingerprint", system_fingerprint(generation)}};
  }

  // Indices of a prompt's choices that are shown: the likeliest ones, by the mean over their tokens.
  std::vector<size_t> best_of(const Generation& generation, size_t prompt) const {
    std::vector<size_t> indices(size_t(shape_.made), 0);
    std::iota(indices.begin(), indices.end(), prompt * size_t(shape_.made));
    if (shape_.made == shape_.n) return indices;
    const auto mean = [&](size_t index) {
      const auto& tokens = generation.choices[index].tokens;
      double sum = 0;
      for (const TokenRecord& token : tokens) sum += double(token.logprob);
      return tokens.empty() ? 0.0 : sum / double(tokens.size());
    };
    std::stable_sort(indices.begin(), indices.end(), [&](size_t a, size_t b) { return mean(a) > mean(b); });
    indices.resize(size_t(shape_.n));
    return indices;
  }

  Json whole_choice(const Generation& generation, size_t made, size_t index) const {
    const Choice& choice = generation.choices[made];
    Json token_logprobs;
    if (shows_logprobs(generation)) {
      LegacyLogprobs legacy(generation.model->tokenizer(), generation.top_logprobs, 0,
                            shape_.echo ? generation.prompt_texts[size_t(choice.prompt)] : std::string_view());
      if (shape_.echo)
        for (size_t i = 0; i < choice.prompt_tokens.size(); ++i) legacy.add(choice.prompt_tokens[i], i == 0);
      for (const TokenRecord& token : choice.tokens) legacy.add(token, false);
      token_logprobs = std::move(legacy).json();
    }
    const std::string before = shape_.echo ? generation.prompt_texts[size_t(choice.prompt)] : std::string();
    return {{"text", before + choice.text},
            {"index", index},
            {"logprobs", std::move(token_logprobs)},
            {"finish_reason", openai_finish(choice.reason)}};
  }

  Json logprobs(const Generation& generation, const std::vector<TokenRecord>& tokens, int index,
                std::string_view prompt) {
    if (!shows_logprobs(generation)) return nullptr;
    LegacyLogprobs legacy(generation.model->tokenizer(), generation.top_logprobs, offsets_[size_t(index)], prompt);
    for (size_t i = 0; i < tokens.size(); ++i) legacy.add(tokens[i], !prompt.empty() && i == 0);
    offsets_[size_t(index)] = legacy.offset();
    return std::move(legacy).json();
  }

  void append(const Generation& generation, std::string& out, int index, const std::string& text, Json token_logprobs,
              Json finish) const {
    Json chunk = base(generation);
    const bool is_last = !finish.is_null();
    chunk["choices"] = Json::array({{{"text", text},
                                     {"index", index},
                                     {"logprobs", std::move(token_logprobs)},
                                     {"finish_reason", std::move(finish)}}});
    if (shape_.include_usage) chunk["usage"] = nullptr;
    if (is_last) chunk["timings"] = timings_json(generation);
    append_event(out, {}, json_text(chunk));
  }

  const CompletionsShape shape_;
  std::vector<size_t> offsets_;  // by choice, in characters of its text
};

}  // namespace

std::unique_ptr<Shaper> completions_shaper(const CompletionsShape& shape) {
  return std::make_unique<CompletionsShaper>(shape);
}

}  // namespace anedvd
