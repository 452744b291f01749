#include "convert/targets.h"

#include <algorithm>
#include <array>

#include "model/families/families.h"

namespace anedvd {
namespace {

constexpr std::array kTargets = {
    Target{"llama", "llama", llama_family, true},
    Target{"mistral", "llama", llama_family, true, 10000, true},
    Target{"mixtral", "llama", llama_family, true, 1e6, true},
    Target{"smollm3", "smollm3", smollm3_family, true, 2e6},
    Target{"granite", "granite", granite_family, true},
    Target{"qwen2", "qwen2", qwen2_family},
    Target{"qwen3", "qwen3", qwen3_family},
    Target{"qwen2moe", "qwen2moe", qwen2moe_family},
    Target{"qwen3moe", "qwen3moe", qwen3moe_family},
    Target{"gemma", "gemma", gemma_family},
    Target{"gemma2", "gemma2", gemma2_family},
    Target{"gemma3", "gemma3", gemma3_family, false, 1e6},
    Target{"phi3", "phi3", phi3_family},
    Target{"olmo2", "olmo2", olmo2_family, false, 5e5},
};

}  // namespace

const Target* find_target(std::string_view family) {
  const auto* found = std::ranges::find(kTargets, family, &Target::family);
  return found == kTargets.end() ? nullptr : found;
}

std::string target_names() {
  std::string names;
  for (const Target& target : kTargets) names.append(names.empty() ? "" : ", ").append(target.family);
  return names;
}

}  // namespace anedvd
