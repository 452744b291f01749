#include "cli/terminal/interrupt.h"

#include <csignal>

#include <fcntl.h>
#include <unistd.h>

#include "cli/command.h"

namespace anedvd {
namespace {

// Written by the signal handler: the one kind of global that cannot be a constant.
volatile std::sig_atomic_t soft_depth = 0;
volatile std::sig_atomic_t stop_requested = 0;

extern "C" void on_interrupt(int) {
  if (soft_depth > 0 && stop_requested == 0) {
    stop_requested = 1;
    return;
  }
  // The terminal has echoed ^C: the shell's prompt should not follow on that line.
  if (isatty(STDERR_FILENO) != 0) (void)!write(STDERR_FILENO, "\n", 1);
  _exit(kInterrupted);
}

}  // namespace

void install_signal_handlers() {
  for (int fd = 0; fd <= 2; ++fd) {
    // A closed standard output must stay an error: reading mode makes write() fail.
    if (fcntl(fd, F_GETFD) < 0) (void)!open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow (ulimit -f) is an error of write(), like a full disk
  struct sigaction before = {};
  sigaction(SIGINT, nullptr, &before);
  if (before.sa_handler == SIG_IGN) return;
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = 0;  // no SA_RESTART: a read from the terminal returns
  sigaction(SIGINT, &action, nullptr);
}

SoftStop::SoftStop() {
  if (soft_depth == 0) stop_requested = 0;
  soft_depth = soft_depth + 1;
}

SoftStop::~SoftStop() { soft_depth = soft_depth - 1; }

bool SoftStop::requested() { return stop_requested != 0; }

}  // namespace anedvd
