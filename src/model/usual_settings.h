// What family files read settings with: the usual ones of either container, and single keys of config.json with checks.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/tensor_source.h"
#include "model/gguf_settings.h"
#include "model/hf_settings.h"
#include "model/spec.h"

namespace anedvd {

// Names the family in the spec; rows of q and k are half-split unless the family says otherwise.
Result<ModelSpec> read_usual_settings(const TensorSource& source, std::string_view family,
                                      const HfDefaults& defaults = {});

inline bool is_gguf(const TensorSource& source) { return source.kind() == SourceKind::kGguf; }

// A whole number of config.json of at least `smallest`; absent or null: `otherwise`, without one an error (kBadFile).
Result<int> hf_count(const TensorSource& source, std::string_view key, std::optional<int64_t> otherwise = {},
                     int64_t smallest = 0);

// A finite number of config.json; absent or null: `otherwise`.
Result<double> hf_number(const TensorSource& source, std::string_view key, double otherwise);

bool hf_flag(const TensorSource& source, std::string_view key, bool otherwise);

// `layer_types`, one a layer; empty: config.json has none. kBadFile for another count.
Result<std::vector<std::string_view>> hf_layer_types(const TensorSource& source, size_t layers);

// Which layers have a window: by layer_types, else every one but each `pattern`-th (0: none has).
Result<std::vector<bool>> hf_sliding_layers(const TensorSource& source, size_t layers, int pattern);

// Gives the window to the layers that slide. A window of 0: nobody gets one.
void set_windows(ModelSpec& spec, const std::vector<bool>& sliding, int window);

// The experts of config.json: `num_experts` or `num_local_experts`, `num_experts_per_tok` …
Result<MoeSpec> hf_experts(const TensorSource& source, int default_width);

}  // namespace anedvd
