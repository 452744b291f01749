#include "engine/runtime.h"

#include <algorithm>
#include <chrono>

#include "base/machine/processor.h"
#include "base/words.h"
#include "cpu/cpu_executable.h"
#include "engine/cache_identity.h"
#include "kv/sequence_cache.h"
#include "model/family.h"
#include "model/plan_builder.h"
#include "model/quantise_at_load.h"
#include "text/conversation.h"

namespace anedvd {
namespace {

constexpr int kDefaultContext = 4096;
// Prefill columns of one step on the CPU: enough that reading the weights is a small part, few enough that a step stays short.
constexpr int kDefaultChunk = 64;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Result<DeviceProgram> compile_on_cpu(const Plan& plan, const KvLayout& layout, const TensorFinder& find,
                                     const DeviceRequest& request) {
  ANEDVD_TRY(CpuProgram made,
             compile_for_cpu(plan, layout, find, {request.threads, request.max_columns, request.exact}));
  return DeviceProgram{std::move(made.executable), "cpu", std::move(made.simd), made.packed_bytes};
}

class CpuSequence : public Sequence {
 public:
  explicit CpuSequence(PagePool& pool) : cache_(pool) {}
  int size() const override { return size_; }
  void truncate(int length) override {
    size_ = std::min(size_, length);
    cache_.truncate(size_);
  }

 private:
  friend class CpuRuntime;  // appends
  SequenceCache cache_;
  int size_ = 0;
};

class CpuRuntime : public Runtime {
 public:
  const TensorSource& source() const override { return *source_; }
  const ModelSpec& spec() const override { return spec_; }
  const RuntimeInfo& info() const override { return info_; }

  Result<const Tokenizer*> tokenizer() override {
    if (!tokenizer_) {
      ANEDVD_TRY(tokenizer_, make_tokenizer(*source_));
    }
    return tokenizer_.get();
  }

  Executable& executable() override { return *program_.executable; }
  const KvLayout& layout() const override { return *layout_; }

  std::unique_ptr<Sequence> new_sequence() override { return std::make_unique<CpuSequence>(*pool_); }

  Result<std::span<const float>> append(Sequence& sequence, std::span<const Token> tokens,
                                        const std::function<bool()>& cancelled) override {
    ANEDVD_TRY_VOID(append_steps(sequence, tokens, cancelled, {}));
    return program_.executable->logits(0);
  }

  Result<> append_all_logits(Sequence& sequence, std::span<const Token> tokens,
                             const std::function<void(int, std::span<const float>)>& sink) override {
    return append_steps(sequence, tokens, {}, sink);
  }

  Result<> prepare(const std::filesystem::path& path, const RuntimeOptions& options) {
    const auto start = std::chrono::steady_clock::now();
    ANEDVD_TRY(source_, open_model(path));
    ANEDVD_TRY(const Family* family, find_family(*source_));
    ANEDVD_TRY(spec_, family->read(*source_));
    if (options.rope_hf || options.rope_adjacent) spec_.adjacent_rope_rows = options.rope_adjacent;
    ANEDVD_TRY_VOID(choose_sizes(options));
    ANEDVD_TRY(Plan plan, build_plan(spec_, *family, *source_, info_.max_seq));
    ANEDVD_TRY_VOID(quantise(plan, options));
    layout_ = std::make_unique<KvLayout>(plan.cache);
    info_.kv_token_bytes = uint64_t(layout_->token_bytes());
    ANEDVD_TRY_VOID(check_memory());
    const DeviceRequest request{info_.threads, std::min(chunk_, info_.max_seq), options.exact};
    auto program = (options.device ? options.device : DeviceCompiler(compile_on_cpu))(
        plan, *layout_, [this](std::string_view name) { return source_->find(name); }, request);
    if (!program)
      return program.error().code == ErrorCode::kUsage ? tl::unexpected(program.error())
                                                       : fail_in(path.string(), program.error());
    program_ = std::move(*program);
    pool_ = std::make_unique<PagePool>(layout_->page_bytes(), INT64_MAX);
    info_.device = program_.device;
    info_.arithmetic = plan_digest(plan) + (options.exact ? " exact" : "") +
                       (options.quant ? " quantised " + std::string(format_of(*options.quant).name) : "");
    info_.simd = program_.simd;
    info_.weight_bytes = program_.weight_bytes;
    for (const Op& op : plan.ops) {
      if (op.kind != OpKind::kLinear || plan.values[size_t(op.out)].dim == plan.vocab) continue;
      const WeightRef& ref = plan.weights[size_t(op.weight)];
      info_.weights += uint64_t(ref.rows) * uint64_t(ref.cols);
    }
    info_.load_seconds = seconds_since(start);
    return {};
  }

