// The `decoder` of a tokenizer.json, as far as it acts on single tokens: what a token's text stands for.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace anedvd {

struct DecoderPlan {
  bool byte_level = false;     // texts are in the byte alphabet
  bool byte_fallback = false;  // <0xXX> is a byte
  std::string continuation;    // WordPiece: "##" before pieces that go on with a word; all others begin with a space
  bool words = false;          // WordPiece decoding is on
  std::string word_end;        // BPEDecoder: a suffix that stands for a space
  std::vector<std::pair<std::string, std::string>> replacements;  // in order
  bool drops_first_space = false;

  // Appends what the token's text stands for.
  void append(std::string_view text, std::string& out) const;

  // The same for an added token that is part of texts. Its text is in the marks of the model (Gemma's runs of ▁), but not in the byte
  // alphabet and not the beginning of a word.
  void append_added(std::string_view text, std::string& out) const;

 private:
  std::string with_replacements(std::string text) const;
};

// `description` is the JSON value, null for none. kUnsupported names the type that anedvd lacks.
Result<DecoderPlan> read_decoder(const nlohmann::json& description, std::string_view where);

}  // namespace anedvd
