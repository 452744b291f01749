#include <algorithm>
#include <array>

#include "convert/outline.h"
#include "formats/gguf_file.h"

namespace anedvd {
namespace {

// Settings that describe the file and not the model.
bool is_about_the_file(std::string_view key) {
  constexpr std::array kKeys = {"general.file_type", "general.quantization_version", "general.alignment"};
  return std::ranges::find(kKeys, key) != kKeys.end() || key.starts_with("split.") ||
         key.starts_with("quantize.imatrix.");
}

}  // namespace

int64_t RowPart::stored_row(int64_t row) const {
  if (heads == 0) return first_row + row;
  const int64_t size = rows / heads, head = row / size, i = row % size;
  return first_row + head * size + i % 2 * (size / 2) + i / 2;
}

Result<Outline> gguf_outline(const TensorSource& source) {
  ANEDVD_CHECK(source.kind() == SourceKind::kGguf, "not a GGUF file");
  const auto& file = static_cast<const GgufFile&>(source);
  Outline outline;
  for (const GgufMetadata::Entry& entry : file.metadata().entries())
    if (!is_about_the_file(entry.key)) outline.pairs.copy(entry);
  // A file for token ids only: llama.cpp loads it if it says so.
  if (!file.config().has("tokenizer.ggml.model")) outline.pairs.text("tokenizer.ggml.model", "none");
  const std::string architecture(file.config().string("general.architecture").value_or(""));
  const auto count_of = [&](std::string_view key) {
    return int(std::clamp<int64_t>(file.config().integer(architecture + std::string(key)).value_or(0), 0, 1 << 20));
  };
  outline.model = {count_of(".block_count"), count_of(".expert_count"), file.find("output.weight") == nullptr};
  for (const TensorView& tensor : file.tensors())
    outline.tensors.push_back({tensor.name, tensor.shape, tensor.dtype, {{&tensor, 0, tensor.rows()}}, {}});
  return outline;
}

}  // namespace anedvd
