// Ctrl-C, and readers that leave.
//
// Outside a SoftStop, Ctrl-C ends the process at once with exit code 130: nothing would be lost. Inside one the first Ctrl-C only sets a
// flag that the work asks for, so that it can keep what it has; the second one ends the process.
#pragma once

namespace anedvd {

// Called once by main: handles SIGINT (unless the parent had it ignored, as nohup and `&` do), ignores SIGPIPE so that a reader
// that left is an error of write(), and makes sure that descriptors 0 to 2 are open, so that no file ever gets one of these numbers.
void install_signal_handlers();

// While one of these is alive, Ctrl-C is a request. Main thread only.
class SoftStop {
 public:
  SoftStop();
  ~SoftStop();
  SoftStop(const SoftStop&) = delete;
  SoftStop& operator=(const SoftStop&) = delete;

  // Somebody pressed Ctrl-C since the outermost SoftStop began. Any thread.
  static bool requested();
};

}  // namespace anedvd
