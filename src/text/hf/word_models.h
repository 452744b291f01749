// The `model` of a tokenizer.json: its vocabulary and what turns words into tokens.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/hf/added_tokens.h"
#include "text/hf/model_file.h"
#include "text/models/word_model.h"
#include "text/vocabulary.h"

namespace anedvd {

// "BPE", "Unigram", "WordPiece" or "WordLevel"; files without a type are told by their fields.
std::string model_type(const HfModelFile& file);

// The model's tokens (moved out of `file`) and the added ones. Special tokens become control tokens. kBadFile: no tokens, or ids out of proportion.
Result<std::unique_ptr<Vocabulary>> make_vocabulary(HfModelFile& file, const AddedTokens& added,
                                                    std::string_view where);

// Moves merges and scores out of `file`. `raw_bytes`: words come as bytes and the vocabulary is in the byte alphabet. The vocabulary is borrowed.
// kUnsupported: a model type or option that anedvd lacks (named).
Result<std::unique_ptr<WordModel>> make_word_model(HfModelFile& file, const Vocabulary& vocabulary, bool raw_bytes,
                                                   std::string_view where);

}  // namespace anedvd
