// One address into one file, by the system's curl.
//
// curl is run as a program (no shell; its options go through a pipe, so that addresses with a password stay out of the process list). It
// knows this machine's certificates, proxies and ~/.netrc. The bytes go to the file as they come: a transfer that broke off goes on from
// its end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace anedvd {

struct DownloadRequest {
  std::string url;
  std::filesystem::path file;
  uint64_t total = 0;            // bytes the file will have; 0: not known. More than that ends the transfer.
  bool may_resume = false;       // append to what the file holds
  int tries = 3;                 // that reach nobody or break off; pauses of 1 and 2 s between them
  std::string accept = {};       // header value; empty: anything
  std::string bearer = {};       // token for the host of `url`; empty: none
  std::string certificate = {};  // file of trusted certificates, if the environment names none
  std::string proxy = {};
};

enum class DownloadEnd {
  kDone,
  kStopped,       // Ctrl-C
  kNoConnection,  // nobody answered, or not to the end
  kRefused,       // the server answered, but not with the file: HTTP 403, 404
  kNotWritten,    // the file could not be written
  kNoCurl,        // the program is not here
};

struct DownloadOutcome {
  DownloadEnd end = DownloadEnd::kDone;
  std::string why;        // a few words: "name not resolved"
  std::string final_url;  // after redirects
  int tries = 0;
};

// Blocks until done. `tick` is called about ten times a second. Whatever the end, the bytes that arrived stay in the file.
DownloadOutcome download(const DownloadRequest& request, const std::function<void()>& tick);

// Bytes of a file; 0 if there is none.
uint64_t file_size_or_zero(const std::filesystem::path& path);

}  // namespace anedvd
