// What BERT does to text before WordPiece: control characters go, ideographs and punctuation stand alone, accents and case may be dropped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace anedvd {

struct BertNormalizer {
  bool clean_text = true;        // drops U+0000, U+FFFD and control characters; all white space becomes a space
  bool split_ideographs = true;  // a space before and after each ideograph
  bool strip_accents = true;     // decomposed, without nonspacing marks
  bool lowercase = true;

  // Broken UTF-8 is dropped with clean_text, kept otherwise.
  std::string apply(std::string_view text) const;
};

// Words between white space, with each punctuation character as a word; views into `text`.
std::vector<std::string_view> bert_words(std::string_view text);

// Lower case as Unicode's simple mapping, and İ as i with a dot above (its full mapping).
std::string lower_cased(std::string_view text);

}  // namespace anedvd
