// What carries compiled programs to the Neural Engine, or to its simulator: bytes in, bytes out. Knows nothing of models.
//
//   Driver ── stage(text, weight file) ──► StagedProgram ── compile() ── load() ──► LoadedProgram ── bind(surfaces) ── evaluate()
//
// A driver does what it is told, once: which text to try, when to retry, how large surfaces are and which symbol gets which surface is decided
// above (ane_device.h), so that the private framework and the simulator are driven by the same code.
//
// One thread calls a driver and everything made from it. Destroying a LoadedProgram unloads it; a driver outlives what it made.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ane/driver_failure.h"
#include "ane/model_attributes.h"

namespace anedvd {

using Digest = std::array<std::byte, 32>;

// A weight file on disk (weight_blob.h), ready to be moved into a program's folder. Owns the file: removes it unless it was moved on.
class WeightFile {
 public:
  WeightFile() = default;  // a program without weights
  WeightFile(std::filesystem::path path, Digest digest, uint64_t bytes)
      : path_(std::move(path)), digest_(digest), bytes_(bytes) {}
  WeightFile(WeightFile&& other) noexcept { *this = std::move(other); }
  WeightFile& operator=(WeightFile&& other) noexcept;
  ~WeightFile() { remove(); }

  bool exists() const { return !path_.empty(); }
  const std::filesystem::path& path() const { return path_; }
  const Digest& digest() const { return digest_; }  // SHA-256 of the whole file
  uint64_t bytes() const { return bytes_; }

  // Renames the file (same file system) and goes on owning it there. Error: kIo.
  Result<> move_to(const std::filesystem::path& target);

 private:
  void remove();

  std::filesystem::path path_;
  Digest digest_ = {};
  uint64_t bytes_ = 0;
};

// Memory that host and device see. Contents are only valid, and the address only stable, between lock and unlock.
class Surface {
 public:
  virtual ~Surface() = default;
  virtual size_t bytes() const = 0;

  enum class Access { kRead, kWrite };
  virtual DriverResult<std::span<std::byte>> lock(Access access) = 0;
  virtual DriverResult<> unlock(Access access) = 0;  // with the access that locked
};

// A surface and the symbol it stands for: a position in ModelAttributes::input_symbols or output_symbols.
struct Binding {
  int symbol = 0;
  Surface* surface = nullptr;  // never null; outlives the program's evaluations
};

class LoadedProgram {
 public:
  virtual ~LoadedProgram() = default;

  // As the framework reports them after load: never assumed, never changed by the driver.
  virtual const ModelAttributes& attributes() const = 0;

  // Makes the request that every later evaluate() uses. Callable again.
  virtual DriverResult<> bind(std::span<const Binding> inputs, std::span<const Binding> outputs, int procedure) = 0;

  // Blocks until the outputs are written. Needs bind().
  virtual DriverResult<> evaluate() = 0;

  // Nanoseconds of the last evaluate() on the simulated chip's clock; 0 where time is real.
  virtual uint64_t simulated_nanoseconds() const { return 0; }
};

class StagedProgram {
 public:
  virtual ~StagedProgram() = default;

  // The framework's hexadecimal name of text, weight dictionary and options.
  virtual std::string_view id() const = 0;

  // Where the compiler reads model.mil and weights/w.bin.
  virtual std::filesystem::path folder() const = 0;

  // The service says it holds this program compiled already: load() may be tried without compile().
  virtual bool is_compiled() const = 0;

  // Each call counts against the process's compile budget, failed ones too. May take seconds.
  virtual DriverResult<> compile() = 0;

  // Succeeds at most once. May take seconds. The staged program may be destroyed afterwards, the loaded one lives on.
  virtual DriverResult<std::unique_ptr<LoadedProgram>> load() = 0;

  // Takes the weight file out of the program's folder again, into scratch_folder(), to stage another text with it. Ends this staged program.
  virtual DriverResult<WeightFile> take_weights_back() = 0;
};

// What stands in the weight dictionary, which only feeds the program's name (docs/ane.md#weight-dictionary).
enum class DictionaryContent {
  kDigest,    // the 32 bytes of the file's digest
  kTrueData,  // the file's bytes, mapped
  kNothing,   // no bytes: programs of equal text share a name, whatever their weights; for probes
};

class Driver {
 public:
  virtual ~Driver() = default;

  virtual std::string_view name() const = 0;  // "ane", "sim"

  // Chip and system as one line, for `info` and as a key of what was probed: "h16g, 25F71".
  virtual std::string machine() const = 0;

  // Where weight files are to be written before stage(): a folder on the file system of the programs' folders, readable by the owner only.
  virtual const std::filesystem::path& scratch_folder() const = 0;

  // Lays out the program's folder: `model.mil` with exactly these bytes and, if there are weights, `weights/w.bin` (moved, not copied).
  virtual DriverResult<std::unique_ptr<StagedProgram>> stage(std::string_view mil, WeightFile weights,
                                                             DictionaryContent dictionary) = 0;

  // Zeroed memory of exactly `bytes` bytes.
  virtual DriverResult<std::unique_ptr<Surface>> make_surface(size_t bytes) = 0;

  // The simulated wall clock, for a driver that has one: host work done between evaluations matters to the cost of a launch.
  virtual void host_worked(uint64_t /*nanoseconds*/) {}
};

}  // namespace anedvd
