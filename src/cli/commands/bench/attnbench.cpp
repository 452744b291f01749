// anedvd attnbench: what one layer's attention costs one new token, against the length of the context.
#include <algorithm>
#include <chrono>
#include <memory>

#include <nlohmann/json.hpp>

#include "base/machine/huge_buffer.h"
#include "base/machine/processor.h"
#include "base/machine/spin_pool.h"
#include "base/words.h"
#include "cli/args.h"
#include "cli/commands/all.h"
#include "cli/model_path.h"
#include "cli/option_groups.h"
#include "cli/terminal/console.h"
#include "cli/terminal/table.h"
#include "cpu/kernels/select.h"
#include "device/kv_view.h"
#include "engine/runtime.h"

namespace anedvd {
namespace {

constexpr int kFirstContext = 128;
constexpr int kChunkPages = kAttentionChunk / kPageTokens;

struct HeadShape {
  int heads = 9, kv_heads = 3, head_dim = 64;  // SmolLM2-135M
};

// One layer's cache and one query, laid out and walked as the CPU device does (src/cpu/attention_phase.cpp).
class AttentionBench {
 public:
  static Result<std::unique_ptr<AttentionBench>> make(const HeadShape& shape, int max_context, int threads) {
    auto bench = std::unique_ptr<AttentionBench>(new AttentionBench(shape, threads));
    ANEDVD_TRY(bench->kernels_, select_kernels());
    const int pages = (max_context + kPageTokens - 1) / kPageTokens;
    ANEDVD_TRY(bench->cache_, HugeBuffer::reserve(size_t(pages) * bench->page_words() * sizeof(uint16_t)));
    bench->fill(pages);
    const size_t chunks = size_t(max_context + kAttentionChunk - 1) / kAttentionChunk;
    bench->records_.resize(size_t(shape.heads) * chunks * bench->record_floats());
    return bench;
  }

  // Seconds for one token that sees `context` positions: a mean over enough tokens to last a few milliseconds.
  double measure(int context) {
    int tokens = 1;
    for (;;) {
      const auto start = std::chrono::steady_clock::now();
      pool_.run([&](int thread) {
        for (int i = 0; i < tokens; ++i) {
          attend(context, thread);
          pool_.barrier(thread);
          merge(context, thread);
          pool_.barrier(thread);
        }
      });
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (seconds > 5e-3) return seconds / tokens;
      tokens *= 2;
    }
  }

  uint64_t bytes_read(int context) const {
    return uint64_t(context) * uint64_t(shape_.kv_heads) * uint64_t(padded_) * 2 * sizeof(uint16_t);
  }

 private:
  AttentionBench(const HeadShape& shape, int threads)
      : shape_(shape),
        group_(shape.heads / shape.kv_heads),
        padded_((shape.head_dim + kLanes - 1) / kLanes * kLanes),
        query_(size_t(shape.heads) * size_t(padded_), 0.125f),
        out_(query_.size()),
        scores_(size_t(threads), std::vector<float>(kAttentionTile * kAttentionChunk)),
        queries_(size_t(threads), std::vector<AttentionQuery>(size_t(group_))),
        pool_(threads) {}

  size_t head_words() const { return size_t(2) * kPageTokens * size_t(padded_); }
  size_t page_words() const { return head_words() * size_t(shape_.kv_heads); }
  size_t record_floats() const { return size_t(padded_ + kLanes); }
  static int chunks_of(int context) { return (context + kAttentionChunk - 1) / kAttentionChunk; }

  void fill(int pages) {
    std::vector<float> k(size_t(padded_), 0.0f), v(size_t(padded_), 0.0f);
    for (int at = 0; at < pages * kPageTokens; ++at)
      for (int head = 0; head < shape_.kv_heads; ++head) {
        for (size_t i = 0; i < k.size(); ++i) {
          k[i] = float((at * 31 + int(i) * 7) % 17) / 17 - 0.5f;
          v[i] = float((at * 13 + int(i) * 5) % 19) / 19 - 0.5f;
        }
        kernels_->append_kv(k.data(), v.data(), shape_.head_dim, padded_, at % kPageTokens,
                            page(at / kPageTokens, head));
      }
  }

  uint16_t* page(int index, int head) {
    return cache_.as<uint16_t>() + size_t(index) * page_words() + size_t(head) * head_words();
  }

  float* record(int head, int chunk, int chunks) {
    return records_.data() + (size_t(head) * size_t(chunks) + size_t(chunk)) * record_floats();
  }

  void attend(int context, int thread) {
    const int chunks = chunks_of(context);
    for (int head = 0; head < shape_.kv_heads; ++head)
      for (int chunk = 0; chunk < chunks; ++chunk)
        if ((head + chunk) % pool_.threads() == thread) attend_chunk(context, head, chunk, thread);
  }

  void attend_chunk(int context, int kv_head, int chunk, int thread) {
    const int visible = std::min(kAttentionChunk, context - chunk * kAttentionChunk);
    const uint16_t* pages[kChunkPages] = {};
    for (int i = 0; i * kPageTokens < visible; ++i) pages[i] = page(chunk * kChunkPages + i, kv_head);
    const uint16_t* next_pages[kChunkPages] = {};
    const int last_page = (context - 1) / kPageTokens;
    for (int i = 0; i < kChunkPages; ++i)
      next_pages[i] = page(std::min((chunk + pool_.threads()) * kChunkPages + i, last_page), kv_head);
    std::vector<AttentionQuery>& queries = queries_[size_t(thread)];
    for (int g = 0; g < group_; ++g) {
      const int head = kv_head * group_ + g;
      float* target = record(head, chunk, chunks_of(context));
      queries[size_t(g)] = {query_.data() + head * padded_, target, target + padded_, target + padded_ + 1, 0, visible};
    }
    AttentionChunkArgs args;
    args.pages = pages;
    args.next_pages = next_pages;
    args.head_dim = shape_.head_dim;
    args.padded_dim = padded_;
    args.scale = 0.125f;
    args.softcap = 0;
    args.queries = queries.data();
    args.query_count = group_;
    args.scores = scores_[size_t(thread)].data();
    kernels_->attention_chunk(args);
  }

