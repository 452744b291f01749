// A model file or folder, opened: tensors by name and settings. Nothing is copied; views borrow from the mapping.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/config_view.h"
#include "tensor/view.h"

namespace anedvd {

enum class SourceKind {
  kGguf,
  kHuggingFace
};  // some conventions (row order of q and k, norm offset) differ by container

class TensorSource {
 public:
  virtual ~TensorSource() = default;

  virtual const TensorView* find(std::string_view name) const = 0;  // nullptr: absent
  virtual const std::vector<TensorView>& tensors() const = 0;       // in file order
  virtual const ConfigView& config() const = 0;
  virtual SourceKind kind() const = 0;
  virtual const std::filesystem::path& path() const = 0;  // as the person gave it; errors name it
  virtual uint64_t file_bytes() const = 0;                // all shards together
};

// Opens a .gguf file (any shard of a split one) or a Hugging Face folder.
// Errors name the file and the fault: kNotFound, kBadFile, kUnsupported, kIo.
Result<std::unique_ptr<TensorSource>> open_model(const std::filesystem::path& path);

}  // namespace anedvd
