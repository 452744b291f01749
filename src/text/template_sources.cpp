#include "text/template_sources.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace anedvd {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestSideFile = std::uintmax_t(64) << 20;  // tokenizer_config.json lists every added token

// The text of a side file; empty if it is absent.
Result<std::string> read_side_file(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::string();
  if (fs::file_size(path, error) > kLargestSideFile)
    return fail(ErrorCode::kBadFile, "{}: too large for a side file", path.string());
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file && !file.eof()) return fail(ErrorCode::kIo, "{}: cannot be read", path.string());
  return text;
}

Result<nlohmann::json> read_tokenizer_config(const fs::path& folder) {
  const fs::path path = folder / "tokenizer_config.json";
  ANEDVD_TRY(const std::string text, read_side_file(path));
  if (text.empty()) return nlohmann::json::object();
  ANEDVD_TRY(nlohmann::json config, parse_json(text, path.string()));
  if (!config.is_object()) return fail(ErrorCode::kBadFile, "{}: not an object", path.string());
  return config;
}

void add_config_templates(const nlohmann::json& config, std::vector<NamedTemplate>& templates) {
  const auto entry = config.find("chat_template");
  if (entry == config.end()) return;
  if (entry->is_string()) templates.push_back({"default", entry->get<std::string>()});
  if (!entry->is_array()) return;
  for (const nlohmann::json& named : *entry)
    if (named.is_object() && named.contains("name") && named["name"].is_string() && named.contains("template") &&
        named["template"].is_string())
      templates.push_back({named["name"].get<std::string>(), named["template"].get<std::string>()});
}

Result<std::vector<NamedTemplate>> folder_templates(const fs::path& folder) {
  std::vector<NamedTemplate> templates;
  ANEDVD_TRY(std::string own, read_side_file(folder / "chat_template.jinja"));
  if (!own.empty()) templates.push_back({"default", std::move(own)});
  std::error_code error;
  for (const fs::directory_entry& file : fs::directory_iterator(folder / "additional_chat_templates", error)) {
    if (file.path().extension() != ".jinja") continue;
    ANEDVD_TRY(std::string text, read_side_file(file.path()));
    templates.push_back({file.path().stem().string(), std::move(text)});
  }
  ANEDVD_TRY(const nlohmann::json config, read_tokenizer_config(folder));
  add_config_templates(config, templates);
  return templates;
}

// "<s>", or {"content": "<s>", …}.
std::string token_text(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object() && value.contains("content") && value["content"].is_string())
    return value["content"].get<std::string>();
  return "";
}

constexpr std::string_view kSpecialNames[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                              "pad_token", "cls_token", "mask_token"};

}  // namespace

Result<std::vector<NamedTemplate>> find_templates(const TensorSource& source) {
  if (source.kind() == SourceKind::kHuggingFace) return folder_templates(source.path());
  std::vector<NamedTemplate> templates;
  constexpr std::string_view kKey = "tokenizer.chat_template";
  if (const auto own = source.config().string(kKey)) templates.push_back({"default", std::string(*own)});
  if (const auto names = source.config().strings("tokenizer.chat_templates"); names)
    for (const std::string_view name : *names)
      if (const auto text = source.config().string(fmt::format("{}.{}", kKey, name)))
        templates.push_back({std::string(name), std::string(*text)});
  return templates;
}

Result<std::vector<std::pair<std::string, std::string>>> find_special_tokens(const TensorSource& source,
                                                                             const Tokenizer& tokenizer) {
  std::vector<std::pair<std::string, std::string>> tokens;
  if (source.kind() == SourceKind::kHuggingFace) {
    ANEDVD_TRY(const nlohmann::json config, read_tokenizer_config(source.path()));
    for (const std::string_view name : kSpecialNames)
      if (const auto value = config.find(name); value != config.end())
        if (std::string text = token_text(*value); !text.empty()) tokens.emplace_back(name, std::move(text));
    return tokens;
  }
  constexpr std::pair<std::string_view, std::string_view> kKeys[] = {
      {"bos_token", "tokenizer.ggml.bos_token_id"},     {"eos_token", "tokenizer.ggml.eos_token_id"},
      {"unk_token", "tokenizer.ggml.unknown_token_id"}, {"sep_token", "tokenizer.ggml.seperator_token_id"},
      {"pad_token", "tokenizer.ggml.padding_token_id"}, {"cls_token", "tokenizer.ggml.cls_token_id"},
      {"mask_token", "tokenizer.ggml.mask_token_id"}};
  for (const auto& [name, key] : kKeys) {
    const auto id = source.config().integer(key);
    if (!id || *id < 0 || *id >= tokenizer.vocab_size()) continue;
    std::string text;
    tokenizer.append_bytes(Token(*id), text, true);
    if (!text.empty()) tokens.emplace_back(name, std::move(text));
  }
  return tokens;
}

}  // namespace anedvd
