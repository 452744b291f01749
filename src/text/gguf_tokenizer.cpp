// Builds the tokenizer that a GGUF file's `tokenizer.ggml.*` keys describe.
#include <algorithm>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/words.h"
#include "text/byte_bpe_tokenizer.h"
#include "text/sentencepiece_tokenizer.h"
#include "text/spm_model.h"
#include "text/tokenizer.h"

namespace anedvd {
namespace {

// An id key's value, if it names a token. Converters write ids for other vocabularies (Gemma's end of turn): out of range is no error.
std::optional<Token> id_of(const ConfigView& config, std::string_view key, const Vocabulary& vocabulary,
                           int64_t fallback = -1) {
  const int64_t id = config.integer(std::string("tokenizer.ggml.").append(key)).value_or(fallback);
  if (id < 0 || id >= vocabulary.size()) return std::nullopt;
  return static_cast<Token>(id);
}

// The unknown token, as a control token that text cannot produce; −1: none.
Token unknown_of(const ConfigView& config, const Vocabulary& vocabulary, int64_t fallback) {
  return id_of(config, "unknown_token_id", vocabulary, fallback).value_or(-1);
}

// The fallbacks are the ids that a tokenizer model implies when a file does not name them; −1: none.
SpecialIds read_ids(const ConfigView& config, bool adds_bos_by_default, Vocabulary& vocabulary, int64_t bos = -1,
                    int64_t eos = -1) {
  SpecialIds ids;
  ids.bos = id_of(config, "bos_token_id", vocabulary, bos);
  ids.eos = id_of(config, "eos_token_id", vocabulary, eos);
  ids.adds_bos = config.boolean("tokenizer.ggml.add_bos_token").value_or(adds_bos_by_default) && ids.bos.has_value();
  for (const auto id :
       {ids.eos, id_of(config, "eot_token_id", vocabulary), id_of(config, "eom_token_id", vocabulary)}) {
    if (id) vocabulary.add_end(*id);
  }
  return ids;
}

// The pre-tokenizer a file names; the default rules, with a warning, when it names none.
Result<const Pretokenizer*> read_pretokenizer(const ConfigView& config, std::string_view where) {
  const std::string_view pre = config.string("tokenizer.ggml.pre").value_or("");
  if (pre.empty()) {
    warn(
        "{}: tokenizer.ggml.pre is missing, so words are cut by the default rules; convert the model again for exact "
        "tokens",
        where);
    return find_pretokenizer("default");
  }
  if (const Pretokenizer* found = find_pretokenizer(pre)) return found;
  return fail(ErrorCode::kUnsupported, "{}: pre-tokenizer \"{}\" is not one that anedvd knows; a newer anedvd may",
              where, visible(pre));
}

// Merges over bytes, or over characters for the names that say so.
Result<std::unique_ptr<Tokenizer>> make_bpe(const ConfigView& config, std::string_view where,
                                            const Pretokenizer& pretokenizer) {
  ANEDVD_TRY(auto vocabulary, Vocabulary::from_gguf(config, where));
  auto merges = config.strings("tokenizer.ggml.merges");
  if (!merges) return fail_in(where, std::move(merges).error());
  SpecialIds ids = read_ids(config, pretokenizer.adds_bos, *vocabulary);
  if (!pretokenizer.characters) {
    return std::make_unique<ByteBpeTokenizer>(std::move(vocabulary), ids, std::move(*merges), pretokenizer);
  }
  // Gemma 4 files say add_bos_token false by mistake (llama.cpp pull request 21500): the model was trained with BOS.
  ids.adds_bos = ids.bos.has_value() && (ids.adds_bos || pretokenizer.adds_bos);
  auto model = std::make_unique<BpeModel>(
      *vocabulary, std::move(*merges),
      BpeModel::Options{.byte_level = false, .byte_fallback = true, .unknown = unknown_of(config, *vocabulary, -1)});
  return std::make_unique<SentencePieceTokenizer>(
      std::move(vocabulary), ids, std::move(model),
      SentencePieceTokenizer::Options{.stages = pretokenizer.stages, .kind = "BPE"});
}

Result<std::vector<float>> read_scores(const ConfigView& config, std::string_view where, const Vocabulary& vocabulary) {
  auto numbers = config.numbers("tokenizer.ggml.scores");
  if (!numbers) return fail_in(where, std::move(numbers).error());
  if (numbers->size() != static_cast<size_t>(vocabulary.size())) {
    return fail(ErrorCode::kBadFile, "{}: tokenizer.ggml.scores has {} entries for {} tokens; convert the model again",
                where, numbers->size(), vocabulary.size());
  }
  std::vector<float> scores(numbers->size());
  std::ranges::transform(*numbers, scores.begin(), [](double number) { return static_cast<float>(number); });
  return scores;
}

Result<std::unique_ptr<Tokenizer>> make_spm(const ConfigView& config, std::string_view where) {
  ANEDVD_TRY(auto vocabulary, Vocabulary::from_gguf(config, where));
  ANEDVD_TRY(auto scores, read_scores(config, where, *vocabulary));
  const SpecialIds ids = read_ids(config, true, *vocabulary, 1, 2);
  const Token unknown = unknown_of(config, *vocabulary, 0);
  const bool space_prefix = config.boolean("tokenizer.ggml.add_space_prefix").value_or(true);
  auto model =
      std::make_unique<SpmModel>(*vocabulary, std::move(scores), unknown >= 0 ? std::optional(unknown) : std::nullopt);
  return std::make_unique<SentencePieceTokenizer>(std::move(vocabulary), ids, std::move(model),
                                                  SentencePieceTokenizer::Options{.space_prefix = space_prefix});
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> make_gguf_tokenizer(const ConfigView& config, std::string_view where) {
  const auto model = config.string("tokenizer.ggml.model");
  if (!model)
    return fail(ErrorCode::kBadFile,
                "{}: no tokenizer.ggml.model, so text cannot become tokens; convert the model again", where);
  if (*model == "gpt2") {
    ANEDVD_TRY(const Pretokenizer* pretokenizer, read_pretokenizer(config, where));
    return make_bpe(config, where, *pretokenizer);
  }
  if (*model == "gemma4") return make_bpe(config, where, *find_pretokenizer("gemma4"));
  if (*model == "llama") return make_spm(config, where);
  return fail(ErrorCode::kUnsupported, "{}: tokenizer model \"{}\" is not one that anedvd knows", where,
              visible(*model));
}

}  // namespace anedvd
