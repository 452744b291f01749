#include "text/vocabulary.h"

#include <algorithm>

namespace anedvd {
namespace {

// Control tokens that end a turn or a text in the families in use.
constexpr std::string_view kEndTexts[] = {"<|eot_id|>",
                                          "<|eom_id|>",
                                          "<|im_end|>",
                                          "<|end|>",
                                          "<end_of_turn>",
                                          "<turn|>",
                                          "<|endoftext|>",
                                          "<|end_of_text|>",
                                          "</s>",
                                          "<eos>",
                                          "<|return|>",
                                          "<|call|>",
                                          "<EOT>",
                                          "[EOT]",
                                          "[EOS]",
                                          "<end_of_utterance>",
                                          "<｜end▁of▁sentence｜>",
                                          "<|end_of_sentence|>"};

PieceType piece_type(int64_t number) {
  const bool known = number >= static_cast<int>(PieceType::kNormal) && number <= static_cast<int>(PieceType::kByte);
  return known ? static_cast<PieceType>(number) : PieceType::kUnused;
}

// What text may become. Byte tokens only through their byte, control and unknown tokens never.
bool is_plain(PieceType type) {
  return type == PieceType::kNormal || type == PieceType::kUserDefined || type == PieceType::kUnused;
}

// Texts that nobody types: a token with such a text is a control token even where a converter forgot to say so.
bool looks_like_control(std::string_view text) {
  return (text.starts_with("<|") && text.ends_with("|>")) || text.starts_with("<｜") || text == "<end_of_turn>";
}

}  // namespace

int byte_token_value(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return -1;
  int value = 0;
  for (const char c : text.substr(3, 2)) {
    const bool digit = c >= '0' && c <= '9';
    const bool letter = c >= 'A' && c <= 'F';
    if (!digit && !letter) return -1;
    value = value * 16 + (digit ? c - '0' : c - 'A' + 10);
  }
  return value;
}

Vocabulary::Vocabulary(std::vector<std::string_view> texts, std::vector<PieceType> types)
    : texts_(std::move(texts)), types_(std::move(types)) {
  ANEDVD_CHECK(types_.empty() || types_.size() == texts_.size(), "{} types for {} tokens", types_.size(),
               texts_.size());
  mark_known_ends();
}

Result<std::unique_ptr<Vocabulary>> Vocabulary::from_gguf(const ConfigView& config, std::string_view where) {
  auto texts = config.strings("tokenizer.ggml.tokens");
  if (!texts) return fail_in(where, std::move(texts).error());
  if (texts->empty())
    return fail(ErrorCode::kBadFile, "{}: tokenizer.ggml.tokens is empty; the file has no vocabulary", where);
  if (texts->size() > INT32_MAX)
    return fail(ErrorCode::kBadFile, "{}: tokenizer.ggml.tokens has {} entries", where, texts->size());
  std::vector<PieceType> types;
  if (config.has("tokenizer.ggml.token_type")) {
    auto numbers = config.integers("tokenizer.ggml.token_type");
    if (!numbers) return fail_in(where, std::move(numbers).error());
    if (numbers->size() != texts->size()) {
      return fail(ErrorCode::kBadFile,
                  "{}: tokenizer.ggml.token_type has {} entries for {} tokens; convert the model again", where,
                  numbers->size(), texts->size());
    }
    types.reserve(numbers->size());
    for (const int64_t number : *numbers) types.push_back(piece_type(number));
  }
  return std::make_unique<Vocabulary>(std::move(*texts), std::move(types));
}

void Vocabulary::mark_known_ends() {
  Token end_of_message = -1;
  bool has_return = false;
  bool has_call = false;
  // </s> is a mark where <s> is one, and an HTML tag elsewhere (Gemma).
  bool tags_are_marks = false;
  for (Token token = 0; token < size() && !tags_are_marks; ++token) {
    tags_are_marks = type(token) == PieceType::kControl && text(token) == "<s>";
  }
  for (Token token = 0; token < size(); ++token) {
    // Cheap test first: vocabularies have a quarter of a million ordinary tokens.
    const bool control = type(token) == PieceType::kControl;
    if (!control && !text(token).starts_with('<')) continue;
    if (std::ranges::find(kEndTexts, text(token)) == std::end(kEndTexts)) continue;
    if (!control && !looks_like_control(text(token)) && !(tags_are_marks && text(token) == "</s>")) continue;
    set_control(token);
    add_end(token);
    if (text(token) == "<|end|>") end_of_message = token;
    has_return |= text(token) == "<|return|>";
    has_call |= text(token) == "<|call|>";
  }
  // gpt-oss ends each of its channels' messages with <|end|> and goes on.
  if (has_return && has_call && end_of_message >= 0) std::erase(ends_, end_of_message);
}

bool Vocabulary::is_end(Token token) const { return std::ranges::binary_search(ends_, token); }

void Vocabulary::add_end(Token token) {
  if (!has(token) || is_end(token)) return;
  ends_.insert(std::ranges::upper_bound(ends_, token), token);
}

void Vocabulary::set_control(Token token) {
  if (!has(token)) return;
  if (types_.empty()) types_.assign(texts_.size(), PieceType::kNormal);
  types_[static_cast<size_t>(token)] = PieceType::kControl;
}

std::array<Token, 256> Vocabulary::byte_tokens() const {
  std::array<Token, 256> tokens;
  tokens.fill(-1);
  for (Token token = 0; token < size(); ++token) {
    if (type(token) == PieceType::kControl) continue;
    if (const int byte = byte_token_value(text(token)); byte >= 0) tokens[static_cast<size_t>(byte)] = token;
  }
  return tokens;
}

size_t Vocabulary::longest() const {
  size_t longest = 0;
  for (const std::string_view text : texts_) longest = std::max(longest, text.size());
  return longest;
}

std::bitset<256> Vocabulary::bytes_before_spaces() const {
  constexpr std::string_view mark = "▁";
  std::bitset<256> bytes;
  // Without a token of its own, ▁ is part of an unknown stretch that may begin before it.
  if (!find_plain(mark)) return bytes.set();
  for (Token token = 0; token < size(); ++token) {
    const std::string_view piece = text(token);
    if (piece.size() <= mark.size() || !is_plain(type(token))) continue;
    for (size_t at = piece.find(mark, 1); at != std::string_view::npos; at = piece.find(mark, at + mark.size())) {
      if (!piece.substr(0, at).ends_with(mark)) bytes.set(static_cast<unsigned char>(piece[at - 1]));
    }
  }
  return bytes;
}

void Vocabulary::build_index() const {
  std::call_once(index_once_, [this] { index_.build(texts_.size(), [this](size_t i) { return texts_[i]; }); });
}

std::optional<Token> Vocabulary::find_plain(std::string_view text) const {
  const auto token = find(text);
  return token && is_plain(type(*token)) ? token : std::nullopt;
}

std::optional<Token> Vocabulary::find(std::string_view text) const {
  if (text.empty()) return std::nullopt;
  build_index();
  const size_t found = index_.find(text, [&](size_t i) { return texts_[i] == text; });
  return found == TextIndex::npos ? std::nullopt : std::optional(static_cast<Token>(found));
}

}  // namespace anedvd
