#include "cli/model_path.h"

#include "base/words.h"

namespace anedvd {

Result<std::filesystem::path> model_path(const std::string& model) {
  std::error_code error;
  if (std::filesystem::exists(model, error)) return std::filesystem::path(model);
  return fail(ErrorCode::kNotFound, "{}: no file and no known model; check the name", visible(model));
}

}  // namespace anedvd
