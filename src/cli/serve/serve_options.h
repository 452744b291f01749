// The flags of `serve`: their list, a file that can hold them, and what they set.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "api/models/model_registry.h"
#include "api/service/service.h"
#include "base/result.h"
#include "cli/args.h"
#include "cli/command.h"
#include "engine/engine.h"
#include "http/server.h"

namespace anedvd {

std::vector<OptionSpec> serve_flags();

// The arguments with those of the --config file below them: a flag that was typed wins. The file holds a flag a line, `port = 8080`, `cors = …` as often
// as wanted, `no-queue`; # begins a comment. Errors kUsage name the line.
Result<Args> with_config_file(const Args& typed);

// Text of such a file as words of a command line. `where` names it in errors.
Result<std::vector<std::string>> config_words(const std::string& text, const Command& command,
                                              const std::string& where);

struct ServeSettings {
  ServerOptions server;
  ServiceOptions service;
  EngineOptions engine;
  std::vector<std::string> models;  // as typed
  uint64_t model_memory = 0;
  bool strict_models = false;
  std::string chat_template;
};

// Errors kUsage: an address open to the network without a key, a key file that holds none, …
Result<ServeSettings> serve_settings(const Args& args);

// Ids under which models are served: file names without ".gguf", numbered where two are the same. Aliases: the words that the person typed.
std::vector<ModelEntry> model_entries(const std::vector<std::string>& words,
                                      const std::vector<std::filesystem::path>& paths);

}  // namespace anedvd
