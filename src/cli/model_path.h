// From what a person calls a model to the file or folder that holds it.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace anedvd {

// A path that exists is taken as it is; a bare name is looked up in the model cache and fetched when it is known but not there yet.
Result<std::filesystem::path> model_path(const std::string& model);

// The name that a person knows a model by: the file's without its ending, or the folder's.
std::string model_title(const std::filesystem::path& path);

}  // namespace anedvd
