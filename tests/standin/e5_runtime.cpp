// The C functions of the E5 runtime over the simulator's profile of that route: handles of the right kind in the right order, or a complaint.
//
// Live handles are counted (standin_e5_handles), so that a test sees what was not given back.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "backend.h"
#include "faults.h"
#include "report.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace standin {
namespace {

constexpr int64_t kCompileFailed = 11, kOtherFailure = 5;
constexpr size_t kAlignment = 64;

enum class Kind { kConfig, kCompiler, kOptions, kLibrary, kFunction, kOpOptions, kOp, kPort, kBuffer, kStream };

int live_handles = 0;

// Counted: an operation outlives the caller's reference to its library.
struct Object {
  explicit Object(Kind k) : kind(k) { ++live_handles; }
  virtual ~Object() { --live_handles; }
  Kind kind;
};

struct Options : Object {
  Options() : Object(Kind::kOptions) {}
  uint64_t devices = 0;
};

struct Library : Object {
  Library() : Object(Kind::kLibrary) {}
  std::string key;
};

struct Function : Object {
  Function() : Object(Kind::kFunction) {}
  std::string key;
};

struct OpOptions : Object {
  OpOptions() : Object(Kind::kOpOptions) {}
  std::string key;
};

struct Buffer : Object {
  Buffer() : Object(Kind::kBuffer) {}
  ~Buffer() override { std::free(memory); }
  void* memory = nullptr;
  size_t bytes = 0;
};

struct Op : Object {
  Op() : Object(Kind::kOp) {}
  std::unique_ptr<Program> program;
  std::map<int, Buffer*> inputs, outputs;  // by symbol
  bool is_encoded = false, is_prepared = false;
};

struct Port : Object {
  Port() : Object(Kind::kPort) {}
  Op* op = nullptr;
  bool is_output = false;
  int symbol = 0;
};

struct Stream : Object {
  Stream() : Object(Kind::kStream) {}
  Op* op = nullptr;
};

Backend& backend() {
  static const std::unique_ptr<Backend> made = make_sim_backend("e5");
  return *made;
}

template <class T>
T& as(void* handle, Kind kind, const char* call) {
  auto* object = static_cast<Object*>(handle);
  if (object == nullptr || object->kind != kind) complain("wrong handle", call);
  return static_cast<T&>(*object);
}

int64_t give(void** out, Object* object, const char* call) {
  if (out == nullptr) complain("wrong order", call);
  *out = object;
  return 0;
}

int64_t release(void** handle, Kind kind, const char* call) {
  if (handle == nullptr || *handle == nullptr) complain("wrong handle", call);
  delete &as<Object>(*handle, kind, call);
  *handle = nullptr;
  return 0;
}

// A program of this route has one function.
const std::vector<SymbolInfo>& symbols_of(const Op& op, bool outputs) {
  const Procedure& main = op.program->procedures()[0];
  return outputs ? main.outputs : main.inputs;
}

int64_t retain_port(void* op, const char* name, void** out, bool is_output, const char* call) {
  Op& owner = as<Op>(op, Kind::kOp, call);
  const auto& symbols = symbols_of(owner, is_output);
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (symbols[i].tensor.name != name) continue;
    auto* port = new Port;
    port->op = &owner;
    port->is_output = is_output;
    port->symbol = int(i);
    return give(out, port, call);
  }
  return kOtherFailure;
}

}  // namespace
}  // namespace standin

using namespace standin;

EXPORTED int standin_e5_handles() { return live_handles; }

