// The sampling flags of a chat: those of the command line, changed by /set and its short forms, and by a chat that is loaded.
//
// They are kept as the words of a command line, so that /set takes what the flags take, with the same bounds and the same sentences.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "cli/args.h"
#include "engine/generate.h"

namespace anedvd {

class ChatSettings {
 public:
  // What the person gave on the command line.
  static ChatSettings from(const Args& args);

  // name: "temp", "--temp", "top_p". "default" as the value takes the flag back; a flag that may be repeated (stop) adds to what is there.
  // Error kUsage, as the command line says it; nothing is changed then.
  Result<> set(std::string_view name, const std::string& value);

  // "0.8": the value in force. "" for a flag that is not given and has no default, and for a name that is none.
  std::string value(std::string_view name) const;

  // "temp 0.8 · top-k 40 · …": every flag that has a value.
  std::string words() const;

  // A request with an empty prompt.
  Result<GenerationRequest> request() const;

  // What differs from the defaults, by the names of the HTTP API: {"temperature": 0.5}.
  nlohmann::ordered_json to_json() const;

  // Takes over what is known and valid; returns the names of what is not.
  std::vector<std::string> take(const nlohmann::ordered_json& json);

 private:
  std::map<std::string, std::vector<std::string>, std::less<>>
      values_;  // by flag, "--temp"; in the order they were given
};

}  // namespace anedvd
