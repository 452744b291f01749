// The arguments that an operation of MIL takes (coremltools' op definitions are the authority for names).
#pragma once

#include <span>
#include <string_view>

namespace anedvd::sim {

enum class Shape {
  kSame,        // of x
  kBroadcast,   // of x and y
  kConv,        // [1, rows of the weight, 1, width]
  kReduced,     // of x with the axes of extent 1
  kConcat,      // sum over an axis
  kSlice,       // as `size` says
  kMatmul,      // rows of x with those of y: [1, channels, 1, 1]
  kToInt8,      // of the input, in whole numbers
  kFromInt8,    // of the input, in fp16
  kAsDeclared,  // not simulated: the text is believed
  kConstant,    // of a constexpr operation: as declared, checked by it
};

struct Signature {
  std::string_view op;
  std::span<const std::string_view> arguments;  // all required; each exactly once
  Shape shape;
};

// nullptr: the simulator does not know the operation.
const Signature* signature_of(std::string_view op);
std::span<const Signature> all_signatures();

}  // namespace anedvd::sim