EXPORTED int64_t e5rt_e5_compiler_config_options_create(void** out) {
  return give(out, new Object(Kind::kConfig), __func__);
}
EXPORTED int64_t e5rt_e5_compiler_config_options_set_cache_bundle_location(void* config, const char* folder) {
  as<Object>(config, Kind::kConfig, __func__);
  return std::filesystem::is_directory(folder) ? 0 : kOtherFailure;
}
EXPORTED int64_t e5rt_e5_compiler_create_with_config(void** out, void* config) {
  as<Object>(config, Kind::kConfig, __func__);
  return give(out, new Object(Kind::kCompiler), __func__);
}
EXPORTED int64_t e5rt_e5_compiler_options_create(void** out) { return give(out, new Options, __func__); }
EXPORTED int64_t e5rt_e5_compiler_options_set_compute_device_types_mask(void* options, uint64_t mask) {
  as<Options>(options, Kind::kOptions, __func__).devices = mask;
  return 0;
}
EXPORTED int64_t e5rt_e5_compiler_options_set_force_recompilation(void* options, int) {
  as<Options>(options, Kind::kOptions, __func__);
  return 0;
}
EXPORTED int64_t e5rt_e5_compiler_options_set_segmenter(void* options, const char* name) {
  as<Options>(options, Kind::kOptions, __func__);
  return std::strcmp(name, "graph") == 0 ? 0 : kOtherFailure;
}

EXPORTED int64_t e5rt_e5_compiler_compile(void* compiler, const char* path, void* options, void** library) {
  as<Object>(compiler, Kind::kCompiler, __func__);
  // With any other mask an operation that the engine lacks would quietly be the CPU's.
  if (as<Options>(options, Kind::kOptions, __func__).devices != 4) complain("wrong order", "compute device types");
  const std::filesystem::path file = path;
  if (file.filename() != "model.mil") return kOtherFailure;
  if (const auto fault = next_fault("e5_compile")) return fault->code;
  const std::string key = file.parent_path().string();
  if (const auto failure = backend().compile(key, file.parent_path())) {
    std::fprintf(stderr, "%s\n", failure->words.c_str());
    return kCompileFailed;
  }
  auto* made = new Library;
  made->key = key;
  return give(library, made, __func__);
}

EXPORTED int64_t e5rt_program_library_retain_program_function(void* library, const char* name, void** out) {
  const Library& from = as<Library>(library, Kind::kLibrary, __func__);
  if (std::strcmp(name, "main") != 0) return kOtherFailure;
  auto* made = new Function;
  made->key = from.key;
  return give(out, made, __func__);
}
EXPORTED int64_t e5rt_precompiled_compute_op_create_options_create_with_program_function(void** out, void* function) {
  const Function& from = as<Function>(function, Kind::kFunction, __func__);
  auto* made = new OpOptions;
  made->key = from.key;
  return give(out, made, __func__);
}
EXPORTED int64_t e5rt_precompiled_compute_op_create_options_set_operation_name(void* options, const char* name) {
  as<OpOptions>(options, Kind::kOpOptions, __func__);
  return name[0] != 0 ? 0 : kOtherFailure;
}
EXPORTED int64_t e5rt_precompiled_compute_op_create_options_set_allocate_intermediate_buffers(void* options, int) {
  as<OpOptions>(options, Kind::kOpOptions, __func__);
  return 0;
}
EXPORTED int64_t e5rt_execution_stream_operation_create_precompiled_compute_operation_with_options(void** out,
                                                                                                   void* options) {
  const OpOptions& from = as<OpOptions>(options, Kind::kOpOptions, __func__);
  if (const auto fault = next_fault("e5_load")) return fault->code;
  std::optional<Failure> failure;
  auto program = backend().load(from.key, failure);
  if (program == nullptr) return kOtherFailure;
  auto* made = new Op;
  made->program = std::move(program);
  return give(out, made, __func__);
}

EXPORTED int64_t e5rt_execution_stream_operation_retain_input_port(void* op, const char* name, void** out) {
  return retain_port(op, name, out, false, __func__);
}
EXPORTED int64_t e5rt_execution_stream_operation_retain_output_port(void* op, const char* name, void** out) {
  return retain_port(op, name, out, true, __func__);
}
EXPORTED int64_t e5rt_execution_stream_operation_prepare_op_for_encode(void* op) {
  Op& owner = as<Op>(op, Kind::kOp, __func__);
  if (!owner.is_encoded) return kOtherFailure;  // fails on a fresh one
  owner.is_prepared = true;
  return 0;
}

