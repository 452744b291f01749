// The JSON object that `template` and `tokenize --chat` take: {"messages": […], "tools": […], "add_generation_prompt": true, …}.
//
// Every other key is a variable for the template; "bos_token" and "eos_token" replace the model's.
#pragma once

#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "text/conversation.h"

namespace anedvd {

class ChatFile {
 public:
  // `path` "-" is standard input. kBadFile names the file and the key.
  static Result<ChatFile> read(const std::string& path);

  ChatFile(ChatFile&&) noexcept;
  ~ChatFile();

  // Borrows from this object.
  ConversationInput input() const;

 private:
  struct Parts;
  explicit ChatFile(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace anedvd
