// From what a person typed to an opened model, with words for the paths that lead nowhere.
#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "base/words.h"
#include "formats/gguf_file.h"
#include "formats/hf_directory.h"
#include "formats/tensor_source.h"

namespace anedvd {

namespace {

constexpr size_t kNamesShown = 3;
constexpr int kEntriesRead = 10000;  // of a folder: enough for a hint, bounded for a crowded one

// The .gguf files in a folder, sorted (no folder of that name, no link that leads nowhere); empty if there are none or it cannot be read.
std::vector<std::string> gguf_names(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder.empty() ? "." : folder, error);
  const std::filesystem::directory_iterator end;
  for (int i = 0; !error && entry != end && i < kEntriesRead; ++i, entry.increment(error))
    if (std::error_code gone; entry->path().extension() == ".gguf" && entry->is_regular_file(gone))
      names.push_back(visible(entry->path().filename().string()));
  std::sort(names.begin(), names.end());
  return names;
}

// "a.gguf, b.gguf and 4 more".
std::string list_words(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kNamesShown);
  std::string words;
  for (size_t i = 0; i < shown; ++i) {
    const bool is_last = i + 1 == names.size();
    words += (i == 0 ? "" : is_last ? " and " : ", ") + names[i];
  }
  return shown < names.size() ? fmt::format("{} and {} more", words, names.size() - shown) : words;
}

tl::unexpected<Error> refuse_missing(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.parent_path();
  std::error_code error;
  if (!folder.empty() && !std::filesystem::is_directory(folder, error))
    return fail(ErrorCode::kNotFound, "{}: no such file, and no folder {}; check the path", path.string(),
                folder.string());
  const std::vector<std::string> names = gguf_names(folder);
  if (names.empty())
    return fail(ErrorCode::kNotFound, "{}: no such file, nor any other .gguf in its folder; check the path",
                path.string());
  return fail(ErrorCode::kNotFound, "{}: no such file; this folder has {}", path.string(), list_words(names));
}

tl::unexpected<Error> refuse_folder(const std::filesystem::path& path) {
  const std::vector<std::string> names = gguf_names(path);
  if (!names.empty())
    return fail(ErrorCode::kUnsupported, "{}: a folder; give one of its files, it has {}", path.string(),
                list_words(names));
  return fail(ErrorCode::kNotFound, "{}: no model in this folder; give a .gguf file, or a folder with config.json",
              path.string());
}

// A folder with GGUF files is often a clone of the repository that they were published in, config.json included, weights left out.
Result<std::unique_ptr<TensorSource>> open_folder(const std::filesystem::path& path) {
  if (!HfDirectory::is_one(path)) return refuse_folder(path);
  auto model = HfDirectory::open(path);
  if (!model && model.error().code == ErrorCode::kNotFound && !gguf_names(path).empty()) return refuse_folder(path);
  if (!model) return tl::unexpected(std::move(model).error());
  return std::unique_ptr<TensorSource>(std::move(*model));
}

}  // namespace

Result<std::unique_ptr<TensorSource>> open_model(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) return refuse_missing(path);
  if (std::filesystem::is_directory(status)) return open_folder(path);
  // Before anything is opened: opening a pipe would wait for its writer.
  if (!error && !std::filesystem::is_regular_file(status))
    return fail(ErrorCode::kBadFile, "{}: not a regular file; give a .gguf file", path.string());
  ANEDVD_TRY(std::unique_ptr<GgufFile> file, GgufFile::open(path));
  return std::unique_ptr<TensorSource>(std::move(file));
}

}  // namespace anedvd
