#include "mil_reader.h"

#include <cctype>
#include <cstdlib>

namespace standin {
namespace {

// A cursor over the text. Every reader leaves `failed` set when it meets something else than it wants.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  bool failed = false;

  bool at(std::string_view word) {
    skip_space();
    return text_.substr(at_).starts_with(word);
  }
  bool take(std::string_view word) {
    if (!at(word)) return false;
    at_ += word.size();
    return true;
  }
  void want(std::string_view word) { failed |= !take(word); }

  std::string identifier() {
    skip_space();
    const size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    failed |= at_ == start;
    return std::string(text_.substr(start, at_ - start));
  }

  // Everything up to one of `ends` outside all brackets and quotes; the end itself stays.
  std::string balanced(std::string_view ends) {
    skip_space();
    const size_t start = at_;
    int depth = 0;
    bool quoted = false;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') quoted = !quoted;
      if (quoted) continue;
      if (depth == 0 && ends.find(c) != std::string_view::npos) break;
      if (c == '(' || c == '[' || c == '{' || c == '<') ++depth;
      if (c == ')' || c == ']' || c == '}' || c == '>') --depth;
    }
    failed |= at_ == text_.size();
    std::string out(text_.substr(start, at_ - start));
    while (!out.empty() && std::isspace(static_cast<unsigned char>(out.back())) != 0) out.pop_back();
    return out;
  }

  void skip_to(std::string_view word) {
    const size_t found = text_.find(word, at_);
    failed |= found == std::string_view::npos;
    if (!failed) at_ = found;
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }

  std::string_view text_;
  size_t at_ = 0;
};

// "tensor<fp16, [1, 8, 1, 4]> x" as type and name.
MilParameter parameter_in(const std::string& text) {
  const size_t end = text.find_last_of(" >");
  if (end == std::string::npos) return {};
  MilParameter out{text.substr(0, end + 1), text.substr(end + 1)};
  while (!out.type.empty() && out.type.back() == ' ') out.type.pop_back();
  return out;
}

std::map<std::string, std::string> pairs_until(Cursor& cursor, const char* close) {
  std::map<std::string, std::string> out;
  while (!cursor.failed && !cursor.take(close)) {
    const std::string key = cursor.identifier();
    cursor.want("=");
    out[key] = cursor.balanced(std::string(",") + close);
    cursor.take(",");
  }
  return out;
}

MilStatement statement_at(Cursor& cursor) {
  MilStatement out;
  const MilParameter left = parameter_in(cursor.balanced("="));
  out.type = left.type;
  out.name = left.name;
  cursor.want("=");
  out.operation = cursor.identifier();
  cursor.want("(");
  out.arguments = pairs_until(cursor, ")");
  if (cursor.take("[")) out.attributes = pairs_until(cursor, "]");
  cursor.want(";");
  return out;
}

}  // namespace

std::vector<long long> dimensions_of(std::string_view type) {
  std::vector<long long> out;
  const size_t open = type.find('[');
  const size_t close = type.find(']', open);
  if (open == std::string_view::npos || close == std::string_view::npos) return out;
  const std::string inside(type.substr(open + 1, close - open - 1));
  for (const char* at = inside.c_str(); *at != '\0';) {
    char* end = nullptr;
    const long long value = std::strtoll(at, &end, 10);
    if (end == at) {
      ++at;
      continue;
    }
    out.push_back(value);
    at = end;
  }
  return out;
}

std::optional<MilFunction> read_mil(std::string_view text) {
  Cursor cursor(text);
  if (!cursor.at("program(")) return std::nullopt;
  cursor.skip_to("func main");
  cursor.take("func main");
  cursor.want("<");
  cursor.identifier();
  cursor.want(">");
  cursor.want("(");
  MilFunction out;
  while (!cursor.failed && !cursor.take(")")) {
    out.parameters.push_back(parameter_in(cursor.balanced(",)")));
    cursor.take(",");
  }
  cursor.want("{");
  while (!cursor.failed && !cursor.at("}")) out.statements.push_back(statement_at(cursor));
  cursor.want("}");
  cursor.want("->");
  cursor.want("(");
  while (!cursor.failed && !cursor.take(")")) {
    out.results.push_back(cursor.identifier());
    cursor.take(",");
  }
  if (cursor.failed || out.results.empty()) return std::nullopt;
  return out;
}

}  // namespace standin
