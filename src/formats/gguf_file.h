// A GGUF model on disk, opened: one file, or all files of a split model.
//
// The files stay mapped as long as the object lives. Opening reads headers, settings and tensor tables only; tensor data is paged in when
// touched and can be handed back with MappedFile::release(tensor.bytes).
// Any thread may read; nothing changes after open.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mapped_file.h"
#include "base/result.h"
#include "formats/gguf_contents.h"
#include "formats/tensor_source.h"

namespace anedvd {

class GgufFile final : public TensorSource {
 public:
  // Opens the file, and its siblings if it is part of a split model (any part may be given).
  // Errors as read_gguf; also kNotFound for a missing part (named), kBadFile for parts that do not belong together or a name in two parts.
  static Result<std::unique_ptr<GgufFile>> open(const std::filesystem::path& path);

  const TensorView* find(std::string_view name) const override;
  const std::vector<TensorView>& tensors() const override { return tensors_; }  // part after part
  const ConfigView& config() const override { return metadata_; }               // the first part's
  SourceKind kind() const override { return SourceKind::kGguf; }
  const std::filesystem::path& path() const override { return path_; }
  uint64_t file_bytes() const override;

  const GgufMetadata& metadata() const { return metadata_; }
  uint32_t version() const { return version_; }
  int shard_count() const { return int(files_.size()); }

 private:
  GgufFile() = default;

  // Adds one file's tensors; its settings too if it is the first.
  Result<> add(MappedFile file, GgufContents contents);
  Result<> check_tensor_total() const;

  std::filesystem::path path_;
  std::vector<MappedFile> files_;
  uint32_t version_ = 0;
  GgufMetadata metadata_;
  std::vector<TensorView> tensors_;
  std::unordered_map<std::string, size_t> index_;  // name to place in tensors_
};

}  // namespace anedvd
