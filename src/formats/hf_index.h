// model.safetensors.index.json: which file holds which tensor.
//
//   {"metadata": {"total_size": …}, "weight_map": {"model.norm.weight": "model-00002-of-00002.safetensors", …}}
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"

namespace anedvd {

// File name to the names of its tensors. Files are opened in this order.
using HfIndex = std::map<std::string, std::set<std::string, std::less<>>, std::less<>>;

// Parses the index. File names are plain names within the folder: no separators, no "..", no control characters, and end in .safetensors.
// `where` names the index in errors. kBadFile: not of this form, empty, an unsafe name, or a part of a numbered set that is left out.
Result<HfIndex> read_hf_index(std::string_view text, std::string_view where);

}  // namespace anedvd
