#include "ane/e5/e5_driver.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>

#include <unistd.h>

#include "ane/e5/runtime.h"
#include "ane/sim/mil_syntax.h"
#include "base/sha256.h"

namespace anedvd::e5 {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kNeuralEngine = 4;  // alone: an operation that it lacks is an error, not the CPU's work
constexpr uint32_t kPlainMemory = 0;
constexpr size_t kBufferRounding = 64;

// What everything made by a driver shares.
struct Context {
  Functions call = {};
  fs::path root;
  Owned config, compiler;

  ~Context() {
    std::error_code ignored;
    fs::remove_all(root, ignored);
  }
};

bool is_good(Status status) { return int32_t(status) == 0; }

tl::unexpected<DriverFailure> failed(const char* call, Status status, const std::string& program = {}) {
  DriverFailure failure;
  failure.domain = std::string(kE5Domain);
  failure.code = int32_t(status);
  failure.text = fmt::format("{} failed; the system's own words are on standard error", call);
  failure.program = program;
  return tl::unexpected(std::move(failure));
}

class Buffer final : public Surface {
 public:
  Buffer(std::shared_ptr<Context> context, Owned buffer, std::span<std::byte> memory)
      : context_(std::move(context)), buffer_(std::move(buffer)), memory_(memory) {}

  size_t bytes() const override { return memory_.size(); }
  // Plain memory of this process: nothing to lock.
  DriverResult<std::span<std::byte>> lock(Access) override { return memory_; }
  DriverResult<> unlock(Access) override { return {}; }
  Handle handle() const { return buffer_.get(); }

 private:
  std::shared_ptr<Context> context_;
  Owned buffer_;
  std::span<std::byte> memory_;
};

LiveTensor packed_tensor(const std::string& name, const sim::MilType& type, bool is_output) {
  LiveTensor live;
  live.name = name;
  live.symbol = is_output ? name + "@output" : name;
  live.type = "Float16";
  live.batches = live.depth = live.height = live.interleave = 1;
  live.channels = live.plane_count = type.shape.size() == 4 ? type.shape[1] : 0;
  live.width = type.shape.size() == 4 ? type.shape[3] : 0;
  live.row_stride = live.plane_stride = live.width * 2;
  live.depth_stride = live.batch_stride = live.plane_stride * live.channels;
  return live;
}

// Which tensors a text declares: the runtime is asked for ports by name, so names must be known.
Result<ModelAttributes> attributes_of(std::string_view mil) {
  ANEDVD_TRY(const sim::MilText text, sim::parse_mil(mil));
  ModelAttributes attributes;
  const sim::MilFunctionText& function = text.functions[0];
  ProcedureAttributes procedure;
  procedure.name = function.name;
  for (const sim::MilParameter& input : function.inputs) {
    procedure.input_indices.push_back(int(attributes.input_symbols.size()));
    attributes.input_symbols.push_back(input.name);
    procedure.inputs.push_back(packed_tensor(input.name, input.type, false));
  }
  for (const std::string& output : function.outputs)
    for (const sim::MilStatement& statement : function.statements) {
      if (statement.name != output) continue;
      procedure.output_indices.push_back(int(attributes.output_symbols.size()));
      attributes.output_symbols.push_back(output + "@output");
      procedure.outputs.push_back(packed_tensor(output, statement.type, true));
    }
  attributes.procedures.push_back(std::move(procedure));
  return attributes;
}

class Loaded final : public LoadedProgram {
 public:
  Loaded(std::shared_ptr<Context> context, std::string id, ModelAttributes attributes, Owned library, Owned function,
         Owned op)
      : context_(std::move(context)),
        id_(std::move(id)),
        attributes_(std::move(attributes)),
        library_(std::move(library)),
        function_(std::move(function)),
        op_(std::move(op)) {}

  const ModelAttributes& attributes() const override { return attributes_; }

  DriverResult<> bind(std::span<const Binding> inputs, std::span<const Binding> outputs, int) override {
    const Functions& call = context_->call;
    const bool is_again = stream_.get() != nullptr;
    if (is_again) {
      if (const Status s = call.stream_reset(stream_.get()); !is_good(s))
        return failed("execution_stream_reset", s, id_);
      if (const Status s = call.op_prepare(op_.get()); !is_good(s)) return failed("prepare_op_for_encode", s, id_);
    }
    ports_.clear();
    for (const Binding& binding : inputs)
      if (auto bound = bind_one(binding, attributes_.input_symbols, call.retain_input_port); !bound) return bound;
    for (const Binding& binding : outputs)
      if (auto bound = bind_one(binding, attributes_.output_symbols, call.retain_output_port); !bound) return bound;
    if (!is_again) {
      Handle stream = nullptr;
      if (const Status s = call.stream_create(&stream); !is_good(s)) return failed("execution_stream_create", s, id_);
      stream_ = Owned(stream, call.stream_release);
    }
    if (const Status s = call.stream_encode(stream_.get(), op_.get()); !is_good(s))
      return failed("encode_operation", s, id_);
    is_bound_ = true;
    return {};
  }

