// The tensors of a safetensors file, checked: types known, every tensor's bytes inside the file and as many as its shape needs, and the data
// covered from first byte to last without overlap or gap.
//
// Data need not lie at multiples of the element size: older writers did not pad the header.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tensor/view.h"

namespace anedvd {

// A tensor that is well-formed but has no TensorView.
struct UnreadableTensor {
  std::string name;
  std::string why;           // "is stored as F8_E4M3", "has 5 dimensions"
  bool is_harmless = false;  // truth values and tensors without an element: nothing that a text model computes with
};

struct SafetensorsContents {
  std::vector<TensorView> tensors;  // in the order of their data
  std::vector<UnreadableTensor> unreadable;
};

// Reads a whole file; views borrow from `file`. A tensor of one number has shape [1]. U8 is shown as I8: the same bytes (MXFP4 blocks).
// `where` names the file in errors, which name the tensor: kBadFile for what breaks the format, kUnsupported for an unknown type name.
Result<SafetensorsContents> read_safetensors(std::span<const std::byte> file, std::string_view where);

}  // namespace anedvd
