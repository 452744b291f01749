// Files that hold what a person wrote: whole or not at all, readable by their owner only.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.h"

namespace anedvd {

// Puts a file with this text (mode 0600) in the place of `path`. A link stays one: the file that it names is replaced. What is no regular
// file (/dev/stdout) is written to as it is. Error kIo.
Result<> write_private_file(const std::filesystem::path& path, std::string_view text);

}  // namespace anedvd
