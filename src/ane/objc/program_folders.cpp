#include "ane/objc/program_folders.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace anedvd::objc {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "anedvd-";
constexpr std::string_view kOwned = ".owned";
constexpr auto kLongestWait = std::chrono::seconds(60);
constexpr auto kWaitStep = std::chrono::milliseconds(50);

// The name comes from the framework and becomes part of a path that is removed later: only what such a name can look like.
bool is_program_name(std::string_view name) {
  if (name.size() < 8 || name.size() > 240) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
  });
}

tl::unexpected<Error> fail_io(const fs::path& path, const char* doing, int problem) {
  return fail(ErrorCode::kIo, "{}: cannot be {} ({}); check space and rights of that folder", path.string(), doing,
              std::strerror(problem));
}

// A lock that ends with its descriptor.
class FileLock {
 public:
  static int take(const fs::path& path, bool wait) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return -1;
    if (::flock(file, wait ? LOCK_EX : LOCK_EX | LOCK_NB) == 0) return file;
    ::close(file);
    return -1;
  }
  explicit FileLock(const fs::path& path) : file_(take(path, true)) {}
  ~FileLock() {
    if (file_ >= 0) ::close(file_);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int file_;
};

fs::path guard_of(const fs::path& temporary) { return temporary / "anedvd.lock"; }

// Folders of processes, ours among them.
std::vector<fs::path> ledgers_in(const fs::path& temporary) {
  std::vector<fs::path> out;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(temporary, ignored))
    if (entry.path().filename().string().starts_with(kPrefix) && entry.is_directory(ignored))
      out.push_back(entry.path());
  return out;
}

std::vector<std::string> owned_in(const fs::path& ledger) {
  std::vector<std::string> out;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(ledger, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(kOwned)) out.push_back(name.substr(0, name.size() - kOwned.size()));
  }
  return out;
}

// Only a process that is gone has dropped its lock. A ledger without lock file is being made this moment, or is none of ours.
bool is_dead(const fs::path& ledger) {
  std::error_code ignored;
  if (!fs::exists(ledger / "alive", ignored)) return false;
  const int file = FileLock::take(ledger / "alive", false);
  if (file < 0) return false;
  ::close(file);
  return true;
}

void remove_leftovers(const fs::path& temporary) {
  std::error_code ignored;
  std::vector<std::string> orphans, in_use;
  for (const fs::path& ledger : ledgers_in(temporary)) {
    const bool dead = is_dead(ledger);
    for (const std::string& hex : owned_in(ledger)) (dead ? orphans : in_use).push_back(hex);
    if (!dead) continue;
    // The entries go last: if we are killed here, the next start finds them again.
    for (const std::string& hex : orphans)
      if (is_program_name(hex) && std::find(in_use.begin(), in_use.end(), hex) == in_use.end())
        fs::remove_all(temporary / hex, ignored);
    orphans.clear();
    fs::remove_all(ledger, ignored);
  }
}

Result<> write_private(const fs::path& path, std::string_view bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return fail_io(path, "made", errno);
  size_t done = 0;
  int problem = 0;
  while (done < bytes.size() && problem == 0) {
    const ssize_t wrote = ::write(file, bytes.data() + done, bytes.size() - done);
    if (wrote > 0)
      done += size_t(wrote);
    else if (errno != EINTR)
      problem = errno;
  }
  if (::close(file) != 0 && problem == 0) problem = errno;
  if (problem != 0) return fail_io(path, "written", problem);
  return {};
}

}  // namespace

Result<std::unique_ptr<ProgramFolders>> ProgramFolders::open(const fs::path& temporary) {
  std::unique_ptr<ProgramFolders> out(new ProgramFolders);
  out->temporary_ = temporary;
  const FileLock guard(guard_of(temporary));
  remove_leftovers(temporary);
  for (int n = 0; out->own_.empty(); ++n) {
    const fs::path candidate = temporary / fmt::format("{}{}-{}", kPrefix, ::getpid(), n);
    if (::mkdir(candidate.c_str(), 0700) == 0)
      out->own_ = candidate;
    else if (errno != EEXIST || n == 1000)
      return fail_io(candidate, "made", errno);
  }
  out->alive_ = FileLock::take(out->own_ / "alive", false);
  if (out->alive_ < 0) return fail_io(out->own_ / "alive", "locked", errno);
  return out;
}

