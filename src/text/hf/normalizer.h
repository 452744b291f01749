// The `normalizer` of a tokenizer.json: a list of steps that rewrite a stretch of text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace anedvd {

class NormalizerStep {
 public:
  virtual ~NormalizerStep() = default;
  // May leave `text` alone. Broken UTF-8 passes through.
  virtual void apply(std::string& text) const = 0;
  // True if apply() surely would not change it.
  virtual bool leaves(std::string_view) const { return false; }
};

struct NormalizerPlan {
  std::vector<std::unique_ptr<const NormalizerStep>> steps;
  bool mapped = false;  // a ByteLevel normalizer: the text is in the byte alphabet afterwards

  bool leaves(std::string_view text) const;
  std::string apply(std::string_view text) const;
};

// `description` is the JSON value, null for none. kUnsupported names the type that anedvd lacks; kBadFile a broken description.
Result<NormalizerPlan> read_normalizer(const nlohmann::json& description, std::string_view where);

}  // namespace anedvd
