// The `pre_tokenizer` of a tokenizer.json: a list of steps that cut pieces of text into smaller ones, some of which change the text.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace anedvd {

// Pieces on their way through the steps.
struct PieceList {
  std::vector<std::string_view> pieces;  // views into the text, or into `arena` where a step changed it
  std::deque<std::string> arena;
  bool starts_text = true;  // the first piece is the beginning of the whole text
};

class PreTokenStep {
 public:
  virtual ~PreTokenStep() = default;
  virtual void apply(PieceList& list) const = 0;
};

struct PreTokenizerPlan {
  std::vector<std::unique_ptr<const PreTokenStep>> steps;
  // A ByteLevel step says that the model's alphabet is that of bytes. As the last step it is left to the model, which then takes raw bytes
  // (byte_level); further in front it has to rewrite the text (mapped), because later steps look at the rewritten characters.
  bool byte_level = false;
  bool mapped = false;
};

// `description` is the JSON value, null for none. kUnsupported names the type that anedvd lacks; kBadFile a broken description.
Result<PreTokenizerPlan> read_pre_tokenizer(const nlohmann::json& description, std::string_view where);

}  // namespace anedvd
