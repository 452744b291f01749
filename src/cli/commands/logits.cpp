// anedvd logits: the logits at every position of a list of ids, as a NumPy file.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <nlohmann/json.hpp>

#include "base/words.h"
#include "cli/args.h"
#include "cli/commands/all.h"
#include "cli/commands/run_session.h"
#include "cli/option_groups.h"
#include "cli/terminal/console.h"
#include "cli/terminal/input.h"

namespace anedvd {
namespace {

// Writes a float32 array of two dimensions row by row: format version 1.0 of numpy/lib/format.py. The file gets its name at the end, so that
// a broken run leaves no half array behind.
class NpyWriter {
 public:
  explicit NpyWriter(std::string path) : path_(std::move(path)), part_(path_ + ".part") {}
  NpyWriter(const NpyWriter&) = delete;
  NpyWriter& operator=(const NpyWriter&) = delete;
  ~NpyWriter() {
    if (!file_) return;
    std::fclose(file_);
    std::remove(part_.c_str());
  }

  Result<> open(size_t rows, size_t cols) {
    file_ = std::fopen(part_.c_str(), "wb");
    if (!file_) return failed();
    std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, cols);
    constexpr size_t kPrefix = 10;  // magic, version, length of the header
    while ((kPrefix + header.size() + 1) % 64 != 0) header += ' ';
    header += '\n';
    const char prefix[kPrefix] = {
        '\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, char(header.size() & 0xff), char(header.size() >> 8)};
    return write(std::string(prefix, kPrefix) + header);
  }

  Result<> add(std::span<const float> row) {
    return write({reinterpret_cast<const char*>(row.data()), row.size_bytes()});
  }

  Result<> close() {
    FILE* file = std::exchange(file_, nullptr);
    const bool closed = std::fclose(file) == 0;
    if (closed && std::rename(part_.c_str(), path_.c_str()) == 0) return {};
    auto error = failed();
    std::remove(part_.c_str());
    return error;
  }

 private:
  Result<> write(std::string_view bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) return failed();
    return {};
  }

  Result<> failed() const {
    return fail(ErrorCode::kIo, "{}: cannot be written ({}); choose another --out", visible(path_),
                std::strerror(errno));
  }

  std::string path_, part_;
  FILE* file_ = nullptr;
};

Result<ExitCode> run_logits(const Args& args) {
  const auto ids_file = args.text("--ids-file");
  const auto out = args.text("--out");
  if (!ids_file) return fail(ErrorCode::kUsage, "logits: no ids; add --ids-file ids.json");
  if (!out) return fail(ErrorCode::kUsage, "logits: no file to write; add --out logits.npy");
  const std::string where = *ids_file == "-" ? "standard input" : visible(*ids_file);
  ANEDVD_TRY(const std::string text, read_input(*ids_file));
  ANEDVD_TRY(const std::vector<int32_t> ids, parse_ids(text, where));
  if (ids.empty()) return fail(ErrorCode::kBadFile, "{}: no ids in it; give at least one", where);
  ANEDVD_TRY(const RuntimeOptions options, runtime_options_of(args));
  const std::string model = args.positionals().empty() ? *args.text("--model") : args.positionals()[0];
  ANEDVD_TRY(const auto runtime, load_runtime(model, options));
  const size_t vocab = size_t(runtime->spec().vocab);
  const auto bad = std::find_if(ids.begin(), ids.end(), [&](int32_t id) { return size_t(id) >= vocab; });
  if (bad != ids.end())
    return fail(ErrorCode::kBadFile, "{}: item {} is {}, but the vocabulary ends at {}; use ids of this model", where,
                with_commas(bad - ids.begin()), *bad, vocab - 1);

  NpyWriter writer(*out);
  ANEDVD_TRY_VOID(writer.open(ids.size(), vocab));
  const auto sequence = runtime->new_sequence();
  Result<> written;
  ANEDVD_TRY_VOID(runtime->append_all_logits(*sequence, ids, [&](int, std::span<const float> logits) {
    if (written) written = writer.add(logits);
  }));
  ANEDVD_TRY_VOID(written);
  ANEDVD_TRY_VOID(writer.close());
  if (args.given("--json")) {
    const nlohmann::ordered_json object = {{"shape", {ids.size(), vocab}}};
    ANEDVD_TRY_VOID(write_out(object.dump() + "\n"));
  } else {
    Console::from(args).note(fmt::format("{}: float32 [{}, {}]", visible(*out), with_commas(int64_t(ids.size())),
                                         with_commas(int64_t(vocab))));
  }
  return kDone;
}

}  // namespace

Command logits_command() {
  return {.name = "logits",
          .group = CommandGroup::kPieces,
          .summary = "Write the logits at every position of a list of token ids to a NumPy file",
          .arguments = "[MODEL]",
          .max_arguments = 1,
          .examples = {"anedvd logits smollm2 --ids-file ids.json --out logits.npy"},
          .options = join({model_option(),
                           {{.name = "--ids-file",
                             .group = OptionGroup::kInput,
                             .kind = OptionKind::kFile,
                             .value = "FILE",
                             .help = "a JSON array of ids; - is standard input",
                             .example = "ids.json"},
                            {.name = "--out",
                             .alias = "-o",
                             .group = OptionGroup::kOutput,
                             .kind = OptionKind::kFile,
                             .value = "FILE",
                             .help = "float32 [tokens, vocabulary]",
                             .example = "logits.npy"}},
                           json_option(),
                           runtime_options()}),
          .run = run_logits};
}

}  // namespace anedvd
