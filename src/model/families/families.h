// The families, one function a file of this folder.
#pragma once

#include "model/family.h"

namespace anedvd {

const Family& llama_family();

}  // namespace anedvd
