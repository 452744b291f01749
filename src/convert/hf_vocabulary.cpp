// A folder's tokenizer.json as tokenizer.ggml.* arrays.
//
// Two kinds of BPE have a form in GGUF: over bytes ("gpt2", with the name of its pre-tokenizer in place of the expression), and over characters with
// bytes as a fallback ("llama": SentencePiece, whose merges become scores). Token types and key names: gguf-py/gguf/constants.py.
#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/log.h"
#include "base/mapped_file.h"
#include "base/words.h"
#include "convert/hf_parts.h"
#include "text/hf/json_fields.h"
#include "text/hf/model_file.h"
#include "text/hf_tokenizer.h"
#include "text/pretokenize.h"
#include "text/template_sources.h"
#include "text/vocabulary.h"

namespace anedvd {
namespace {

using Json = nlohmann::json;

// As far down as merges go: pieces that no merge makes are never formed while another merge is left.
constexpr float kNoMerge = -1e9f;

// Names of GGUF whose rules a file's own expression may be, the usual one first.
constexpr std::string_view kNamedRules[] = {"gpt-2",  "llama-bpe", "dbrx",        "qwen2", "stablelm2",
                                            "gpt-4o", "tekken",    "deepseek-v3", "qwen35"};

// A file of the folder; nullopt: there is none. What is there and cannot be read, or is empty, is a damaged folder.
Result<std::optional<std::string>> read_beside(const TensorSource& source, const char* name) {
  const std::filesystem::path path = source.path() / name;
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, error))) return std::nullopt;
  ANEDVD_TRY(const MappedFile file, MappedFile::open(path));
  return std::string(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
}

// The steps of a pre-tokenizer, a sequence of one if it is no sequence.
std::vector<const Json*> steps_of(const Json& section) {
  std::vector<const Json*> steps;
  if (const Json* parts = array_field(section, "pretokenizers")) {
    for (const Json& part : *parts) steps.push_back(&part);
  } else if (!section.is_null()) {
    steps.push_back(&section);
  }
  return steps;
}

bool is_byte_level(const HfModelFile& file) {
  const auto steps = steps_of(file.section("pre_tokenizer"));
  return std::ranges::any_of(steps, [](const Json* step) { return string_field(*step, "type") == "ByteLevel"; });
}

std::string_view name_of_rules(const Stage* rules, bool ignore_merges, bool is_composed) {
  for (const std::string_view name : kNamedRules) {
    const Pretokenizer* row = find_pretokenizer(name);
    if (row->stages.back().data() == rules->data() && row->ignore_merges == ignore_merges && row->nfc == is_composed)
      return name;
  }
  return "";
}

// tokenizer.ggml.pre of a byte-level BPE; "" if GGUF has no name for what the file does.
std::string_view pretokenizer_name(const HfModelFile& file, std::string_view where) {
  const auto steps = steps_of(file.section("pre_tokenizer"));
  const bool ignore_merges = file.model_field("ignore_merges") == true;
  const bool is_composed = string_field(file.section("normalizer"), "type") == "NFC";
  const auto type = [&](size_t i) { return string_field(*steps[i], "type"); };
  if (steps.size() == 1 && type(0) == "ByteLevel" && bool_field(*steps[0], "use_regex", true)) return "gpt-2";
  if (steps.size() != 2 || type(1) != "ByteLevel") return "";
  if (type(0) == "Digits" && bool_field(*steps[0], "individual_digits", false) &&
      bool_field(*steps[1], "use_regex", true))
    return "smollm";
  if (type(0) != "Split" || bool_field(*steps[1], "use_regex", true)) return "";
  const auto pattern = pattern_field(*steps[0], where);
  const Stage* rules = pattern && pattern->is_regex ? find_pattern_rules(pattern->text) : nullptr;
  return rules == nullptr ? std::string_view() : name_of_rules(rules, ignore_merges, is_composed);
}

struct Pieces {
  std::vector<std::string> texts;
  std::vector<int32_t> types;
};

