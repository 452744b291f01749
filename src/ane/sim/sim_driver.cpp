#include "ane/sim/sim_driver.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>

#include <unistd.h>

#include "base/mapped_file.h"

namespace anedvd::sim {
namespace {

namespace fs = std::filesystem;

class SimSurface : public Surface {
 public:
  explicit SimSurface(size_t bytes) : memory_(bytes) {}
  size_t bytes() const override { return memory_.size(); }

  DriverResult<std::span<std::byte>> lock(Access) override {
    if (is_locked_) return tl::unexpected(own_failure("a surface was locked twice"));
    is_locked_ = true;
    return std::span(memory_);
  }

  DriverResult<> unlock(Access) override {
    if (!is_locked_) return tl::unexpected(own_failure("a surface was unlocked that was not locked"));
    is_locked_ = false;
    return {};
  }

  bool is_locked() const { return is_locked_; }
  std::span<std::byte> memory() { return memory_; }

 private:
  std::vector<std::byte> memory_;
  bool is_locked_ = false;
};

// Program folders by name: programs of one text and one set of weights share theirs.
class Folders {
 public:
  explicit Folders(fs::path root) : root_(std::move(root)) {}

  struct Entry {
    int users = 0;
    WeightFile weights;
  };

  fs::path folder(const std::string& id) const { return root_ / id; }

  Result<> acquire(const std::string& id, std::string_view mil, WeightFile weights) {
    Entry& entry = entries_[id];
    ++entry.users;
    if (entry.users > 1) return {};
    std::error_code error;
    fs::create_directories(folder(id) / "weights", error);
    if (error) return fail(ErrorCode::kIo, "{}: cannot be created: {}", folder(id).string(), error.message());
    std::ofstream text(folder(id) / "model.mil", std::ios::binary);
    text.write(mil.data(), std::streamsize(mil.size()));
    if (!text.flush()) return fail(ErrorCode::kIo, "{}: cannot write model.mil", folder(id).string());
    if (weights.exists()) ANEDVD_TRY_VOID(weights.move_to(folder(id) / "weights" / "w.bin"));
    entry.weights = std::move(weights);
    return {};
  }

  WeightFile take(const std::string& id) {
    WeightFile weights = std::move(entries_[id].weights);
    if (weights.exists()) (void)weights.move_to(root_ / fmt::format("taken-{}.bin", taken_++));
    return weights;
  }

  void release(const std::string& id) {
    const auto entry = entries_.find(id);
    if (entry == entries_.end() || --entry->second.users > 0) return;
    entries_.erase(entry);
    std::error_code ignored;
    fs::remove_all(folder(id), ignored);
  }

 private:
  fs::path root_;
  std::map<std::string, Entry> entries_;
  int taken_ = 0;
};

class SimLoaded : public LoadedProgram {
 public:
  SimLoaded(Service& service, int handle) : service_(service), handle_(handle) {}
  ~SimLoaded() override { service_.unload(handle_); }

  const ModelAttributes& attributes() const override { return service_.attributes(handle_); }

  DriverResult<> bind(std::span<const Binding> inputs, std::span<const Binding> outputs, int procedure) override {
    inputs_.assign(inputs.begin(), inputs.end());
    outputs_.assign(outputs.begin(), outputs.end());
    procedure_ = procedure;
    return {};
  }

  DriverResult<> evaluate() override {
    std::vector<Bound> inputs, outputs;
    for (const auto& [bindings, bound] : {std::pair{&inputs_, &inputs}, std::pair{&outputs_, &outputs}})
      for (const Binding& binding : *bindings) {
        auto& surface = static_cast<SimSurface&>(*binding.surface);
        if (surface.is_locked()) return tl::unexpected(own_failure("a surface is locked while it is evaluated"));
        bound->push_back({binding.symbol, surface.memory()});
      }
    return service_.evaluate(handle_, procedure_, inputs, outputs);
  }

  uint64_t simulated_nanoseconds() const override { return service_.last_nanoseconds(); }

 private:
  Service& service_;
  int handle_, procedure_ = 0;
  std::vector<Binding> inputs_, outputs_;
};

class SimStaged : public StagedProgram {
 public:
  SimStaged(Service& service, Folders& folders, std::string id)
      : service_(service), folders_(folders), id_(std::move(id)) {}
  ~SimStaged() override { folders_.release(id_); }

  std::string_view id() const override { return id_; }
  fs::path folder() const override { return folders_.folder(id_); }
  bool is_compiled() const override { return service_.is_compiled(id_); }

  DriverResult<> compile() override { return named(service_.compile(id_, folders_.folder(id_))); }

  DriverResult<std::unique_ptr<LoadedProgram>> load() override {
    auto handle = named(service_.load(id_));
    if (!handle) return tl::unexpected(handle.error());
    return std::make_unique<SimLoaded>(service_, *handle);
  }

  DriverResult<WeightFile> take_weights_back() override { return folders_.take(id_); }

 private:
  template <class T>
  DriverResult<T> named(DriverResult<T> result) const {
    if (!result) result.error().program = id_;
    return result;
  }

  Service& service_;
  Folders& folders_;
  std::string id_;
};

}  // namespace

struct SimDriver::State {
  State(Profile profile, fs::path given) : root(std::move(given)), service(std::move(profile)), folders(root) {}
  ~State() {
    std::error_code ignored;
    fs::remove_all(root, ignored);
  }

  fs::path root;
  Service service;
  Folders folders;
};

SimDriver::SimDriver(std::unique_ptr<State> state) : state_(std::move(state)) {}
SimDriver::~SimDriver() = default;

Result<std::unique_ptr<SimDriver>> SimDriver::make(Profile profile) {
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  if (error) return fail(ErrorCode::kIo, "no temporary folder: {}; set TMPDIR", error.message());
  // mkdtemp: readable by the owner only.
  std::string name = (temporary / "anedvd-sim-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr)
    return fail(ErrorCode::kIo, "{}: cannot be created: {}", name, std::strerror(errno));
  return std::unique_ptr<SimDriver>(new SimDriver(std::make_unique<State>(std::move(profile), name)));
}

std::string SimDriver::machine() const { return "simulated " + state_->service.profile().name; }
const fs::path& SimDriver::scratch_folder() const { return state_->root; }
Service& SimDriver::service() { return state_->service; }
void SimDriver::host_worked(uint64_t nanoseconds) { state_->service.host_worked(nanoseconds); }

DriverResult<std::unique_ptr<StagedProgram>> SimDriver::stage(std::string_view mil, WeightFile weights,
                                                              DictionaryContent dictionary) {
  std::string id;
  if (dictionary == DictionaryContent::kTrueData && weights.exists()) {
    const auto data = MappedFile::open(weights.path());
    if (!data) return tl::unexpected(own_failure(data.error().message));
    id = Service::name_of(mil, data->bytes());
  } else {
    id = Service::name_of(mil, weights.exists() && dictionary != DictionaryContent::kNothing
                                   ? std::span<const std::byte>(weights.digest())
                                   : std::span<const std::byte>());
  }
  if (auto laid = state_->folders.acquire(id, mil, std::move(weights)); !laid) {
    state_->folders.release(id);
    return tl::unexpected(own_failure(laid.error().message));
  }
  return std::make_unique<SimStaged>(state_->service, state_->folders, std::move(id));
}

DriverResult<std::unique_ptr<Surface>> SimDriver::make_surface(size_t bytes) {
  return std::make_unique<SimSurface>(bytes);
}

}  // namespace anedvd::sim
