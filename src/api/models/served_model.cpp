#include "api/models/served_model.h"

#include <algorithm>
#include <chrono>

#include "formats/tensor_source.h"
#include "text/template_sources.h"

namespace anedvd {
namespace {

int64_t parameters_of(const TensorSource& source) {
  int64_t parameters = 0;
  for (const TensorView& tensor : source.tensors()) parameters += tensor.elements();
  return parameters;
}

// GGUF's pooling_type: 0 none, 1 mean, 2 cls, 3 last (gguf-py's PoolingType).
std::string pooling_of(const TensorSource& source, const ModelSpec& spec) {
  const auto type = source.config().integer(spec.architecture + ".pooling_type");
  return type == 2 ? "cls" : type == 3 ? "last" : "mean";
}

// Of llama.cpp's llama_vocab_type, by the name that GGUF files carry.
int vocab_type_of(const TensorSource& source) {
  const auto model = source.config().string("tokenizer.ggml.model");
  return model == "llama" ? 1 : model == "bert" ? 3 : model == "t5" ? 4 : 2;
}

}  // namespace

int64_t changed_at(const std::filesystem::path& path) {
  std::error_code error;
  const auto time = std::filesystem::last_write_time(path, error);
  if (error) return 1;
  const auto system = std::chrono::file_clock::to_sys(time);
  return std::max<int64_t>(1, std::chrono::duration_cast<std::chrono::seconds>(system.time_since_epoch()).count());
}

Result<ModelFacts> read_facts(std::string id, const std::filesystem::path& path) {
  ANEDVD_TRY(const auto source, open_model(path));
  ANEDVD_TRY(const ModelSpec spec, read_model_spec(*source));
  ModelFacts facts;
  facts.id = std::move(id);
  facts.path = path;
  facts.created = changed_at(path);
  facts.file_bytes = source->file_bytes();
  facts.parameters = parameters_of(*source);
  facts.context = spec.context;
  facts.hidden = spec.hidden;
  facts.vocab = spec.vocab;
  facts.vocab_type = vocab_type_of(*source);
  facts.pooling = pooling_of(*source, spec);
  return facts;
}

ServedModel::ServedModel(ModelFacts facts, std::unique_ptr<Engine> engine, std::string_view chat_template)
    : facts_(std::move(facts)),
      engine_(std::move(engine)),
      conversation_(Conversation::make(engine_->runtime().source(), engine_->tokenizer(), chat_template)) {
  if (const auto templates = find_templates(engine_->runtime().source()))
    for (const NamedTemplate& named : *templates)
      if (named.name == "default") template_text_ = named.source;
}

Result<const Conversation*> ServedModel::conversation() const {
  if (!conversation_) return tl::unexpected(conversation_.error());
  return &*conversation_;
}

}  // namespace anedvd
