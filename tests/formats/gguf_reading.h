// Shorthand of the GGUF tests: read bytes, get the contents or the error's line.
#pragma once

#include <span>
#include <string>

#include <gtest/gtest.h>

#include "formats/gguf_contents.h"

namespace anedvd {

inline Result<GgufContents> read_bytes(const std::string& bytes) {
  return read_gguf(std::as_bytes(std::span(bytes)), "x.gguf");
}

// The message of the error; a test failure if there is none. Every message names the file and is one line.
inline std::string refusal(const std::string& bytes) {
  const auto contents = read_bytes(bytes);
  if (contents) {
    ADD_FAILURE() << "was read, not refused";
    return "";
  }
  const std::string& message = contents.error().message;
  EXPECT_TRUE(message.starts_with("x.gguf: ")) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  return message;
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace anedvd

// Expects that the bytes are refused with a message that contains all of the given parts.
#define EXPECT_REFUSED(bytes, ...)                                                \
  do {                                                                            \
    const std::string refused_message = ::anedvd::refusal(bytes);                 \
    for (const std::string& refused_part : std::vector<std::string>{__VA_ARGS__}) \
      EXPECT_TRUE(::anedvd::contains(refused_message, refused_part))              \
          << refused_message << "\nlacks: " << refused_part;                      \
  } while (false)
