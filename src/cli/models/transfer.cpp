#include "cli/models/transfer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/sha256.h"
#include "base/words.h"
#include "cli/models/model_cache.h"

namespace anedvd {
namespace {

constexpr uint64_t kMaxPageBytes = uint64_t(16) << 20;  // the largest index pages of PyPI have about 10 MB
constexpr size_t kDigestShown = 8;                      // hex digits in an error: enough to compare by eye

void remove_quietly(const std::filesystem::path& path) {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
}

}  // namespace

std::string host_of(std::string_view url) {
  if (const size_t scheme = url.find("://"); scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  if (const size_t at = url.rfind('@'); at != std::string_view::npos) url.remove_prefix(at + 1);
  return visible(url.substr(0, url.find(':')), 80);
}

Transfer::Transfer(std::string what, const PullContext& context)
    : what_(visible(what, 100)),
      context_(context),
      pip_(read_pip_config(context.env)),
      start_(Progress::Clock::now()) {}

Transfer::~Transfer() {
  if (lock_ >= 0) close(lock_);
}

Result<> Transfer::begin() {
  ANEDVD_TRY_VOID(context_.cache.create());
  // One pull a cache at a time. The folder itself is the lock: nothing to clean up after a crash.
  lock_ = open(context_.cache.downloads().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ < 0 || flock(lock_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return {};
  context_.console.note("another anedvd is fetching a model; waiting for it");
  while (flock(lock_, LOCK_EX) != 0) {
    if (SoftStop::requested()) return fail(ErrorCode::kCancelled, "pull {}: stopped; nothing was changed", what_);
    if (errno != EINTR) break;  // a file system without locks
  }
  return {};
}

std::filesystem::path Transfer::part_file(const Piece& piece) const {
  // The digest in the name: another version of a file never goes on from this one's bytes.
  const std::string mark = piece.sha256.empty() ? "" : "-" + piece.sha256.substr(0, kDigestShown);
  return context_.cache.downloads() / fmt::format("{}{}.part", piece.file, mark);
}

uint64_t Transfer::kept(const Piece& piece) const {
  return piece.local.empty() ? file_size_or_zero(part_file(piece)) : piece.bytes;
}

uint64_t Transfer::all_kept() const {
  uint64_t sum = 0;
  for (const Piece& piece : pieces_) sum += kept(piece);
  return uint64_t(double(sum) * scale_);
}

void Transfer::announce(const std::string& name, uint64_t model_bytes, const std::vector<Piece>& pieces,
                        Occasion occasion) {
  pieces_ = pieces;
  uint64_t total = 0;
  for (const Piece& piece : pieces) total += piece.bytes;
  shown_total_ = model_bytes > 0 ? model_bytes : total;
  scale_ = total > 0 ? double(shown_total_) / double(total) : 1.0;
  kept_at_start_ = std::min(all_kept(), shown_total_);
  start_ = Progress::Clock::now();

  std::string amount = shown_total_ > 0 ? size_words(shown_total_) : "size not told";
  if (kept_at_start_ > 0 && shown_total_ > 0)
    amount += fmt::format(", {} of them are here", size_words(kept_at_start_));
  if (occasion == Occasion::kFirstUse) {
    context_.console.note(
        fmt::format("{} is not here yet ({}). Fetching it once; Ctrl-C keeps what has arrived.", name, amount));
  } else {
    context_.console.note(fmt::format("fetching {} ({}); Ctrl-C keeps what has arrived", name, amount));
  }
  progress_ = std::make_unique<Progress>(context_.console, "pull", shown_total_, kept_at_start_);
}

void Transfer::count(const Piece& piece) {
  pieces_ = {piece};
  scale_ = 1.0;
  kept_at_start_ = std::min(all_kept(), shown_total_);
  progress_ = std::make_unique<Progress>(context_.console, "pull", shown_total_, kept_at_start_);
}

Result<std::string> Transfer::page(const std::string& url, const std::string& accept, const std::string& bearer,
                                   std::string* address) {
  const auto file = context_.cache.downloads() / fmt::format("page-{}.tmp", getpid());
  remove_quietly(file);
  const DownloadRequest request{.url = url,
                                .file = file,
                                .total = kMaxPageBytes,
                                .accept = accept,
                                .bearer = bearer,
                                .certificate = pip_.certificate,
                                .proxy = pip_.proxy};
  const DownloadOutcome outcome = download(request, [] {});
  std::ostringstream text;
  if (std::ifstream in(file, std::ios::binary); in) text << in.rdbuf();
  remove_quietly(file);
  if (outcome.end != DownloadEnd::kDone) return failed(outcome, url);
  *address = outcome.final_url.empty() ? url : outcome.final_url;
  return text.str();
}

Result<std::filesystem::path> Transfer::fetch(const Piece& piece, int tries) {
  if (!piece.local.empty()) return piece.local;
  const auto part = part_file(piece);
  if (piece.bytes > 0 && file_size_or_zero(part) > piece.bytes) remove_quietly(part);
  if (piece.bytes == 0 || file_size_or_zero(part) < piece.bytes) {
    const DownloadRequest request{.url = piece.url,
                                  .file = part,
                                  .total = piece.bytes,
                                  .may_resume = !piece.sha256.empty(),  // else nobody could tell a wrong continuation
                                  .tries = tries,
                                  .bearer = piece.bearer,
                                  .certificate = pip_.certificate,
                                  .proxy = pip_.proxy};
    const DownloadOutcome outcome = download(request, [&] {
      if (progress_) progress_->update(std::min(all_kept(), shown_total_ > 0 ? shown_total_ : UINT64_MAX));
    });
    if (progress_) progress_->clear();
    if (outcome.end == DownloadEnd::kNotWritten) {
      const uint64_t have = file_size_or_zero(part);
      ANEDVD_TRY_VOID(
          context_.cache.check_space(std::max<uint64_t>(piece.bytes - std::min(have, piece.bytes), 1 << 20)));
      return fail(ErrorCode::kIo, "{}: cannot be written; check the folder's owner and the disk",
                  visible(part.string()));
    }
    if (outcome.end != DownloadEnd::kDone) return failed(outcome, piece.url);
  }
  if (!piece.sha256.empty()) {
    auto digest = sha256_of_file(part);
    if (!digest) return tl::unexpected(std::move(digest).error());
    if (*digest != piece.sha256) {
      remove_quietly(part);
      return wrong_digest(*digest, piece.sha256);
    }
  }
  return part;
}

void Transfer::finish(bool is_checked) {
  if (progress_) progress_->clear();
  // All was here already: a wheel found on this disk, or a pull that was stopped while it unpacked.
  const bool goes_on = kept_at_start_ > 0 && kept_at_start_ < shown_total_;
  const uint64_t arrived = goes_on ? shown_total_ - kept_at_start_ : std::max(shown_total_, all_kept());
  const double seconds = std::chrono::duration<double>(Progress::Clock::now() - start_).count();
  context_.console.note(fmt::format("pulled {}{} in {}{}", goes_on ? "the other " : "", size_words(arrived),
                                    duration_words(seconds), is_checked ? " · sha256 ok" : ""));
}

std::string Transfer::kept_words() const {
  const uint64_t have = all_kept();
  if (have == 0 || shown_total_ == 0) return "check the network, then run the same command again";
  std::string words = progress_words(std::min(have, shown_total_), shown_total_);
  words.replace(words.find('/'), 1, " of ");
  return fmt::format("{} are kept, the same command goes on from there", words);
}

tl::unexpected<Error> Transfer::stopped() const {
  const bool has_kept = all_kept() > 0 && shown_total_ > 0;
  return fail(ErrorCode::kCancelled, "pull {}: stopped; {}", what_,
              has_kept ? kept_words() : std::string("the same command starts again"));
}

tl::unexpected<Error> Transfer::wrong_digest(const std::string& got, std::string_view expected) const {
  return fail(ErrorCode::kBadFile, "pull {}: SHA-256 is {}…, expected {}…; the file was removed, run the command again",
              what_, got.substr(0, kDigestShown), expected.substr(0, kDigestShown));
}

tl::unexpected<Error> Transfer::failed(const DownloadOutcome& outcome, const std::string& url) const {
  switch (outcome.end) {
    case DownloadEnd::kStopped: return stopped();
    case DownloadEnd::kNoCurl:
      return fail(ErrorCode::kIo,
                  "pull {}: the program curl is not here; install it (apt install curl), then try again", what_);
    case DownloadEnd::kNotWritten:
      return fail(ErrorCode::kIo, "{}: cannot be written; check the folder's owner and the disk",
                  visible(context_.cache.downloads().string()));
    case DownloadEnd::kRefused:
      return fail(ErrorCode::kNotFound, "pull {}: {} does not hand out the file ({}); check the name, and {}", what_,
                  host_of(url), outcome.why,
                  what_.starts_with("hf:") ? "HF_TOKEN if it is not public" : "pip's index-url");
    default:
      return fail(ErrorCode::kNotFound, "pull {}: no connection after {} {} ({}); {}", what_, outcome.tries,
                  outcome.tries == 1 ? "try" : "tries", outcome.why, kept_words());
  }
}

std::filesystem::path NewFile::partial() const { return path_.string() + ".part"; }

NewFile::~NewFile() {
  if (fd_ < 0) return;
  close(fd_);
  remove_quietly(partial());
}

Result<> NewFile::open() {
  fd_ = ::open(partial().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd_ >= 0) return {};
  return fail(ErrorCode::kIo, "{}: cannot be written ({}); set ANEDVD_CACHE to another folder",
              visible(partial().string()), std::strerror(errno));
}

Result<> NewFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd_, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes = bytes.subspan(size_t(count));
      continue;
    }
    if (errno == EINTR) continue;
    const int error = errno;
    if (error == ENOSPC || error == EDQUOT) ANEDVD_TRY_VOID(cache_.check_space(bytes.size() + (1 << 20)));
    return fail(ErrorCode::kIo, "{}: cannot be written ({}); free some space, or set ANEDVD_CACHE to another disk",
                visible(partial().string()), std::strerror(error));
  }
  return {};
}

Result<> NewFile::commit() {
  // The name must never stand for bytes that a power cut took.
  const bool is_synced = fsync(fd_) == 0;
  const int sync_error = errno;
  if (!is_synced && sync_error != EINVAL && sync_error != ENOTSUP) {
    return fail(ErrorCode::kIo, "{}: cannot be written ({}); check the disk", visible(partial().string()),
                std::strerror(sync_error));
  }
  close(fd_);
  fd_ = -1;
  std::error_code error;
  std::filesystem::rename(partial(), path_, error);
  if (!error) return {};
  remove_quietly(partial());
  return fail(ErrorCode::kIo, "{}: cannot be put in place ({}); check the folder's owner", visible(path_.string()),
              error.message());
}

}  // namespace anedvd
