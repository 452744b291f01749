// Pages of keys and values on disk: prefixes that outlive the process.
//
//   FOLDER/ab/abcdef….kv     header, 16 token ids, the page
//
// A page's name is the SHA-256 of everything it depends on: the model and how it is computed (`identity`), all tokens before it, its own. So a
// page is found by whoever has the same beginning, and never by anybody else; what is half written or damaged is not found. The least recently
// used pages go when `limit` bytes are passed. Files and folder are readable by their owner only: they hold what people wrote.
//
// The engine's thread calls; one thread of its own writes. Several processes may share a folder.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <list>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "kv/page_pool.h"

namespace anedvd {

class PrefixStore {
 public:
  using Key = std::string;  // 64 hex digits; of the empty prefix: the identity's

  // Makes the folder. kIo if it cannot be made or listed; pages that are there count towards the limit.
  static Result<std::unique_ptr<PrefixStore>> open(const std::filesystem::path& folder, uint64_t limit,
                                                   std::string_view identity, int64_t page_bytes);
  ~PrefixStore();  // writes what is waiting

  const Key& root() const { return root_; }
  static Key next(const Key& before, std::span<const int32_t> tokens);  // a whole page's

  // Fills words[page_bytes] with the page of that name. False: not there, or not sound (then it is removed).
  bool load(const Key& key, std::span<const int32_t> tokens, uint16_t* words);

  // Has the page written in the background, unless it is there. The store holds the page meanwhile. False: too many wait already.
  bool keep(const Key& key, std::span<const int32_t> tokens, const PageHandle& page);

  // Gives back the pages that were written. With `all` it waits for the others first.
  void collect(bool all = false);

  uint64_t bytes() const;

 private:
  struct Write {
    Key key;
    std::vector<int32_t> tokens;
    const uint16_t* words;
  };
  struct Entry {
    uint64_t bytes;
    std::list<Key>::iterator use;
  };

  PrefixStore(std::filesystem::path folder, uint64_t limit, std::string_view identity, int64_t page_bytes);
  Result<> scan();
  std::filesystem::path file_of(const Key& key) const;
  void remember(const Key& key, uint64_t bytes);
  void forget(const Key& key);
  void write_all();
  Result<> write(const Write& page);

  const std::filesystem::path folder_;
  const uint64_t limit_;
  const int64_t page_bytes_;
  Key root_;
  std::unordered_map<Key, PageHandle> pending_;  // the engine's thread only

  mutable std::mutex mutex_;  // what follows
  std::condition_variable changed_;
  std::unordered_map<Key, Entry> entries_;
  std::list<Key> uses_;  // least recently used first
  uint64_t bytes_ = 0;
  std::deque<Write> writes_;
  std::vector<Key> written_;
  bool stopping_ = false, broken_ = false;

  std::thread writer_;
};

}  // namespace anedvd
