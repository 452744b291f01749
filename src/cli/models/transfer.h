// One pull at work: what it tells the person, what it keeps, and how its errors read.
//
// Amounts are shown in bytes of the model file, also where a packed wheel travels: one number for one model. `scale` converts.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/inflate.h"
#include "base/result.h"
#include "cli/models/download.h"
#include "cli/models/pip_config.h"
#include "cli/models/pull.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress.h"

namespace anedvd {

// A file to fetch into the folder of downloads.
struct Piece {
  std::string url = {};
  std::string file;    // its name there
  uint64_t bytes = 0;  // 0: not known
  std::string sha256;  // empty: not known
  std::string bearer = {};
  std::filesystem::path local = {};  // a checked copy on this machine: nothing to fetch
};

class Transfer {
 public:
  // what: as the person called it ("smollm2"). Takes Ctrl-C as a request from now on.
  Transfer(std::string what, const PullContext& context);
  ~Transfer();

  // Makes the folders and waits for another process that is fetching into the same cache. Errors: kIo, kCancelled.
  Result<> begin();

  // Prints the first line: which model comes and how much. model_bytes: 0 when unknown. Afterwards pieces are counted.
  void announce(const std::string& name, uint64_t model_bytes, const std::vector<Piece>& pieces, Occasion occasion);

  // From now on this piece is counted instead, silently: another source of the same model.
  void count(const Piece& piece);

  // Nothing of the announced pieces has arrived.
  bool has_nothing() const { return all_kept() == 0; }

  // A page of text, at most 16 MiB. Its final address goes to *address. Error kNotFound when it cannot be had.
  Result<std::string> page(const std::string& url, const std::string& accept, const std::string& bearer,
                           std::string* address);

  // Fetches what of the piece is missing, checks its digest, and returns the file. Errors: kNotFound when it cannot be had, kIo, kBadFile
  // (the file was removed), kCancelled.
  Result<std::filesystem::path> fetch(const Piece& piece, int tries = 3);

  // Prints the last line.
  void finish(bool is_checked);

  // Bytes of the piece that are on this machine.
  uint64_t kept(const Piece& piece) const;

  tl::unexpected<Error> stopped() const;
  tl::unexpected<Error> wrong_digest(const std::string& got, std::string_view expected) const;

  const PullContext& context() const { return context_; }
  const PipConfig& pip() const { return pip_; }
  const std::string& what() const { return what_; }

 private:
  std::filesystem::path part_file(const Piece& piece) const;
  uint64_t all_kept() const;
  std::string kept_words() const;
  tl::unexpected<Error> failed(const DownloadOutcome& outcome, const std::string& url) const;

  std::string what_;
  const PullContext& context_;
  PipConfig pip_;
  SoftStop soft_stop_;
  int lock_ = -1;
  std::vector<Piece> pieces_;
  uint64_t shown_total_ = 0;  // model bytes; 0: unknown
  double scale_ = 1.0;        // shown bytes for one transferred
  uint64_t kept_at_start_ = 0;
  std::chrono::steady_clock::time_point start_;
  std::unique_ptr<Progress> progress_;
};

// Writes a file that appears whole or not at all: bytes go beside it and are renamed by commit(). Removed if never committed.
class NewFile {
 public:
  NewFile(std::filesystem::path path, const ModelCache& cache) : path_(std::move(path)), cache_(cache) {}
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  Result<> open();
  Result<> write(std::span<const std::byte> bytes);
  Result<> commit();

 private:
  std::filesystem::path partial() const;

  std::filesystem::path path_;
  const ModelCache& cache_;
  int fd_ = -1;
};

// "pypi.org" of an address, without user, password and port.
std::string host_of(std::string_view url);

}  // namespace anedvd
