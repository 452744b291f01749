// thread_local variables of a Mach-O: each is a descriptor {function, key, offset} whose function is called with it and answers the address,
// keeping every register but x0 and x16.
#pragma once

#include "image.h"
#include "imports.h"

namespace machrun {

void add_thread_locals(Table& table);

// Tells where the initial values lie. Before any code of the image runs.
void use_thread_locals_of(const Image& image);

}  // namespace machrun
