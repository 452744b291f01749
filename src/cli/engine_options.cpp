#include "cli/engine_options.h"

#include <cmath>
#include <cstdlib>

#include "base/words.h"
#include "cli/model_path.h"
#include "cli/models/model_cache.h"

namespace anedvd {

std::vector<OptionSpec> cache_options() {
  return {{.name = "--kv-memory",
           .group = OptionGroup::kModel,
           .kind = OptionKind::kText,
           .value = "SIZE",
           .help = "of the cache [a quarter of what is free]",
           .example = "2GB",
           .is_rare = true},
          {.name = "--kv-disk",
           .group = OptionGroup::kModel,
           .kind = OptionKind::kText,
           .value = "SIZE",
           .help = "of read prompts kept on disk [none]",
           .example = "4GB",
           .is_rare = true}};
}

std::vector<OptionSpec> speculation_options() {
  return {{.name = "--speculate",
           .group = OptionGroup::kDevice,
           .kind = OptionKind::kInteger,
           .value = "N",
           .help = "guessed tokens a step at most, 0 for none [as many as pay]",
           .low = 0,
           .high = 64,
           .example = "4",
           .is_rare = true},
          {.name = "--draft",
           .group = OptionGroup::kModel,
           .kind = OptionKind::kText,
           .value = "MODEL",
           .help = "a smaller model that guesses; the answer stays the same",
           .example = "smollm2",
           .is_rare = true}};
}

Result<uint64_t> parse_bytes(const std::string& text, std::string_view flag) {
  const auto bad = [&] {
    return fail(ErrorCode::kUsage, "{} {}: not a size; for example {} 512MB", flag, visible(text, 40), flag);
  };
  const size_t digits = text.find_first_not_of("0123456789.");
  const std::string number = text.substr(0, digits);
  std::string unit = digits == std::string::npos ? "" : text.substr(digits);
  for (char& c : unit) c = char(std::toupper(uint8_t(c)));
  if (unit.ends_with("B")) unit.pop_back();
  const bool is_binary = unit.ends_with("I");
  if (is_binary) unit.pop_back();
  constexpr std::string_view kUnits = "KMGT";
  double factor = 1;
  if (!unit.empty()) {
    const size_t power = kUnits.find(unit);
    if (unit.size() != 1 || power == std::string_view::npos) return bad();
    factor = std::pow(is_binary ? 1024.0 : 1000.0, double(power + 1));
  }
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  if (number.empty() || end != number.c_str() + number.size() || !(value * factor < 1e18) || value * factor < 1)
    return bad();
  return uint64_t(value * factor);
}

Result<> read_cache_options(const Args& args, EngineOptions& options) {
  if (const auto size = args.text("--kv-memory")) {
    ANEDVD_TRY(options.kv_memory, parse_bytes(*size, "--kv-memory"));
  }
  if (const auto size = args.text("--kv-disk")) {
    ANEDVD_TRY(options.kv_disk, parse_bytes(*size, "--kv-disk"));
    ANEDVD_TRY(const ModelCache cache, ModelCache::find());
    options.kv_folder = cache.prefixes();
  }
  return {};
}

Result<EngineOptions> engine_options_of(const Args& args, const RuntimeOptions& runtime) {
  EngineOptions options;
  ANEDVD_TRY_VOID(read_cache_options(args, options));
  options.speculate = int(args.integer("--speculate").value_or(-1));
  if (const auto draft = args.text("--draft")) {
    ANEDVD_TRY(const auto path, model_path(*draft));
    RuntimeOptions own = runtime;
    own.quant = {};
    ANEDVD_TRY(options.draft, Runtime::load(path, own));
  }
  return options;
}

}  // namespace anedvd
