// Models made of settings and tensors of zeros, for tests of settings.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "formats/hf_config.h"
#include "formats/tensor_source.h"

namespace anedvd {

class FakeSource : public TensorSource {
 public:
  FakeSource(const std::string& config_json, SourceKind kind, const char* path)
      : kind_(kind), path_(path), config_(parse(config_json, path)) {}

  // An F32 tensor of zeros.
  FakeSource& tensor(const std::string& name, Shape shape) {
    TensorView view{name, DType::kF32, std::move(shape), {}};
    data_.emplace_back(size_t(view.elements()) * 4);
    view.bytes = data_.back();
    tensors_.push_back(std::move(view));
    return *this;
  }

  const TensorView* find(std::string_view name) const override {
    for (const TensorView& view : tensors_)
      if (view.name == name) return &view;
    return nullptr;
  }
  const std::vector<TensorView>& tensors() const override { return tensors_; }
  const ConfigView& config() const override { return config_; }
  SourceKind kind() const override { return kind_; }
  const std::filesystem::path& path() const override { return path_; }
  uint64_t file_bytes() const override { return 0; }

 private:
  static HfConfig parse(const std::string& text, const char* where) {
    auto config = HfConfig::read(text, "", where);
    EXPECT_TRUE(config) << (config ? "" : config.error().message);
    return std::move(*config);
  }

  SourceKind kind_;
  std::filesystem::path path_;
  HfConfig config_;
  std::vector<TensorView> tensors_;
  std::vector<std::vector<std::byte>> data_;
};

class FakeHfSource final : public FakeSource {
 public:
  explicit FakeHfSource(const std::string& config_json) : FakeSource(config_json, SourceKind::kHuggingFace, "folder") {}
};

}  // namespace anedvd
