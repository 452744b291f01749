// Reads the dictionary that a loaded model describes itself with.
#pragma once

#include "ane/driver_failure.h"
#include "ane/model_attributes.h"
#include "ane/objc/runtime.h"

namespace anedvd::objc {

// `attributes`: what -modelAttributes answered. Its two halves are joined here: ANEFModelDescription (symbols, procedures, names) and
// NetworkStatusList (shapes and strides, one entry a procedure in the same order). Whatever is absent or of another class stays empty, and is
// refused later by the rules of find_layout(); only an answer with no list of tensors at all fails here.
DriverResult<ModelAttributes> read_attributes(Id attributes);

}  // namespace anedvd::objc