 private:
  Result<> quantise(Plan& plan, const RuntimeOptions& options) {
    quant_ = options.quant;
    if (!quant_) return {};
    if (options.exact)
      return fail(ErrorCode::kUsage,
                  "--quant: --exact computes with the weights as they are stored; leave one of them out");
    if (options.device) return fail(ErrorCode::kUsage, "--quant: quantised kernels are the CPU's; use --device cpu");
    info_.quantised_at_load = quantise_at_load(plan, *quant_, *source_);
    return {};
  }

  Result<> choose_sizes(const RuntimeOptions& options) {
    info_.threads = options.threads > 0 ? options.threads : usable_cores();
    ANEDVD_TRY(info_.max_seq, context_of(spec_, options.max_seq));
    chunk_ = options.chunk > 0 ? options.chunk : kDefaultChunk;
    return {};
  }

  // Refuses beforehand what the system would kill later. Weights once as packed, the cache for one full sequence, work space.
  Result<> check_memory() const {
    const uint64_t available = available_memory();
    const uint64_t weights = quant_ ? bytes_at_load(*source_, quant_) : source_->file_bytes();
    const uint64_t cache = info_.kv_token_bytes * uint64_t(info_.max_seq);
    const uint64_t work = uint64_t(64) << 20;
    if (available == 0 || weights + cache + work <= available) return {};
    return fail(ErrorCode::kNoMemory, "{}: needs about {} (weights {}, cache {}, work {}), free are {}; {}",
                source_->path().string(), size_words(weights + cache + work), size_words(weights), size_words(cache),
                size_words(work), size_words(available),
                weights + work < available ? "use a smaller --max-seq" : "use a smaller quantisation");
  }

  Result<> append_steps(Sequence& sequence, std::span<const Token> tokens, const std::function<bool()>& cancelled,
                        const std::function<void(int, std::span<const float>)>& sink) {
    auto& own = static_cast<CpuSequence&>(sequence);
    if (own.size_ + int64_t(tokens.size()) > info_.max_seq)
      return fail(ErrorCode::kUsage, "prompt: {} tokens, the context holds {}; shorten it, or use a larger --max-seq",
                  with_commas(own.size_ + int64_t(tokens.size())), with_commas(info_.max_seq));
    for (const Token token : tokens)
      if (token < 0 || token >= spec_.vocab)
        return fail(ErrorCode::kUsage, "token id {}: the vocabulary has {} entries", token, with_commas(spec_.vocab));
    const int columns = program_.executable->max_columns();
    for (int done = 0; done < int(tokens.size());) {
      if (cancelled && cancelled()) return fail(ErrorCode::kCancelled, "cancelled");
      const int count = std::min(columns, int(tokens.size()) - done);
      ANEDVD_TRY_VOID(own.cache_.reserve(own.size_ + count));
      Slice slice;
      slice.kv.pages = own.cache_.pages();
      slice.first_position = own.size_;
      slice.tokens = tokens.subspan(size_t(done), size_t(count));
      slice.want_all_logits = bool(sink);
      slice.want_last_logits = done + count == int(tokens.size());
      ANEDVD_TRY_VOID(program_.executable->run({&slice, 1}));
      if (sink)
        for (int i = 0; i < count; ++i) sink(done + i, program_.executable->logits(i));
      own.size_ += count;
      done += count;
    }
    return {};
  }

  std::unique_ptr<TensorSource> source_;
  ModelSpec spec_;
  RuntimeInfo info_;
  int chunk_ = kDefaultChunk;
  std::optional<DType> quant_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<KvLayout> layout_;
  DeviceProgram program_;
  std::unique_ptr<PagePool> pool_;
};

}  // namespace

Result<std::unique_ptr<Runtime>> Runtime::load(const std::filesystem::path& path, const RuntimeOptions& options) {
  auto runtime = std::make_unique<CpuRuntime>();
  ANEDVD_TRY_VOID(runtime->prepare(path, options));
  return runtime;
}

Result<int> context_of(const ModelSpec& spec, int max_seq) {
  if (max_seq > spec.context)
    return fail(ErrorCode::kUsage, "--max-seq {}: the model was trained for {}; use at most that", max_seq,
                with_commas(spec.context));
  return max_seq > 0 ? max_seq : std::min(spec.context, kDefaultContext);
}

Result<ModelSpec> read_model_spec(const TensorSource& source) {
  ANEDVD_TRY(const Family* family, find_family(source));
  return family->read(source);
}

}  // namespace anedvd
