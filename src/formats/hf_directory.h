// A Hugging Face folder, opened: config.json and the tensors of model.safetensors, or of the shards that its index names.
//
// Files stay mapped as long as the object lives. Links are followed: the hub's cache keeps them from snapshots/ into blobs/. Names in the
// index are plain, so that a folder cannot name files outside of itself.
// Any thread may read; nothing changes after open.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mapped_file.h"
#include "base/result.h"
#include "formats/hf_config.h"
#include "formats/safetensors_contents.h"
#include "formats/tensor_source.h"

namespace anedvd {

class HfDirectory final : public TensorSource {
 public:
  // Something in the folder says that it is, or should have been, a Hugging Face model.
  static bool is_one(const std::filesystem::path& folder);

  // kNotFound: no config.json, no weights (a folder with a tokenizer alone), a shard that the index names but is not there.
  // kBadFile: as read_safetensors and read_hf_index; a tensor that its shard lacks, or the index; a tensor twice.
  // kUnsupported: weights in a form that anedvd does not read, named.
  static Result<std::unique_ptr<HfDirectory>> open(const std::filesystem::path& folder);

  // Finds by canonical name (hf_names.h), which is also what a view is called. Vision and audio tensors are left out.
  const TensorView* find(std::string_view name) const override;
  const std::vector<TensorView>& tensors() const override { return tensors_; }  // shard after shard, as their data lies
  const ConfigView& config() const override { return config_; }
  SourceKind kind() const override { return SourceKind::kHuggingFace; }
  const std::filesystem::path& path() const override { return path_; }
  uint64_t file_bytes() const override;  // of the safetensors files

 private:
  HfDirectory(std::filesystem::path folder, HfConfig config) : path_(std::move(folder)), config_(std::move(config)) {}

  Result<> open_single();
  Result<> open_shards();
  Result<> add(MappedFile file, SafetensorsContents contents);

  std::filesystem::path path_;
  HfConfig config_;
  std::vector<MappedFile> files_;
  std::vector<TensorView> tensors_;
  std::unordered_map<std::string, size_t> index_;  // canonical name to place in tensors_
};

}  // namespace anedvd
