#include "ane/sim/pool.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/result.h"

namespace anedvd::sim {

Place::~Place() {
  if (file_ >= 0) ::close(file_);
}

Place Place::take(const std::filesystem::path& pool, int places) {
  Place place;
  std::error_code ignored;
  std::filesystem::create_directories(pool, ignored);
  for (int i = 0; i < places; ++i) {
    const int file = ::open((pool / fmt::format("{:03}", i)).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return place;
    // flock, not fcntl: two drivers of one process are two holders.
    if (::flock(file, LOCK_EX | LOCK_NB) == 0) {
      place.file_ = file;
      return place;
    }
    ::close(file);
  }
  return place;
}

}  // namespace anedvd::sim
