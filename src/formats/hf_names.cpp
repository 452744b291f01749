#include "formats/hf_names.h"

#include <array>

namespace anedvd {
namespace {

bool drop_prefix(std::string_view& name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return false;
  name.remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::string canonical_tensor_name(std::string_view stored) {
  std::string_view name = stored;
  const bool is_wrapped = drop_prefix(name, "model.language_model.") || drop_prefix(name, "language_model.");
  const bool is_bare = name.starts_with("layers.") || name.starts_with("embed_tokens.") || name.starts_with("norm.");
  if (is_wrapped && (name.starts_with("model.") || name.starts_with("lm_head."))) return std::string(name);
  return is_wrapped || is_bare ? "model." + std::string(name) : std::string(name);
}

bool is_vision_or_audio(std::string_view stored) {
  // First parts, after an optional "model.", of the modules beside the text model in LLaVA, Gemma 3 and 4, Qwen-VL, Mistral 3, SmolVLM.
  constexpr std::array<std::string_view, 16> kModules = {
      "vision_tower", "vision_model",          "vision_encoder", "vision_embedder", "visual",
      "embed_vision", "audio_tower",           "audio_model",    "audio_encoder",   "embed_audio",
      "connector",    "multi_modal_projector", "mm_projector",   "patch_merger",    "vision_language_adapter",
      "image_newline"};
  drop_prefix(stored, "model.");
  const std::string_view first = stored.substr(0, stored.find('.'));
  for (const std::string_view module : kModules)
    if (first == module) return true;
  return false;
}

}  // namespace anedvd
