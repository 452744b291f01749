// The simulator behind the stand-in's classes: whole models run through the framework path, with the chip's rules and numerics.
#include <algorithm>
#include <cstdlib>

#include "ane/sim/service.h"
#include "backend.h"
#include "report.h"

namespace standin {
namespace {

using anedvd::DriverFailure;
using anedvd::LiveTensor;
namespace sim = anedvd::sim;

Failure failure_of(const DriverFailure& failure) {
  Failure out{failure.domain, failure.code, failure.text, std::nullopt};
  if (failure.status) out.status = *failure.status;
  return out;
}

// In symbol order: the service lists a procedure's tensors as its text declares them.
std::vector<SymbolInfo> tensors_of(const std::vector<LiveTensor>& live, const std::vector<int>& indices,
                                   const std::vector<std::string>& symbols) {
  std::vector<SymbolInfo> out;
  for (const int index : indices) {
    const LiveTensor& tensor = *std::ranges::find(live, symbols[size_t(index)], &LiveTensor::symbol);
    std::string name = tensor.name;
    if (name.ends_with("@output")) name.resize(name.size() - 7);
    out.push_back({index, {std::move(name), tensor.channels, tensor.width}});
  }
  return out;
}

class SimProgram final : public Program {
 public:
  SimProgram(sim::Service& service, int handle) : service_(service), handle_(handle) {
    const auto& attributes = service.attributes(handle);
    for (const anedvd::ProcedureAttributes& procedure : attributes.procedures)
      procedures_.push_back({procedure.name,
                             tensors_of(procedure.inputs, procedure.input_indices, attributes.input_symbols),
                             tensors_of(procedure.outputs, procedure.output_indices, attributes.output_symbols)});
  }
  ~SimProgram() override { service_.unload(handle_); }
  const std::vector<Procedure>& procedures() const override { return procedures_; }

  std::optional<Failure> evaluate(int procedure, std::span<const BoundTensor> inputs,
                                  std::span<const BoundTensor> outputs) override {
    std::vector<sim::Bound> in, out;
    for (const BoundTensor& tensor : inputs) in.push_back({tensor.symbol, tensor.memory});
    for (const BoundTensor& tensor : outputs) out.push_back({tensor.symbol, tensor.memory});
    if (auto done = service_.evaluate(handle_, procedure, in, out); !done) return failure_of(done.error());
    return std::nullopt;
  }

 private:
  sim::Service& service_;
  int handle_;
  std::vector<Procedure> procedures_;
};

class SimBackend final : public Backend {
 public:
  explicit SimBackend(sim::Profile profile) : service_(std::move(profile)) {}

  std::optional<Failure> compile(const std::string& hex, const std::filesystem::path& folder) override {
    if (auto done = service_.compile(hex, folder); !done) return failure_of(done.error());
    return std::nullopt;
  }
  bool is_compiled(const std::string& hex) const override { return service_.is_compiled(hex); }

  std::unique_ptr<Program> load(const std::string& hex, std::optional<Failure>& failure) override {
    auto handle = service_.load(hex);
    if (handle) return std::make_unique<SimProgram>(service_, *handle);
    failure = failure_of(handle.error());
    return nullptr;
  }

 private:
  sim::Service service_;
};

}  // namespace

std::unique_ptr<Backend> make_sim_backend(const char* profile_name) {
  auto profile = sim::profile_named(profile_name);
  if (!profile) complain("wrong order", std::string("ANEDVD_STANDIN_BACKEND=") + profile_name);
  return std::make_unique<SimBackend>(std::move(*profile));
}

std::unique_ptr<Backend> make_backend() {
  const char* given = std::getenv("ANEDVD_STANDIN_BACKEND");
  const std::string name = given != nullptr ? given : "a18pro-27";
  if (name == "tiny") return make_tiny_backend();
  return name == "hollow" ? make_hollow_backend() : make_sim_backend(name.c_str());
}

}  // namespace standin
