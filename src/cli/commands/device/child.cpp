#include "cli/commands/device/child.h"

#include <chrono>
#include <csignal>
#include <cstdint>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/result.h"

#if defined(__APPLE__)
#include <mach-o/dyld.h>
#endif

extern char** environ;

namespace anedvd {
namespace {

std::string own_path() {
#if defined(__APPLE__)
  char path[4096];
  uint32_t bytes = sizeof path;
  return _NSGetExecutablePath(path, &bytes) == 0 ? path : "anedvd";
#else
  return "/proc/self/exe";
#endif
}

}  // namespace

std::string ChildResult::words() const {
  if (timed_out) return "no answer in time";
  if (signal != 0) return fmt::format("ended by signal {}", signal);
  return fmt::format("exit code {}", exit_code);
}

ChildResult run_child(const std::vector<std::string>& arguments, int seconds) {
  ChildResult result;
  int pipes[2];
  if (::pipe(pipes) != 0) return result;
  // Not fork: the Objective-C runtime does not survive it.
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipes[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, pipes[0]);
  posix_spawn_file_actions_addclose(&actions, pipes[1]);
  std::vector<std::string> words = {"anedvd"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t child = 0;
  const int error = ::posix_spawn(&child, own_path().c_str(), &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(pipes[1]);
  if (error != 0) {
    ::close(pipes[0]);
    return result;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    pollfd waited{pipes[0], POLLIN, 0};
    if (left <= 0 || ::poll(&waited, 1, int(left)) == 0) {
      result.timed_out = true;
      ::kill(child, SIGKILL);
      break;
    }
    char bytes[4096];
    const ssize_t got = ::read(pipes[0], bytes, sizeof bytes);
    if (got <= 0) break;
    result.output.append(bytes, size_t(got));
  }
  ::close(pipes[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

}  // namespace anedvd