EXPORTED int64_t e5rt_buffer_object_alloc(void** out, uint64_t bytes, uint32_t type) {
  if (type != 0 || bytes == 0 || bytes % kAlignment != 0) return kOtherFailure;
  auto* made = new Buffer;
  made->memory = std::aligned_alloc(kAlignment, bytes);
  made->bytes = bytes;
  return give(out, made, __func__);
}
EXPORTED int64_t e5rt_buffer_object_get_data_ptr(void* buffer, void** out) {
  *out = as<Buffer>(buffer, Kind::kBuffer, __func__).memory;
  return 0;
}
EXPORTED int64_t e5rt_io_port_bind_buffer_object(void* port, void* buffer) {
  const Port& bound = as<Port>(port, Kind::kPort, __func__);
  Buffer& memory = as<Buffer>(buffer, Kind::kBuffer, __func__);
  const TensorInfo& tensor = symbols_of(*bound.op, bound.is_output)[size_t(bound.symbol)].tensor;
  // Packed here, in rows of 64 bytes behind: the same only for such widths.
  if (tensor.width % 32 != 0) return kOtherFailure;
  if (memory.bytes < size_t(tensor.bytes())) return kOtherFailure;
  (bound.is_output ? bound.op->outputs : bound.op->inputs)[bound.symbol] = &memory;
  return 0;
}

EXPORTED int64_t e5rt_execution_stream_create(void** out) { return give(out, new Stream, __func__); }
EXPORTED int64_t e5rt_execution_stream_encode_operation(void* stream, void* op) {
  Stream& owner = as<Stream>(stream, Kind::kStream, __func__);
  Op& encoded = as<Op>(op, Kind::kOp, __func__);
  if (owner.op != nullptr || (encoded.is_encoded && !encoded.is_prepared)) return kOtherFailure;
  owner.op = &encoded;
  encoded.is_encoded = true;
  encoded.is_prepared = false;
  return 0;
}
EXPORTED int64_t e5rt_execution_stream_reset(void* stream) {
  Stream& owner = as<Stream>(stream, Kind::kStream, __func__);
  if (owner.op == nullptr) return kOtherFailure;
  owner.op = nullptr;
  return 0;
}
EXPORTED int64_t e5rt_execution_stream_execute_sync(void* stream) {
  Op* op = as<Stream>(stream, Kind::kStream, __func__).op;
  if (op == nullptr) return kOtherFailure;
  if (const auto fault = next_fault("e5_evaluate")) return fault->code;
  std::vector<BoundTensor> inputs, outputs;
  for (const auto& [from, to] : {std::pair{&op->inputs, &inputs}, std::pair{&op->outputs, &outputs}})
    for (const auto& [symbol, buffer] : *from)
      to->push_back({symbol, {static_cast<std::byte*>(buffer->memory), buffer->bytes}});
  return op->program->evaluate(0, inputs, outputs) ? kOtherFailure : 0;
}

EXPORTED int64_t e5rt_e5_compiler_config_options_release(void** h) { return release(h, Kind::kConfig, __func__); }
EXPORTED int64_t e5rt_e5_compiler_release(void** h) { return release(h, Kind::kCompiler, __func__); }
EXPORTED int64_t e5rt_e5_compiler_options_release(void** h) { return release(h, Kind::kOptions, __func__); }
EXPORTED int64_t e5rt_program_library_release(void** h) { return release(h, Kind::kLibrary, __func__); }
EXPORTED int64_t e5rt_program_function_release(void** h) { return release(h, Kind::kFunction, __func__); }
EXPORTED int64_t e5rt_precompiled_compute_op_create_options_release(void** h) {
  return release(h, Kind::kOpOptions, __func__);
}
EXPORTED int64_t e5rt_execution_stream_operation_release(void** h) { return release(h, Kind::kOp, __func__); }
EXPORTED int64_t e5rt_io_port_release(void** h) { return release(h, Kind::kPort, __func__); }
EXPORTED int64_t e5rt_buffer_object_release(void** h) { return release(h, Kind::kBuffer, __func__); }
EXPORTED int64_t e5rt_execution_stream_release(void** h) { return release(h, Kind::kStream, __func__); }
