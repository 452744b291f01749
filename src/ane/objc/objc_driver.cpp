#include "ane/objc/objc_driver.h"

#include "ane/objc/foundation.h"
#include "ane/objc/in_memory_program.h"
#include "ane/objc/inventory.h"

namespace anedvd::objc {
namespace {

std::string told_by_device(const char* selector) {
  Class* info = class_named("_ANEDeviceInfo");
  if (info == nullptr || !responds(info, selector)) return "unknown";
  return text_of(send<NSString*>(info, selector)).value_or("unknown");
}

// Virtual machines have the framework but no engine. What cannot be asked is taken to be there: the first program will tell.
bool has_engine() {
  Class* info = class_named("_ANEDeviceInfo");
  return info == nullptr || !responds(info, "hasANE") || send<Bool>(info, "hasANE") != 0;
}

class ObjcDriver final : public Driver {
 public:
  explicit ObjcDriver(std::shared_ptr<ProgramContext> context, std::string machine)
      : context_(std::move(context)), machine_(std::move(machine)) {}

  std::string_view name() const override { return "ane"; }
  std::string machine() const override { return machine_; }
  const std::filesystem::path& scratch_folder() const override { return context_->folders->scratch(); }

  DriverResult<std::unique_ptr<StagedProgram>> stage(std::string_view mil, WeightFile weights,
                                                     DictionaryContent dictionary) override {
    return InMemoryProgram::stage(context_, mil, std::move(weights), dictionary);
  }

  DriverResult<std::unique_ptr<Surface>> make_surface(size_t bytes) override {
    auto made = IoSurface::make(bytes);
    if (!made) return tl::unexpected(made.error());
    return std::move(*made);
  }

 private:
  std::shared_ptr<ProgramContext> context_;
  std::string machine_;
};

}  // namespace

Result<std::unique_ptr<Driver>> open_objc_driver(const LibraryPaths& paths, const DriverOptions& options) {
  ANEDVD_TRY_VOID(load_runtime(paths));
  ANEDVD_TRY_VOID(check_inventory(take_inventory()));
  auto opened = guarded("NSTemporaryDirectory", [&]() -> DriverResult<std::pair<std::string, std::string>> {
    const Pool pool;
    if (!has_engine()) return tl::unexpected(own_failure("this machine has none; use --device cpu"));
    // Not $TMPDIR: the compiler reads where Foundation says, whatever the environment.
    const auto temporary = text_of(runtime().temporary_directory());
    if (!temporary || temporary->empty()) return tl::unexpected(own_failure("there is no temporary folder"));
    return std::pair(*temporary, fmt::format("{}, {}", told_by_device("aneSubType"), told_by_device("buildVersion")));
  });
  if (!opened) return fail_device("ane", opened.error());
  auto context = std::make_shared<ProgramContext>();
  context->patience = options.patience;
  context->keep_folders = options.keep_folders;
  ANEDVD_TRY(context->folders, ProgramFolders::open(opened->first));
  return std::make_unique<ObjcDriver>(std::move(context), opened->second);
}

}  // namespace anedvd::objc
