#include "api/generation/fill_in_middle.h"

namespace anedvd {
namespace {

struct Marks {
  std::string_view prefix, suffix, middle;
};

// As the model cards spell them: Qwen Coder, StarCoder and Granite, DeepSeek Coder, Code Llama, Codestral has none of this kind.
constexpr Marks kMarks[] = {
    {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},
    {"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},
    {"<fim-prefix>", "<fim-suffix>", "<fim-middle>"},
    {"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"},
    {"▁<PRE>", "▁<SUF>", "▁<MID>"},
};

}  // namespace

ApiResult<std::vector<Token>> fill_in_middle(const Tokenizer& tokenizer, std::string_view before,
                                             std::string_view after) {
  for (const Marks& marks : kMarks) {
    const auto prefix = tokenizer.find(marks.prefix), suffix = tokenizer.find(marks.suffix),
               middle = tokenizer.find(marks.middle);
    if (!prefix || !suffix || !middle) continue;
    std::vector<Token> ids;
    if (tokenizer.adds_bos() && tokenizer.bos()) ids.push_back(*tokenizer.bos());
    const auto add = [&](Token mark, std::string_view text) {
      ids.push_back(mark);
      const std::vector<Token> more = tokenizer.encode(text, Specials::kAsText);
      ids.insert(ids.end(), more.begin(), more.end());
    };
    add(*prefix, before);
    add(*suffix, after);
    ids.push_back(*middle);
    return ids;
  }
  return refuse({.code = "suffix_not_supported",
                 .param = "suffix",
                 .message = "'suffix' is not supported: the model has not learnt to fill gaps."});
}

}  // namespace anedvd
