#include "text/byte_bpe_tokenizer.h"

#include <algorithm>
#include <bit>

#include "text/byte_map.h"
#include "text/normalize.h"

namespace anedvd {
namespace {

// Words seen in this run of text and where their tokens lie in the output: text repeats itself, so most words are copies.
// Direct-mapped, so bounded; borrows the text.
class WordCache {
 public:
  explicit WordCache(size_t text_bytes) {
    constexpr size_t kWordsAtMost = 1u << 15;
    constexpr size_t kWorthIt = 256;  // bytes of text below which few words repeat
    if (text_bytes >= kWorthIt) entries_.resize(std::bit_ceil(std::min(kWordsAtMost, text_bytes / 8)));
  }

  struct Entry {
    std::string_view word;
    uint32_t start = 0, count = 0;
  };

  // The word's slot, or nullptr if the word is not worth one.
  Entry* slot(std::string_view word) {
    constexpr size_t kLongest = 128;
    if (entries_.empty() || word.size() > kLongest) return nullptr;
    return &entries_[hash_bytes(word) & (entries_.size() - 1)];
  }

 private:
  std::vector<Entry> entries_;
};

}  // namespace

ByteBpeTokenizer::ByteBpeTokenizer(std::unique_ptr<Vocabulary> vocabulary, SpecialIds ids,
                                   std::vector<std::string_view> merges, const Pretokenizer& pretokenizer)
    : TokenizerBase(std::move(vocabulary), ids),
      pretokenizer_(pretokenizer),
      model_(this->vocabulary(), std::move(merges), {.byte_level = true, .ignore_merges = pretokenizer.ignore_merges}) {
}

void ByteBpeTokenizer::encode_run(std::string_view text, bool, std::vector<Token>& out) const {
  std::string composed;
  if (pretokenizer_.nfc && !surely_normal(text, NormalForm::kNfc)) {
    composed = normalize(text, NormalForm::kNfc);
    text = composed;
  }
  std::vector<std::string_view> words;
  split_words(text, pretokenizer_.stages, words);
  WordCache cache(text.size());
  for (const std::string_view word : words) {
    WordCache::Entry* entry = cache.slot(word);
    if (entry != nullptr && entry->word == word) {
      const size_t end = out.size();
      out.insert(out.end(), entry->count, -1);
      std::copy_n(out.begin() + entry->start, entry->count, out.begin() + static_cast<std::ptrdiff_t>(end));
      continue;
    }
    const size_t start = out.size();
    model_.encode_word(word, out);
    if (entry != nullptr) *entry = {word, static_cast<uint32_t>(start), static_cast<uint32_t>(out.size() - start)};
  }
}

void ByteBpeTokenizer::append_bytes(Token token, std::string& out, bool with_control) const {
  if (!vocabulary().has(token)) return;
  const std::string_view text = vocabulary().text(token);
  switch (vocabulary().type(token)) {
    case PieceType::kControl:
    case PieceType::kUnknown:
      if (with_control) out.append(text);
      return;
    case PieceType::kUserDefined: out.append(text); return;
    case PieceType::kNormal:
    case PieceType::kByte: append_unmapped(text, out); return;
    case PieceType::kUnused: return;
  }
}

}  // namespace anedvd
