// Puts one row's block into its place in a packed panel, type by type. The layouts are told in pack.h.
#pragma once

#include <cstddef>

#include "cpu/kernels/kernel_table.h"

namespace anedvd {

// Writes the block (of as many inputs as the packed form's super-block covers) of row `column` of a panel into `out`, which was zeroed.
using PackBlock = void (*)(const std::byte* block, int column, std::byte* out);

// The packer of a form; null for the number formats, whose panels are plain transposes.
PackBlock block_packer(PackFormat format);

}  // namespace anedvd
