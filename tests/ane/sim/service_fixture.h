// A small program as text and file, to be changed in one place, and the simulated service to give it to.
#pragma once

#include <fstream>

#include <gtest/gtest.h>

#include "ane/mil_text.h"
#include "ane/sim/service.h"
#include "ane/small_program.h"
#include "ane/weight_blob.h"
#include "base/half.h"

namespace anedvd::sim {

inline Profile quiet(std::string_view name = "a18pro-27") {
  Profile profile = *profile_named(name);
  profile.cost.noise = 0;
  return profile;
}

// One program below a folder of its own.
class ProgramFolder {
 public:
  ProgramFolder() : path_(std::filesystem::path(testing::TempDir()) / fmt::format("sim-{}-{}", getpid(), count_++)) {
    std::filesystem::create_directories(path_ / "weights");
  }
  ~ProgramFolder() { std::filesystem::remove_all(path_); }

  const std::filesystem::path& path() const { return path_; }

  // A file of these records; returns their offsets.
  std::vector<uint64_t> records(const std::vector<BlobRecordData>& records, const std::string& name = "w.bin") {
    auto writer = *WeightFileWriter::create(path_, uint32_t(records.size()));
    std::vector<uint64_t> offsets;
    for (const BlobRecordData& record : records) {
      offsets.push_back(*writer.begin(record.type, record.elements));
      (void)writer.append(record.bytes);
    }
    files_.push_back(*writer.finish());
    (void)files_.back().move_to(path_ / "weights" / name);
    return offsets;
  }

  // The same of fp16 weights.
  std::vector<uint64_t> weights(const std::vector<std::vector<float>>& matrices, const std::string& name = "w.bin") {
    std::vector<BlobRecordData> data;
    for (const auto& matrix : matrices) {
      std::vector<uint16_t> halves(matrix.size());
      (void)to_weight_halves(matrix, halves);
      const auto bytes = std::as_bytes(std::span(halves));
      data.push_back({BlobType::kFp16, halves.size(), {bytes.begin(), bytes.end()}});
    }
    return records(data, name);
  }

  void text(std::string_view mil) { std::ofstream(path_ / "model.mil", std::ios::binary) << mil; }

 private:
  static inline int count_ = 0;
  std::filesystem::path path_;
  std::vector<WeightFile> files_;
};

// So many elements in so many bytes, all of which are `fill`.
inline BlobRecordData filled(BlobType type, uint64_t elements, size_t bytes, int fill = 0) {
  return {type, elements, std::vector<std::byte>(bytes, std::byte(fill))};
}

// A terse program around these statements: inputs and outputs as MIL writes them.
inline std::string program(const std::string& inputs, const std::string& body, const std::string& outputs) {
  return "program(1.3)\n[buildInfo = dict<string, string>({{\"coremlc-version\", \"3505.4.1\"}})]\n{\n  func "
         "main<ios18>(" +
         inputs + ") {\n" + body + "  } -> (" + outputs + ");\n}\n";
}

inline std::string statement(const std::string& type, const std::string& name, const std::string& call) {
  return fmt::format("    {} {} = {}[name = string(\"{}\")];\n", type, name, call, name);
}

inline std::string tensor(int64_t channels, int64_t width) {
  return fmt::format("tensor<fp16, [1, {}, 1, {}]>", channels, width);
}

// y = op(x) of [1, channels, 1, width].
inline std::string unary_program(const std::string& op, int64_t channels = 4, int64_t width = 8) {
  return program(tensor(channels, width) + " x", statement(tensor(channels, width), "y", op + "(x = x)"), "y");
}

// A weight record at `offset` of `file`, and the convolution NAME of `x` with it.
inline std::string conv_body(int64_t rows, int64_t cols, int64_t width, uint64_t offset, const std::string& name,
                             const std::string& x, const std::string& file = "w.bin") {
  return fmt::format(
             "    tensor<fp16, [{0}, {1}, 1, 1]> W{2} = const()[name = string(\"W{2}\"), val = tensor<fp16, [{0}, {1}, "
             "1, 1]>"
             "(BLOBFILE(path = string(\"@model_path/weights/{4}\"), offset = uint64({3})))];\n",
             rows, cols, name, offset, file) +
         statement(tensor(rows, width), name,
                   fmt::format(
                       "conv(dilations = dl, groups = gr, pad = pd, pad_type = pt, strides = st, weight = W{}, x = {})",
                       name, x));
}

inline const std::string kConvConstants =
    "    string pt = const()[name = string(\"pt\"), val = string(\"valid\")];\n"
    "    tensor<int32, [2]> st = const()[name = string(\"st\"), val = tensor<int32, [2]>([1, 1])];\n"
    "    tensor<int32, [4]> pd = const()[name = string(\"pd\"), val = tensor<int32, [4]>([0, 0, 0, 0])];\n"
    "    tensor<int32, [2]> dl = const()[name = string(\"dl\"), val = tensor<int32, [2]>([1, 1])];\n"
    "    int32 gr = const()[name = string(\"gr\"), val = int32(1)];\n";

inline std::vector<std::byte> memory(size_t bytes) { return std::vector<std::byte>(bytes); }

inline DriverResult<> compile(Service& service, const ProgramFolder& folder, const std::string& id = "p") {
  return service.compile(id, folder.path());
}

inline DriverResult<> compile_text(Service& service, const std::string& mil) {
  ProgramFolder folder;
  folder.text(mil);
  return compile(service, folder);
}

// Loads and evaluates program "p" with one input and one output of `bytes` bytes each.
inline DriverResult<> evaluate_once(Service& service, std::vector<std::byte>& in, std::vector<std::byte>& out) {
  const auto handle = service.load("p");
  if (!handle) return tl::unexpected(handle.error());
  const Bound inputs[] = {{0, in}}, outputs[] = {{0, out}};
  return service.evaluate(*handle, 0, inputs, outputs);
}

}  // namespace anedvd::sim
