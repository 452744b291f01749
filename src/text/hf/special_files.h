// BOS and end tokens of a Hugging Face folder, which its files state in several places.
#pragma once

#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "text/hf_tokenizer.h"
#include "text/tokenizer_base.h"
#include "text/vocabulary.h"

namespace anedvd {

// BOS: what `post_processor` puts first, else tokenizer_config.json's bos_token with add_bos_token. Ends: tokenizer_config.json's
// eos_token and every eos_token_id (a number or a list) of generation_config.json and config.json; they are added to the vocabulary.
// kBadFile: broken JSON in a side file. kUnsupported: a post-processor that anedvd lacks.
Result<SpecialIds> read_special_ids(const nlohmann::json& post_processor, const HfSideFiles& files,
                                    std::string_view where, Vocabulary& vocabulary);

}  // namespace anedvd
