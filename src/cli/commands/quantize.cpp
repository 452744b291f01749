// anedvd quantize: a GGUF file, or a Hugging Face folder, to a GGUF file of another type.
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/machine/processor.h"
#include "base/words.h"
#include "cli/args.h"
#include "cli/commands/all.h"
#include "cli/model_path.h"
#include "cli/option_groups.h"
#include "cli/terminal/console.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress.h"
#include "convert/write_gguf.h"

namespace anedvd {
namespace {

bool is_plain(DType dtype) { return format_of(dtype).block_elements == 1; }

// "x-00002-of-00003.gguf" → "x-of-00003.gguf": equal for the shards of one model. Empty for other names.
std::string shards_name(const std::filesystem::path& file) {
  constexpr size_t kDigits = 5;
  std::string name = file.filename().string();
  const size_t of = name.rfind("-of-");
  if (of == std::string::npos || of < kDigits + 1 || name[of - kDigits - 1] != '-') return {};
  return name.erase(of - kDigits - 1, kDigits + 1);
}

bool is_model_file(const std::filesystem::path& path) {
  char magic[4] = {};
  std::ifstream file(path, std::ios::binary);
  return !file.read(magic, sizeof magic) || std::string_view(magic, sizeof magic) == "GGUF";
}

// The output takes the place of an older one, but of nothing else: not of the input or a part of it, and of no file that is no model.
Result<> check_output(const std::filesystem::path& in, const std::filesystem::path& out) {
  if (out == "-") return fail(ErrorCode::kUsage, "-: a model is not written to standard output; give a file's name");
  std::error_code error;
  if (std::filesystem::equivalent(in, out, error))
    return fail(ErrorCode::kUsage, "{}: is the input too; give the output another name", visible(out.string()));
  if (!std::filesystem::is_regular_file(out, error)) return {};
  const bool is_folder = std::filesystem::is_directory(in, error);
  const auto folder = [](const std::filesystem::path& file) {
    return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  };
  const bool is_beside = std::filesystem::equivalent(is_folder ? in : folder(in), folder(out), error);
  const bool is_shard = !shards_name(in).empty() && shards_name(in) == shards_name(out);
  if (is_beside && (is_shard || (is_folder && out.extension() != ".gguf")))
    return fail(ErrorCode::kUsage, "{}: is a part of the input; give the output another name", visible(out.string()));
  if (!is_model_file(out))
    return fail(ErrorCode::kUsage, "{}: is there, and is no model; give the output another name",
                visible(out.string()));
  return {};
}

void warn_about_losses(const std::filesystem::path& in, const WrittenGguf& written) {
  int again = 0;
  for (const WrittenTensor& tensor : written.tensors)
    again += !is_plain(tensor.from) && tensor.used != tensor.from && !is_plain(tensor.used);
  if (again > 0)
    warn("{}: {} matrices were quantised already, and lost again; start from an F16 or BF16 model if there is one",
         visible(in.string()), again);
}

// "210 matrices have rows of 576, no whole blocks of Q4_K: Q5_0 instead", one line for each such pair of types.
void note_fallbacks(const Console& console, const WrittenGguf& written) {
  std::map<std::tuple<DType, DType, int64_t>, int> counts;
  for (const WrittenTensor& tensor : written.tensors)
    if (tensor.wanted != tensor.used) ++counts[{tensor.wanted, tensor.used, tensor.cols}];
  for (const auto& [key, count] : counts) {
    const auto [wanted, used, cols] = key;
    console.note(fmt::format("{} {} rows of {}, no whole blocks of {}: {} instead", count,
                             count == 1 ? "matrix has" : "matrices have", with_commas(cols), format_of(wanted).name,
                             format_of(used).name));
  }
  if (!console.verbose) return;
  for (const WrittenTensor& tensor : written.tensors)
    console.note(
        fmt::format("{}: {} → {}", visible(tensor.name), format_of(tensor.from).name, format_of(tensor.used).name));
}

std::map<std::string_view, int> count_types(const WrittenGguf& written) {
  std::map<std::string_view, int> counts;
  for (const WrittenTensor& tensor : written.tensors) ++counts[format_of(tensor.used).name];
  return counts;
}

Result<> print_result(const Args& args, const std::string& out, const Recipe& recipe, const WrittenGguf& written) {
  const auto counts = count_types(written);
  if (args.given("--json")) {
    nlohmann::ordered_json types = nlohmann::ordered_json::object();
    for (const auto& [name, count] : counts) types[std::string(name)] = count;
    int fallbacks = 0;
    for (const WrittenTensor& tensor : written.tensors) fallbacks += tensor.wanted != tensor.used;
    const nlohmann::ordered_json json = {{"path", out},         {"bytes", written.bytes},
                                         {"type", recipe.name}, {"tensors", written.tensors.size()},
                                         {"types", types},      {"fallbacks", fallbacks}};
    ANEDVD_TRY_VOID(write_out(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"));
    return {};
  }
  std::string kinds;
  for (const auto& [name, count] : counts) kinds += fmt::format("{}{} ×{}", kinds.empty() ? "" : ", ", name, count);
  ANEDVD_TRY_VOID(
      write_out(fmt::format("{}  {}  {} ({})\n", visible(out), size_words(written.bytes), recipe.name, kinds)));
  return {};
}

Result<ExitCode> run_quantize(const Args& args) {
  const std::string& out = args.positionals()[1];
  const Recipe* recipe = find_recipe(args.positionals()[2]);
  if (recipe == nullptr)
    return fail(ErrorCode::kUsage, "{}: not a type that anedvd writes; one of {}", visible(args.positionals()[2], 60),
                recipe_names());
  ANEDVD_TRY(const std::filesystem::path in, model_path(args.positionals()[0]));
  ANEDVD_TRY_VOID(check_output(in, out));
  ANEDVD_TRY(const auto source, open_model(in));
  ANEDVD_TRY(const Outline outline, source->kind() == SourceKind::kGguf ? gguf_outline(*source) : hf_outline(*source));
  const Console console = Console::from(args);
  WriteOptions options;
  options.threads = int(args.integer("--threads").value_or(usable_cores()));
  options.cancelled = SoftStop::requested;
  std::unique_ptr<Progress> progress;
  options.progress = [&](uint64_t done, uint64_t total) {
    if (!console.err_is_terminal) return;
    if (!progress) progress = std::make_unique<Progress>(console, "quantize", total, 0);
    progress->update(done);
  };
  const SoftStop soft_stop;
  ANEDVD_TRY(const WrittenGguf written, write_gguf(outline, *recipe, out, options));
  if (progress) progress->clear();
  warn_about_losses(in, written);
  note_fallbacks(console, written);
  ANEDVD_TRY_VOID(print_result(args, out, *recipe, written));
  return kDone;
}

}  // namespace

Command quantize_command() {
  return {.name = "quantize",
          .group = CommandGroup::kPieces,
          .summary = "Write a model as GGUF of another type",
          .arguments = "IN OUT TYPE",
          .min_arguments = 3,
          .max_arguments = 3,
          .examples = {"anedvd quantize model-F16.gguf model-Q4_K_M.gguf Q4_K_M",
                       "anedvd quantize Llama-3.2-1B-Instruct/ llama-Q8_0.gguf Q8_0"},
          .options = join({{threads_option()}, json_option()}),
          .run = run_quantize};
}

}  // namespace anedvd
