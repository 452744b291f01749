#include "formats/gguf_file.h"

#include <string>
#include <utility>

#include "base/words.h"
#include "formats/gguf_shards.h"

namespace anedvd {

namespace {

constexpr std::string_view kTotalKey = "split.tensors.count";  // tensors of all parts together

// Opens part `wanted` of the set that `given` belongs to.
Result<std::pair<MappedFile, GgufContents>> open_shard(const std::filesystem::path& given, SplitInfo wanted) {
  const std::filesystem::path path = shard_path(given, wanted);
  auto file = MappedFile::open(path);
  if (!file && file.error().code == ErrorCode::kNotFound)
    return fail(ErrorCode::kNotFound, "{}: no such file; the model has {} parts, fetch this one too", path.string(),
                wanted.count);
  if (!file) return tl::unexpected(std::move(file).error());
  const std::string where = path.string();
  ANEDVD_TRY(GgufContents contents, read_gguf(file->bytes(), where));
  ANEDVD_TRY(const std::optional<SplitInfo> said, split_info(contents.metadata, where));
  if (!said || said->number != wanted.number || said->count != wanted.count)
    return fail(ErrorCode::kBadFile, "{}: named part {} of {}, but its metadata says {}; fetch all parts again", where,
                wanted.number + 1, wanted.count,
                said ? fmt::format("part {} of {}", said->number + 1, said->count) : "that it is whole");
  return std::pair(std::move(*file), std::move(contents));
}

}  // namespace

Result<std::unique_ptr<GgufFile>> GgufFile::open(const std::filesystem::path& path) {
  ANEDVD_TRY(MappedFile file, MappedFile::open(path));
  const std::string where = path.string();
  ANEDVD_TRY(GgufContents contents, read_gguf(file.bytes(), where));
  ANEDVD_TRY(const std::optional<SplitInfo> split, split_info(contents.metadata, where));

  std::unique_ptr<GgufFile> model(new GgufFile);
  model->path_ = path;
  if (!split) {
    ANEDVD_TRY_VOID(model->add(std::move(file), std::move(contents)));
    return model;
  }
  if (!is_shard_name(path, *split))
    return fail(ErrorCode::kBadFile,
                "{}: is part {} of {}, but its name does not end in \"{}\", so the other parts cannot be found; give "
                "all parts their names back",
                where, split->number + 1, split->count, shard_suffix(*split));
  for (int i = 0; i < split->count; ++i) {
    if (i == split->number) {
      ANEDVD_TRY_VOID(model->add(std::move(file), std::move(contents)));
      continue;
    }
    ANEDVD_TRY(auto shard, open_shard(path, {i, split->count}));
    ANEDVD_TRY_VOID(model->add(std::move(shard.first), std::move(shard.second)));
  }
  ANEDVD_TRY_VOID(model->check_tensor_total());
  return model;
}

Result<> GgufFile::add(MappedFile file, GgufContents contents) {
  const bool is_first = files_.empty();
  const auto total = contents.metadata.integer(kTotalKey);
  if (!is_first && total && total != metadata_.integer(kTotalKey))
    return fail(ErrorCode::kBadFile, "{}: {} is {}, another number than in the first part; fetch all parts again",
                file.path().string(), kTotalKey, with_commas(*total));
  for (TensorView& tensor : contents.tensors) {
    if (!index_.emplace(tensor.name, tensors_.size()).second)
      return fail(ErrorCode::kBadFile, "{}: tensor \"{}\" is already in an earlier part; fetch all parts again",
                  file.path().string(), visible(tensor.name));
    tensors_.push_back(std::move(tensor));
  }
  if (is_first) {
    version_ = contents.version;
    metadata_ = std::move(contents.metadata);
  }
  files_.push_back(std::move(file));
  return {};
}

Result<> GgufFile::check_tensor_total() const {
  const auto total = metadata_.integer(kTotalKey);
  if (!total || *total == int64_t(tensors_.size())) return {};
  return fail(ErrorCode::kBadFile, "{}: its {} parts hold {} tensors, but {} is {}; fetch all parts again",
              path_.string(), files_.size(), with_commas(int64_t(tensors_.size())), kTotalKey, with_commas(*total));
}

const TensorView* GgufFile::find(std::string_view name) const {
  const auto found = index_.find(std::string(name));
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

uint64_t GgufFile::file_bytes() const {
  uint64_t total = 0;
  for (const MappedFile& file : files_) total += file.bytes().size();
  return total;
}

}  // namespace anedvd