  DriverResult<> evaluate() override {
    if (!is_bound_) return tl::unexpected(own_failure("evaluate before bind"));
    if (const Status s = context_->call.stream_execute(stream_.get()); !is_good(s))
      return failed("execute_sync", s, id_);
    return {};
  }

 private:
  DriverResult<> bind_one(const Binding& binding, const std::vector<std::string>& symbols,
                          Status (*retain)(Handle, const char*, Handle*)) {
    auto* buffer = dynamic_cast<Buffer*>(binding.surface);
    if (buffer == nullptr) return tl::unexpected(own_failure("a surface of another driver cannot be bound"));
    if (binding.symbol < 0 || binding.symbol >= int(symbols.size()))
      return tl::unexpected(own_failure(fmt::format("there is no symbol {}", binding.symbol)));
    std::string name = symbols[size_t(binding.symbol)];
    name = name.substr(0, name.find('@'));
    Handle port = nullptr;
    if (const Status s = retain(op_.get(), name.c_str(), &port); !is_good(s)) return failed("retain_port", s, id_);
    ports_.emplace_back(port, context_->call.port_release);
    if (const Status s = context_->call.port_bind(port, buffer->handle()); !is_good(s))
      return failed("bind_buffer_object", s, id_);
    return {};
  }

  std::shared_ptr<Context> context_;
  std::string id_;
  ModelAttributes attributes_;
  // Released in the order opposite to their making: last member first.
  Owned library_, function_, op_;
  std::vector<Owned> ports_;
  Owned stream_;
  bool is_bound_ = false;
};

class Staged final : public StagedProgram {
 public:
  Staged(std::shared_ptr<Context> context, std::string id, fs::path folder, std::string mil)
      : context_(std::move(context)), id_(std::move(id)), folder_(std::move(folder)), mil_(std::move(mil)) {}
  ~Staged() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  // Writes the folder.
  Result<> lay_out(WeightFile weights) {
    std::error_code error;
    fs::create_directories(folder_ / "weights", error);
    if (error) return fail(ErrorCode::kIo, "{}: cannot be created: {}", folder_.string(), error.message());
    std::ofstream text(folder_ / "model.mil", std::ios::binary);
    text.write(mil_.data(), std::streamsize(mil_.size()));
    if (!text.flush()) return fail(ErrorCode::kIo, "{}: cannot write model.mil", folder_.string());
    if (weights.exists()) ANEDVD_TRY_VOID(weights.move_to(folder_ / "weights" / "w.bin"));
    weights_ = std::move(weights);
    return {};
  }

  std::string_view id() const override { return id_; }
  fs::path folder() const override { return folder_; }
  bool is_compiled() const override { return false; }

  DriverResult<> compile() override {
    const Functions& call = context_->call;
    Handle made = nullptr;
    if (const Status s = call.options_create(&made); !is_good(s)) return failed("compiler_options_create", s, id_);
    const Owned options(made, call.options_release);
    for (const Status s : {call.options_set_devices(made, kNeuralEngine), call.options_set_force(made, 0),
                           call.options_set_segmenter(made, "graph")})
      if (!is_good(s)) return failed("compiler_options", s, id_);
    Handle library = nullptr;
    const std::string path = (folder_ / "model.mil").string();
    if (const Status s = call.compile(context_->compiler.get(), path.c_str(), made, &library); !is_good(s))
      return failed("compiler_compile", s, id_);
    library_ = Owned(library, call.library_release);
    return {};
  }

