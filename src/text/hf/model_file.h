// The parts of a tokenizer.json: its vocabulary and merges as views, everything else as JSON.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace anedvd {

struct HfModelFile {
  std::map<std::string, nlohmann::json, std::less<>>
      sections;  // normalizer, pre_tokenizer, post_processor, decoder, added_tokens
  std::map<std::string, nlohmann::json, std::less<>> model;  // the model's fields but for vocab and merges
  std::vector<std::string_view> texts;                       // by id; "" where no token has the id
  std::vector<double> scores;                                // unigram: by id; else empty
  std::vector<std::string_view> merges;                      // LEFT separator RIGHT
  char separator = ' ';

  // Null if absent.
  const nlohmann::json& section(std::string_view name) const;
  const nlohmann::json& model_field(std::string_view name) const;
};

// Reads a whole tokenizer.json. Views point into `json` and `arena`, which must outlive the result. kBadFile: broken JSON, ids that are
// no ids, sizes out of proportion.
Result<HfModelFile> read_hf_model_file(std::string_view json, std::string_view where, std::deque<std::string>& arena);

}  // namespace anedvd
