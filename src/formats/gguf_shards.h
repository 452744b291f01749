// The files of a split model and what their names say: `big-00001-of-00003.gguf` is the first of three.
//
// Names count from 1, the metadata key split.no counts from 0 (llama.cpp, tools/gguf-split). Only the first part carries the settings.
#pragma once

#include <filesystem>
#include <optional>

#include "base/result.h"
#include "formats/gguf_metadata.h"

namespace anedvd {

struct SplitInfo {
  int number;  // from 0
  int count;   // at least 2
};

// What the metadata says about splitting; nullopt for a file that is whole. kBadFile: split.no outside of split.count, or missing.
Result<std::optional<SplitInfo>> split_info(const GgufMetadata& metadata, std::string_view where);

// Whether the file's name is that of this part.
bool is_shard_name(const std::filesystem::path& path, SplitInfo part);

// The name of another part of the set that `path` belongs to; is_shard_name(path, {some part of count}) holds.
std::filesystem::path shard_path(const std::filesystem::path& path, SplitInfo part);

// "-00002-of-00003.gguf".
std::string shard_suffix(SplitInfo part);

}  // namespace anedvd
