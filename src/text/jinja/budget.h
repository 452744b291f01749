// What one render may use. Templates come with model files, so they are hostile until proven otherwise: each limit ends the render with
// an error, and together they keep it near a second and within memory_bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anedvd::jinja {

struct Limits {
  uint64_t steps =
      10'000'000;  // nodes evaluated, items visited, and one for each 64 bytes of text handled: about a second
  size_t memory_bytes = size_t{256} << 20;  // alive at one time
  size_t output_bytes = size_t{64} << 20;
  size_t stack_bytes = 400 << 10;  // threads of macOS have 512 KiB
};

class Budget {
 public:
  explicit Budget(const Limits& limits) : limits_(limits) { mark_stack(); }

  // False once the steps are used up.
  bool spend(uint64_t steps) {
    steps_ += steps;
    return steps_ <= limits_.steps;
  }
  bool spend_bytes(size_t bytes) { return spend(1 + bytes / 64); }
  bool out_of_steps() const { return steps_ > limits_.steps; }
  uint64_t steps() const { return steps_; }

  void take(size_t bytes) { bytes_ += bytes; }
  void give_back(size_t bytes) { bytes_ -= bytes; }
  bool out_of_memory() const { return bytes_ > limits_.memory_bytes; }

  // The stack is measured from here.
  void mark_stack() { stack_base_ = here(); }
  bool out_of_stack() const {
    const uintptr_t now = here();
    return (now < stack_base_ ? stack_base_ - now : now - stack_base_) > limits_.stack_bytes;
  }
  const Limits& limits() const { return limits_; }

 private:
  static uintptr_t here() { return reinterpret_cast<uintptr_t>(__builtin_frame_address(0)); }

  Limits limits_;
  uint64_t steps_ = 0;
  size_t bytes_ = 0;
  uintptr_t stack_base_ = 0;
};

}  // namespace anedvd::jinja
