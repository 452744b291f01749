#include "cli/models/model_cache.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>
#include <sys/statvfs.h>

#include "base/ascii.h"
#include "base/json.h"
#include "base/words.h"
#include "cli/models/known_models.h"

namespace anedvd {
namespace {

constexpr std::string_view kSuffix = ".gguf";

std::filesystem::path record_file(std::filesystem::path model) { return model.replace_extension(".json"); }

// Fills in what the record beside the file says; a damaged one says nothing.
void read_record(CachedModel& model) {
  std::ifstream file(record_file(model.path));
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) return;
  const auto parsed = parse_json(text.str(), "record");
  if (!parsed || !parsed->is_object()) return;
  const auto field = [&](const char* name) {
    const auto found = parsed->find(name);
    return found != parsed->end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  // Another file of that name since: the record is about its predecessor.
  const auto bytes = parsed->find("bytes");
  if (bytes == parsed->end() || !bytes->is_number_unsigned() || bytes->get<uint64_t>() != model.bytes) return;
  model.sha256 = field("sha256");
  model.source = field("source");
}

}  // namespace

bool is_model_name(std::string_view name) {
  return !name.empty() && name.size() <= 100 && name[0] != '.' && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(uint8_t(c)) != 0 || c == '.' || c == '_' || c == '-';
  });
}

Result<ModelCache> ModelCache::find(const Environment& env) {
  if (const std::string folder = env("ANEDVD_CACHE"); !folder.empty()) return ModelCache(folder);
  const std::string home = env("HOME");
#if defined(__APPLE__)
  if (!home.empty()) return ModelCache(std::filesystem::path(home) / "Library/Caches/anedvd");
#else
  // The XDG base directory specification: a relative path there is to be ignored.
  if (const std::string xdg = env("XDG_CACHE_HOME"); xdg.starts_with('/'))
    return ModelCache(std::filesystem::path(xdg) / "anedvd");
  if (!home.empty()) return ModelCache(std::filesystem::path(home) / ".cache/anedvd");
#endif
  return fail(ErrorCode::kUsage, "model cache: no home folder is set; set ANEDVD_CACHE to a folder for models");
}

std::filesystem::path ModelCache::model_file(std::string_view name) const {
  return models() / fmt::format("{}{}", name, kSuffix);
}

Result<> ModelCache::create() const {
  for (const auto& folder : {models(), downloads()}) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
      return fail(ErrorCode::kIo, "model cache: {} cannot be made ({}); set ANEDVD_CACHE to another folder",
                  visible(folder.string()), error.message());
    }
  }
  return {};
}

std::vector<CachedModel> ModelCache::list() const {
  std::vector<CachedModel> found;
  std::error_code error;
  for (std::filesystem::directory_iterator at(models(), error), end; !error && at != end; at.increment(error)) {
    const std::string file = at->path().filename().string();
    if (!file.ends_with(kSuffix)) continue;
    std::error_code unreadable;
    CachedModel model{.name = file.substr(0, file.size() - kSuffix.size()), .path = at->path()};
    model.bytes = at->file_size(unreadable);
    if (unreadable || !is_model_name(model.name)) continue;
    read_record(model);
    found.push_back(std::move(model));
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return found;
}

std::string ModelCache::spelling_of(const std::string& word) const {
  std::error_code error;
  if (is_model_name(word) && std::filesystem::is_regular_file(model_file(word), error)) return word;
  for (const CachedModel& model : list())
    if (lower_ascii(model.name) == lower_ascii(word)) return model.name;
  return word;
}

Result<CachedModel> ModelCache::get(const std::string& word) const {
  const KnownModel* known = find_known_model(word);
  const std::string name(known ? std::string(known->name) : spelling_of(word));
  std::error_code error;
  if (!is_model_name(name) || !std::filesystem::is_regular_file(model_file(name), error)) {
    if (known) return fail(ErrorCode::kNotFound, "{}: not here; \"anedvd pull {}\" fetches it", word, known->alias);
    return unknown_model(word, *this);
  }
  CachedModel model{.name = name, .path = model_file(name)};
  model.bytes = std::filesystem::file_size(model.path, error);
  if (error) return fail(ErrorCode::kIo, "{}: {}; look at the file", visible(model.path.string()), error.message());
  read_record(model);
  return model;
}

Result<> ModelCache::record(const CachedModel& model) const {
  const nlohmann::json json = {
      {"name", model.name}, {"source", model.source}, {"sha256", model.sha256}, {"bytes", model.bytes}};
  const auto path = record_file(model.path);
  std::ofstream file(path, std::ios::trunc);
  file << json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  file.close();
  if (!file)
    return fail(ErrorCode::kIo, "{}: cannot be written; check the disk and the folder's owner", visible(path.string()));
  return {};
}

Result<CachedModel> ModelCache::remove(const std::string& word) const {
  ANEDVD_TRY(CachedModel model, get(word));
  std::error_code error;
  std::filesystem::remove(model.path, error);
  if (error) {
    return fail(ErrorCode::kIo, "{}: cannot be removed ({}); check the folder's owner", visible(model.path.string()),
                error.message());
  }
  std::filesystem::remove(record_file(model.path), error);
  return model;
}

Result<> ModelCache::check_space(uint64_t needed) const {
  struct statvfs disk {};
  if (statvfs(folder_.c_str(), &disk) != 0) return {};  // a file system that does not tell: writing will
  const uint64_t free = uint64_t(disk.f_bavail) * disk.f_frsize;
  if (free >= needed) return {};
  return fail(ErrorCode::kIo, "model cache: {} needed, {} free; free some, or set ANEDVD_CACHE to another disk",
              size_words(needed), size_words(free));
}

tl::unexpected<Error> unknown_model(const std::string& word, const ModelCache& cache) {
  std::vector<std::string> names, lower;
  for (const KnownModel& model : known_models()) {
    names.emplace_back(model.alias);
    names.emplace_back(model.name);
  }
  for (const CachedModel& model : cache.list()) names.push_back(model.name);
  for (const std::string& name : names) lower.push_back(lower_ascii(name));
  const auto found = std::find(lower.begin(), lower.end(), nearest(lower_ascii(word), lower));
  const std::string like = found == lower.end() ? "" : names[size_t(found - lower.begin())];
  std::string advice = fmt::format("did you mean {}?", like);
  if (like.empty()) {
    advice.clear();
    for (const KnownModel& model : known_models())
      advice += fmt::format("{}{}", advice.empty() ? "known are " : ", ", model.alias);
    advice += ';';
  }
  return fail(ErrorCode::kNotFound, "{}: no file and no known model; {} \"anedvd pull list\" shows all",
              visible(word, 100), advice);
}

}  // namespace anedvd
