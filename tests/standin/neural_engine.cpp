// The private classes of route A.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>

#include "backend.h"
#include "faults.h"
#include "foundation.h"
#include "report.h"
#include "surface.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))
extern "C" standin::Id NSTemporaryDirectory();

namespace standin {
namespace {

constexpr const char* kDomain = "com.apple.appleneuralengine";
constexpr std::string_view kWeightKey = "@model_path/weights/w.bin";

struct Descriptor : Object {
  Id mil = nullptr, weights = nullptr;
  ~Descriptor() {
    release(mil);
    release(weights);
  }
};

// _ANEModel: what a loaded in-memory model wraps.
struct InnerModel : Object {
  Id attributes = nullptr;
  ~InnerModel() { release(attributes); }
};

struct Model : Object {
  Id descriptor = nullptr, inner = nullptr;
  std::string hex, mil;
  bool has_weights = false;
  std::unique_ptr<Program> program;  // while loaded
  bool was_unloaded = false;
  ~Model() {
    if (program) complain("still loaded", "a model is freed without unloadWithQoS:error:");
    release(descriptor);
    release(inner);
  }
};

struct Wrapper : Object {
  Surface* surface = nullptr;
  ~Wrapper() { release(surface); }
};

struct Request : Object {
  Id lists[4] = {};  // inputs, input indices, outputs, output indices
  long long procedure = 0;
  ~Request() {
    for (Id list : lists) release(list);
  }
};

// One compiler service a machine; `lock` guards it.
struct Service {
  std::mutex lock;
  std::unique_ptr<Backend> backend = make_backend();
  int compiles = 0;
  int loaded = 0;
};
Service& service() {
  static Service* const it = new Service;
  return *it;
}

long answer(const std::optional<Failure>& failure, Id* error_out) {
  if (!failure) return 1;
  if (error_out != nullptr) *error_out = error(failure->domain, failure->code, failure->words, failure->status);
  return 0;
}

void check_call(unsigned qos, Id options, Id* error_out, const char* where) {
  if (qos > 63) complain("wrong argument", text("%s: quality of service %u", where, qos));
  require_class(options, "NSDictionary", where);
  if (error_out != nullptr && *error_out != nullptr)
    complain("stale error", text("%s: the error variable was not nil before the call", where));
}

// FNV-1a, three times over with different seeds: a name has to differ when any part does, not to be secure.
std::string hash_word(std::string_view bytes, uint64_t seed) {
  uint64_t h = 1469598103934665603ull ^ seed;
  for (const char c : bytes) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return text("%016llx", static_cast<unsigned long long>(h));
}

Id make_descriptor(Class*, Selector*, Id mil, Id weights, Id options) {
  const auto* content = cast<Data>(mil, "NSData", "modelWithMILText:");
  (void)content;
  const auto* entries = cast<Dictionary>(weights, "NSDictionary", "weights:");
  for (const auto& [key, value] : entries->entries) {
    const auto* entry = cast<Dictionary>(value, "NSDictionary", "an entry of weights:");
    Id offset = entry_of(entry, "offset");
    require_class(offset, "NSNumber", "\"offset\" of weights:");
    const auto* data = cast<Data>(entry_of(entry, "data"), "NSData", "\"data\" of weights:");
    if (data->borrowed.empty())
      complain("empty weights", "\"data\" of weights: is empty: two models would share a name");
  }
  if (options != nullptr) require_class(options, "NSData", "optionsPlist:");
  auto* out = make<Descriptor>("_ANEInMemoryModelDescriptor");
  out->mil = retain(mil);
  out->weights = retain(weights);
  return autorelease(out);
}

Id make_model(Class*, Selector*, Id given) {
  auto* descriptor = cast<Descriptor>(given, "_ANEInMemoryModelDescriptor", "inMemoryModelWithDescriptor:");
  auto* out = make<Model>("_ANEInMemoryModel");
  out->descriptor = retain(descriptor);
  out->mil = static_cast<Data*>(descriptor->mil)->borrowed;
  std::string weights;
  if (static_cast<Dictionary*>(descriptor->weights)->entries.size() > 1)
    complain("several weight files", "macOS 27 refuses a program with more than one");
  for (const auto& [key, value] : static_cast<Dictionary*>(descriptor->weights)->entries) {
    out->has_weights = true;
    weights += static_cast<String*>(key)->value;
    weights += static_cast<Data*>(entry_of(static_cast<Dictionary*>(value), "data"))->borrowed;
    if (static_cast<String*>(key)->value != kWeightKey)
      complain("wrong argument", "weights: names " + static_cast<String*>(key)->value);
  }
  out->hex = hash_word(out->mil, 1) + "_" + hash_word(weights, 2) + "_" + hash_word("", 3);
  return autorelease(out);
}

std::filesystem::path folder_of(const Model* model) {
  return std::filesystem::path(static_cast<String*>(NSTemporaryDirectory())->value) / model->hex;
}

// The checks that the service makes of a folder before the compiler sees it.
std::optional<Failure> verify_folder(const Model* model) {
  const Failure distrust{kDomain, 10, "verifyBundleAtPath: invalid model", std::nullopt};
  const auto folder = folder_of(model);
  std::ifstream file(folder / "model.mil", std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  if (!file || bytes.str() != model->mil) return distrust;
  std::error_code ignored;
  if (std::filesystem::exists(folder / "weights" / "w.bin", ignored) != model->has_weights) return distrust;
  const auto rights = std::filesystem::status(folder, ignored).permissions();
  if ((rights & (std::filesystem::perms::group_all | std::filesystem::perms::others_all)) !=
      std::filesystem::perms::none)
    complain("open folder", folder.string() + " may be read by others");
  return std::nullopt;
}

long compile(Model* self, Selector*, unsigned qos, Id options, Id* error_out) {
  check_call(qos, options, error_out, "compileWithQoS:options:error:");
  const std::lock_guard guard(service().lock);
  ++service().compiles;
  if (auto fault = next_fault("compile")) return answer(fault, error_out);
  if (auto failure = verify_folder(self)) return answer(failure, error_out);
  return answer(service().backend->compile(self->hex, folder_of(self)), error_out);
}

Id live_list(const std::vector<SymbolInfo>& symbols, const char* suffix) {
  std::vector<Id> out;
  for (const auto& [index, tensor] : symbols)
    out.push_back(dictionary({{string("Name"), string(tensor.name + suffix)},
                              {string("Symbol"), string(tensor.name + suffix)},
                              {string("Type"), string("Float16")},
                              {string("Batches"), number(1)},
                              {string("Channels"), number(tensor.channels)},
                              {string("Depth"), number(1)},
                              {string("Height"), number(1)},
                              {string("Width"), number(tensor.width)},
                              {string("BatchStride"), number(tensor.bytes())},
                              {string("DepthStride"), number(tensor.bytes())},
                              {string("PlaneStride"), number(tensor.row_stride())},
                              {string("RowStride"), number(tensor.row_stride())},
                              {string("PlaneCount"), number(tensor.channels)},
                              {string("Interleave"), number(1)}}));
  return array(out);
}

// The names of all procedures' symbols, each at its index.
Id symbol_list(const Program& program, std::vector<SymbolInfo> Procedure::*side, const char* suffix) {
  std::map<int, std::string> names;
  for (const Procedure& procedure : program.procedures())
    for (const auto& [index, tensor] : procedure.*side) names[index] = tensor.name + suffix;
  std::vector<Id> out;
  for (const auto& [index, name] : names) out.push_back(string(name));
  return array(out);
}

// Systems differ in how they list symbols: ANEDVD_STANDIN_INDICES=sets asks for an NSIndexSet (of 0 … n − 1) instead of an array of numbers.
Id index_list(const std::vector<SymbolInfo>& symbols) {
  const char* kind = std::getenv("ANEDVD_STANDIN_INDICES");
  if (kind != nullptr && std::string_view(kind) == "sets") return index_set(static_cast<long>(symbols.size()));
  std::vector<Id> out;
  for (const SymbolInfo& symbol : symbols) out.push_back(number(symbol.index));
  return array(out);
}

Id attributes_of(const Program& program) {
  std::vector<Id> statuses, procedures;
  std::vector<std::pair<Id, Id>> names;
  for (const Procedure& procedure : program.procedures()) {
    const auto id = static_cast<long long>(procedures.size());
    statuses.push_back(dictionary({{string("Name"), string(procedure.name)},
                                   {string("LiveInputList"), live_list(procedure.inputs, "")},
                                   {string("LiveOutputList"), live_list(procedure.outputs, "@output")}}));
    procedures.push_back(dictionary({{string("ANEFModelProcedureID"), number(id)},
                                     {string("ANEFModelInputSymbolIndexArray"), index_list(procedure.inputs)},
                                     {string("ANEFModelOutputSymbolIndexArray"), index_list(procedure.outputs)}}));
    names.emplace_back(string(procedure.name), number(id));
  }
  Id description =
      dictionary({{string("kANEFModelInputSymbolsArrayKey"), symbol_list(program, &Procedure::inputs, "")},
                  {string("kANEFModelOutputSymbolsArrayKey"), symbol_list(program, &Procedure::outputs, "@output")},
                  {string("ANEFModelProcedures"), array(procedures)},
                  {string("kANEFModelProcedureNameToIDMapKey"), dictionary(names)}});
  return dictionary({{string("ANEFModelDescription"), description}, {string("NetworkStatusList"), array(statuses)}});
}

long load(Model* self, Selector*, unsigned qos, Id options, Id* error_out) {
  check_call(qos, options, error_out, "loadWithQoS:options:error:");
  const std::lock_guard guard(service().lock);
  if (self->program) complain("loaded twice", "loadWithQoS: of a loaded model");
  if (auto fault = next_fault("load")) return answer(fault, error_out);
  std::optional<Failure> failure;
  auto program = service().backend->load(self->hex, failure);
  if (!program) return answer(failure, error_out);
  auto* inner = make<InnerModel>("_ANEModel");
  inner->attributes = retain(attributes_of(*program));
  release(self->inner);
  self->inner = inner;
  self->program = std::move(program);
  self->was_unloaded = false;
  ++service().loaded;
  return 1;
}

long unload(Model* self, Selector*, unsigned qos, Id* error_out) {
  if (qos > 63) complain("wrong argument", text("unloadWithQoS: %u", qos));
  const std::lock_guard guard(service().lock);
  if (!self->program) complain("not loaded", "unloadWithQoS: of a model that is not loaded");
  self->program.reset();
  self->was_unloaded = true;
  --service().loaded;
  return answer(next_fault("unload"), error_out);
}

std::vector<BoundTensor> bound_tensors(const Request* request, int side) {
  std::vector<BoundTensor> out;
  const auto& wrappers = static_cast<Array*>(request->lists[2 * side])->items;
  const auto& indices = static_cast<Array*>(request->lists[2 * side + 1])->items;
  for (size_t i = 0; i < wrappers.size(); ++i) {
    const Surface* surface = static_cast<Wrapper*>(wrappers[i])->surface;
    if (surface->read_locks + surface->write_locks != 0)
      complain("locked surface", "evaluate while the processor holds a lock on a surface");
    out.push_back({int(static_cast<Number*>(indices[i])->value), {surface->memory, surface->bytes}});
  }
  return out;
}

// Every symbol of the procedure once, no other.
void check_binding(const std::vector<BoundTensor>& bound, const std::vector<SymbolInfo>& symbols, const char* what) {
  std::set<int> left;
  for (const SymbolInfo& symbol : symbols) left.insert(symbol.index);
  for (const BoundTensor& tensor : bound)
    if (left.erase(tensor.symbol) == 0)
      complain("wrong index", text("%s index %d with %zu symbols", what, tensor.symbol, symbols.size()));
  if (bound.size() != symbols.size())
    complain("wrong index count", text("%zu %ss for %zu symbols", bound.size(), what, symbols.size()));
}

// Every number with the other sign, or infinite.
void spoil(const std::vector<BoundTensor>& outputs, Spoil how) {
  for (const BoundTensor& tensor : outputs)
    for (size_t high = 1; high < tensor.memory.size() && how != Spoil::kNone; high += 2) {
      std::byte* half = tensor.memory.data() + high - 1;
      if (how == Spoil::kInfinite) half[0] = std::byte{0};
      half[1] = how == Spoil::kInfinite ? std::byte{0x7c} : half[1] ^ std::byte{0x80};
    }
}

long evaluate(Model* self, Selector*, unsigned qos, Id options, Id request, Id* error_out) {
  check_call(qos, options, error_out, "evaluateWithQoS:options:request:error:");
  const auto* bound = cast<Request>(request, "_ANERequest", "evaluateWithQoS: request:");
  const std::lock_guard guard(service().lock);
  if (!self->program)
    complain(self->was_unloaded ? "use after unload" : "not loaded", "evaluateWithQoS: of a model that is not loaded");
  const auto inputs = bound_tensors(bound, 0);
  const auto outputs = bound_tensors(bound, 1);
  const auto& procedures = self->program->procedures();
  if (bound->procedure < 0 || bound->procedure >= static_cast<long long>(procedures.size()))
    complain("wrong index", text("procedure %lld of a program with %zu", bound->procedure, procedures.size()));
  const Procedure& procedure = procedures[size_t(bound->procedure)];
  check_binding(inputs, procedure.inputs, "input");
  check_binding(outputs, procedure.outputs, "output");
  if (auto fault = next_fault("evaluate")) return answer(fault, error_out);
  const auto failure = self->program->evaluate(int(bound->procedure), inputs, outputs);
  if (!failure) spoil(outputs, next_spoil());
  return answer(failure, error_out);
}

Id make_request(Class*, Selector*, Id inputs, Id input_indices, Id outputs, Id output_indices, Id weights_buffer,
                Id statistics, Id procedure) {
  auto* out = make<Request>("_ANERequest");
  Id lists[4] = {inputs, input_indices, outputs, output_indices};
  const char* words[4] = {"requestWithInputs:", "inputIndices:", "outputs:", "outputIndices:"};
  for (int i = 0; i < 4; ++i) {
    auto* list = cast<Array>(lists[i], "NSArray", words[i]);
    const char* wanted = i % 2 == 0 ? "_ANEIOSurfaceObject" : "NSNumber";
    for (Id item : list->items) require_class(item, wanted, words[i]);
    out->lists[i] = retain(list);
  }
  for (int side : {0, 1})
    if (static_cast<Array*>(lists[2 * side])->items.size() != static_cast<Array*>(lists[2 * side + 1])->items.size())
      complain("wrong index count", text("%s and %s differ in length", words[2 * side], words[2 * side + 1]));
  if (weights_buffer != nullptr) complain("wrong argument", "weightsBuffer: is ignored by the hardware: pass nil");
  if (statistics != nullptr) complain("wrong argument", "perfStats: raises on macOS 27: pass nil");
  out->procedure = cast<Number>(procedure, "NSNumber", "procedureIndex:")->value;
  return autorelease(out);
}

void define_models() {
  Class* descriptor = define("_ANEInMemoryModelDescriptor", "NSObject");
  method(descriptor, "+modelWithMILText:weights:optionsPlist:", "@40@0:8@16@24@32", make_descriptor);

  Class* model = define("_ANEInMemoryModel", "NSObject");
  method(model, "+inMemoryModelWithDescriptor:", "@24@0:8@16", make_model);
  method(model, "-hexStringIdentifier", "@16@0:8",
         [](Id self, Selector*) { return string(static_cast<Model*>(self)->hex); });
  method(model, "-localModelPath", "@16@0:8",
         [](Id self, Selector*) { return string(folder_of(static_cast<Model*>(self)).string()); });
  method(model, "-compiledModelExists", "B16@0:8", [](Id self, Selector*) -> long {
    const std::lock_guard guard(service().lock);
    return service().backend->is_compiled(static_cast<Model*>(self)->hex) ? 1 : 0;
  });
  method(model, "-compileWithQoS:options:error:", "B36@0:8I16@20^@28", compile);
  method(model, "-loadWithQoS:options:error:", "B36@0:8I16@20^@28", load);
  method(model, "-evaluateWithQoS:options:request:error:", "B44@0:8I16@20@28^@36", evaluate);
  method(model, "-unloadWithQoS:error:", "B28@0:8I16^@20", unload);
  method(model, "-model", "@16@0:8", [](Id self, Selector*) { return static_cast<Model*>(self)->inner; });
  method(model, "-modelAttributes", "@16@0:8", [](Id self, Selector*) {
    auto* inner = static_cast<InnerModel*>(static_cast<Model*>(self)->inner);
    return inner != nullptr ? inner->attributes : nullptr;
  });
  method(model, "-setDescriptor:", "v24@0:8@16", [](Id self, Selector*, Id other) {
    if (other != nullptr) require_class(other, "_ANEInMemoryModelDescriptor", "setDescriptor:");
    release(std::exchange(static_cast<Model*>(self)->descriptor, retain(other)));
  });
  method(model, "-setModelURL:", "v24@0:8@16",
         [](Id, Selector*, Id) { complain("forbidden", "setModelURL: makes macOS 27 refuse the program"); });

  Class* inner = define("_ANEModel", "NSObject");
  method(inner, "-modelAttributes", "@16@0:8",
         [](Id self, Selector*) { return static_cast<InnerModel*>(self)->attributes; });
}

void define_requests() {
  Class* request = define("_ANERequest", "NSObject");
  method(request, "+requestWithInputs:inputIndices:outputs:outputIndices:weightsBuffer:perfStats:procedureIndex:",
         "@72@0:8@16@24@32@40@48@56@64", make_request);

  Class* wrapper = define("_ANEIOSurfaceObject", "NSObject");
  method(wrapper, "+objectWithIOSurface:", "@24@0:8^{__IOSurface=}16", [](Class*, Selector*, Id surface) {
    auto* out = make<Wrapper>("_ANEIOSurfaceObject");
    out->surface = cast<Surface>(surface, "IOSurface", "objectWithIOSurface:");
    retain(surface);
    return autorelease(out);
  });

  Class* info = define("_ANEDeviceInfo", "NSObject");
  method(info, "+hasANE", "B16@0:8",
         [](Class*, Selector*) -> long { return std::getenv("ANEDVD_STANDIN_NO_ENGINE") == nullptr ? 1 : 0; });
  method(info, "+aneSubType", "@16@0:8", [](Class*, Selector*) { return string("standin"); });
  method(info, "+buildVersion", "@16@0:8", [](Class*, Selector*) { return string("0"); });
}

// Where to write, at the end of the process, how often each method was called.
constexpr const char* kCountsFile = "ANEDVD_STANDIN_COUNTS";
void write_message_counts() { std::ofstream(std::getenv(kCountsFile)) << message_counts(); }

// Classes exist as soon as the library is loaded, as Apple's do.
const bool defined = [] {
  define_foundation();
  define_surfaces();
  define_models();
  define_requests();
  order_faults_of_environment();
  if (std::getenv(kCountsFile) != nullptr) std::atexit(write_message_counts);
  return true;
}();

}  // namespace

EXPORTED void standin_order_faults(const char* words) { order_faults(words); }
EXPORTED void standin_reset() {
  cancel_faults();
  show_all();
}
EXPORTED int standin_compiles() { return service().compiles; }
EXPORTED int standin_loaded() { return service().loaded; }

}  // namespace standin
