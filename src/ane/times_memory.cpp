#include "ane/times_memory.h"

#include <chrono>
#include <fstream>
#include <sstream>

#include <unistd.h>

#include "base/mapped_file.h"
#include "base/words.h"

namespace anedvd {
namespace {

constexpr auto kLongest = std::chrono::hours(7 * 24);
constexpr double kMostMicroseconds = 1e9;

}  // namespace

TimesMemory::TimesMemory(std::filesystem::path file, std::string conditions)
    : file_(std::move(file)), conditions_(std::move(conditions)) {
  if (file_.empty()) return;
  std::error_code error;
  const auto written = std::filesystem::last_write_time(file_, error);
  if (error || std::filesystem::file_time_type::clock::now() - written > kLongest) return;
  const auto mapped = MappedFile::open(file_);
  if (!mapped) return;
  const auto bytes = mapped->bytes();
  std::istringstream lines(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  std::string line;
  if (!std::getline(lines, line) || line != conditions_) return;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    PartTimes times;
    bool is_good = true;
    for (double* number : {&times.device_us[0], &times.device_us[1], &times.host_us[0], &times.host_us[1]})
      is_good = is_good && words >> *number && *number >= 0 && *number < kMostMicroseconds;
    std::string shape;
    if (is_good && std::getline(words >> std::ws, shape) && !shape.empty()) shapes_[shape] = times;
  }
}

const PartTimes* TimesMemory::find(const std::string& shape) const {
  const auto found = shapes_.find(shape);
  return found == shapes_.end() ? nullptr : &found->second;
}

Result<> TimesMemory::save() const {
  if (file_.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(file_.parent_path(), error);
  // Named by the process: two that start together write the same, each for itself.
  const std::filesystem::path part = fmt::format("{}.{}", file_.string(), getpid());
  std::ofstream out(part, std::ios::binary);
  out << conditions_ << "\n";
  for (const auto& [shape, times] : shapes_)
    out << fmt::format("{} {} {} {} {}\n", times.device_us[0], times.device_us[1], times.host_us[0], times.host_us[1],
                       shape);
  out.close();
  if (out) std::filesystem::rename(part, file_, error);
  if (!out || error)
    return fail(ErrorCode::kIo, "{}: cannot be written; times are measured anew next time", visible(file_.string()));
  return {};
}

}  // namespace anedvd
