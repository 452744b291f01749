// Text operations that methods and filters share.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/jinja/value.h"

namespace anedvd::jinja {

// str.strip: white space, or the characters of a given set, at either end.
Result<Value> strip_text(Evaluator& evaluator, const Text& text, const Value* characters, bool left, bool right);
// str.replace; count < 0: all.
Result<Value> replace_text(Evaluator& evaluator, const Text& text, const Text& from, const Text& to, int64_t count);
// separator.join(items): strings only, or anything as the `join` filter takes it.
Result<Value> join_texts(Evaluator& evaluator, const Text& separator, const std::vector<Value>& items, bool any_kind);
// ljust '<', rjust '>', center '^'.
Result<Value> pad_text(Evaluator& evaluator, const Text& text, int64_t width, char align, std::string_view fill,
                       Trust trust);

// Steps that looking for `part` in `whole` may take: the standard search compares every start in the worst case.
inline uint64_t search_cost(std::string_view whole, std::string_view part) {
  return 1 + whole.size() / 16 + (whole.size() / 64) * (part.size() / 16);
}

struct LineSpan {
  size_t begin, end, next;  // without and with its line end
};
std::vector<LineSpan> line_spans(std::string_view bytes);

// str.isupper or islower.
bool is_in_case(std::string_view bytes, bool upper);

}  // namespace anedvd::jinja
