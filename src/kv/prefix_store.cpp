#include "kv/prefix_store.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "base/log.h"
#include "base/partial_file.h"
#include "base/sha256.h"
#include "device/kv_view.h"

namespace anedvd {
namespace {

namespace fs = std::filesystem;

// Pages that may wait for the disk: they cannot be evicted meanwhile.
constexpr size_t kMostWaiting = 512;
constexpr char kMagic[8] = {'A', 'N', 'E', 'D', 'V', 'D', 'K', 'V'};
constexpr uint32_t kVersion = 1;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t tokens;
  uint64_t page_bytes;
  uint64_t checksum;  // of tokens and page
  int32_t ids[kPageTokens];
};
static_assert(sizeof(Header) == 96);

// Finds damage, not forgery: eight bytes a step, multiplied and folded.
uint64_t checksum_of(std::span<const std::byte> bytes, uint64_t state) {
  size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + at, 8);
    state = (state ^ word) * 0x9fb21c651e98df25u;
    state ^= state >> 35;
  }
  for (; at < bytes.size(); ++at) state = (state ^ uint64_t(bytes[at])) * 0x9fb21c651e98df25u;
  return state;
}

uint64_t checksum_of(std::span<const int32_t> tokens, const uint16_t* words, int64_t page_bytes) {
  const uint64_t start = checksum_of(std::as_bytes(tokens), 0x2545f4914f6cdd1du);
  return checksum_of({reinterpret_cast<const std::byte*>(words), size_t(page_bytes)}, start);
}

Header header_of(std::span<const int32_t> tokens, const uint16_t* words, int64_t page_bytes) {
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kVersion;
  header.tokens = uint32_t(tokens.size());
  header.page_bytes = uint64_t(page_bytes);
  header.checksum = checksum_of(tokens, words, page_bytes);
  std::copy(tokens.begin(), tokens.end(), header.ids);
  return header;
}

bool is_key(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

PrefixStore::PrefixStore(fs::path folder, uint64_t limit, std::string_view identity, int64_t page_bytes)
    : folder_(std::move(folder)), limit_(limit), page_bytes_(page_bytes) {
  Sha256 digest;
  digest.add(std::as_bytes(std::span(kMagic)));
  digest.add(std::as_bytes(std::span(&page_bytes_, 1)));
  digest.add(std::as_bytes(std::span(identity)));
  root_ = digest.finish();
}

Result<std::unique_ptr<PrefixStore>> PrefixStore::open(const fs::path& folder, uint64_t limit,
                                                       std::string_view identity, int64_t page_bytes) {
  std::unique_ptr<PrefixStore> store(new PrefixStore(folder, limit, identity, page_bytes));
  ANEDVD_TRY_VOID(store->scan());
  store->writer_ = std::thread([raw = store.get()] { raw->write_all(); });
  return store;
}

PrefixStore::~PrefixStore() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (writer_.joinable()) writer_.join();
}

Result<> PrefixStore::scan() {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (!error) fs::permissions(folder_, fs::perms::owner_all, error);
  if (error)
    return fail(ErrorCode::kIo, "{}: {}; choose another folder for --kv-disk", folder_.string(), error.message());
  struct Found {
    fs::file_time_type time;
    Key key;
    uint64_t bytes;
  };
  std::vector<Found> found;
  for (auto at = fs::recursive_directory_iterator(folder_, fs::directory_options::skip_permission_denied, error);
       !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (!at->is_regular_file(error) || at->path().extension() != ".kv" || !is_key(at->path().stem().string())) continue;
    const auto time = at->last_write_time(error);
    const auto bytes = at->file_size(error);
    if (!error) found.push_back({time, at->path().stem().string(), bytes});
  }
  if (error)
    return fail(ErrorCode::kIo, "{}: {}; choose another folder for --kv-disk", folder_.string(), error.message());
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.time < b.time; });
  for (const Found& file : found) remember(file.key, file.bytes);
  return {};
}

fs::path PrefixStore::file_of(const Key& key) const { return folder_ / key.substr(0, 2) / (key + ".kv"); }

PrefixStore::Key PrefixStore::next(const Key& before, std::span<const int32_t> tokens) {
  Sha256 digest;
  digest.add(std::as_bytes(std::span(before)));
  digest.add(std::as_bytes(tokens));
  return digest.finish();
}

