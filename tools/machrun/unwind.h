// Makes C++ exceptions find their way through the image's functions.
#pragma once

#include "image.h"

namespace machrun {

// Registers every frame description of `image` with this program's unwinder.
void register_frames(const Image& image);

}  // namespace machrun
