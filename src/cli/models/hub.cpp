#include "cli/models/hub.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include <nlohmann/json.hpp>

#include "base/ascii.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "base/sha256.h"
#include "base/words.h"
#include "cli/models/known_models.h"
#include "cli/models/transfer.h"

namespace anedvd {
namespace {

std::string endpoint(const Environment& env) {
  std::string address = env("HF_ENDPOINT");
  while (address.ends_with('/')) address.pop_back();
  return address.empty() ? "https://huggingface.co" : address;
}

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// model-00002-of-00009.gguf
bool is_split(std::string_view path) { return path.find("-of-") != std::string_view::npos; }

// Letters, digits and -_. — what the hub allows in names — and '/' in paths. Nothing that would change the address's meaning.
bool is_plain(std::string_view text, bool slashes) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return std::isalnum(uint8_t(c)) != 0 || c == '-' || c == '_' || c == '.' || (slashes && c == '/');
  });
}

// Checks that it is GGUF, moves it into place and notes where it came from.
Result<CachedModel> keep(const Transfer& transfer, const std::filesystem::path& file, CachedModel model) {
  {
    ANEDVD_TRY(const MappedFile mapped, MappedFile::open(file));
    model.bytes = mapped.bytes().size();
    if (model.bytes < 4 || std::memcmp(mapped.bytes().data(), "GGUF", 4) != 0) {
      std::error_code ignored;
      std::filesystem::remove(file, ignored);
      return fail(ErrorCode::kBadFile, "pull {}: what came is not a GGUF file; choose another one", transfer.what());
    }
    if (model.sha256.empty()) model.sha256 = sha256_of(mapped.bytes());
  }
  std::error_code error;
  std::filesystem::rename(file, model.path, error);
  if (error) {
    return fail(ErrorCode::kIo, "{}: cannot be put in place ({}); check the folder's owner",
                visible(model.path.string()), error.message());
  }
  ANEDVD_TRY_VOID(transfer.context().cache.record(model));
  return model;
}

}  // namespace

std::string model_name_of(std::string_view file) {
  std::string name = lower_ascii(last_part(file));
  if (name.ends_with(".gguf")) name.resize(name.size() - 5);
  return name;
}

