// Where a model keeps its chat templates and the special tokens that they name.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "formats/tensor_source.h"
#include "text/tokenizer.h"

namespace anedvd {

struct NamedTemplate {
  std::string name;  // "default" is the one that counts
  std::string source;
};

// GGUF: tokenizer.chat_template and tokenizer.chat_template.NAME. Folder: chat_template.jinja (wins), additional_chat_templates/NAME.jinja, and
// chat_template of tokenizer_config.json (a text, or a list of {name, template}). Empty if there is none. kBadFile: a broken side file.
Result<std::vector<NamedTemplate>> find_templates(const TensorSource& source);

// {"bos_token", "<s>"}, {"eos_token", "</s>"}, …: those that the model has.
Result<std::vector<std::pair<std::string, std::string>>> find_special_tokens(const TensorSource& source,
                                                                             const Tokenizer& tokenizer);

}  // namespace anedvd