// With the lock held, or before there is a second thread.
void PrefixStore::remember(const Key& key, uint64_t bytes) {
  if (entries_.count(key) != 0) return;
  uses_.push_back(key);
  entries_.emplace(key, Entry{bytes, std::prev(uses_.end())});
  bytes_ += bytes;
  while (bytes_ > limit_ && !uses_.empty()) {
    const Key oldest = uses_.front();
    forget(oldest);
    std::error_code ignored;
    fs::remove(file_of(oldest), ignored);
  }
}

void PrefixStore::forget(const Key& key) {
  const auto at = entries_.find(key);
  if (at == entries_.end()) return;
  bytes_ -= at->second.bytes;
  uses_.erase(at->second.use);
  entries_.erase(at);
}

bool PrefixStore::load(const Key& key, std::span<const int32_t> tokens, uint16_t* words) {
  {
    const std::lock_guard lock(mutex_);
    const auto at = entries_.find(key);
    if (at == entries_.end()) return false;
    uses_.splice(uses_.end(), uses_, at->second.use);
  }
  const fs::path file = file_of(key);
  Header header{};
  std::ifstream in(file, std::ios::binary);
  in.read(reinterpret_cast<char*>(&header), sizeof header);
  in.read(reinterpret_cast<char*>(words), page_bytes_);
  const bool is_whole = bool(in) && in.peek() == std::ifstream::traits_type::eof();
  if (is_whole) {
    const Header wanted = header_of(tokens, words, page_bytes_);
    if (std::memcmp(&header, &wanted, sizeof header) == 0) {
      std::error_code ignored;
      fs::last_write_time(file, fs::file_time_type::clock::now(), ignored);
      return true;
    }
  }
  const std::lock_guard lock(mutex_);
  forget(key);
  std::error_code ignored;
  fs::remove(file, ignored);
  return false;
}

bool PrefixStore::keep(const Key& key, std::span<const int32_t> tokens, const PageHandle& page) {
  collect();
  if (pending_.count(key) != 0) return true;
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = entries_.find(key); at != entries_.end()) {
      uses_.splice(uses_.end(), uses_, at->second.use);
      return true;
    }
    if (broken_ || writes_.size() >= kMostWaiting) return false;
    writes_.push_back({key, {tokens.begin(), tokens.end()}, page.words()});
  }
  pending_.emplace(key, page);
  changed_.notify_all();
  return true;
}

void PrefixStore::collect(bool all) {
  if (pending_.empty()) return;
  std::vector<Key> written;
  {
    std::unique_lock lock(mutex_);
    if (all) changed_.wait(lock, [&] { return written_.size() == pending_.size(); });
    written.swap(written_);
  }
  for (const Key& key : written) pending_.erase(key);
}

void PrefixStore::write_all() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !writes_.empty(); });
    if (writes_.empty()) return;
    const Write page = std::move(writes_.front());
    writes_.pop_front();
    const bool is_broken = broken_;
    lock.unlock();
    Result<> done;
    if (!is_broken) done = write(page);
    lock.lock();
    if (!is_broken && done) remember(page.key, sizeof(Header) + uint64_t(page_bytes_));
    if (!done) {
      // Told once: without a disk the engine goes on as if there were no --kv-disk.
      broken_ = true;
      warn("--kv-disk: {}; no more prefixes are kept", done.error().message);
    }
    written_.push_back(page.key);
    changed_.notify_all();
  }
}

Result<> PrefixStore::write(const Write& page) {
  const fs::path file = file_of(page.key);
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error) return fail(ErrorCode::kIo, "{}: {}", file.parent_path().string(), error.message());
  ANEDVD_TRY(PartialFile out, PartialFile::create(file));
  fs::permissions(file.string() + ".partial", fs::perms::owner_read | fs::perms::owner_write, error);
  const Header header = header_of(page.tokens, page.words, page_bytes_);
  ANEDVD_TRY_VOID(out.write(std::as_bytes(std::span(&header, 1))));
  ANEDVD_TRY_VOID(out.write({reinterpret_cast<const std::byte*>(page.words), size_t(page_bytes_)}));
  return out.publish(false);
}

uint64_t PrefixStore::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace anedvd