// One piece a row of the embedding: tokens, then padding.
Pieces pieces_of(const HfModelFile& file, int rows, bool has_bytes, std::string_view where) {
  Pieces pieces;
  pieces.texts.assign(file.texts.begin(), file.texts.end());
  pieces.types.assign(pieces.texts.size(), int32_t(PieceType::kNormal));
  for (size_t i = 0; i < pieces.texts.size(); ++i)
    if (has_bytes && byte_token_value(pieces.texts[i]) >= 0) pieces.types[i] = int32_t(PieceType::kByte);
  const Json& added = file.section("added_tokens");
  for (size_t i = 0; added.is_array() && i < added.size(); ++i) {
    const Json* id = field(added[i], "id");
    if (id == nullptr || !id->is_number_integer() || *id < 0 || *id >= rows) continue;
    const auto index = id->get<size_t>();
    if (index >= pieces.texts.size()) {
      pieces.texts.resize(index + 1);
      pieces.types.resize(index + 1, int32_t(PieceType::kUnused));
    }
    pieces.texts[index] = string_field(added[i], "content");
    pieces.types[index] =
        int32_t(bool_field(added[i], "special", false) ? PieceType::kControl : PieceType::kUserDefined);
  }
  if (pieces.texts.size() > size_t(rows))
    warn("{}: {} tokens for {} rows of the embedding; those beyond are left out", where, pieces.texts.size(), rows);
  const size_t known = std::min(pieces.texts.size(), size_t(rows));
  pieces.texts.resize(size_t(rows));
  pieces.types.resize(size_t(rows), int32_t(PieceType::kUnused));
  for (size_t i = 0; i < size_t(rows); ++i) {
    if (i < known && !pieces.texts[i].empty()) continue;
    pieces.texts[i] = fmt::format("[PAD{}]", i);
    pieces.types[i] = int32_t(PieceType::kUnused);
  }
  return pieces;
}

// Scores by which SentencePiece merges in the order of the file's merges: a merge's rank, as far below 0.
std::vector<float> scores_of(const HfModelFile& file, const Pieces& pieces) {
  std::unordered_map<std::string, float> best;
  best.reserve(file.merges.size());
  for (size_t rank = 0; rank < file.merges.size(); ++rank) {
    std::string piece(file.merges[rank]);
    if (const size_t at = piece.find(file.separator, 1); at != std::string::npos) piece.erase(at, 1);
    best.emplace(std::move(piece), -float(rank) - 1);
  }
  std::vector<float> scores;
  for (const std::string& text : pieces.texts) {
    const auto found = best.find(text);
    scores.push_back(found == best.end() ? kNoMerge : found->second);
  }
  return scores;
}

// Ids of tokenizer_config.json's named tokens, and what else it says.
class Specials {
 public:
  Specials(const Json& config, const Pieces& pieces) : config_(config), pieces_(pieces) {}

  std::optional<uint32_t> id(const char* name) const {
    const Json* value = field(config_, name);
    if (value == nullptr) return std::nullopt;
    const std::string text = value->is_string() ? value->get<std::string>() : string_field(*value, "content");
    return find(text);
  }
  std::optional<uint32_t> find(const std::string& text) const {
    const auto found = std::ranges::find(pieces_.texts, text);
    if (text.empty() || found == pieces_.texts.end()) return std::nullopt;
    return uint32_t(found - pieces_.texts.begin());
  }

 private:
  const Json& config_;
  const Pieces& pieces_;
};

// The tokens that end an answer, each once: the tokenizer's own, then those of the configs.
std::vector<uint32_t> ends_of(const TensorSource& source, std::optional<uint32_t> own, int rows) {
  std::vector<uint32_t> ends;
  const auto add = [&](int64_t id) {
    if (id >= 0 && id < rows && std::ranges::find(ends, uint32_t(id)) == ends.end()) ends.push_back(uint32_t(id));
  };
  if (own) add(*own);
  for (const char* key : {"eos_token_id", "generation_config.eos_token_id"}) {
    if (const auto id = source.config().integer(key)) add(*id);
    if (const auto list = source.config().integers(key))
      for (const int64_t id : *list) add(id);
  }
  return ends;
}

Result<> add_specials(const HfModel& model, const Pieces& pieces, GgufPairs& pairs) {
  Json config;
  ANEDVD_TRY(const auto text, read_beside(model.source, "tokenizer_config.json"));
  if (text) {
    ANEDVD_TRY(config, parse_json(*text, (model.source.path() / "tokenizer_config.json").string()));
  }
  ANEDVD_TRY(const auto tokenizer, make_hf_tokenizer(model.source.path()));
  const Specials specials(config, pieces);
  const auto put = [&](std::string_view key, std::optional<uint32_t> id) {
    if (id) pairs.number<uint32_t>(fmt::format("tokenizer.ggml.{}_token_id", key), *id);
  };
  const auto bos = tokenizer->bos();
  put("bos", bos ? std::optional(uint32_t(*bos)) : specials.id("bos_token"));
  // GGUF has keys for three ends.
  constexpr std::string_view kEndKeys[] = {"eos", "eot", "eom"};
  const auto ends = ends_of(model.source, specials.id("eos_token"), model.spec.vocab);
  for (size_t i = 0; i < std::min(ends.size(), std::size(kEndKeys)); ++i) put(kEndKeys[i], ends[i]);
  if (ends.size() > std::size(kEndKeys))
    warn("{}: {} tokens end an answer, GGUF has keys for {}; the others will not end it",
         visible(model.source.path().string()), ends.size(), std::size(kEndKeys));
  put("unknown", specials.id("unk_token"));
  put("padding", specials.id("pad_token"));
  pairs.number<bool>("tokenizer.ggml.add_bos_token", tokenizer->adds_bos());
  ANEDVD_TRY(const auto templates, find_templates(model.source));
  for (const NamedTemplate& named : templates)
    pairs.text(named.name == "default" ? "tokenizer.chat_template" : "tokenizer.chat_template." + named.name,
               named.source);
  return {};
}

