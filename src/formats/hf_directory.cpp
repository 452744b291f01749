#include "formats/hf_directory.h"

#include <algorithm>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "base/words.h"
#include "formats/hf_index.h"
#include "formats/hf_names.h"

namespace anedvd {
namespace {

constexpr const char* kConfig = "config.json";
constexpr const char* kGeneration = "generation_config.json";
constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr int kEntriesRead = 10000;  // of a folder: enough for a hint, bounded for a crowded one

bool is_there(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

// A link to nothing is there for the eye, and a sentence about it helps more than "missing".
bool is_dangling(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_symlink(path, error) && !is_there(path);
}

// Opening a pipe would wait for its writer, so what is not a file is not opened.
Result<MappedFile> map(const std::filesystem::path& path) {
  std::error_code error;
  if (is_dangling(path))
    return fail(ErrorCode::kNotFound, "{}: links to a file that is not there; fetch the folder again",
                visible(path.string()));
  if (is_there(path) && !std::filesystem::is_regular_file(path, error))
    return fail(ErrorCode::kBadFile, "{}: not a regular file; fetch the folder again", visible(path.string()));
  return MappedFile::open(path);
}

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

Result<HfConfig> read_config(const std::filesystem::path& folder) {
  auto config = map(folder / kConfig);
  if (!config && config.error().code == ErrorCode::kNotFound && !is_dangling(folder / kConfig))
    return fail(ErrorCode::kNotFound, "{}: no config.json in this folder; fetch it too", folder.string());
  if (!config) return tl::unexpected(std::move(config).error());
  if (!is_there(folder / kGeneration)) return HfConfig::read(text_of(*config), "", folder.string());
  ANEDVD_TRY(const MappedFile generation, map(folder / kGeneration));
  return HfConfig::read(text_of(*config), text_of(generation), folder.string());
}

// What the folder has in place of model.safetensors, for the error.
tl::unexpected<Error> refuse_weightless(const std::filesystem::path& folder) {
  bool has_pickle = false, has_parts = false;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  const std::filesystem::directory_iterator end;
  for (int i = 0; !error && entry != end && i < kEntriesRead; ++i, entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    has_parts |= name.ends_with(".safetensors");
    has_pickle |= name.starts_with("pytorch_model") && name.ends_with(".bin");
  }
  const std::string where = folder.string();
  if (has_parts)
    return fail(ErrorCode::kNotFound, "{}: has .safetensors files but neither {} nor {}; fetch the missing one", where,
                kSingle, kIndex);
  if (has_pickle)
    return fail(ErrorCode::kUnsupported,
                "{}: its weights are in pytorch_model.bin, which anedvd does not read; use a folder with {}", where,
                kSingle);
  return fail(ErrorCode::kNotFound, "{}: no weights in this folder ({} or {}); fetch them too{}", where, kSingle,
              kIndex, is_there(folder / "tokenizer.json") ? ", only the tokenizer is there" : "");
}

// The index and the shard agree on what is in the shard.
Result<> check_names(const SafetensorsContents& contents, const std::set<std::string, std::less<>>& listed,
                     std::string_view where) {
  std::set<std::string_view> stored;
  for (const TensorView& tensor : contents.tensors) stored.insert(tensor.name);
  for (const UnreadableTensor& tensor : contents.unreadable) stored.insert(tensor.name);
  for (const std::string& name : listed)
    if (!stored.contains(name))
      return fail(ErrorCode::kBadFile, "{}: lacks tensor \"{}\", which the index says is in it; fetch the folder again",
                  where, visible(name));
  for (const std::string_view name : stored)
    if (!listed.contains(name))
      return fail(ErrorCode::kBadFile,
                  "{}: has tensor \"{}\", which the index leaves out of this file; fetch the folder again", where,
                  visible(name));
  return {};
}

}  // namespace

bool HfDirectory::is_one(const std::filesystem::path& folder) {
  for (const char* name : {kConfig, kSingle, kIndex, "tokenizer.json", "tokenizer_config.json"})
    if (is_there(folder / name) || is_dangling(folder / name)) return true;
  return false;
}

Result<std::unique_ptr<HfDirectory>> HfDirectory::open(const std::filesystem::path& folder) {
  const bool has_single = is_there(folder / kSingle) || is_dangling(folder / kSingle);
  const bool has_index = is_there(folder / kIndex) || is_dangling(folder / kIndex);
  if (!has_single && !has_index) return refuse_weightless(folder);
  ANEDVD_TRY(HfConfig config, read_config(folder));
  std::unique_ptr<HfDirectory> model(new HfDirectory(folder, std::move(config)));
  // As transformers: the single file wins.
  ANEDVD_TRY_VOID(has_single ? model->open_single() : model->open_shards());
  return model;
}

Result<> HfDirectory::open_single() {
  ANEDVD_TRY(MappedFile file, map(path_ / kSingle));
  ANEDVD_TRY(SafetensorsContents contents, read_safetensors(file.bytes(), file.path().string()));
  return add(std::move(file), std::move(contents));
}

Result<> HfDirectory::open_shards() {
  ANEDVD_TRY(const MappedFile index_file, map(path_ / kIndex));
  ANEDVD_TRY(const HfIndex index, read_hf_index(text_of(index_file), index_file.path().string()));
  for (const auto& [name, tensors] : index) {
    auto file = map(path_ / name);
    if (!file && file.error().code == ErrorCode::kNotFound && !is_dangling(path_ / name))
      return fail(ErrorCode::kNotFound, "{}: no such file; the model has {} parts, fetch this one too",
                  visible((path_ / name).string()), index.size());
    if (!file) return tl::unexpected(std::move(file).error());
    ANEDVD_TRY(SafetensorsContents contents, read_safetensors(file->bytes(), visible(file->path().string())));
    ANEDVD_TRY_VOID(check_names(contents, tensors, visible(file->path().string())));
    ANEDVD_TRY_VOID(add(std::move(*file), std::move(contents)));
  }
  return {};
}

Result<> HfDirectory::add(MappedFile file, SafetensorsContents contents) {
  const std::string where = visible(file.path().string());
  for (const UnreadableTensor& tensor : contents.unreadable)
    if (!tensor.is_harmless && !is_vision_or_audio(tensor.name))
      return fail(ErrorCode::kUnsupported,
                  "{}: tensor \"{}\" {}, which anedvd does not read; use a BF16 or F16 release, or a GGUF file", where,
                  visible(tensor.name), tensor.why);
  for (TensorView& tensor : contents.tensors) {
    if (is_vision_or_audio(tensor.name)) continue;
    tensor.name = canonical_tensor_name(tensor.name);
    if (!index_.emplace(tensor.name, tensors_.size()).second)
      return fail(ErrorCode::kBadFile, "{}: tensor \"{}\" is there twice; fetch the folder again", where,
                  visible(tensor.name));
    tensors_.push_back(std::move(tensor));
  }
  files_.push_back(std::move(file));
  return {};
}

const TensorView* HfDirectory::find(std::string_view name) const {
  const auto found = index_.find(std::string(name));
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

uint64_t HfDirectory::file_bytes() const {
  uint64_t total = 0;
  for (const MappedFile& file : files_) total += file.bytes().size();
  return total;
}

}  // namespace anedvd
