// Tensor names of Hugging Face checkpoints, brought to the ones a plain text model has: model.layers.N.…, model.norm.…, lm_head.….
#pragma once

#include <string>
#include <string_view>

namespace anedvd {

// The name without what multimodal releases and bare checkpoints do to it:
//   model.language_model.layers.0.x     language_model.model.layers.0.x     layers.0.x    →  model.layers.0.x
std::string canonical_tensor_name(std::string_view stored);

// Belongs to the eyes or ears of a multimodal model, which anedvd does not run.
bool is_vision_or_audio(std::string_view stored);

}  // namespace anedvd
