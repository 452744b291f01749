// Models from the Hugging Face hub (or what HF_ENDPOINT names).
//
// The tree of a repository tells each file's size and SHA-256; the file itself comes by its resolve address. HF_TOKEN is sent if it is set.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/models/pull.h"

namespace anedvd {

class Transfer;

struct HubFile {
  std::string path;  // inside the repository
  uint64_t bytes = 0;
  std::string sha256 = {};  // empty for small files that are kept in git itself
};

// The GGUF files of the answer of /api/models/ORG/REPO/tree/REVISION. Error kBadFile.
Result<std::vector<HubFile>> parse_hub_tree(std::string_view json);

// The file that `wanted` names (a path, or its last part). With "": the only one, else a Q4_K_M, else a Q8_0. Errors kNotFound with the names
// to choose from, kUnsupported for a part of a split model.
Result<HubFile> choose_hub_file(const std::vector<HubFile>& files, std::string_view wanted);

// "ORG/REPO" or "ORG/REPO:FILE".
Result<Pulled> pull_from_hub(const std::string& what, const std::string& place, const PullContext& context);

// The known model from its pinned hub address. Error kNotFound when it cannot be had.
Result<CachedModel> known_from_hub(Transfer& transfer, const KnownModel& known);

// "a/SmolLM2-135M-Instruct.Q4_1.gguf" → "smollm2-135m-instruct.q4_1": the name in the cache.
std::string model_name_of(std::string_view file);

}  // namespace anedvd
