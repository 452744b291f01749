#include "text/hf/word_models.h"

#include <nlohmann/json.hpp>

#include "base/words.h"
#include "text/models/bpe_model.h"
#include "text/models/unigram_model.h"
#include "text/models/wordpiece_model.h"

namespace anedvd {
namespace {

using Json = nlohmann::json;

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : std::string(); }
bool is_true(const Json& value) { return value.is_boolean() && value.get<bool>(); }

// Whole words only: one token or the unknown one.
class WordLevelModel final : public WordModel {
 public:
  WordLevelModel(const Vocabulary& vocabulary, Token unknown) : vocabulary_(vocabulary), unknown_(unknown) {}
  void encode_word(std::string_view word, WordScratch&, std::vector<Token>& out) const override {
    const Token token = vocabulary_.find_plain(word).value_or(unknown_);
    if (token >= 0) out.push_back(token);
  }

 private:
  const Vocabulary& vocabulary_;
  Token unknown_;
};

Token unknown_of(const HfModelFile& file, const Vocabulary& vocabulary) {
  const std::string text = text_of(file.model_field("unk_token"));
  return text.empty() ? -1 : vocabulary.find(text).value_or(-1);
}

Result<std::unique_ptr<WordModel>> make_bpe(HfModelFile& file, const Vocabulary& vocabulary, bool raw_bytes,
                                            std::string_view where) {
  for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!text_of(file.model_field(name)).empty()) {
      return fail(ErrorCode::kUnsupported, "{}: BPE with a {} is not something that anedvd does", where, name);
    }
  }
  const Json& dropout = file.model_field("dropout");
  if (dropout.is_number() && dropout.get<double>() > 0) {
    return fail(ErrorCode::kUnsupported, "{}: BPE with dropout gives different tokens each time; set it to null",
                where);
  }
  BpeModel::Options options;
  options.byte_level = raw_bytes;
  options.byte_fallback = is_true(file.model_field("byte_fallback"));
  options.ignore_merges = is_true(file.model_field("ignore_merges"));
  options.fuse_unknown = is_true(file.model_field("fuse_unk"));
  options.unknown = unknown_of(file, vocabulary);
  return std::make_unique<BpeModel>(vocabulary, MergeList(std::move(file.merges), file.separator), options);
}

Result<std::unique_ptr<WordModel>> make_unigram(HfModelFile& file, const Vocabulary& vocabulary,
                                                std::string_view where) {
  if (file.scores.empty()) return fail(ErrorCode::kBadFile, "{}: a unigram model without scores", where);
  UnigramModel::Options options;
  options.byte_fallback = is_true(file.model_field("byte_fallback"));
  const Json& unknown = file.model_field("unk_id");
  if (unknown.is_number_integer() && vocabulary.has(unknown.get<Token>())) options.unknown = unknown.get<Token>();
  std::vector<double> scores = std::move(file.scores);
  scores.resize(static_cast<size_t>(vocabulary.size()), 0.0);  // added tokens beyond the model's are never looked up
  return std::make_unique<UnigramModel>(vocabulary, std::move(scores), options);
}

Result<std::unique_ptr<WordModel>> make_wordpiece(const HfModelFile& file, const Vocabulary& vocabulary) {
  WordpieceModel::Options options;
  const Json& prefix = file.model_field("continuing_subword_prefix");
  options.continuation_prefix = prefix.is_string() ? prefix.get<std::string>() : "##";
  const std::string unknown = text_of(file.model_field("unk_token"));
  options.unknown = vocabulary.find(unknown.empty() ? "[UNK]" : unknown).value_or(-1);
  const Json& longest = file.model_field("max_input_chars_per_word");
  if (longest.is_number_unsigned()) options.longest_word = longest.get<size_t>();
  return std::make_unique<WordpieceModel>(vocabulary, options);
}

}  // namespace

std::string model_type(const HfModelFile& file) {
  const std::string type = text_of(file.model_field("type"));
  if (!type.empty()) return type;
  if (!file.scores.empty()) return "Unigram";
  if (!file.merges.empty() || file.model.contains("merges")) return "BPE";
  return file.model.contains("max_input_chars_per_word") ? "WordPiece" : "BPE";
}

Result<std::unique_ptr<Vocabulary>> make_vocabulary(HfModelFile& file, const AddedTokens& added,
                                                    std::string_view where) {
  constexpr size_t kHolesAtMost = 1u << 20;
  std::vector<std::string_view> texts = std::move(file.texts);
  size_t size = texts.size();
  for (const auto& token : added.tokens) size = std::max(size, static_cast<size_t>(token.entry.token) + 1);
  if (size == 0) return fail(ErrorCode::kBadFile, "{}: the vocabulary is empty", where);
  if (size > texts.size() + added.tokens.size() + kHolesAtMost) {
    return fail(ErrorCode::kBadFile, "{}: added tokens have ids far beyond their number", where);
  }
  texts.resize(size);
  std::vector<PieceType> types(size, PieceType::kNormal);
  for (size_t id = 0; id < size; ++id) {
    if (texts[id].empty()) types[id] = PieceType::kUnused;
  }
  if (is_true(file.model_field("byte_fallback"))) {
    for (size_t id = 0; id < size; ++id) {
      if (texts[id].size() == 6 && byte_token_value(texts[id]) >= 0) types[id] = PieceType::kByte;
    }
  }
  for (const auto& token : added.tokens) {
    const auto id = static_cast<size_t>(token.entry.token);
    texts[id] = token.entry.text;
    types[id] = token.special ? PieceType::kControl : PieceType::kUserDefined;
  }
  return std::make_unique<Vocabulary>(std::move(texts), std::move(types));
}

Result<std::unique_ptr<WordModel>> make_word_model(HfModelFile& file, const Vocabulary& vocabulary, bool raw_bytes,
                                                   std::string_view where) {
  const std::string type = model_type(file);
  if (type == "BPE") return make_bpe(file, vocabulary, raw_bytes, where);
  if (raw_bytes)
    return fail(ErrorCode::kUnsupported, "{}: a ByteLevel pre-tokenizer with a {} model", where, visible(type));
  if (type == "Unigram") return make_unigram(file, vocabulary, where);
  if (type == "WordPiece") return make_wordpiece(file, vocabulary);
  if (type == "WordLevel") return std::make_unique<WordLevelModel>(vocabulary, unknown_of(file, vocabulary));
  return fail(ErrorCode::kUnsupported, "{}: tokenizer model \"{}\" is not one that anedvd knows", where, visible(type));
}

}  // namespace anedvd
