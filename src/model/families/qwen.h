// What the Qwen families share.
#pragma once

#include <algorithm>

#include "model/usual_settings.h"

namespace anedvd {

// The usual settings, and a window from `max_window_layers` on where config.json asks for it.
Result<ModelSpec> read_qwen_settings(const TensorSource& source, std::string_view family);

// The routed experts. `renormalise`: whether GGUF files of this architecture mean weights that are divided by their sum.
Result<> read_qwen_experts(const TensorSource& source, ModelSpec& spec, bool renormalise);

}  // namespace anedvd
