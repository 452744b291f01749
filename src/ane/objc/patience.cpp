#include "ane/objc/patience.h"

#include <csignal>
#include <future>
#include <memory>
#include <thread>

#include <unistd.h>

#include "base/words.h"

namespace anedvd::objc {
namespace {

constexpr int kHeld[] = {SIGINT, SIGTERM, SIGHUP};
constexpr std::string_view kStalled = "the Neural Engine's service does not answer";

// Set by the handler. Signals have no other way in than a global.
volatile std::sig_atomic_t caught[std::size(kHeld)];

void remember(int signal) {
  for (size_t i = 0; i < std::size(kHeld); ++i)
    if (kHeld[i] == signal) caught[i] = 1;
  constexpr char kWords[] = "anedvd: stopping as soon as the Neural Engine's service answers\n";
  // Nothing can be done about a line that cannot be written.
  [[maybe_unused]] const auto wrote = ::write(STDERR_FILENO, kWords, sizeof kWords - 1);
}

// Holds the signals back from construction to destruction. Other threads receive them too, so a thread's mask would not do.
class SignalHold {
 public:
  SignalHold() {
    struct sigaction hold {};
    hold.sa_handler = remember;
    hold.sa_flags = SA_RESTART;
    sigemptyset(&hold.sa_mask);
    for (size_t i = 0; i < std::size(kHeld); ++i) {
      caught[i] = 0;
      ::sigaction(kHeld[i], &hold, &before_[i]);
    }
  }
  ~SignalHold() {
    for (size_t i = 0; i < std::size(kHeld); ++i) ::sigaction(kHeld[i], &before_[i], nullptr);
    for (size_t i = 0; i < std::size(kHeld); ++i)
      if (caught[i] != 0) ::raise(kHeld[i]);
  }
  SignalHold(const SignalHold&) = delete;
  SignalHold& operator=(const SignalHold&) = delete;

 private:
  struct sigaction before_[std::size(kHeld)];
};

}  // namespace

DriverResult<> run_patiently(const char* what, std::chrono::milliseconds limit, std::function<DriverResult<>()> work) {
  const SignalHold hold;
  auto promise = std::make_shared<std::promise<DriverResult<>>>();
  std::future<DriverResult<>> answer = promise->get_future();
  // Detached, against our habit: a call that never returns can never be joined, and the process must be able to end.
  // What the work owns is let go before the answer: who waits may count on it.
  std::thread([promise, work = std::move(work)]() mutable {
    DriverResult<> done = work();
    work = nullptr;
    promise->set_value(std::move(done));
  }).detach();
  if (answer.wait_for(limit) == std::future_status::ready) return answer.get();
  return tl::unexpected(
      own_failure(fmt::format("{} took more than {}: {}; restart the machine if it stays so", what,
                              duration_words(std::chrono::duration<double>(limit).count()), kStalled)));
}

bool is_stall(const DriverFailure& failure) { return failure.text.find(kStalled) != std::string::npos; }

}  // namespace anedvd::objc
