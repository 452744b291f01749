// What `run` and its relatives share: from arguments to a loaded model and a request.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/args.h"
#include "cli/terminal/console.h"
#include "engine/generate.h"
#include "engine/runtime.h"

namespace anedvd {

struct RunWords {
  std::string model;
  std::string prompt;
};

// The prompt: a word, --prompt or both --prompt and --prompt-file, joined by a blank line. Standard input is read only when there is none of
// these, and never when it is a terminal. One newline at the end of a file or of standard input is dropped. Error kUsage: no prompt, or white space alone.
Result<RunWords> read_run_words(const Args& args);

// --threads --max-seq --chunk --exact --rope-…; checks --device.
Result<RuntimeOptions> runtime_options_of(const Args& args);

// --temp to --frequency-penalty.
SamplingParams sampling_of(const Args& args);

// Sampling, --stop and --max-tokens; the prompt is still empty.
Result<GenerationRequest> request_of(const Args& args);

// Finds the model and loads it.
Result<std::unique_ptr<Runtime>> load_runtime(const std::string& model, const RuntimeOptions& options);

// Puts the prompt's ids into the request, as chat unless --no-chat, and what the chat's format asks of the answer. Too long a prompt loses its oldest
// tokens, with a warning.
Result<> set_prompt(Runtime& runtime, const Args& args, const std::string& prompt, GenerationRequest& request);

// The text without its first `count` tokens; whole characters only.
std::string without_oldest(const Tokenizer& tokenizer, const std::string& text, size_t count);

// Every --logit-bias names a token of the model. Error kUsage.
Result<> check_bias(const Runtime& runtime, const GenerationRequest& request);

// --verbose: model, device and sampler on stderr.
void tell_settings(const Console& console, const Runtime& runtime, const GenerationRequest& request, bool as_chat);

}  // namespace anedvd
