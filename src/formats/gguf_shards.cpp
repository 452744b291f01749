#include "formats/gguf_shards.h"

#include <string>

namespace anedvd {

namespace {

constexpr int64_t kMaxShards = 65535;  // split.count is a u16

}  // namespace

Result<std::optional<SplitInfo>> split_info(const GgufMetadata& metadata, std::string_view where) {
  if (!metadata.has("split.count")) return std::nullopt;
  const auto count = metadata.integer("split.count");
  if (!count || *count < 0 || *count > kMaxShards)
    return fail(ErrorCode::kBadFile, "{}: metadata \"split.count\" is no number of files; fetch the file again", where);
  if (*count <= 1) return std::nullopt;
  const auto number = metadata.integer("split.no");
  if (!number || *number < 0 || *number >= *count)
    return fail(ErrorCode::kBadFile,
                "{}: metadata \"split.no\" is {}, but the model has parts 0 to {}; fetch the file again", where,
                number ? std::to_string(*number) : "missing", *count - 1);
  return SplitInfo{int(*number), int(*count)};
}

std::string shard_suffix(SplitInfo part) { return fmt::format("-{:05}-of-{:05}.gguf", part.number + 1, part.count); }

bool is_shard_name(const std::filesystem::path& path, SplitInfo part) {
  return path.filename().string().ends_with(shard_suffix(part));
}

std::filesystem::path shard_path(const std::filesystem::path& path, SplitInfo part) {
  std::string name = path.filename().string();
  name.resize(name.size() - shard_suffix(part).size());  // every part's suffix has the same length
  return path.parent_path() / (name + shard_suffix(part));
}

}  // namespace anedvd
