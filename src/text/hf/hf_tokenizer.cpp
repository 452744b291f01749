#include "text/hf_tokenizer.h"

#include <algorithm>
#include <deque>
#include <fstream>
#include <iterator>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/mapped_file.h"
#include "text/hf/added_tokens.h"
#include "text/hf/decoder.h"
#include "text/hf/json_fields.h"
#include "text/hf/model_file.h"
#include "text/hf/normalizer.h"
#include "text/hf/pre_tokenizer.h"
#include "text/hf/special_files.h"
#include "text/hf/word_models.h"
#include "text/models/word_cache.h"
#include "text/space_cutter.h"
#include "text/tokenizer_base.h"

namespace anedvd {
namespace {

namespace fs = std::filesystem;

// Everything that views point into.
struct Storage {
  std::string json;
  std::optional<MappedFile> file;
  std::deque<std::string> arena;
};

class HfTokenizer final : public TokenizerBase {
 public:
  struct Parts {
    std::unique_ptr<Storage> storage;
    NormalizerPlan normalizer;
    PreTokenizerPlan pre_tokenizer;
    std::unique_ptr<WordModel> model;
    DecoderPlan decoder;
    SpecialMatcher normal_text;  // added tokens that are found in normalised text
    SpecialMatcher normal_all;   // with the special ones
    bool drops_first_space = false;
    std::string kind;
  };

  HfTokenizer(std::unique_ptr<Vocabulary> vocabulary, SpecialIds ids, Parts parts)
      : TokenizerBase(std::move(vocabulary), std::move(ids)), parts_(std::move(parts)) {}

  std::string_view kind() const override { return parts_.kind; }
  bool drops_first_space() const override { return parts_.drops_first_space; }

  void append_bytes(Token token, std::string& out, bool with_control) const override {
    if (!vocabulary().has(token)) return;
    const std::string_view text = vocabulary().text(token);
    switch (vocabulary().type(token)) {
      case PieceType::kControl:
      case PieceType::kUnknown:
        if (with_control) out.append(text);
        return;
      case PieceType::kUserDefined: parts_.decoder.append_added(text, out); return;
      case PieceType::kUnused: return;
      case PieceType::kNormal:
      case PieceType::kByte: parts_.decoder.append(text, out); return;
    }
  }

 protected:
  void encode_run(std::string_view text, Run run, std::vector<Token>& out) const override {
    std::string normal;
    if (!parts_.normalizer.leaves(text)) text = normal = parts_.normalizer.apply(text);
    const SpecialMatcher& matcher = run.specials == Specials::kAsTokens ? parts_.normal_all : parts_.normal_text;
    if (matcher.empty()) return encode_normal(text, run.starts_text, out);
    matcher.partition(
        text, [&](std::string_view part) { encode_normal(part, run.starts_text && part.data() == text.data(), out); },
        [&](Token token) { out.push_back(token); });
  }

 private:
  void encode_normal(std::string_view text, bool starts_text, std::vector<Token>& out) const {
    if (text.empty()) return;
    PieceList list;
    list.pieces.push_back(text);
    list.starts_text = starts_text;
    for (const auto& step : parts_.pre_tokenizer.steps) step->apply(list);
    WordCache cache(text.size());
    SpaceCutter cutter(*parts_.model);
    for (const std::string_view piece : list.pieces) {
      cutter.cut(piece, [&](std::string_view word) { cache.encode(*parts_.model, word, out); });
    }
  }

  Parts parts_;
};

// "" if there is no such file.
std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

// `json` lies in the storage.
Result<std::unique_ptr<Tokenizer>> make(std::unique_ptr<Storage> storage, std::string_view json, std::string_view where,
                                        const HfSideFiles& side_files) {
  HfTokenizer::Parts parts;
  parts.storage = std::move(storage);
  ANEDVD_TRY(HfModelFile file, read_hf_model_file(json, where, parts.storage->arena));
  ANEDVD_TRY(parts.normalizer, read_normalizer(file.section("normalizer"), where));
  ANEDVD_TRY(parts.pre_tokenizer, read_pre_tokenizer(file.section("pre_tokenizer"), where));
  ANEDVD_TRY(parts.decoder, read_decoder(file.section("decoder"), where));
  ANEDVD_TRY(AddedTokens added, read_added_tokens(file.section("added_tokens"), where, parts.storage->arena));
  parts.kind = model_type(file);
  ANEDVD_TRY(auto vocabulary, make_vocabulary(file, added, where));
  ANEDVD_TRY(SpecialIds ids, read_special_ids(file.section("post_processor"), side_files, where, *vocabulary));
  for (const AddedTokens::Added& token : added.tokens) {
    if (token.normalized) {
      ids.found_later.push_back(token.entry.token);
    } else {
      ids.traits.push_back(token.entry);
    }
  }
  std::ranges::sort(ids.found_later);
  const bool raw_bytes = parts.pre_tokenizer.byte_level && !parts.normalizer.mapped;
  ANEDVD_TRY(parts.model, make_word_model(file, *vocabulary, raw_bytes, where));
  parts.drops_first_space = parts.decoder.drops_first_space;
  added.normalize(parts.normalizer, parts.storage->arena);
  parts.normal_text = SpecialMatcher(added.normal_entries(false));
  parts.normal_all = SpecialMatcher(added.normal_entries(true));
  return std::make_unique<HfTokenizer>(std::move(vocabulary), std::move(ids), std::move(parts));
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> make_hf_tokenizer_from_json(std::string json, std::string_view where,
                                                               const HfSideFiles& side_files) {
  auto storage = std::make_unique<Storage>();
  storage->json = std::move(json);
  const std::string_view text = storage->json;
  return make(std::move(storage), text, where, side_files);
}

Result<std::unique_ptr<Tokenizer>> make_hf_tokenizer(const fs::path& folder) {
  std::error_code error;
  const bool is_file = fs::is_regular_file(folder, error);
  const fs::path path = is_file ? folder : folder / "tokenizer.json";
  if (!fs::exists(path, error))
    return fail(ErrorCode::kNotFound, "{}: cannot be opened; give a folder with a tokenizer.json", path.string());
  // Mapped, not read: the largest files have 30 MB, and most of it is looked at once.
  auto storage = std::make_unique<Storage>();
  ANEDVD_TRY(storage->file, MappedFile::open(path));
  const auto bytes = storage->file->bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  HfSideFiles side_files;
  const auto beside = [&](const char* name) { return read_text(path.parent_path() / name); };
  side_files.tokenizer_config = beside("tokenizer_config.json");
  side_files.generation_config = beside("generation_config.json");
  side_files.config = beside("config.json");
  return make(std::move(storage), text, path.string(), side_files);
}

}  // namespace anedvd
