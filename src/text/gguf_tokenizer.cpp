// Builds the tokenizer that a GGUF file's `tokenizer.ggml.*` keys describe.
#include <algorithm>
#include <optional>
#include <string>

#include "base/ascii.h"
#include "base/log.h"
#include "base/words.h"
#include "text/byte_bpe_tokenizer.h"
#include "text/models/spm_model.h"
#include "text/models/unigram_model.h"
#include "text/sentencepiece_tokenizer.h"
#include "text/tokenizer.h"
#include "text/wordpiece_tokenizer.h"

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

// GGUF has no keys for the white space that belongs to special tokens. Phi-3's tokenizer.json gives all its marks the white space after
// them, save three.
void add_phi3_traits(const ConfigView& config, const Vocabulary& vocabulary, SpecialIds& ids) {
  const std::string name = lower_ascii(config.string("general.name").value_or(""));
  if (name.find("phi-3") == std::string::npos && name.find("phi3") == std::string::npos) return;
  for (Token token = 0; token < vocabulary.size(); ++token) {
    const PieceType type = vocabulary.type(token);
    if (type != PieceType::kControl && type != PieceType::kUserDefined) continue;
    const std::string_view text = vocabulary.text(token);
    if (text != "<unk>" && text != "<s>" && text != "<|endoftext|>")
      ids.traits.push_back({.token = token, .strips_right = true});
  }
}

// Encoders trained with a mask token that takes the white space before it.
void add_mask_trait(const ConfigView& config, const Vocabulary& vocabulary, SpecialIds& ids) {
  const std::string_view pre = config.string("tokenizer.ggml.pre").value_or("");
  const std::string_view architecture = config.string("general.architecture").value_or("");
  const bool has_trait =
      pre.starts_with("jina-v2-") || architecture == "nomic-bert-moe" || architecture == "jina-bert-v3";
  const auto mask = has_trait ? vocabulary.find("<mask>") : std::nullopt;
  if (mask) ids.traits.push_back({.token = *mask, .strips_left = true});
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
  auto lines = config.strings("tokenizer.ggml.merges");
  if (!lines) return fail_in(where, std::move(lines).error());
  MergeList merges(std::move(*lines), ' ');
  SpecialIds ids = read_ids(config, pretokenizer.adds_bos, *vocabulary);
  add_mask_trait(config, *vocabulary, ids);
  if (!pretokenizer.characters) {
    return std::make_unique<ByteBpeTokenizer>(std::move(vocabulary), std::move(ids), std::move(merges), pretokenizer);
  }
  // Gemma 4 files say add_bos_token false by mistake (llama.cpp pull request 21500): the model was trained with BOS.
  ids.adds_bos = ids.bos.has_value() && (ids.adds_bos || pretokenizer.adds_bos);
  auto model = std::make_unique<BpeModel>(
      *vocabulary, std::move(merges),
      BpeModel::Options{.byte_level = false, .byte_fallback = true, .unknown = unknown_of(config, *vocabulary, -1)});
  return std::make_unique<SentencePieceTokenizer>(
      std::move(vocabulary), std::move(ids), std::move(model),
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
  SpecialIds ids = read_ids(config, true, *vocabulary, 1, 2);
  add_phi3_traits(config, *vocabulary, ids);
  const Token unknown = unknown_of(config, *vocabulary, 0);
  const bool space_prefix = config.boolean("tokenizer.ggml.add_space_prefix").value_or(true);
  auto model =
      std::make_unique<SpmModel>(*vocabulary, std::move(scores), unknown >= 0 ? std::optional(unknown) : std::nullopt);
  return std::make_unique<SentencePieceTokenizer>(std::move(vocabulary), std::move(ids), std::move(model),
                                                  SentencePieceTokenizer::Options{.space_prefix = space_prefix});
}

Result<std::unique_ptr<Tokenizer>> make_unigram(const ConfigView& config, std::string_view where) {
  ANEDVD_TRY(auto vocabulary, Vocabulary::from_gguf(config, where));
  ANEDVD_TRY(const auto scores, read_scores(config, where, *vocabulary));
  SpecialIds ids = read_ids(config, false, *vocabulary, -1, 1);
  add_mask_trait(config, *vocabulary, ids);
  SentencePieceTokenizer::Options options{.kind = "Unigram"};
  options.merge_spaces = config.boolean("tokenizer.ggml.remove_extra_whitespaces").value_or(false);
  options.space_prefix = config.boolean("tokenizer.ggml.add_space_prefix").value_or(false) || options.merge_spaces;
  std::string map_bytes;
  if (config.has("tokenizer.ggml.precompiled_charsmap")) {
    const auto numbers = config.integers("tokenizer.ggml.precompiled_charsmap");
    if (!numbers) return fail_in(where, numbers.error());
    for (const int64_t number : *numbers) map_bytes.push_back(static_cast<char>(number));
  }
  ANEDVD_TRY(options.charsmap, Charsmap::parse(std::move(map_bytes), where));
  auto model = std::make_unique<UnigramModel>(*vocabulary, std::vector<double>(scores.begin(), scores.end()),
                                              UnigramModel::Options{.unknown = unknown_of(config, *vocabulary, 2)});
  return std::make_unique<SentencePieceTokenizer>(std::move(vocabulary), std::move(ids), std::move(model),
                                                  std::move(options));
}

Result<std::unique_ptr<Tokenizer>> make_wordpiece(const ConfigView& config, std::string_view where) {
  ANEDVD_TRY(auto vocabulary, Vocabulary::from_gguf(config, where));
  SpecialIds ids = read_ids(config, true, *vocabulary);
  if (!ids.bos) ids.bos = id_of(config, "cls_token_id", *vocabulary, 101);
  ids.adds_bos = config.boolean("tokenizer.ggml.add_bos_token").value_or(true) && ids.bos.has_value();
  BertNormalizer normalizer;
  normalizer.lowercase = config.boolean("tokenizer.ggml.normalizer.lowercase").value_or(true);
  normalizer.strip_accents = config.boolean("tokenizer.ggml.normalizer.strip_accents").value_or(normalizer.lowercase);
  const Token unknown = unknown_of(config, *vocabulary, 100);
  return std::make_unique<WordpieceTokenizer>(std::move(vocabulary), std::move(ids), normalizer,
                                              WordpieceModel::Options{.start_prefix = "▁", .unknown = unknown});
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
  if (*model == "t5") return make_unigram(config, where);
  if (*model == "bert") return make_wordpiece(config, where);
  return fail(ErrorCode::kUnsupported, "{}: tokenizer model \"{}\" is not one that anedvd knows", where,
              visible(*model));
}

}  // namespace anedvd
