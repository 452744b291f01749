// Route A: a program handed to the framework as text in memory and weights in a folder (docs/ane.md#route-a).
//
//   descriptor ── model ── hexStringIdentifier ── folder ── compile ── load ── attributes ── request ── evaluate ── unload
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ane/driver.h"
#include "ane/objc/io_surface.h"
#include "ane/objc/message.h"
#include "ane/objc/program_folders.h"
#include "base/mapped_file.h"

namespace anedvd::objc {

// What every program of a driver shares.
struct ProgramContext {
  std::shared_ptr<ProgramFolders> folders;
  unsigned qos = 21;  // QOS_CLASS_DEFAULT; others were measured to change nothing
  std::chrono::milliseconds patience{60'000};
  bool keep_folders = false;  // until the program is unloaded, to look at them
  bool stalled = false;       // the service hung once: no more calls
};

// The framework's model object. Shared with the thread that compiles or loads, which outlives us when the service hangs.
struct Model {
  std::optional<MappedFile> weights;  // what the dictionary borrows, if it holds true data: outlives the objects below
  Ref<> descriptor, model;
  std::string hex;
};

// A folder's use, given back at the end.
class FolderUse {
 public:
  FolderUse(std::shared_ptr<ProgramFolders> folders, std::string hex)
      : folders_(std::move(folders)), hex_(std::move(hex)) {}
  ~FolderUse() { folders_->release(hex_); }
  FolderUse(const FolderUse&) = delete;
  FolderUse& operator=(const FolderUse&) = delete;

 private:
  std::shared_ptr<ProgramFolders> folders_;
  std::string hex_;
};

class InMemoryProgram final : public StagedProgram {
 public:
  static DriverResult<std::unique_ptr<StagedProgram>> stage(std::shared_ptr<ProgramContext> context,
                                                            std::string_view mil, WeightFile weights,
                                                            DictionaryContent dictionary);

  std::string_view id() const override { return model_->hex; }
  std::filesystem::path folder() const override;
  bool is_compiled() const override;
  DriverResult<> compile() override;
  DriverResult<std::unique_ptr<LoadedProgram>> load() override;
  DriverResult<WeightFile> take_weights_back() override;

 private:
  InMemoryProgram() = default;
  // -compileWithQoS:options:error: and -loadWithQoS:options:error: differ in name only.
  DriverResult<> call(const char* what, const char* selector);

  std::shared_ptr<ProgramContext> context_;
  std::shared_ptr<Model> model_;
  std::unique_ptr<FolderUse> folder_;
};

class LoadedInMemoryProgram final : public LoadedProgram {
 public:
  LoadedInMemoryProgram(std::shared_ptr<ProgramContext> context, std::shared_ptr<Model> model,
                        std::unique_ptr<FolderUse> folder);
  ~LoadedInMemoryProgram() override;

  DriverResult<> read_attributes();

  const ModelAttributes& attributes() const override { return attributes_; }
  DriverResult<> bind(std::span<const Binding> inputs, std::span<const Binding> outputs, int procedure) override;
  DriverResult<> evaluate() override;

 private:
  std::shared_ptr<ProgramContext> context_;
  std::shared_ptr<Model> model_;
  std::unique_ptr<FolderUse> folder_;  // null unless folders are kept
  ModelAttributes attributes_;
  Ref<NSDictionary> options_;
  Ref<> request_;
  Selector evaluate_;
  bool usable_ = true;  // no exception has come out of the framework
};

}  // namespace anedvd::objc
