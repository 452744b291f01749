// Child processes, their limits and the signals that threads block.
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include <pthread.h>
#include <spawn.h>
#include <sys/resource.h>

#include "imports.h"

namespace machrun {
namespace {

// The list of actions is one pointer there: to one of this system's.
using Actions = posix_spawn_file_actions_t;

int actions_init(Actions** out) {
  *out = new Actions;
  return ::posix_spawn_file_actions_init(*out);
}
int actions_destroy(Actions** actions) {
  const int result = ::posix_spawn_file_actions_destroy(*actions);
  delete *actions;
  return result;
}
int actions_add_dup2(Actions** actions, int from, int to) {
  return ::posix_spawn_file_actions_adddup2(*actions, from, to);
}
int actions_add_close(Actions** actions, int file) { return ::posix_spawn_file_actions_addclose(*actions, file); }

// The executable itself is run as it was: by the words in MACHRUN_SELF (emulator, its flags, machrun), which machrun cannot find out.
int spawn(pid_t* process, const char* path, Actions* const* actions, const void*, char* const* arguments,
          char* const* environment) {
  std::vector<std::string> words;
  bool is_self = false;
  if (const char* self = std::getenv("MACHRUN_SELF"); self != nullptr && executable() == path) {
    std::istringstream list(self);
    for (std::string word; list >> word;) words.push_back(word);
    words.emplace_back(path);
    is_self = true;
  } else {
    words.emplace_back(arguments[0]);
  }
  for (int i = 1; arguments[i] != nullptr; ++i) words.emplace_back(arguments[i]);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return mac_error(::posix_spawn(process, is_self ? pointers[0] : path, actions != nullptr ? *actions : nullptr,
                                 nullptr, pointers.data(), environment));
}

// Signals are bits of one word there, with other numbers.
int mask_signals(int how, const uint32_t* given, uint32_t* before) {
  sigset_t wanted, old;
  sigemptyset(&wanted);
  for (int signal = 1; given != nullptr && signal < 32; ++signal)
    if ((*given >> (signal - 1) & 1) != 0) sigaddset(&wanted, signal_of(signal));
  constexpr int kHow[] = {SIG_BLOCK, SIG_BLOCK, SIG_UNBLOCK, SIG_SETMASK};
  const int result = ::pthread_sigmask(kHow[how & 3], given != nullptr ? &wanted : nullptr, &old);
  if (before != nullptr) {
    *before = 0;
    for (int signal = 1; signal < 32; ++signal)
      if (sigismember(&old, signal_of(signal)) == 1) *before |= 1u << (signal - 1);
  }
  return mac_error(result);
}

// Descriptors are number 8 there, address space 5.
int limit_of(int mac) { return mac == 8 ? RLIMIT_NOFILE : mac == 5 ? RLIMIT_AS : mac; }
int get_limit(int mac, rlimit* out) { return ::getrlimit(__rlimit_resource_t(limit_of(mac)), out); }
int set_limit(int mac, const rlimit* given) { return ::setrlimit(__rlimit_resource_t(limit_of(mac)), given); }

// The largest size is in bytes there, in kilobytes here.
int usage(int who, rusage* out) {
  const int result = ::getrusage(__rusage_who_t(who), out);
  out->ru_maxrss *= 1024;
  return result;
}

}  // namespace

void add_processes(Table& table) {
  put(table, "_posix_spawn", spawn);
  put(table, "_posix_spawn_file_actions_init", actions_init);
  put(table, "_posix_spawn_file_actions_destroy", actions_destroy);
  put(table, "_posix_spawn_file_actions_adddup2", actions_add_dup2);
  put(table, "_posix_spawn_file_actions_addclose", actions_add_close);
  put(table, "_pthread_sigmask", mask_signals);
  put(table, "_getrusage", usage);
  put(table, "_getrlimit", get_limit);
  put(table, "_setrlimit", set_limit);
}

}  // namespace machrun
