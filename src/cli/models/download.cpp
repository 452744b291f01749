#include "cli/models/download.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "base/words.h"
#include "cli/terminal/interrupt.h"

namespace anedvd {
namespace {

constexpr int kTickMs = 100;
constexpr int kConnectSeconds = 20;
constexpr int kSilenceSeconds = 60;  // a transfer this long without a byte is given up, and tried again
constexpr int kNoSuchProgram = 127;  // what the child says when it cannot become curl; curl's own codes end at 99
constexpr size_t kMaxWords = 4096;   // of curl's own output

// One run of curl.
struct CurlRun {
  int code = 0;         // curl's exit code, see "EXIT CODES" of its manual
  int http_status = 0;  // 0: no answer
  std::string final_url;
  std::string words;  // its error line
  bool is_stopped = false;
  bool is_too_long = false;
};

class Pipe {
 public:
  Pipe() {
    if (pipe(ends_) != 0) ends_[0] = ends_[1] = -1;
    for (const int end : ends_)
      if (end >= 0) fcntl(end, F_SETFD, FD_CLOEXEC);
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  bool is_open() const { return ends_[0] >= 0; }
  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void close_end(int which) {
    if (ends_[which] >= 0) close(ends_[which]);
    ends_[which] = -1;
  }

 private:
  int ends_[2];
};

// A line of curl's configuration language: name = "value" with \ and " escaped.
std::string setting(const std::string& name, const std::string& value) {
  std::string line = name + " = \"";
  for (const char c : value) {
    if (c == '\n' || c == '\r' || c == '\0') continue;  // would start a setting of its own
    if (c == '"' || c == '\\') line += '\\';
    line += c;
  }
  return line + "\"\n";
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value;
}

std::string settings_of(const DownloadRequest& request, bool resumes) {
  std::string text = "silent\nshow-error\nfail\nlocation\ngloboff\nnetrc-optional\n";
  text += setting("proto", "=http,https") + setting("proto-redir", "=http,https");
  text += setting("max-redirs", "10") + setting("connect-timeout", fmt::format("{}", kConnectSeconds));
  text += setting("speed-limit", "1") + setting("speed-time", fmt::format("{}", kSilenceSeconds));
  text += setting("url", request.url) + setting("output", request.file.string());
  text += setting("write-out", "%{http_code} %{url_effective}");
  if (resumes) text += setting("continue-at", "-");
  if (!request.accept.empty()) text += setting("header", "Accept: " + request.accept);
  if (!request.bearer.empty()) text += setting("header", "Authorization: Bearer " + request.bearer);
  if (!request.proxy.empty()) text += setting("proxy", request.proxy);
  // curl reads these two itself; what pip was told comes after.
  if (!request.certificate.empty() && !is_set("CURL_CA_BUNDLE") && !is_set("SSL_CERT_FILE") &&
      access(request.certificate.c_str(), R_OK) == 0) {
    text += setting("cacert", request.certificate);
  }
  return text;
}

[[noreturn]] void become_curl(const Pipe& in, const Pipe& out, const Pipe& err) {
  // Only calls that are safe between fork and exec.
#if defined(__linux__)
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // nobody would stop it if we were killed
#endif
  std::signal(SIGPIPE, SIG_DFL);
  dup2(in.reader(), STDIN_FILENO);
  dup2(out.writer(), STDOUT_FILENO);
  dup2(err.writer(), STDERR_FILENO);
  const char* const arguments[] = {"curl", "--config", "-", nullptr};
  execvp(arguments[0], const_cast<char* const*>(arguments));
  _exit(kNoSuchProgram);
}

// Moves what is there to `text`; false at the end of the pipe.
bool read_some(int fd, std::string& text) {
  char buffer[1024];
  const ssize_t count = read(fd, buffer, sizeof buffer);
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  if (text.size() < kMaxWords) text.append(buffer, size_t(count));
  return count > 0;
}

// "curl: (6) Could not resolve host: x" → "Could not resolve host: x".
std::string error_words(std::string text) {
  text = text.substr(0, text.find('\n'));
  if (const size_t at = text.find(") "); text.starts_with("curl: (") && at != std::string::npos)
    text = text.substr(at + 2);
  return visible(text, 120);
}

CurlRun run_curl(const DownloadRequest& request, bool resumes, const std::function<void()>& tick) {
  CurlRun run;
  Pipe in, out, err;
  const std::string settings = settings_of(request, resumes);
  // A pipe holds at least 16 KiB: written before there is a reader, so that a child that dies at once costs us no SIGPIPE.
  if (!in.is_open() || !out.is_open() || !err.is_open() || settings.size() > 16384 ||
      write(in.writer(), settings.data(), settings.size()) != ssize_t(settings.size())) {
    run.code = kNoSuchProgram;
    return run;
  }
  in.close_end(1);
  const pid_t child = fork();
  if (child == 0) become_curl(in, out, err);
  if (child < 0) {
    run.code = kNoSuchProgram;
    return run;
  }
  out.close_end(1);
  err.close_end(1);

  std::string answer;
  pollfd waiting[2] = {{out.reader(), POLLIN, 0}, {err.reader(), POLLIN, 0}};
  bool is_killed = false;
  while (waiting[0].fd >= 0 || waiting[1].fd >= 0) {
    poll(waiting, 2, kTickMs);
    if (waiting[0].fd >= 0 && waiting[0].revents != 0 && !read_some(waiting[0].fd, answer)) waiting[0].fd = -1;
    if (waiting[1].fd >= 0 && waiting[1].revents != 0 && !read_some(waiting[1].fd, run.words)) waiting[1].fd = -1;
    waiting[0].revents = waiting[1].revents = 0;
    tick();
    run.is_stopped = SoftStop::requested();
    run.is_too_long = request.total > 0 && file_size_or_zero(request.file) > request.total;
    if ((run.is_stopped || run.is_too_long) && !is_killed) {
      kill(child, SIGTERM);
      is_killed = true;
    }
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  run.is_stopped = SoftStop::requested();
  run.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  run.http_status = std::atoi(answer.c_str());
  if (const size_t blank = answer.find(' '); blank != std::string::npos) run.final_url = answer.substr(blank + 1);
  run.words = error_words(run.words);
  return run;
}

// What became of one run; nullopt: worth another try.
std::optional<DownloadOutcome> judge(const CurlRun& run, std::string& why) {
  const auto ended = [&](DownloadEnd end) { return DownloadOutcome{end, why, run.final_url, 0}; };
  if (run.is_stopped || run.code == 128 + SIGINT) return ended(DownloadEnd::kStopped);
  if (run.is_too_long) {
    why = "more bytes than the file has";
    return ended(DownloadEnd::kRefused);
  }
  switch (run.code) {
    case 0: return ended(DownloadEnd::kDone);
    case 5: why = "proxy name not resolved"; return std::nullopt;
    case 6: why = "name not resolved"; return std::nullopt;
    case 7: why = "no host answers there"; return std::nullopt;
    case 18:
    case 56: why = "connection lost"; return std::nullopt;
    case 28: why = "timed out"; return std::nullopt;
    case 52: why = "empty answer"; return std::nullopt;
    case 22:
      why = fmt::format("HTTP {}", run.http_status);
      // Busy, slow, or broken for the moment: 408, 429 and all of 5xx.
      if (run.http_status == 408 || run.http_status == 429 || run.http_status >= 500) return std::nullopt;
      return ended(DownloadEnd::kRefused);
    case 23: return ended(DownloadEnd::kNotWritten);
    case 60: why = "its certificate is not trusted here"; return ended(DownloadEnd::kRefused);
    case 63: why = "larger than allowed"; return ended(DownloadEnd::kRefused);
    case kNoSuchProgram: return ended(DownloadEnd::kNoCurl);
    default: why = run.words.empty() ? fmt::format("curl code {}", run.code) : run.words; return std::nullopt;
  }
}

}  // namespace

uint64_t file_size_or_zero(const std::filesystem::path& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : uint64_t(size);
}

DownloadOutcome download(const DownloadRequest& request, const std::function<void()>& tick) {
  constexpr int kRangeRefused = 33;
  constexpr int kMostRuns = 100;  // of a server that sends a little and breaks off, again and again
  std::string why;
  for (int tried = 0, runs = 0; tried < request.tries && runs < kMostRuns; ++runs) {
    const uint64_t before = request.may_resume ? file_size_or_zero(request.file) : 0;
    if (before > 0 && before == request.total) return {DownloadEnd::kDone, "", request.url, tried};
    const CurlRun run = run_curl(request, before > 0, tick);
    const bool must_restart = run.code == kRangeRefused || (run.code == 22 && run.http_status == 416);
    if (must_restart && before > 0 && !run.is_stopped) {
      std::error_code ignored;
      std::filesystem::remove(request.file, ignored);  // this server sends a file from its start only
      continue;
    }
    ++tried;
    if (auto outcome = judge(run, why)) {
      outcome->tries = tried;
      return *outcome;
    }
    // A try that brought something forward was not in vain: only those in a row that bring nothing count.
    if (request.may_resume && file_size_or_zero(request.file) > before) tried = 1;
    if (tried < request.tries) poll(nullptr, 0, 1000 * tried);
    if (SoftStop::requested()) return {DownloadEnd::kStopped, "", "", tried};
  }
  return {DownloadEnd::kNoConnection, why, "", request.tries};
}

}  // namespace anedvd
