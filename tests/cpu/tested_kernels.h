// The kernel tables that the tests compare with the scalar one.
#pragma once

#include <vector>

#include "cpu/kernels/select.h"

namespace anedvd {

// The products of tiles with plain loops for tiles, over the scalar vector: runs everywhere.
const KernelTable* emulated_tile_kernels();

// The amx level as it is compiled. On a processor without tiles (but with what else the level needs) a handler of the illegal instructions carries them
// out, one by one. Null: this processor or system cannot do that either.
const KernelTable* amx_kernels_or_by_hand();

// What this processor runs, and both of those.
inline std::vector<const KernelTable*> tested_kernels() {
  std::vector<const KernelTable*> levels = available_kernels();
  levels.push_back(emulated_tile_kernels());
  const KernelTable* amx = amx_kernels_or_by_hand();
  if (amx != nullptr && amx != levels[levels.size() - 2]) levels.push_back(amx);
  return levels;
}

}  // namespace anedvd