// Whether the normalizer puts a ▁ before every text.
bool adds_space(const HfModelFile& file) {
  const Json& normalizer = file.section("normalizer");
  const Json* parts = array_field(normalizer, "normalizers");
  const auto is_prepend = [](const Json& step) { return string_field(step, "type") == "Prepend"; };
  if (parts != nullptr ? std::ranges::any_of(*parts, is_prepend) : is_prepend(normalizer)) return true;
  for (const Json* step : steps_of(file.section("pre_tokenizer")))
    if (string_field(*step, "type") == "Metaspace") return string_field(*step, "prepend_scheme", "always") != "never";
  return false;
}

}  // namespace

Result<> add_vocabulary(const HfModel& model, GgufPairs& pairs) {
  const std::filesystem::path path = model.source.path() / "tokenizer.json";
  const std::string where = visible(path.string());
  ANEDVD_TRY(const auto json, read_beside(model.source, "tokenizer.json"));
  if (!json && std::filesystem::exists(model.source.path() / "tokenizer.model"))
    return fail(ErrorCode::kUnsupported,
                "{}: no such file, and tokenizer.model alone is not read; use a folder that has it, or a GGUF release",
                where);
  if (!json) {
    warn("{}: no such file; the output has no vocabulary, and takes token ids only", where);
    pairs.text("tokenizer.ggml.model", "none");
    return {};
  }
  std::deque<std::string> arena;
  ANEDVD_TRY(const HfModelFile file, read_hf_model_file(*json, where, arena));
  const Json& type = file.model_field("type");
  const bool is_bpe = type == "BPE" || (type.is_null() && !file.merges.empty());
  const bool has_bytes = file.model_field("byte_fallback") == true;
  if (!is_bpe || has_bytes == is_byte_level(file))
    return fail(ErrorCode::kUnsupported,
                "{}: a tokenizer that is neither BPE over bytes nor SentencePiece BPE cannot be converted; use the "
                "folder as it is, or a GGUF release",
                where);
  Pieces pieces = pieces_of(file, model.spec.vocab, has_bytes, where);
  if (has_bytes) {
    const std::string unknown =
        file.model_field("unk_token").is_string() ? file.model_field("unk_token").get<std::string>() : "";
    if (const auto found = std::ranges::find(pieces.texts, unknown); !unknown.empty() && found != pieces.texts.end())
      pieces.types[size_t(found - pieces.texts.begin())] = int32_t(PieceType::kUnknown);
    pairs.text("tokenizer.ggml.model", "llama");
    pairs.text("tokenizer.ggml.pre", "default");
    pairs.texts("tokenizer.ggml.tokens", pieces.texts);
    pairs.numbers<float>("tokenizer.ggml.scores", scores_of(file, pieces));
    pairs.numbers<int32_t>("tokenizer.ggml.token_type", pieces.types);
    pairs.number<bool>("tokenizer.ggml.add_space_prefix", adds_space(file));
    return add_specials(model, pieces, pairs);
  }
  const std::string_view name = pretokenizer_name(file, where);
  if (name.empty())
    return fail(ErrorCode::kUnsupported,
                "{}: GGUF has no name for the way in which this file cuts words; use the folder as it is, or a GGUF "
                "release",
                where);
  pairs.text("tokenizer.ggml.model", "gpt2");
  pairs.text("tokenizer.ggml.pre", name);
  pairs.texts("tokenizer.ggml.tokens", pieces.texts);
  pairs.numbers<int32_t>("tokenizer.ggml.token_type", pieces.types);
  std::vector<std::string> merges(file.merges.begin(), file.merges.end());
  if (file.separator != ' ')
    for (std::string& merge : merges) std::ranges::replace(merge, file.separator, ' ');
  pairs.texts("tokenizer.ggml.merges", merges);
  return add_specials(model, pieces, pairs);
}

}  // namespace anedvd
