#include "cli/chat/raw_terminal.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/terminal/console.h"

namespace anedvd {
namespace {

constexpr int kEscapeMs = 50;           // longer between two bytes of a sequence than any terminal takes
constexpr size_t kReadBytes = 4 << 10;  // what a terminal hands over at once
constexpr int kReportMs = 300;          // for an answer of the terminal, also over a slow line
constexpr std::string_view kAskForCursor = "\x1b[6n";
constexpr std::string_view kMarkPastes = "\x1b[?2004h";
constexpr std::string_view kLeavePastes = "\x1b[?2004l";

// Signal handlers cannot be given an argument: what they need is here.
struct HandlerState {
  termios saved = {};
  termios raw = {};
  volatile std::sig_atomic_t is_raw = 0;
  volatile std::sig_atomic_t takes_keys = 0;
  volatile std::sig_atomic_t interrupts = 0;
  volatile std::sig_atomic_t resizes = 0;
  int wake_read = -1, wake_write = -1;
};
HandlerState state;

constexpr int kFatal[] = {SIGTERM, SIGHUP, SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
constexpr int kHandled[] = {SIGINT,  SIGWINCH, SIGCONT, SIGTERM, SIGHUP, SIGQUIT,
                            SIGABRT, SIGSEGV,  SIGBUS,  SIGILL,  SIGFPE};
struct sigaction before[std::size(kHandled)];

// Only functions that a signal handler may call.
void restore() {
  if (state.is_raw == 0) return;
  state.is_raw = 0;
  if (state.takes_keys != 0) (void)!write(STDERR_FILENO, kLeavePastes.data(), kLeavePastes.size());
  // Now, not when all is written: on a line that is held, a handler would wait for ever. Output is treated alike in both modes.
  tcsetattr(STDIN_FILENO, TCSANOW, &state.saved);
}

void make_raw() {
  state.raw = state.saved;
  // Output processing stays: other parts of the program write plain newlines. Ctrl-C becomes a key with take_keys().
  state.raw.c_iflag &= ~tcflag_t(BRKINT | ICRNL | INLCR | IGNCR | INPCK | ISTRIP | IXON);
  state.raw.c_lflag &= ~tcflag_t(ECHO | ICANON | IEXTEN);
  if (state.takes_keys != 0) state.raw.c_lflag &= ~tcflag_t(ISIG);
  state.raw.c_cc[VMIN] = 1;
  state.raw.c_cc[VTIME] = 0;
  // Drain, not flush: what was typed ahead is meant.
  tcsetattr(STDIN_FILENO, TCSADRAIN, &state.raw);
  state.is_raw = 1;
  if (state.takes_keys != 0) (void)write_all(STDERR_FILENO, kMarkPastes);
}

void wake() {
  const int kept = errno;
  (void)!write(state.wake_write, "", 1);
  errno = kept;
}

extern "C" void on_chat_interrupt(int) {
  if (state.takes_keys != 0) {
    state.interrupts = state.interrupts + 1;
    return wake();
  }
  restore();
  (void)!write(STDERR_FILENO, "\n", 1);
  _exit(kInterrupted);
}

extern "C" void on_chat_resize(int) {
  state.resizes = 1;
  wake();
}

// Stopped from outside and continued: the shell had its own modes meanwhile.
extern "C" void on_chat_continue(int) {
  const int kept = errno;
  if (state.is_raw != 0) {
    tcsetattr(STDIN_FILENO, TCSADRAIN, &state.raw);
    if (state.takes_keys != 0) (void)!write(STDERR_FILENO, kMarkPastes.data(), kMarkPastes.size());
  }
  state.resizes = 1;
  wake();
  errno = kept;
}

extern "C" void on_chat_death(int signal) {
  restore();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void install_handlers() {
  for (size_t i = 0; i < std::size(kHandled); ++i) {
    const int signal = kHandled[i];
    sigaction(signal, nullptr, &before[i]);
    const bool is_fatal = std::find(std::begin(kFatal), std::end(kFatal), signal) != std::end(kFatal);
    if (is_fatal && before[i].sa_handler == SIG_IGN) continue;  // nohup
    struct sigaction action = {};
    action.sa_handler = is_fatal             ? on_chat_death
                        : signal == SIGINT   ? on_chat_interrupt
                        : signal == SIGWINCH ? on_chat_resize
                                             : on_chat_continue;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
  }
}

void remove_handlers() {
  for (size_t i = 0; i < std::size(kHandled); ++i) sigaction(kHandled[i], &before[i], nullptr);
}

}  // namespace

Result<RawTerminal> RawTerminal::open() {
  int ends[2] = {-1, -1};
  if (tcgetattr(STDIN_FILENO, &state.saved) != 0 || pipe(ends) != 0)
    return fail(ErrorCode::kIo, "terminal: {}; give the messages through a pipe", std::strerror(errno));
  for (const int end : ends) {
    fcntl(end, F_SETFD, FD_CLOEXEC);
    fcntl(end, F_SETFL, O_NONBLOCK);
  }
  state.wake_read = ends[0];
  state.wake_write = ends[1];
  state.takes_keys = 0;
  state.interrupts = 0;
  state.resizes = 0;
  install_handlers();
  make_raw();
  RawTerminal terminal;
  terminal.is_owner_ = true;
  terminal.read_earlier_keys();
  return terminal;
}

RawTerminal::RawTerminal(RawTerminal&& other) noexcept
    : is_owner_(std::exchange(other.is_owner_, false)),
      is_at_end_(other.is_at_end_),
      decoder_(std::move(other.decoder_)),
      keys_(std::move(other.keys_)) {}

RawTerminal::~RawTerminal() {
  if (!is_owner_) return;
  restore();
  remove_handlers();
  close(state.wake_read);
  close(state.wake_write);
}

void RawTerminal::take_keys() {
  state.takes_keys = 1;
  make_raw();
}

// What was typed before the program ran: the terminal has made newlines of its Enters.
void RawTerminal::read_earlier_keys() {
  int waiting = 0;
  if (ioctl(STDIN_FILENO, FIONREAD, &waiting) != 0 || waiting <= 0) return;
  std::string bytes(size_t(waiting), '\0');
  const ssize_t count = read(STDIN_FILENO, bytes.data(), bytes.size());
  bytes.resize(size_t(std::max<ssize_t>(count, 0)));
  std::replace(bytes.begin(), bytes.end(), '\n', '\r');
  std::vector<Key> keys;
  decoder_.push(bytes, keys);
  keys_.assign(std::make_move_iterator(keys.begin()), std::make_move_iterator(keys.end()));
}

bool RawTerminal::has_key() {
  if (keys_.empty() && !is_at_end_) read_keys(0);
  return !keys_.empty();
}

void RawTerminal::read_keys(int timeout_ms) {
  pollfd watched[] = {{STDIN_FILENO, POLLIN, 0}, {state.wake_read, POLLIN, 0}};
  const int ready = poll(watched, std::size(watched), timeout_ms);
  std::vector<Key> keys;
  if (ready > 0 && watched[1].revents != 0) {
    char bytes[64];
    (void)!read(state.wake_read, bytes, sizeof bytes);
  }
  if (ready > 0 && watched[0].revents != 0) {
    char bytes[kReadBytes];
    const ssize_t count = read(STDIN_FILENO, bytes, sizeof bytes);
    if (count > 0)
      decoder_.push({bytes, size_t(count)}, keys);
    else if (count == 0 || (errno != EINTR && errno != EAGAIN))
      is_at_end_ = true;
  }
  if (ready == 0 && timeout_ms > 0 && decoder_.is_waiting()) decoder_.flush(keys);
  // The Ctrl-C that somebody sent by a signal.
  if (state.interrupts > 0) {
    state.interrupts = 0;
    keys.push_back({KeyKind::kControl, {}, 'c'});
  }
  keys_.insert(keys_.end(), std::make_move_iterator(keys.begin()), std::make_move_iterator(keys.end()));
}

RawTerminal::Wake RawTerminal::wait(Key& key) {
  for (;;) {
    if (state.resizes != 0) {
      state.resizes = 0;
      return Wake::kResized;
    }
    if (!keys_.empty()) {
      key = std::move(keys_.front());
      keys_.pop_front();
      return Wake::kKey;
    }
    if (is_at_end_) return Wake::kEnd;
    read_keys(decoder_.is_waiting() ? kEscapeMs : -1);
  }
}

std::optional<int> RawTerminal::cursor_row() {
  using Clock = std::chrono::steady_clock;
  (void)write_all(STDERR_FILENO, kAskForCursor);
  const auto end = Clock::now() + std::chrono::milliseconds(kReportMs);
  for (size_t seen = 0;;) {
    for (; seen < keys_.size(); ++seen) {
      if (keys_[seen].kind != KeyKind::kCursorReport) continue;
      const int row = keys_[seen].row - 1;
      keys_.erase(keys_.begin() + std::ptrdiff_t(seen));
      return row;
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0 || is_at_end_) return std::nullopt;
    read_keys(int(left));
  }
}

bool RawTerminal::interrupted() {
  if (!is_at_end_) read_keys(0);
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i].is_control('z') || keys_[i].is_control('\\')) {
      const bool quits = keys_[i].is_control('\\');
      keys_.erase(keys_.begin() + std::ptrdiff_t(i));
      quits ? quit() : suspend();
      return false;
    }
    if (!keys_[i].is_control('c')) continue;
    keys_.erase(keys_.begin(), keys_.begin() + std::ptrdiff_t(i) + 1);
    return true;
  }
  return false;
}

void RawTerminal::release() { restore(); }

void RawTerminal::resume() {
  // Another program may have changed the size, or the person the modes.
  tcgetattr(STDIN_FILENO, &state.saved);
  make_raw();
  state.resizes = 1;
}

void RawTerminal::suspend() {
  restore();
  // The whole group, as the terminal would: whoever reads our output in a pipeline stops too.
  kill(0, SIGTSTP);
  resume();
}

void RawTerminal::quit() {
  restore();
  remove_handlers();
  raise(SIGQUIT);
  install_handlers();
  make_raw();
}

ScreenSize RawTerminal::size() {
  winsize window = {};
  ScreenSize size;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 || ioctl(STDIN_FILENO, TIOCGWINSZ, &window) == 0) {
    if (window.ws_col > 0) size.columns = window.ws_col;
    if (window.ws_row > 0) size.lines = window.ws_row;
  }
  return size;
}

}  // namespace anedvd
