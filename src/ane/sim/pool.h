// The places for loaded programs that all processes of a machine share (docs/ane.md#budgets).
//
//   POOL/000, 001, …   one file a place; whoever holds its lock has it
//
// The system drops a lock with the process, whatever way that ends: a place is never lost.
#pragma once

#include <filesystem>
#include <utility>

namespace anedvd::sim {

// One place, given back when this goes. Movable.
class Place {
 public:
  Place() = default;
  Place(Place&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  Place& operator=(Place&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~Place();

  // The first free one of `places`; none is taken when all are held, or when the folder cannot be written to.
  static Place take(const std::filesystem::path& pool, int places);
  bool is_taken() const { return file_ >= 0; }

 private:
  int file_ = -1;
};

}  // namespace anedvd::sim
