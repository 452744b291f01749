// The tokenizer of a Hugging Face folder, as its tokenizer.json describes it.
//
//   text → added tokens that are found in raw text → normalizer → added tokens that are found in normal text → pre-tokenizer → model
//
// Files state all rules themselves, so nothing here knows a model's name. What anedvd does not implement is refused.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/tokenizer.h"

namespace anedvd {

// Texts of the other files of a folder; empty: absent.
struct HfSideFiles {
  std::string tokenizer_config;   // tokenizer_config.json: names of BOS and EOS, add_bos_token
  std::string generation_config;  // generation_config.json: eos_token_id
  std::string config;             // config.json: eos_token_id
};

// `folder` has a tokenizer.json (or is one). kNotFound, kBadFile, kUnsupported, with the file's name.
Result<std::unique_ptr<Tokenizer>> make_hf_tokenizer(const std::filesystem::path& folder);

// From the text of a tokenizer.json. `where` names it in errors.
Result<std::unique_ptr<Tokenizer>> make_hf_tokenizer_from_json(std::string json, std::string_view where,
                                                               const HfSideFiles& side_files);

}  // namespace anedvd
