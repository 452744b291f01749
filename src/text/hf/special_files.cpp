#include "text/hf/special_files.h"

#include <deque>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/words.h"
#include "text/hf/json_cursor.h"
#include "text/hf/json_fields.h"

namespace anedvd {
namespace {

using Json = nlohmann::json;

// A token by its text: "<s>" or {"content": "<s>", …}.
std::optional<Token> token_field(const Json& object, const char* name, const Vocabulary& vocabulary) {
  const Json* value = field(object, name);
  if (value == nullptr) return std::nullopt;
  const std::string text = value->is_string() ? value->get<std::string>() : string_field(*value, "content");
  return text.empty() ? std::nullopt : vocabulary.find(text);
}

void add_ends(const Json& ids, Vocabulary& vocabulary) {
  const auto add = [&](const Json& id) {
    if (id.is_number_integer() && id >= 0 && id < vocabulary.size()) vocabulary.add_end(id.get<Token>());
  };
  if (ids.is_array()) {
    for (const Json& id : ids) add(id);
  } else {
    add(ids);
  }
}

struct Template {
  bool known = false;  // the post-processor says what goes first
  std::optional<Token> first;
};

Result<Template> read_post_processor(const Json& step, std::string_view where, const Vocabulary& vocabulary,
                                     int depth) {
  constexpr int kDeepest = 8;
  if (step.is_null()) return Template{};
  const std::string type = string_field(step, "type");
  if (type == "ByteLevel") return Template{};  // moves offsets only
  if (type == "Sequence" && depth < kDeepest) {
    Template result;
    const Json* parts = array_field(step, "processors");
    for (size_t i = 0; parts != nullptr && i < parts->size(); ++i) {
      ANEDVD_TRY(const Template part, read_post_processor((*parts)[i], where, vocabulary, depth + 1));
      if (part.known) result = part;
    }
    return result;
  }
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    const Json* pair = array_field(step, "cls");
    const bool well_formed = pair != nullptr && !pair->empty() && (*pair)[0].is_string();
    return Template{true, well_formed ? vocabulary.find((*pair)[0].get<std::string>()) : std::nullopt};
  }
  if (type == "TemplateProcessing") {
    const Json* parts = array_field(step, "single");
    if (parts == nullptr || parts->empty()) return Template{true, std::nullopt};
    const Json* special = field(parts->front(), "SpecialToken");
    return Template{true, special == nullptr ? std::nullopt : vocabulary.find(string_field(*special, "id"))};
  }
  return fail(ErrorCode::kUnsupported, "{}: post-processor \"{}\" is not one that anedvd knows", where, visible(type));
}

Result<Json> parse_side_file(const std::string& text, std::string_view where, std::string_view name) {
  if (text.empty()) return Json();
  return parse_json(text, fmt::format("{} beside {}", name, where));
}

// tokenizer_config.json without what tokenizer.json says as well: a megabyte of added tokens in Gemma's.
Result<Json> parse_tokenizer_config(const std::string& text, std::string_view where) {
  if (text.empty()) return Json();
  const std::string name = fmt::format("tokenizer_config.json beside {}", where);
  std::deque<std::string> arena;
  JsonCursor cursor(text, name, arena);
  Json config = Json::object();
  std::string_view key;
  if (cursor.enter('{')) {
    while (cursor.next_member(key)) {
      const std::string_view value = cursor.skip();
      if (!cursor.ok() || key == "added_tokens_decoder") continue;
      ANEDVD_TRY(config[std::string(key)], parse_json(value, name));
    }
  }
  ANEDVD_TRY_VOID(cursor.status());
  return config;
}

}  // namespace

Result<SpecialIds> read_special_ids(const Json& post_processor, const HfSideFiles& files, std::string_view where,
                                    Vocabulary& vocabulary) {
  ANEDVD_TRY(const Json tokenizer_config, parse_tokenizer_config(files.tokenizer_config, where));
  ANEDVD_TRY(const Json generation_config, parse_side_file(files.generation_config, where, "generation_config.json"));
  ANEDVD_TRY(const Json config, parse_side_file(files.config, where, "config.json"));
  ANEDVD_TRY(const Template added, read_post_processor(post_processor, where, vocabulary, 0));
  SpecialIds ids;
  ids.bos = token_field(tokenizer_config, "bos_token", vocabulary);
  ids.eos = token_field(tokenizer_config, "eos_token", vocabulary);
  if (added.first) ids.bos = added.first;
  ids.adds_bos =
      ids.bos && (added.known ? added.first.has_value() : bool_field(tokenizer_config, "add_bos_token", false));
  if (ids.eos) vocabulary.add_end(*ids.eos);
  const Json* text_config = field(config, "text_config");
  for (const Json* file : {&generation_config, &config, text_config}) {
    const Json* ends = file == nullptr ? nullptr : field(*file, "eos_token_id");
    if (ends != nullptr) add_ends(*ends, vocabulary);
  }
  return ids;
}

}  // namespace anedvd
