#include "ane/driver.h"

#include <system_error>
#include <utility>

namespace anedvd {

WeightFile& WeightFile::operator=(WeightFile&& other) noexcept {
  if (this == &other) return *this;
  remove();
  path_ = std::exchange(other.path_, {});
  digest_ = other.digest_;
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

void WeightFile::remove() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
  path_.clear();
}

Result<> WeightFile::move_to(const std::filesystem::path& target) {
  std::error_code error;
  std::filesystem::rename(path_, target, error);
  if (error) return fail(ErrorCode::kIo, "{}: cannot become {}: {}", path_.string(), target.string(), error.message());
  path_ = target;
  return {};
}

}  // namespace anedvd
