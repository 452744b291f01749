// Which of the words on the command line is the model and which is the text.
//
//   run smollm2 "Why?"      model, text          run "some words"     text for the default model
//   run smollm2             model                run Hello            text: no file, and nothing like a model's name
//   --model x.gguf "Why?"   every word is text
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "cli/args.h"

namespace anedvd {

struct ModelWords {
  std::string model;                // a path or a name; the default model's name if the person gave none
  std::optional<std::string> text;  // a prompt among the words
};

// For commands with [MODEL] [TEXT] words. `has_text`: the text came another way (--prompt), so a single word is the model.
// Error kUsage: more words than that.
Result<ModelWords> split_words(const Args& args, bool has_text);

// Could be meant as a model: a path that exists or looks like one, a known name, a near miss of one, or letters with digits.
bool looks_like_model(const std::string& word);

}  // namespace anedvd