ProgramFolders::~ProgramFolders() {
  if (own_.empty()) return;
  std::error_code ignored;
  for (const auto& [hex, folder] : folders_) fs::remove_all(temporary_ / hex, ignored);
  folders_.clear();
  fs::remove_all(own_, ignored);
  if (alive_ >= 0) ::close(alive_);
}

bool ProgramFolders::held_by_another(const std::string& hex) const {
  std::error_code ignored;
  for (const fs::path& ledger : ledgers_in(temporary_))
    if (ledger != own_ && fs::exists(ledger / (hex + std::string(kOwned)), ignored) && !is_dead(ledger)) return true;
  return false;
}

Result<> ProgramFolders::lay_out(const std::string& hex, std::string_view mil, WeightFile& weights) {
  const fs::path folder = temporary_ / hex;
  ANEDVD_TRY_VOID(write_private(own_ / (hex + std::string(kOwned)), ""));
  std::error_code ignored;
  // Nobody alive holds it, so what lies there is stale, and stale files are what the compiler would read.
  fs::remove_all(folder, ignored);
  if (::mkdir(folder.c_str(), 0700) != 0) return fail_io(folder, "made", errno);
  ANEDVD_TRY_VOID(write_private(folder / "model.mil", mil));
  if (::mkdir((folder / "weights").c_str(), 0700) != 0) return fail_io(folder / "weights", "made", errno);
  if (weights.exists()) ANEDVD_TRY_VOID(weights.move_to(folder / "weights" / "w.bin"));
  return {};
}

Result<> ProgramFolders::acquire(const std::string& hex, std::string_view mil, WeightFile weights) {
  if (!is_program_name(hex))
    return fail(ErrorCode::kDevice,
                "hexStringIdentifier: \"{}\" is no name for a folder; this system is not one that anedvd knows", hex);
  if (const auto found = folders_.find(hex); found != folders_.end()) {
    ++found->second.users;  // equal text and weights: the second copy of the file goes with `weights`
    return {};
  }
  const auto deadline = std::chrono::steady_clock::now() + kLongestWait;
  while (true) {
    {
      const FileLock guard(guard_of(temporary_));
      if (!held_by_another(hex)) {
        if (auto made = lay_out(hex, mil, weights); !made) {
          std::error_code ignored;
          fs::remove_all(temporary_ / hex, ignored);
          fs::remove(own_ / (hex + std::string(kOwned)), ignored);
          return made;
        }
        break;
      }
    }
    if (std::chrono::steady_clock::now() > deadline)
      return fail(ErrorCode::kDevice, "{}: another anedvd has been loading this program for a minute; stop it or wait",
                  (temporary_ / hex).string());
    std::this_thread::sleep_for(kWaitStep);
  }
  Folder& folder = folders_[hex];
  folder.users = 1;
  folder.weights = std::move(weights);
  return {};
}

void ProgramFolders::release(const std::string& hex) {
  const auto found = folders_.find(hex);
  if (found == folders_.end() || --found->second.users > 0) return;
  folders_.erase(found);
  std::error_code ignored;
  fs::remove_all(temporary_ / hex, ignored);
  fs::remove(own_ / (hex + std::string(kOwned)), ignored);
}

Result<WeightFile> ProgramFolders::take_weights(const std::string& hex) {
  const auto found = folders_.find(hex);
  if (found == folders_.end() || !found->second.weights.exists()) return WeightFile();
  Folder& folder = found->second;
  const fs::path target = own_ / fmt::format("taken-{}.bin", taken_++);
  if (folder.users > 1) {
    if (::link(folder.weights.path().c_str(), target.c_str()) != 0) return fail_io(target, "linked", errno);
    return WeightFile(target, folder.weights.digest(), folder.weights.bytes());
  }
  ANEDVD_TRY_VOID(folder.weights.move_to(target));
  return std::move(folder.weights);
}

int ProgramFolders::users(const std::string& hex) const {
  const auto found = folders_.find(hex);
  return found == folders_.end() ? 0 : found->second.users;
}

}  // namespace anedvd::objc