  DriverResult<std::unique_ptr<LoadedProgram>> load() override {
    const Functions& call = context_->call;
    if (library_.get() == nullptr) return tl::unexpected(own_failure("load before compile"));
    auto attributes = attributes_of(mil_);
    if (!attributes) return tl::unexpected(own_failure(attributes.error().message));
    Handle made = nullptr;
    if (const Status s = call.retain_function(library_.get(), "main", &made); !is_good(s))
      return failed("retain_program_function", s, id_);
    Owned function(made, call.function_release);
    made = nullptr;
    if (const Status s = call.op_options_create(&made, function.get()); !is_good(s))
      return failed("op_create_options", s, id_);
    const Owned options(made, call.op_options_release);
    for (const Status s : {call.op_options_set_name(made, id_.c_str()), call.op_options_set_intermediates(made, 1)})
      if (!is_good(s)) return failed("op_create_options", s, id_);
    Handle op = nullptr;
    if (const Status s = call.op_create(&op, options.get()); !is_good(s)) return failed("create_operation", s, id_);
    return std::make_unique<Loaded>(context_, id_, std::move(*attributes), std::move(library_), std::move(function),
                                    Owned(op, call.op_release));
  }

  DriverResult<WeightFile> take_weights_back() override {
    if (weights_.exists())
      if (auto moved = weights_.move_to(context_->root / fmt::format("taken-{}.bin", id_)); !moved)
        return tl::unexpected(own_failure(moved.error().message));
    return std::move(weights_);
  }

 private:
  std::shared_ptr<Context> context_;
  std::string id_;
  fs::path folder_;
  std::string mil_;
  WeightFile weights_;
  Owned library_;
};

class E5Driver final : public Driver {
 public:
  explicit E5Driver(std::shared_ptr<Context> context) : context_(std::move(context)) {}

  std::string_view name() const override { return "ane"; }
  std::string machine() const override { return "Neural Engine by route e5"; }
  const fs::path& scratch_folder() const override { return context_->root; }

  DriverResult<std::unique_ptr<StagedProgram>> stage(std::string_view mil, WeightFile weights,
                                                     DictionaryContent) override {
    const auto digest = weights.exists() ? std::span<const std::byte>(weights.digest()) : std::span<const std::byte>();
    std::string id = fmt::format("{}_{}", sha256_of(std::as_bytes(std::span(mil))), sha256_of(digest));
    // A number, too: nothing forbids two programs of one text here.
    const fs::path folder = context_->root / fmt::format("{}-{}", next_++, id.substr(0, 16));
    auto staged = std::make_unique<Staged>(context_, std::move(id), folder, std::string(mil));
    if (auto laid = staged->lay_out(std::move(weights)); !laid)
      return tl::unexpected(own_failure(laid.error().message));
    return staged;
  }

  DriverResult<std::unique_ptr<Surface>> make_surface(size_t bytes) override {
    const size_t rounded = (bytes + kBufferRounding - 1) / kBufferRounding * kBufferRounding;
    Handle made = nullptr;
    if (const Status s = context_->call.buffer_alloc(&made, rounded, kPlainMemory); !is_good(s))
      return failed("buffer_object_alloc", s);
    Owned buffer(made, context_->call.buffer_release);
    void* data = nullptr;
    if (const Status s = context_->call.buffer_data(made, &data); !is_good(s) || data == nullptr)
      return failed("buffer_object_get_data_ptr", s);
    std::memset(data, 0, rounded);
    return std::make_unique<Buffer>(context_, std::move(buffer), std::span(static_cast<std::byte*>(data), rounded));
  }

 private:
  std::shared_ptr<Context> context_;
  int next_ = 0;
};

}  // namespace

Result<std::unique_ptr<Driver>> open_e5_driver(const std::string& library) {
  auto context = std::make_shared<Context>();
  ANEDVD_TRY(context->call, load_functions(library));
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  if (error) return fail(ErrorCode::kIo, "no temporary folder: {}; set TMPDIR", error.message());
  std::string root = (temporary / "anedvd-e5-XXXXXX").string();
  if (mkdtemp(root.data()) == nullptr)
    return fail(ErrorCode::kIo, "{}: cannot be created: {}", root, std::strerror(errno));
  context->root = root;
  const Functions& call = context->call;
  Handle config = nullptr, compiler = nullptr;
  const std::string cache = (context->root / "bundles").string();
  fs::create_directories(cache, error);
  if (const Status s = call.config_create(&config); !is_good(s))
    return fail_device("route e5", failed("config_options_create", s).value());
  context->config = Owned(config, call.config_release);
  if (const Status s = call.config_set_cache(config, cache.c_str()); !is_good(s))
    return fail_device("route e5", failed("set_cache_bundle_location", s).value());
  if (const Status s = call.compiler_create(&compiler, config); !is_good(s))
    return fail_device("route e5", failed("compiler_create_with_config", s).value());
  context->compiler = Owned(compiler, call.compiler_release);
  return std::make_unique<E5Driver>(std::move(context));
}

}  // namespace anedvd::e5
