// Runs the bridge against the stand-in (tests/standin): a temporary folder of the test's own, faults on order, and a count of objects that must
// not grow.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "ane/objc/objc_driver.h"
#include "ane/weight_blob.h"
#include "base/half.h"

#if !defined(ANEDVD_STANDIN_LIBRARY)
// Statically linked test programs cannot open a library: these tests are left out.
#define ANEDVD_STANDIN_LIBRARY ""
#endif

namespace anedvd::test {

class StandIn : public ::testing::Test {
 protected:
  template <class Signature, class... A>
  auto call(const char* name, A... arguments) {
    return reinterpret_cast<Signature*>(::dlsym(handle_, name))(arguments...);
  }

  void SetUp() override {
    if (std::string(ANEDVD_STANDIN_LIBRARY).empty()) GTEST_SKIP() << "no stand-in for a static program";
    // Asked once: each test points TMPDIR into a folder of its own, which is gone afterwards.
    static const std::string base = testing::TempDir();
    std::string folder = base + "/anedvd-objc-test-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    temporary_ = folder;
    ::setenv("TMPDIR", folder.c_str(), 1);
    // Its own reader of programs: what the bridge sends is not judged by code of this repository's simulator.
    ::setenv("ANEDVD_STANDIN_BACKEND", "tiny", 0);
    const std::string library = ANEDVD_STANDIN_LIBRARY;
    const auto loaded = objc::load_runtime({library, library, library, library});
    ASSERT_TRUE(loaded) << loaded.error().message;
    // Already open: this only finds the handle.
    handle_ = ::dlopen(library.c_str(), RTLD_NOW);
    live_before_ = live_objects();
  }

  void TearDown() override {
    if (handle_ == nullptr) return;
    call<void()>("standin_reset");
    EXPECT_EQ(live_objects(), live_before_) << "objects left alive: " << live_words();
    EXPECT_EQ(call<int()>("standin_loaded"), 0) << "programs left loaded";
    std::filesystem::remove_all(temporary_);
    ::unsetenv("TMPDIR");
  }

  void order(const std::string& faults) { call<void(const char*)>("standin_order_faults", faults.c_str()); }
  int64_t live_objects() { return call<int64_t(char*, size_t)>("standin_live_objects", nullptr, size_t(0)); }
  std::string live_words() {
    char words[512] = "";
    call<int64_t(char*, size_t)>("standin_live_objects", words, sizeof words);
    return words;
  }

  std::unique_ptr<Driver> open(const objc::DriverOptions& options = {}) {
    const std::string library = ANEDVD_STANDIN_LIBRARY;
    auto driver = objc::open_objc_driver({library, library, library, library}, options);
    EXPECT_TRUE(driver) << driver.error().message;
    return driver ? std::move(*driver) : nullptr;
  }

  // Entries of the temporary folder that are neither the lock nor a process's own folder: programs.
  std::vector<std::string> programs_on_disk() const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(temporary_))
      if (const auto name = entry.path().filename().string(); !name.starts_with("anedvd")) out.push_back(name);
    return out;
  }

  std::filesystem::path temporary_;

 private:
  void* handle_ = nullptr;
  int64_t live_before_ = 0;
};

// A weight file with one tensor of halves, made by hand from docs/ane.md#blob.
inline WeightFile write_weights(const std::filesystem::path& folder, const std::vector<float>& values) {
  static int count = 0;
  std::vector<std::byte> bytes(128 + values.size() * 2);
  const auto put = [&](size_t at, auto value) { std::memcpy(bytes.data() + at, &value, sizeof value); };
  put(0, uint32_t(1));
  put(4, uint32_t(2));
  put(64, uint32_t(0xDEADBEEF));
  put(68, uint32_t(1));
  put(72, uint64_t(values.size() * 2));
  put(80, uint64_t(128));
  for (size_t i = 0; i < values.size(); ++i) put(128 + 2 * i, float_to_half(values[i]));
  const auto path = folder / ("test-" + std::to_string(count++) + ".bin");
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
  Digest digest{};
  for (size_t i = 0; i < bytes.size(); ++i) digest[i % 32] ^= bytes[i] ^ std::byte(i / 32);
  return WeightFile(path, digest, bytes.size());
}

// y = W x: [1, columns, 1, width] to [1, rows, 1, width].
inline std::string conv_program(int rows, int columns, int width, const std::string& label = "y") {
  return fmt::format(
      "program(1.3)\n"
      "[buildInfo = dict<string, string>({{{{\"coremlc-version\", \"3505.4.1\"}}}})]\n"
      "{{\n"
      "    func main<ios18>(tensor<fp16, [1, {1}, 1, {2}]> x) {{\n"
      "        string pt = const()[name = string(\"pt\"), val = string(\"valid\")];\n"
      "        tensor<fp16, [{0}, {1}, 1, 1]> W = const()[name = string(\"W\"), val = tensor<fp16, [{0}, {1}, 1, "
      "1]>(BLOBFILE(path = string(\"@model_path/weights/w.bin\"), offset = uint64(64)))];\n"
      "        tensor<fp16, [1, {0}, 1, {2}]> y = conv(weight = W, x = x, pad_type = pt)[name = string(\"{3}\")];\n"
      "    }} -> (y);\n"
      "}}\n",
      rows, columns, width, label);
}

// sum = a + b, zoom = a · b, with inputs and outputs not in the order of their names.
inline std::string two_sided_program(int channels, int width) {
  return fmt::format(
      "program(1.3)\n"
      "{{\n"
      "    func main<ios18>(tensor<fp16, [1, {0}, 1, {1}]> b, tensor<fp16, [1, {0}, 1, {1}]> a) {{\n"
      "        tensor<fp16, [1, {0}, 1, {1}]> zoom = mul(x = a, y = b)[name = string(\"z\")];\n"
      "        tensor<fp16, [1, {0}, 1, {1}]> sum = add(x = a, y = zoom)[name = string(\"s\")];\n"
      "    }} -> (zoom, sum);\n"
      "}}\n",
      channels, width);
}

}  // namespace anedvd::test