Result<std::vector<HubFile>> parse_hub_tree(std::string_view json) {
  ANEDVD_TRY(const nlohmann::json root, parse_json(json, "list of the hub's files"));
  std::vector<HubFile> files;
  if (!root.is_array()) return fail(ErrorCode::kBadFile, "list of the hub's files: not a list; try again later");
  const auto text = [](const nlohmann::json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  for (const nlohmann::json& entry : root) {
    if (!entry.is_object()) continue;
    HubFile file{.path = text(entry, "path")};
    if (!file.path.ends_with(".gguf")) continue;
    if (const auto size = entry.find("size"); size != entry.end() && size->is_number_unsigned())
      file.bytes = size->get<uint64_t>();
    if (const auto lfs = entry.find("lfs"); lfs != entry.end() && lfs->is_object()) file.sha256 = text(*lfs, "oid");
    if (file.sha256.size() != 64) file.sha256.clear();
    files.push_back(std::move(file));
  }
  return files;
}

Result<HubFile> choose_hub_file(const std::vector<HubFile>& files, std::string_view wanted) {
  const auto whole = [&](const HubFile& file) -> Result<HubFile> {
    if (is_split(file.path)) {
      return fail(ErrorCode::kUnsupported, "{} is a part of a split model; fetch all parts by hand into one folder",
                  visible(file.path, 100));
    }
    return file;
  };
  std::string names;
  size_t count = 0;
  for (const HubFile& file : files) {
    if (!wanted.empty() && (file.path == wanted || last_part(file.path) == wanted)) return whole(file);
    if (++count <= 8) names += fmt::format("{}{}", names.empty() ? "" : " ", visible(last_part(file.path), 60));
  }
  if (files.empty())
    return fail(ErrorCode::kNotFound, "holds no GGUF file; look for a repository whose name ends in -GGUF");
  if (count > 8) names += fmt::format(" and {} more", count - 8);
  if (!wanted.empty()) return fail(ErrorCode::kNotFound, "has no {}; it has {}", visible(wanted, 100), names);
  if (files.size() == 1) return whole(files[0]);
  for (const char* type : {"q4_k_m", "q8_0"}) {
    for (const HubFile& file : files)
      if (lower_ascii(file.path).find(type) != std::string::npos && !is_split(file.path)) return file;
  }
  return fail(ErrorCode::kNotFound, "has several files; add one of them after a colon: {}", names);
}

Result<Pulled> pull_from_hub(const std::string& what, const std::string& place, const PullContext& context) {
  const size_t colon = std::min(place.find(':'), place.size());
  const std::string repository = place.substr(0, colon);
  const std::string wanted = colon < place.size() ? place.substr(colon + 1) : "";
  if (std::count(repository.begin(), repository.end(), '/') != 1 || !is_plain(repository, true) ||
      repository.front() == '/' || repository.back() == '/' || repository.find("..") != std::string::npos) {
    return fail(ErrorCode::kUsage,
                "pull {}: not hf:ORG/REPO[:FILE]; for example hf:bartowski/SmolLM2-135M-Instruct-GGUF",
                visible(what, 100));
  }
  Transfer transfer(what, context);
  ANEDVD_TRY_VOID(transfer.begin());
  const std::string hub = endpoint(context.env), token = context.env("HF_TOKEN");
  std::string address;
  ANEDVD_TRY(const std::string tree,
             transfer.page(fmt::format("{}/api/models/{}/tree/main?recursive=true", hub, repository),
                           "application/json", token, &address));
  const std::string where = fmt::format("pull {}", transfer.what());
  auto files = parse_hub_tree(tree);
  if (!files) return fail_in(where, std::move(files).error());
  auto file = choose_hub_file(*files, wanted);
  if (!file) return fail_in(fmt::format("{}: {}", where, repository), std::move(file).error());
  const std::string name = model_name_of(file->path);
  if (!is_plain(file->path, true) || file->path.find("..") != std::string::npos || !is_model_name(name)) {
    return fail(ErrorCode::kUnsupported, "pull {}: its file has the name {}; fetch it by hand", transfer.what(),
                visible(file->path, 100));
  }
  const auto cached = context.cache.get(name);
  if (cached && cached->bytes == file->bytes && !file->sha256.empty() && cached->sha256 == file->sha256)
    return Pulled{*cached, true};

  const Piece piece{.url = fmt::format("{}/{}/resolve/main/{}", hub, repository, file->path),
                    .file = name,
                    .bytes = file->bytes,
                    .sha256 = file->sha256,
                    .bearer = token};
  ANEDVD_TRY_VOID(context.cache.check_space(piece.bytes - std::min(piece.bytes, transfer.kept(piece))));
  transfer.announce(name, 0, {piece}, Occasion::kAsked);
  ANEDVD_TRY(const std::filesystem::path path, transfer.fetch(piece));
  ANEDVD_TRY(const CachedModel model, keep(transfer, path,
                                           {.name = name,
                                            .path = context.cache.model_file(name),
                                            .sha256 = file->sha256,
                                            .source = fmt::format("hf:{}:{}", repository, file->path)}));
  transfer.finish(!file->sha256.empty());
  return Pulled{model, false};
}

Result<CachedModel> known_from_hub(Transfer& transfer, const KnownModel& known) {
  const Piece piece{.url = fmt::format("{}/{}", endpoint(transfer.context().env), known.hub_file),
                    .file = std::string(known.name),
                    .bytes = known.bytes,
                    .sha256 = std::string(known.sha256),
                    .bearer = transfer.context().env("HF_TOKEN")};
  transfer.count(piece);
  // One try: the index was given three already, and a network that is down is told sooner.
  ANEDVD_TRY(const std::filesystem::path path, transfer.fetch(piece, 1));
  return keep(transfer, path,
              {.name = std::string(known.name),
               .path = transfer.context().cache.model_file(known.name),
               .sha256 = piece.sha256,
               .source = fmt::format("hf:{}", known.hub_file)});
}

}  // namespace anedvd
