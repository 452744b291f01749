// The stand-in's IOSurface: memory with a lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "object.h"

namespace standin {

struct Surface : Object {
  std::byte* memory = nullptr;
  size_t bytes = 0;
  int read_locks = 0, write_locks = 0;
  ~Surface();
};

void define_surfaces();

}  // namespace standin
