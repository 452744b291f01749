// anedvd info: this machine, and a model without loading its weights.
#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/machine/processor.h"
#include "base/words.h"
#include "cli/args.h"
#include "cli/commands/all.h"
#include "cli/commands/machine.h"
#include "cli/commands/memory_estimate.h"
#include "cli/devices.h"
#include "cli/model_path.h"
#include "cli/option_groups.h"
#include "cli/terminal/console.h"
#include "cli/terminal/table.h"
#include "cpu/kernels/select.h"
#include "engine/runtime.h"
#include "formats/gguf_file.h"
#include "formats/tensor_source.h"
#include "model/quantise_at_load.h"
#include "text/conversation.h"
#include "text/template_sources.h"

namespace anedvd {
namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;
using Json = nlohmann::ordered_json;

// Bytes of tensors by type, and parameters in all.
struct Contents {
  std::map<DType, uint64_t> bytes;
  int64_t parameters = 0;
  uint64_t total = 0;
};

Contents contents_of(const TensorSource& source) {
  Contents contents;
  for (const TensorView& tensor : source.tensors()) {
    contents.bytes[tensor.dtype] += tensor.bytes.size();
    contents.parameters += tensor.elements();
    contents.total += tensor.bytes.size();
  }
  return contents;
}

// The type that most bytes have: what people call the file.
std::string main_type(const Contents& contents) {
  const auto most = std::max_element(contents.bytes.begin(), contents.bytes.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == contents.bytes.end() ? "–" : std::string(format_of(most->first).name);
}

std::string container_words(const TensorSource& source) {
  if (source.kind() == SourceKind::kHuggingFace) return "Hugging Face folder";
  const auto* gguf = dynamic_cast<const GgufFile*>(&source);
  return gguf ? fmt::format("GGUF v{}", gguf->version()) : "GGUF";
}

// "9 heads (3 kv)", and a span where layers differ.
std::string span_words(const std::vector<LayerSpec>& layers, int LayerSpec::*field) {
  const auto [low, high] = std::minmax_element(
      layers.begin(), layers.end(), [&](const LayerSpec& a, const LayerSpec& b) { return a.*field < b.*field; });
  if (low == layers.end()) return "–";
  return (*low).*field == (*high).*field
             ? with_commas((*low).*field)
             : fmt::format("{}–{}", with_commas((*low).*field), with_commas((*high).*field));
}

// Keys and values of one token in fp16.
uint64_t kv_token_bytes(const ModelSpec& spec) {
  uint64_t bytes = 0;
  for (const LayerSpec& layer : spec.layers)
    if (!layer.kv_from_layer) bytes += uint64_t(layer.kv_heads) * uint64_t(layer.head_dim) * 2 * sizeof(uint16_t);
  return bytes;
}

void describe_spec(const ModelSpec& spec, const Contents& contents, int context, Rows& rows, Json& json) {
  rows.emplace_back("shape",
                    fmt::format("{} layers × {} · {} heads ({} kv) · {} parameters", spec.layers.size(),
                                with_commas(spec.hidden), span_words(spec.layers, &LayerSpec::heads),
                                span_words(spec.layers, &LayerSpec::kv_heads), parameter_words(contents.parameters)));
  rows.emplace_back("context", fmt::format("trained {} · runs {}", with_commas(spec.context), with_commas(context)));
  json["family"] = spec.family;
  json["layers"] = spec.layers.size();
  json["hidden"] = spec.hidden;
  json["vocab"] = spec.vocab;
  if (!spec.layers.empty()) {
    json["heads"] = spec.layers[0].heads;
    json["kv_heads"] = spec.layers[0].kv_heads;
    json["head_dim"] = spec.layers[0].head_dim;
    json["ffn_width"] = spec.layers[0].ffn_width;
  }
  json["context"] = spec.context;
  json["context_runs"] = context;
}

void describe_tokenizer(const TensorSource& source, Rows& rows, Json& json) {
  const auto templates = find_templates(source);
  const bool has_template = templates && !templates->empty();
  json["chat_template"] = has_template;
  const auto tokenizer = make_tokenizer(source);
  const std::string template_words = has_template ? "its own" : "none, ChatML or a plain transcript is used";
  if (!tokenizer) {
    rows.emplace_back("tokens", fmt::format("– ({})", tokenizer.error().message));
    json["tokenizer"] = nullptr;
    return;
  }
  rows.emplace_back("tokens", fmt::format("{} {} · chat template: {}", with_commas((*tokenizer)->vocab_size()),
                                          (*tokenizer)->kind(), template_words));
  json["tokenizer"] = {{"kind", (*tokenizer)->kind()}, {"size", (*tokenizer)->vocab_size()}};
}

struct LoadedAs {
  int context = 0;             // tokens
  std::optional<DType> quant;  // --quant
};

void describe_memory(const Args& args, const TensorSource& source, const ModelSpec& spec, const LoadedAs& as,
                     Rows& rows, Json& json) {
  const int parallel = int(args.integer("--parallel").value_or(1));
  const uint64_t weights = bytes_at_load(source, as.quant);
  const uint64_t cache = kv_token_bytes(spec) * uint64_t(as.context) * uint64_t(parallel);
  const uint64_t bytes = weights + cache;
  json["memory_bytes"] = {{"cpu", bytes}, {"weights", weights}, {"cache", cache}};
  std::string devices = fmt::format("cpu {}", size_words(bytes));
  // Types of --quant are the CPU's alone.
  if (!as.quant) {
    if (const auto ane = ane_weight_bytes(source, as.context)) {
      devices += fmt::format(" · ane {}", size_words(*ane + cache));
      json["memory_bytes"]["ane"] = *ane + cache;
    }
  }
  rows.emplace_back("memory", fmt::format("{} (estimate: weights {}, cache {} for {}{} tokens)", devices,
                                          size_words(weights), size_words(cache),
                                          parallel > 1 ? fmt::format("{} × ", parallel) : "", with_commas(as.context)));
  const uint64_t free = available_memory();
  json["fits"] = free == 0 || bytes <= free;
  if (free > 0 && bytes > free)
    rows.emplace_back(
        "", fmt::format("does not fit: {} are free; {}", size_words(free),
                        weights < free ? "use a smaller --max-seq or --parallel" : "use a smaller quantisation"));
}

Result<ExitCode> run_info(const Args& args) {
  const Console console = Console::from(args);
  ANEDVD_TRY_VOID(select_kernels());  // a level of ANEDVD_SIMD that is none is told as every command tells it
  const Machine machine = this_machine();
  Rows rows, settings;
  const NeuralEngine engine = find_neural_engine();
  Json json = {
      {"device", engine.is_usable ? "ane" : "cpu"},
      {"simd", machine.simd},
      {"system", machine.system},
      {"cores", machine.cores},
      {"memory_bytes", machine.memory_bytes},
      {"memory_free_bytes", machine.memory_free_bytes},
      {"neural_engine",
       {{"usable", engine.is_usable}, {"why", engine.words}, {"found", engine.found}, {"missing", engine.missing}}}};
  const std::string device = fmt::format(
      "{} ({}{})", engine.is_usable ? "ane" : "cpu", engine.words,
      engine.missing.empty() ? "" : fmt::format(", {} classes or selectors missing", engine.missing.size()));
  if (args.positionals().empty() && !args.given("--model")) {
    rows.emplace_back("device", device);
    rows.emplace_back("cpu", fmt::format("{} · {} cores", machine.simd, machine.cores));
    rows.emplace_back(
        "memory", fmt::format("{} · {} free", size_words(machine.memory_bytes), size_words(machine.memory_free_bytes)));
    rows.emplace_back("system", machine.system);
  } else {
    const std::string name = args.positionals().empty() ? *args.text("--model") : args.positionals()[0];
    ANEDVD_TRY(const auto path, model_path(name));
    ANEDVD_TRY(const auto source, open_model(path));
    const Contents contents = contents_of(*source);
    Json model = {{"path", path.string()}};
    const auto spec = read_model_spec(*source);
    const std::string title(source->config().string("general.name").value_or(""));
    const std::string architecture(
        source->config().string("general.architecture").value_or(spec ? std::string_view(spec->architecture) : ""));
    model["name"] = title.empty() ? model_title(path) : title;
    model["architecture"] = architecture;
    model["parameters"] = contents.parameters;
    model["type"] = main_type(contents);
    model["file_bytes"] = source->file_bytes();
    for (const auto& [dtype, bytes] : contents.bytes) model["types"][std::string(format_of(dtype).name)] = bytes;
    rows.emplace_back("model", fmt::format("{} ({})", title.empty() ? visible(model_title(path)) : visible(title),
                                           visible(architecture)));
    rows.emplace_back("file", fmt::format("{} · {} · {}", container_words(*source), main_type(contents),
                                          size_words(source->file_bytes())));
    int context = 0;
    if (spec) {
      ANEDVD_TRY(context, context_of(*spec, int(args.integer("--max-seq").value_or(0))));
      describe_spec(*spec, contents, context, rows, model);
    } else {
      rows.emplace_back("shape", fmt::format("– ({})", spec.error().message));
    }
    describe_tokenizer(*source, rows, model);
    std::optional<DType> quant;
    if (const auto type = args.text("--quant")) {
      ANEDVD_TRY(quant, quant_type(*type));
      rows.emplace_back("loaded as", fmt::format("{} where the file has plain floats · {}", format_of(*quant).name,
                                                 size_words(bytes_at_load(*source, quant))));
      model["quant"] = {{"type", format_of(*quant).name}, {"bytes", bytes_at_load(*source, quant)}};
    }
    if (spec && contents.total > 0) describe_memory(args, *source, *spec, {context, quant}, rows, model);
    rows.emplace_back("device", device);
    if (console.verbose) {
      for (const auto& [key, value] : source->config().describe()) {
        settings.emplace_back(visible(key), visible(value));
        model["settings"][key] = value;
      }
    }
    json["model"] = std::move(model);
  }
  const std::string text = args.given("--json")
                               ? json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"
                               : labelled(rows) + (settings.empty() ? "" : "\n" + labelled(settings)) +
                                     (console.verbose && !engine.table.empty() ? "\n" + engine.table : "");
  ANEDVD_TRY_VOID(write_out(text));
  return kDone;
}

std::vector<OptionSpec> room_options() {
  return {{.name = "--max-seq",
           .alias = "-c",
           .group = OptionGroup::kModel,
           .kind = OptionKind::kInteger,
           .value = "N",
           .help = "tokens of context to reckon with [the model's, at most 4096]",
           .low = 1,
           .high = 1 << 30,
           .example = "32768"},
          {.name = "--parallel",
           .group = OptionGroup::kModel,
           .kind = OptionKind::kInteger,
           .value = "N",
           .help = "so many of them at the same time [1]",
           .low = 1,
           .high = 1024,
           .example = "8"}};
}

}  // namespace

Command info_command() {
  return {.name = "info",
          .group = CommandGroup::kUse,
          .summary = "Tell what this machine offers, and what a model is",
          .arguments = "[MODEL]",
          .max_arguments = 1,
          .examples = {"anedvd info", "anedvd info smollm2 --verbose"},
          .options = join({model_option(), quant_option(), room_options(), json_option()}),
          .run = run_info};
}

}  // namespace anedvd
