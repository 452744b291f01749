#include "ane/objc/in_memory_program.h"

#include <optional>

#include "ane/objc/attributes.h"
#include "ane/objc/error.h"
#include "ane/objc/foundation.h"
#include "ane/objc/patience.h"
#include "base/log.h"
#include "base/mapped_file.h"

namespace anedvd::objc {
namespace {

constexpr const char* kWeightKey = "@model_path/weights/w.bin";  // the very string that the text names

tl::unexpected<DriverFailure> fail_own(const std::string& hex, std::string text) {
  DriverFailure out = own_failure(std::move(text));
  out.program = hex;
  return tl::unexpected(std::move(out));
}

std::string_view characters(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// {"@model_path/weights/w.bin": {"offset": 0, "data": …}}, empty without weights; nil is refused. The dictionary only feeds the program's
// name, so a digest does, and spares a copy of the weights.
NSDictionary* weight_dictionary(const WeightFile& weights, const std::optional<MappedFile>& mapped, bool with_content) {
  if (!weights.exists()) return dictionary({});
  NSData* content = !with_content ? copied_data({})
                    : mapped      ? borrowed_data(characters(mapped->bytes()))
                                  : copied_data(characters(weights.digest()));
  return dictionary({{string(kWeightKey), dictionary({{string("offset"), number(0)}, {string("data"), content}})}});
}

DriverResult<std::shared_ptr<Model>> make_model(std::string_view mil, NSDictionary* weights) {
  auto out = std::make_shared<Model>();
  // NSData, not NSString: a string crashes the framework.
  out->descriptor = Ref<>(send<Id>(class_named("_ANEInMemoryModelDescriptor"),
                                   "modelWithMILText:weights:optionsPlist:", copied_data(mil), weights, Id(nullptr)));
  if (!out->descriptor) return fail_own("", "the framework makes no descriptor of this program");
  out->model = Ref<>(send<Id>(class_named("_ANEInMemoryModel"), "inMemoryModelWithDescriptor:", out->descriptor.get()));
  if (!out->model) return fail_own("", "the framework makes no model of this descriptor");
  const auto hex = text_of(send<NSString*>(out->model.get(), "hexStringIdentifier"));
  if (!hex) return fail_own("", "the framework gives the program no name");
  out->hex = *hex;
  return out;
}

// The compiler reads where the framework says, which is where we write unless a system moves it.
void check_path(const Model& model, const std::filesystem::path& expected) {
  if (!responds(model.model.get(), "localModelPath")) return;
  const auto told = text_of(send<NSString*>(model.model.get(), "localModelPath"));
  std::error_code ignored;
  if (told && std::filesystem::weakly_canonical(*told, ignored) != std::filesystem::weakly_canonical(expected, ignored))
    warn("{}: the framework reads this program from {}; compiling will fail", expected.string(), *told);
}

DriverFailure from_error(Error error, const std::string& hex) {
  DriverFailure out = own_failure(std::move(error.message));
  out.program = hex;
  return out;
}

}  // namespace

DriverResult<std::unique_ptr<StagedProgram>> InMemoryProgram::stage(std::shared_ptr<ProgramContext> context,
                                                                    std::string_view mil, WeightFile weights,
                                                                    DictionaryContent content) {
  return guarded("stage", [&]() -> DriverResult<std::unique_ptr<StagedProgram>> {
    std::optional<MappedFile> mapped;  // outlives the pool, and with it every borrower but the descriptor
    if (content == DictionaryContent::kTrueData && weights.exists()) {
      auto opened = MappedFile::open(weights.path());
      if (!opened) return tl::unexpected(from_error(opened.error(), ""));
      mapped = std::move(*opened);
    }
    std::unique_ptr<InMemoryProgram> out(new InMemoryProgram);
    {
      const Pool pool;
      auto model = make_model(mil, weight_dictionary(weights, mapped, content != DictionaryContent::kNothing));
      if (!model) return tl::unexpected(model.error());
      out->model_ = std::move(*model);
      out->model_->weights = std::move(mapped);
      check_path(*out->model_, context->folders->scratch().parent_path() / out->model_->hex);
    }
    const std::string& hex = out->model_->hex;
    if (auto made = context->folders->acquire(hex, mil, std::move(weights)); !made)
      return tl::unexpected(from_error(made.error(), hex));
    out->folder_ = std::make_unique<FolderUse>(context->folders, hex);
    out->context_ = std::move(context);
    return out;
  });
}

std::filesystem::path InMemoryProgram::folder() const {
  return context_->folders->scratch().parent_path() / model_->hex;
}

bool InMemoryProgram::is_compiled() const {
  if (context_->stalled) return false;  // it would not answer this either
  const auto asked = guarded("compiledModelExists", [&]() -> DriverResult<bool> {
    const Pool pool;
    Id model = model_->model.get();
    return responds(model, "compiledModelExists") && send<Bool>(model, "compiledModelExists") != 0;
  });
  return asked && *asked;
}

DriverResult<> InMemoryProgram::call(const char* what, const char* selector) {
  if (context_->stalled) return fail_own(model_->hex, "the Neural Engine's service hung before; use --device cpu");
  auto done = run_patiently(what, context_->patience, [=, model = model_, qos = context_->qos]() -> DriverResult<> {
    return guarded(what, [&]() -> DriverResult<> {
      const Pool pool;
      NSError* error = nullptr;
      if (send<Bool>(model->model.get(), selector, qos, dictionary({}), &error) != 0) return {};
      return tl::unexpected(failure_of(error, what, model->hex));
    });
  });
  if (!done) {
    context_->stalled |= is_stall(done.error());
    done.error().program = model_->hex;
  }
  return done;
}

DriverResult<> InMemoryProgram::compile() { return call("compile", "compileWithQoS:options:error:"); }

DriverResult<std::unique_ptr<LoadedProgram>> InMemoryProgram::load() {
  if (folder_ == nullptr) return fail_own(model_->hex, "this program was loaded, or gave its weights back");
  if (auto done = call("load", "loadWithQoS:options:error:"); !done) return tl::unexpected(done.error());
  // From here the destructor of `loaded` unloads: a program left loaded would take a place of a pool that the whole machine shares.
  auto loaded =
      std::make_unique<LoadedInMemoryProgram>(context_, model_, context_->keep_folders ? std::move(folder_) : nullptr);
  folder_.reset();
  auto read = guarded("modelAttributes", [&]() -> DriverResult<> {
    const Pool pool;
    Id model = model_->model.get();
    // The descriptor keeps the weight dictionary: gigabytes, if it holds true data.
    if (model_->weights && responds(model, "setDescriptor:")) {
      send<void>(model, "setDescriptor:", Id(nullptr));
      model_->descriptor.reset();
    }
    return loaded->read_attributes();
  });
  if (!read) return tl::unexpected(read.error());
  return loaded;
}

DriverResult<WeightFile> InMemoryProgram::take_weights_back() {
  if (folder_ == nullptr) return fail_own(model_->hex, "this program was loaded, or gave its weights back");
  auto taken = context_->folders->take_weights(model_->hex);
  folder_.reset();
  if (!taken) return tl::unexpected(from_error(taken.error(), model_->hex));
  return std::move(*taken);
}

LoadedInMemoryProgram::LoadedInMemoryProgram(std::shared_ptr<ProgramContext> context, std::shared_ptr<Model> model,
                                             std::unique_ptr<FolderUse> folder)
    : context_(std::move(context)),
      model_(std::move(model)),
      folder_(std::move(folder)),
      evaluate_(runtime().register_selector("evaluateWithQoS:options:request:error:")) {
  const Pool pool;
  options_ = Ref<NSDictionary>(dictionary({}));
}

LoadedInMemoryProgram::~LoadedInMemoryProgram() {
  const auto unloaded = guarded("unload", [&]() -> DriverResult<> {
    const Pool pool;
    Id model = model_->model.get();
    NSError* error = nullptr;
    if (!responds(model, "unloadWithQoS:error:")) return {};
    if (send<Bool>(model, "unloadWithQoS:error:", context_->qos, &error) != 0) return {};
    return tl::unexpected(failure_of(error, "unload", model_->hex));
  });
  if (!unloaded) warn("{}", words_of(unloaded.error()));
}

DriverResult<> LoadedInMemoryProgram::read_attributes() {
  // The wrapper's own -modelAttributes can raise on macOS 27; the model inside it does not.
  Id attributes = nullptr;
  if (responds(model_->model.get(), "model")) {
    Id inner = send<Id>(model_->model.get(), "model");
    if (responds(inner, "modelAttributes")) attributes = send<Id>(inner, "modelAttributes");
  }
  if (attributes == nullptr) attributes = send<Id>(model_->model.get(), "modelAttributes");
  auto read = objc::read_attributes(attributes);
  if (!read) return fail_own(model_->hex, read.error().text);
  attributes_ = std::move(*read);
  return {};
}

DriverResult<> LoadedInMemoryProgram::bind(std::span<const Binding> inputs, std::span<const Binding> outputs,
                                           int procedure) {
  return guarded("request", [&]() -> DriverResult<> {
    const Pool pool;
    std::vector<Id> surfaces[2], indices[2];
    for (const int side : {0, 1}) {
      for (const Binding& binding : side == 0 ? inputs : outputs) {
        auto* surface = dynamic_cast<IoSurface*>(binding.surface);
        if (surface == nullptr) return fail_own(model_->hex, "a surface of another driver cannot be bound");
        surfaces[side].push_back(surface->wrapper());
        indices[side].push_back(number(binding.symbol));
      }
    }
    // No performance statistics: on macOS 27 a request with such an object raises.
    request_ =
        Ref<>(send<Id>(class_named("_ANERequest"),
                       "requestWithInputs:inputIndices:outputs:outputIndices:weightsBuffer:perfStats:procedureIndex:",
                       array(surfaces[0]), array(indices[0]), array(surfaces[1]), array(indices[1]), Id(nullptr),
                       Id(nullptr), number(procedure)));
    if (!request_) return fail_own(model_->hex, "the framework makes no request of these surfaces");
    return {};
  });
}

DriverResult<> LoadedInMemoryProgram::evaluate() {
  if (!request_) return fail_own(model_->hex, "evaluate before bind");
  if (!usable_) return fail_own(model_->hex, "the framework raised an exception before; load this program anew");
  usable_ = false;
  auto done = guarded("evaluate", [&]() -> DriverResult<> {
    const Pool pool;
    NSError* error = nullptr;
    const bool good =
        send<Bool>(model_->model.get(), evaluate_, context_->qos, options_.get(), request_.get(), &error) != 0;
    usable_ = true;
    if (good) return {};
    return tl::unexpected(failure_of(error, "evaluate", model_->hex));
  });
  if (!done) done.error().program = model_->hex;
  return done;
}

}  // namespace anedvd::objc
