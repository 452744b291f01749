// Text to token ids and back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/config_view.h"
#include "text/text_span.h"

namespace anedvd {

using Token = int32_t;

// Whether the text of control tokens (<|im_end|>) in the input stands for the token or for its characters.
// What a person or a client wrote is always kAsText; only templates and raw completion prompts use kAsTokens.
enum class Specials { kAsText, kAsTokens };

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Token ids of `text`, without BOS. Any bytes are accepted; broken UTF-8 is encoded byte by byte. Time is linear in practice.
  virtual std::vector<Token> encode(std::string_view text, Specials specials) const = 0;

  // The same for a rendered template: control tokens are found only inside trusted spans (in order, covering the text). Ordinary text is encoded in
  // one piece across the borders of spans, so that marking changes no token.
  virtual std::vector<Token> encode_marked(std::string_view text, std::span<const TextSpan> spans) const = 0;

  // Appends the bytes that a token stands for; control tokens append nothing unless `with_control`. Unknown ids append nothing.
  virtual void append_bytes(Token token, std::string& out, bool with_control = false) const = 0;

  virtual int vocab_size() const = 0;
  virtual std::optional<Token> bos() const = 0;
  virtual bool adds_bos() const = 0;  // a raw prompt starts with BOS
  virtual bool is_control(Token token) const = 0;
  virtual bool is_end(Token token) const = 0;  // generation stops here: EOS, end of turn, end of text …
  virtual std::optional<Token> find(std::string_view piece) const = 0;  // a token by its exact text

  // Encoding puts a space before a text that is not part of it (Llama 2): text_of() takes it away again.
  virtual bool drops_first_space() const { return false; }

  virtual std::string_view kind() const = 0;  // "BPE": for `info`
};

// The bytes that the ids of a whole text stand for, without the space that encoding put before it.
std::string text_of(const Tokenizer& tokenizer, std::span<const Token> ids, bool with_control = false);

// Puts BOS before a raw prompt that does not begin with it, where the model wants one.
void add_bos(const Tokenizer& tokenizer, std::vector<Token>& ids);

// Builds the tokenizer that a GGUF file's `tokenizer.ggml.*` keys describe. Tables are built when first needed.
// `where` names the file in errors. kUnsupported: a tokenizer model or pre-tokenizer that anedvd lacks (named); kBadFile: broken tables.
// The result borrows strings from `config`.
Result<std::unique_ptr<Tokenizer>> make_gguf_tokenizer(const ConfigView& config, std::string_view where);

}  // namespace anedvd
