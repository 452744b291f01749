// One model that answers requests: its engine, its chat format, and what clients want to know of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "engine/engine.h"
#include "text/conversation.h"

namespace anedvd {

// What is known of a model without loading its weights.
struct ModelFacts {
  std::string id;
  std::filesystem::path path;
  int64_t created = 0;  // seconds since 1970: the file's last change
  uint64_t file_bytes = 0;
  int64_t parameters = 0;
  int context = 0;  // trained for; the server may use less
  int hidden = 0, vocab = 0;
  int vocab_type = 2;   // as llama.cpp counts them: 1 SentencePiece's, 2 byte-level BPE, 3 WordPiece, 4 unigram
  std::string pooling;  // "mean", "cls", "last": how an embedding is made of hidden states
};

// When the file was changed last, in seconds since 1970 and at least 1.
int64_t changed_at(const std::filesystem::path& path);

// Reads the head of the file. Errors: those of open_model and read_model_spec.
Result<ModelFacts> read_facts(std::string id, const std::filesystem::path& path);

// May be used by several threads at once.
class ServedModel {
 public:
  // `chat_template` as Conversation::make takes it. A template that cannot be parsed is an error only for those who need it: conversation().
  ServedModel(ModelFacts facts, std::unique_ptr<Engine> engine, std::string_view chat_template);

  const ModelFacts& facts() const { return facts_; }
  const std::string& id() const { return facts_.id; }
  Engine& engine() const { return *engine_; }
  const Tokenizer& tokenizer() const { return engine_->tokenizer(); }
  int context() const { return engine_->runtime().info().max_seq; }  // tokens that one request may use
  std::string_view device() const { return engine_->runtime().info().device; }

  Result<const Conversation*> conversation() const;
  const std::string& template_text() const { return template_text_; }  // empty: the model has none

 private:
  ModelFacts facts_;
  std::unique_ptr<Engine> engine_;
  Result<Conversation> conversation_;
  std::string template_text_;
};

}  // namespace anedvd
