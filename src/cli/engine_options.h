// Options of the engine that several commands share: its cache and its guesses.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/args.h"
#include "cli/command.h"
#include "engine/engine.h"

namespace anedvd {

std::vector<OptionSpec> cache_options();        // --kv-memory --kv-disk
std::vector<OptionSpec> speculation_options();  // --speculate --draft

// "512MB", "1.5G", "1048576" as bytes: powers of ten, or of 1024 with an "i" (MiB). Error kUsage names the flag.
Result<uint64_t> parse_bytes(const std::string& text, std::string_view flag);

// What --kv-memory and --kv-disk say. Error kUsage (a size, or no place for a cache).
Result<> read_cache_options(const Args& args, EngineOptions& options);

// What all of those options say; `runtime` is how the model itself is loaded, and its draft as well. Loads the draft model.
// Errors: kUsage (a size), those of Runtime::load.
Result<EngineOptions> engine_options_of(const Args& args, const RuntimeOptions& runtime);

}  // namespace anedvd
