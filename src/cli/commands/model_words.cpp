#include "cli/commands/model_words.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/ascii.h"
#include "base/words.h"
#include "cli/models/known_models.h"

namespace anedvd {

bool looks_like_model(const std::string& word) {
  const auto has = [&](auto predicate) { return std::any_of(word.begin(), word.end(), predicate); };
  if (word.empty() || has([](char c) { return std::isspace(uint8_t(c)) != 0; })) return false;
  std::error_code error;
  if (std::filesystem::exists(word, error)) return true;
  if (find_known_model(word)) return true;
  const bool name_letters = !has([](char c) {
    return std::isalnum(uint8_t(c)) == 0 && std::string_view("-_.:/~").find(c) == std::string_view::npos;
  });
  if (!name_letters) return false;
  if (word.find('/') != std::string::npos || word.ends_with(".gguf")) return true;
  std::vector<std::string> known;
  for (const KnownModel& model : known_models()) known.emplace_back(model.alias);
  if (!nearest(lower_ascii(word), known).empty()) return true;
  const bool letters = has([](char c) { return std::isalpha(uint8_t(c)) != 0; });
  const bool digits = has([](char c) { return std::isdigit(uint8_t(c)) != 0; });
  return letters && digits;
}

Result<ModelWords> split_words(const Args& args, bool has_text) {
  ModelWords words{*args.text("--model"), std::nullopt};
  const auto& given = args.positionals();
  if (given.empty()) return words;
  if (given.size() == 1 && !args.given("--model") && (has_text || looks_like_model(given[0]))) {
    words.model = given[0];
    return words;
  }
  if (given.size() == 1) {
    words.text = given[0];
    return words;
  }
  if (args.given("--model"))
    return fail(ErrorCode::kUsage, "{}: \"{}\" is one word too many beside --model; put a text with spaces in quotes",
                args.command().name, visible(given[1], 60));
  words.model = given[0];
  words.text = given[1];
  return words;
}

}  // namespace anedvd
