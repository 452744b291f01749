#include "cli/commands/open_tokenizer.h"

#include <filesystem>

#include "cli/model_path.h"
#include "text/conversation.h"
#include "text/hf_tokenizer.h"

namespace anedvd {
namespace {

// No weights beside the tokenizer: pieces of a model that people keep to count tokens.
bool is_tokenizer_only(const std::filesystem::path& path) {
  std::error_code error;
  return path.filename() == "tokenizer.json" || (std::filesystem::is_regular_file(path / "tokenizer.json", error) &&
                                                 !std::filesystem::exists(path / "config.json", error));
}

}  // namespace

Result<OpenTokenizer> open_tokenizer(const std::string& model) {
  ANEDVD_TRY(const auto path, model_path(model));
  OpenTokenizer open;
  if (is_tokenizer_only(path)) {
    ANEDVD_TRY(open.tokenizer, make_hf_tokenizer(path));
    return open;
  }
  ANEDVD_TRY(open.source, open_model(path));
  ANEDVD_TRY(open.tokenizer, make_tokenizer(*open.source));
  return open;
}

}  // namespace anedvd
