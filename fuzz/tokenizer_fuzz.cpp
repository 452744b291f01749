// Tokenizers made of hostile files, and hostile text through sound ones.
//
// The first byte picks what the rest is: a tokenizer.json; a text for one of the pre-tokenizers; or a small GGUF-like vocabulary whose
// lines are "TYPE SCORE TEXT", followed by an empty line and the text.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "formats/config_view.h"
#include "text/hf_tokenizer.h"
#include "text/models/charsmap.h"
#include "text/pretokenize.h"
#include "text/tokenizer.h"
#include "text/utf8_stream.h"

namespace {

using namespace anedvd;

class Config final : public ConfigView {
 public:
  std::map<std::string, std::string, std::less<>> texts;
  std::map<std::string, std::vector<std::string>, std::less<>> lists;
  std::map<std::string, std::vector<double>, std::less<>> number_lists;

  bool has(std::string_view key) const override {
    return texts.contains(key) || lists.contains(key) || number_lists.contains(key);
  }
  std::optional<int64_t> integer(std::string_view) const override { return std::nullopt; }
  std::optional<double> number(std::string_view) const override { return std::nullopt; }
  std::optional<bool> boolean(std::string_view) const override { return std::nullopt; }
  std::optional<std::string_view> string(std::string_view key) const override {
    const auto at = texts.find(key);
    return at == texts.end() ? std::nullopt : std::optional<std::string_view>(at->second);
  }
  std::optional<int64_t> array_size(std::string_view) const override { return std::nullopt; }
  Result<std::vector<std::string_view>> strings(std::string_view key) const override {
    const auto at = lists.find(key);
    if (at == lists.end()) return fail(ErrorCode::kNotFound, "{} is missing", key);
    return std::vector<std::string_view>(at->second.begin(), at->second.end());
  }
  Result<std::vector<int64_t>> integers(std::string_view key) const override {
    const auto at = number_lists.find(key);
    if (at == number_lists.end()) return fail(ErrorCode::kNotFound, "{} is missing", key);
    return std::vector<int64_t>(at->second.begin(), at->second.end());
  }
  Result<std::vector<double>> numbers(std::string_view key) const override {
    const auto at = number_lists.find(key);
    if (at == number_lists.end()) return fail(ErrorCode::kNotFound, "{} is missing", key);
    return at->second;
  }
  std::vector<std::pair<std::string, std::string>> describe() const override { return {}; }
};

// Control tokens must not come out of text, and every id must be one.
void use(const Tokenizer& tokenizer, std::string_view text) {
  for (const Token token : tokenizer.encode(text, Specials::kAsText)) {
    if (token < 0 || token >= tokenizer.vocab_size()) std::abort();
  }
  std::string bytes;
  for (const Token token : tokenizer.encode(text, Specials::kAsTokens)) tokenizer.append_bytes(token, bytes, true);
  Utf8Stream stream;
  stream.push(bytes);
  stream.finish();
}

void try_pretokenizers(std::string_view text) {
  for (const char* name : {"default", "llama-bpe", "qwen35", "gpt-4o", "deepseek-llm", "deepseek-v3", "jais-2",
                           "exaone-moe", "kimi-k2", "tiny_aya", "viking", "chameleon", "youtu"}) {
    std::vector<std::string_view> pieces;
    split_words(text, find_pretokenizer(name)->stages, pieces);
    size_t total = 0;
    for (const std::string_view piece : pieces) total += piece.size();
    if (total != text.size()) std::abort();
  }
}

void try_vocabulary(std::string_view input, const char* model) {
  Config config;
  config.texts["tokenizer.ggml.model"] = model;
  config.texts["tokenizer.ggml.pre"] = "smollm";
  while (!input.empty()) {
    const size_t end = std::min(input.find('\n'), input.size());
    const std::string line(input.substr(0, end));
    input.remove_prefix(std::min(input.size(), end + 1));
    if (line.size() < 3) break;
    config.lists["tokenizer.ggml.tokens"].push_back(line.substr(2));
    config.lists["tokenizer.ggml.merges"].push_back(line.substr(2, 1) + " " + line.substr(3));
    config.number_lists["tokenizer.ggml.token_type"].push_back(line[0] - '0');
    config.number_lists["tokenizer.ggml.scores"].push_back(line[1] - 'm');
  }
  for (const char byte : input.substr(0, 64))
    config.number_lists["tokenizer.ggml.precompiled_charsmap"].push_back(byte);
  if (const auto tokenizer = make_gguf_tokenizer(config, "fuzz")) use(**tokenizer, input);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 8) {
    case 0: try_pretokenizers(input); break;
    case 1: try_vocabulary(input, "gpt2"); break;
    case 2: try_vocabulary(input, "llama"); break;
    case 3: try_vocabulary(input, "t5"); break;
    case 4: try_vocabulary(input, "gemma4"); break;
    case 5: try_vocabulary(input, "bert"); break;
    default:
      if (const auto tokenizer = make_hf_tokenizer_from_json(std::string(input), "fuzz", {})) {
        use(**tokenizer,
            "a  Ab\xC3\xA9\xFF <s>\n\xE4\xB8\xAD"
            "1234 \xF0\x9F\x98\x80'LL");
      }
  }
  return 0;
}
