// A tokenizer's pieces: texts, types, and which of them matter by name.
//
// Borrows the texts (from a mapped file or a parsed one). The text → id table is built on the first find(): decoding never needs it.
// Safe for several threads once constructed.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/config_view.h"
#include "text/models/text_index.h"
#include "text/tokenizer.h"

namespace anedvd {

// The numbers of GGUF's `tokenizer.ggml.token_type`.
enum class PieceType : uint8_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

class Vocabulary {
 public:
  // `types` may be empty (all normal) or has one entry a text.
  Vocabulary(std::vector<std::string_view> texts, std::vector<PieceType> types);

  // tokenizer.ggml.tokens and .token_type. kBadFile: absent, empty, or lengths that differ.
  static Result<std::unique_ptr<Vocabulary>> from_gguf(const ConfigView& config, std::string_view where);

  int size() const { return static_cast<int>(texts_.size()); }
  bool has(Token token) const { return token >= 0 && static_cast<size_t>(token) < texts_.size(); }
  std::string_view text(Token token) const { return texts_[static_cast<size_t>(token)]; }
  PieceType type(Token token) const { return types_.empty() ? PieceType::kNormal : types_[static_cast<size_t>(token)]; }
  bool is_control(Token token) const { return has(token) && type(token) == PieceType::kControl; }

  // The token with this exact text, of any type. Of several the first.
  std::optional<Token> find(std::string_view text) const;

  // The same, for what text may become: normal, user-defined and unused pieces only.
  std::optional<Token> find_plain(std::string_view text) const;

  // Tokens of single bytes, written <0xXX>; −1 where there is none.
  std::array<Token, 256> byte_tokens() const;

  // Bytes of the longest text.
  size_t longest() const;

  // Bytes that a piece which text may become has right before a ▁ (but for ▁ itself).
  std::bitset<256> bytes_before_spaces() const;

  // Builds the table find() uses; find() does it when needed.
  void build_index() const;

  // Ids in [0, size) that end a generation: those given and control tokens with a well-known text (docs: model-families, "Stopping").
  bool is_end(Token token) const;
  void add_end(Token token);

  // Makes a token a control token, whatever the file's types say.
  void set_control(Token token);

 private:
  void mark_known_ends();

  std::vector<std::string_view> texts_;
  std::vector<PieceType> types_;
  std::vector<Token> ends_;
  mutable std::once_flag index_once_;
  mutable TextIndex index_;
};

// The byte that a text <0xXX> stands for, or −1.
int byte_token_value(std::string_view text);

}  // namespace anedvd