  void merge(int context, int thread) {
    const int chunks = chunks_of(context);
    for (int head = thread; head < shape_.heads; head += pool_.threads())
      kernels_->attention_merge(record(head, 0, chunks), int64_t(record_floats()), chunks, shape_.head_dim, padded_,
                                out_.data() + head * padded_);
  }

  const HeadShape shape_;
  const int group_, padded_;
  const KernelTable* kernels_ = nullptr;
  HugeBuffer cache_;
  std::vector<float> query_, out_, records_;
  std::vector<std::vector<float>> scores_;  // by thread
  std::vector<std::vector<AttentionQuery>> queries_;
  SpinPool pool_;
};

Result<HeadShape> shape_of(const std::string& model) {
  ANEDVD_TRY(const auto path, model_path(model));
  ANEDVD_TRY(const auto source, open_model(path));
  ANEDVD_TRY(const ModelSpec spec, read_model_spec(*source));
  if (spec.layers.empty())
    return fail(ErrorCode::kBadFile, "{}: no layers in it; choose another model", visible(model));
  const LayerSpec& layer = spec.layers[0];
  return HeadShape{layer.heads, layer.kv_heads, layer.head_dim};
}

Result<ExitCode> run_attnbench(const Args& args) {
  const Console console = Console::from(args);
  HeadShape shape;
  if (!args.positionals().empty() || args.given("--model")) {
    ANEDVD_TRY(shape, shape_of(args.positionals().empty() ? *args.text("--model") : args.positionals()[0]));
  }
  const int longest = int(*args.integer("--max-seq"));
  const int reps = int(*args.integer("--reps"));
  const int threads = int(args.integer("--threads").value_or(usable_cores()));
  ANEDVD_TRY(const auto bench, AttentionBench::make(shape, longest, threads));

  Table table({{"context"}, {"µs a layer"}, {"min–max"}, {"GB/s"}});
  auto rows = nlohmann::ordered_json::array();
  for (int context = std::min(kFirstContext, longest); context <= longest; context *= 2) {
    std::vector<double> times;
    for (int i = 0; i < reps; ++i) times.push_back(bench->measure(context));
    std::sort(times.begin(), times.end());
    const double median = times[times.size() / 2];
    const double rate = double(bench->bytes_read(context)) / median / 1e9;
    table.add({with_commas(context), three_digits(median * 1e6),
               fmt::format("{}–{}", three_digits(times.front() * 1e6), three_digits(times.back() * 1e6)),
               three_digits(rate)});
    rows.push_back({{"context", context},
                    {"us_per_layer", median * 1e6},
                    {"us_per_layer_min", times.front() * 1e6},
                    {"us_per_layer_max", times.back() * 1e6},
                    {"gb_s", rate}});
  }
  ANEDVD_TRY(const KernelTable* kernels, select_kernels());
  std::string text;
  if (args.given("--json")) {
    const nlohmann::ordered_json object = {
        {"rows", rows},       {"heads", shape.heads}, {"kv_heads", shape.kv_heads}, {"head_dim", shape.head_dim},
        {"threads", threads}, {"reps", reps},         {"simd", kernels->words}};
    text = object.dump() + "\n";
  } else {
    text =
        table.render(console.out_columns) +
        fmt::format("{} heads ({} kv) × {} · cpu {} · {}\nmedian of {}; nothing else should run meanwhile\n",
                    shape.heads, shape.kv_heads, shape.head_dim, kernels->words, count_words(threads, "thread"), reps);
  }
  ANEDVD_TRY_VOID(write_out(text));
  return kDone;
}

}  // namespace

Command attnbench_command() {
  std::vector<OptionSpec> model = model_option();
  model[0].fallback = {};
  model[0].help = "take its shape [9 heads, 3 kv, 64 wide]";
  const auto count = [](std::string_view name, std::string_view alias, OptionGroup group, std::string_view help,
                        std::string_view fallback, double low, double high, std::string_view example) {
    return OptionSpec{.name = name,
                      .alias = alias,
                      .group = group,
                      .kind = OptionKind::kInteger,
                      .value = "N",
                      .help = help,
                      .fallback = fallback,
                      .low = low,
                      .high = high,
                      .example = example};
  };
  return {.name = "attnbench",
          .group = CommandGroup::kMeasure,
          .summary = "Measure CPU attention for one new token against the length of the context",
          .arguments = "[MODEL]",
          .max_arguments = 1,
          .examples = {"anedvd attnbench", "anedvd attnbench smollm2 --max-seq 8192 --threads 1"},
          .options = join(
              {model,
               {count("--max-seq", "-c", OptionGroup::kMeasure, "longest context", "4096", 1, 1 << 20, "8192"),
                count("--reps", "", OptionGroup::kMeasure, "repetitions; the median counts", "5", 1, 10000, "9"),
                count("--threads", "-t", OptionGroup::kDevice, "worker threads [physical cores]", "", 1, 1024, "1")},
               json_option()}),
          .run = run_attnbench};
}

}  // namespace anedvd
