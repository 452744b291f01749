// Builds the tokenizer that a GGUF file's `tokenizer.ggml.*` keys describe.
#include <optional>
#include <string>

#include "base/log.h"
#include "text/byte_bpe_tokenizer.h"
#include "text/tokenizer.h"

namespace anedvd {
namespace {

// An id key's value, if it names a token. Converters write ids for other vocabularies (Gemma's end of turn): out of range is no error.
std::optional<Token> id_of(const ConfigView& config, std::string_view key, const Vocabulary& vocabulary) {
  const auto id = config.integer(std::string("tokenizer.ggml.").append(key));
  if (!id || *id < 0 || *id >= vocabulary.size()) return std::nullopt;
  return static_cast<Token>(*id);
}

SpecialIds read_ids(const ConfigView& config, bool adds_bos_by_default, Vocabulary& vocabulary) {
  SpecialIds ids;
  ids.bos = id_of(config, "bos_token_id", vocabulary);
  ids.eos = id_of(config, "eos_token_id", vocabulary);
  ids.adds_bos = config.boolean("tokenizer.ggml.add_bos_token").value_or(adds_bos_by_default) && ids.bos.has_value();
  for (const std::string_view key : {"eos_token_id", "eot_token_id", "eom_token_id"}) {
    if (const auto id = id_of(config, key, vocabulary)) vocabulary.add_end(*id);
  }
  return ids;
}

Result<std::unique_ptr<Tokenizer>> make_byte_bpe(const ConfigView& config, std::string_view where) {
  const std::string pre(config.string("tokenizer.ggml.pre").value_or(""));
  if (pre.empty()) {
    warn(
        "{}: tokenizer.ggml.pre is missing, so words are cut by the default rules; convert the model again for exact "
        "tokens",
        where);
  }
  const Pretokenizer* pretokenizer = find_pretokenizer(pre.empty() ? "default" : pre);
  if (pretokenizer == nullptr) {
    return fail(ErrorCode::kUnsupported, "{}: pre-tokenizer \"{}\" is not one that anedvd knows; a newer anedvd may",
                where, pre);
  }
  ANEDVD_TRY(auto vocabulary, Vocabulary::from_gguf(config, where));
  auto merges = config.strings("tokenizer.ggml.merges");
  if (!merges) return fail_in(where, std::move(merges).error());
  const SpecialIds ids = read_ids(config, pretokenizer->adds_bos, *vocabulary);
  return std::make_unique<ByteBpeTokenizer>(std::move(vocabulary), ids, std::move(*merges), *pretokenizer);
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> make_gguf_tokenizer(const ConfigView& config, std::string_view where) {
  const auto model = config.string("tokenizer.ggml.model");
  if (!model)
    return fail(ErrorCode::kBadFile,
                "{}: no tokenizer.ggml.model, so text cannot become tokens; convert the model again", where);
  if (*model == "gpt2") return make_byte_bpe(config, where);
  return fail(ErrorCode::kUnsupported, "{}: tokenizer model \"{}\" is not one that anedvd knows", where, *model);
}

}  // namespace anedvd
