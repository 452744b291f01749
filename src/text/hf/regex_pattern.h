// A regular expression of a tokenizer.json, through PCRE2.
//
// The files are written for Oniguruma. What differs is bridged: \s is White_Space, \w has marks and \b follows it, [:alpha:] is the
// Alphabetic property, script names mean Script, ^ and $ match at lines. Class intersections (&&) and negated classes in classes are
// refused.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/pretokenize.h"

namespace anedvd {

class RegexPattern {
 public:
  // kUnsupported: PCRE2 or the bridge cannot read it; the message has the expression.
  static Result<RegexPattern> compile(std::string_view expression, std::string_view where);
  // Matches the text itself, no expression.
  static RegexPattern literal(std::string_view text);

  // Appends the matches in `text` and the stretches between them. An empty match cuts without taking anything. Broken UTF-8 is never
  // matched. A search that would take too long ends: what is left is one unmatched part.
  void split(std::string_view text, std::vector<StagePart>& parts) const;

 private:
  struct Code;
  std::shared_ptr<const Code> code_;  // shared by copies of a pattern; immutable
  std::string literal_;
};

}  // namespace anedvd
