// What compiles and runs programs behind the stand-in's classes: it sees the folder on disk as the compiler service does, never what wrote it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace standin {

// An NSError to be.
struct Failure {
  std::string domain;
  long code = 0;
  std::string words;
  std::optional<unsigned> status;
};

struct TensorInfo {
  std::string name;  // outputs without "@output"
  long long channels = 0, width = 0;
  long long row_stride() const { return (width * 2 + 63) / 64 * 64; }
  long long bytes() const { return row_stride() * channels; }
};

struct BoundTensor {
  int symbol = 0;
  std::span<std::byte> memory;
};

// A tensor and its index among the symbols of all procedures.
struct SymbolInfo {
  int index = 0;
  TensorInfo tensor;
};

// A function of the text. In symbol order, which is not the text's: sorted by name.
struct Procedure {
  std::string name;
  std::vector<SymbolInfo> inputs, outputs;
};

class Program {
 public:
  virtual ~Program() = default;
  virtual const std::vector<Procedure>& procedures() const = 0;
  virtual std::optional<Failure> evaluate(int procedure, std::span<const BoundTensor> inputs,
                                          std::span<const BoundTensor> outputs) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::optional<Failure> compile(const std::string& hex, const std::filesystem::path& folder) = 0;
  virtual bool is_compiled(const std::string& hex) const = 0;
  virtual std::unique_ptr<Program> load(const std::string& hex, std::optional<Failure>& failure) = 0;
};

// A few operations on [1, C, 1, W] halves with a MIL reader of its own: enough to see that text, weight file, strides and binding arrive.
std::unique_ptr<Backend> make_tiny_backend();

// The simulator with one of its profiles ("a18pro-27").
std::unique_ptr<Backend> make_sim_backend(const char* profile_name);

// Takes every program, keeps no weights and answers zeros: for measuring what the other side of the classes holds.
std::unique_ptr<Backend> make_hollow_backend();

// By ANEDVD_STANDIN_BACKEND: "tiny", "hollow", or a profile of the simulator; a18pro-27 without it.
std::unique_ptr<Backend> make_backend();

}  // namespace standin
