#include <charconv>
#include <cstdlib>

#include "ane/sim/mil_lexer.h"
#include "ane/sim/mil_syntax.h"
#include "base/words.h"

namespace anedvd::sim {
namespace {

constexpr size_t kMaxRank = 6;
constexpr size_t kMaxItems = 4096;  // arguments, outputs, functions, literal numbers
constexpr size_t kMaxStatements = 1 << 17;

class Parser {
 public:
  explicit Parser(std::string_view source) : lexer_(source) {}

  Result<MilText> parse() {
    ANEDVD_TRY_VOID(advance());
    MilText text;
    ANEDVD_TRY_VOID(expect_name("program"));
    ANEDVD_TRY_VOID(expect("("));
    ANEDVD_TRY(text.version, take(TokenKind::kNumber, "a version"));
    ANEDVD_TRY_VOID(expect(")"));
    if (is("[")) {
      ANEDVD_TRY([[maybe_unused]] const auto info, bracket());
    }
    ANEDVD_TRY_VOID(expect("{"));
    while (!is("}")) {
      if (text.functions.size() == kMaxItems) return wrong("fewer functions");
      ANEDVD_TRY(MilFunctionText parsed, function());
      text.functions.push_back(std::move(parsed));
    }
    ANEDVD_TRY_VOID(expect("}"));
    if (token_.kind != TokenKind::kEnd) return wrong("the end");
    if (text.functions.empty()) return fail(ErrorCode::kBadFile, "a program without a function");
    return text;
  }

 private:
  tl::unexpected<Error> wrong(std::string_view wanted) const {
    const std::string found = token_.kind == TokenKind::kEnd ? "the end" : fmt::format("\"{}\"", visible(token_.text));
    return fail(ErrorCode::kBadFile, "line {}: {} found where {} was due", lexer_.line(), found, wanted);
  }

  Result<> advance() {
    ANEDVD_TRY(token_, lexer_.next());
    return {};
  }

  bool is(std::string_view punctuation) const {
    return token_.kind == TokenKind::kPunctuation && token_.text == punctuation;
  }

  Result<> expect(std::string_view punctuation) {
    if (!is(punctuation)) return wrong(fmt::format("\"{}\"", punctuation));
    return advance();
  }

  Result<> expect_name(std::string_view name) {
    if (token_.kind != TokenKind::kName || token_.text != name) return wrong(fmt::format("\"{}\"", name));
    return advance();
  }

  Result<std::string> take(TokenKind kind, std::string_view wanted) {
    if (token_.kind != kind) return wrong(wanted);
    std::string text(token_.text);
    ANEDVD_TRY_VOID(advance());
    return text;
  }

  Result<uint64_t> whole_number() {
    ANEDVD_TRY(const std::string text, take(TokenKind::kNumber, "a whole number"));
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      return fail(ErrorCode::kBadFile, "line {}: {} is no whole number", lexer_.line(), text);
    return value;
  }

  Result<double> number() {
    ANEDVD_TRY(const std::string text, take(TokenKind::kNumber, "a number"));
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (end != text.c_str() + text.size())
      return fail(ErrorCode::kBadFile, "line {}: {} is no number", lexer_.line(), text);
    return value;
  }

  Result<MilType> type(int depth) {
    if (depth > kMaxNesting) return wrong("less nesting");
    MilType parsed;
    ANEDVD_TRY(parsed.element, take(TokenKind::kName, "a type"));
    if (parsed.element == "dict") {
      ANEDVD_TRY_VOID(expect("<"));
      ANEDVD_TRY([[maybe_unused]] const MilType key, type(depth + 1));
      ANEDVD_TRY_VOID(expect(","));
      ANEDVD_TRY([[maybe_unused]] const MilType value, type(depth + 1));
      ANEDVD_TRY_VOID(expect(">"));
      return parsed;
    }
    if (parsed.element != "tensor") return parsed;
    parsed.is_tensor = true;
    ANEDVD_TRY_VOID(expect("<"));
    ANEDVD_TRY(parsed.element, take(TokenKind::kName, "an element type"));
    ANEDVD_TRY_VOID(expect(","));
    ANEDVD_TRY_VOID(expect("["));
    while (!is("]")) {
      if (!parsed.shape.empty()) ANEDVD_TRY_VOID(expect(","));
      ANEDVD_TRY(const uint64_t extent, whole_number());
      if (parsed.shape.size() == kMaxRank || extent == 0 || extent > (uint64_t(1) << 40))
        return fail(ErrorCode::kBadFile, "line {}: a tensor's shape out of range", lexer_.line());
      parsed.shape.push_back(int64_t(extent));
    }
    ANEDVD_TRY_VOID(expect("]"));
    ANEDVD_TRY_VOID(expect(">"));
    return parsed;
  }

  // Numbers of a list in order, whatever its nesting.
  Result<> numbers(std::vector<double>& list, int depth) {
    if (depth > kMaxNesting) return wrong("less nesting");
    ANEDVD_TRY_VOID(expect("["));
    for (bool first = true; !is("]"); first = false) {
      if (!first) ANEDVD_TRY_VOID(expect(","));
      if (is("[")) {
        ANEDVD_TRY_VOID(numbers(list, depth + 1));
        continue;
      }
      ANEDVD_TRY(const double value, number());
      if (list.size() == kMaxItems) return wrong("fewer numbers; large constants live in the weight file");
      list.push_back(value);
    }
    return expect("]");
  }

  Result<BlobReference> blob() {
    BlobReference reference;
    ANEDVD_TRY_VOID(advance());
    ANEDVD_TRY_VOID(expect("("));
    ANEDVD_TRY_VOID(expect_name("path"));
    ANEDVD_TRY_VOID(expect("="));
    ANEDVD_TRY([[maybe_unused]] const MilType path_type, type(0));
    ANEDVD_TRY_VOID(expect("("));
    ANEDVD_TRY(reference.path, take(TokenKind::kString, "a path"));
    ANEDVD_TRY_VOID(expect(")"));
    ANEDVD_TRY_VOID(expect(","));
    ANEDVD_TRY_VOID(expect_name("offset"));
    ANEDVD_TRY_VOID(expect("="));
    ANEDVD_TRY([[maybe_unused]] const MilType offset_type, type(0));
    ANEDVD_TRY_VOID(expect("("));
    ANEDVD_TRY(reference.offset, whole_number());
    ANEDVD_TRY_VOID(expect(")"));
    ANEDVD_TRY_VOID(expect(")"));
    return reference;
  }

  // {{"key", "value"}, …}: read and dropped.
  Result<> dictionary() {
    ANEDVD_TRY_VOID(expect("{"));
    for (bool first = true; !is("}"); first = false) {
      if (!first) ANEDVD_TRY_VOID(expect(","));
      ANEDVD_TRY_VOID(expect("{"));
      ANEDVD_TRY([[maybe_unused]] const std::string key, take(TokenKind::kString, "a key"));
      ANEDVD_TRY_VOID(expect(","));
      ANEDVD_TRY([[maybe_unused]] const std::string value, take(TokenKind::kString, "a value"));
      ANEDVD_TRY_VOID(expect("}"));
    }
    return expect("}");
  }

  Result<MilLiteral> literal() {
    MilLiteral parsed;
    ANEDVD_TRY(parsed.type, type(0));
    ANEDVD_TRY_VOID(expect("("));
    if (is("{")) {
      ANEDVD_TRY_VOID(dictionary());
    } else if (is("[")) {
      std::vector<double> list;
      ANEDVD_TRY_VOID(numbers(list, 0));
      parsed.value = std::move(list);
    } else if (token_.kind == TokenKind::kString) {
      ANEDVD_TRY(parsed.value, take(TokenKind::kString, "a string"));
    } else if (token_.kind == TokenKind::kNumber) {
      ANEDVD_TRY(const double value, number());
      parsed.value = std::vector<double>{value};
    } else if (token_.kind == TokenKind::kName && token_.text == "BLOBFILE") {
      ANEDVD_TRY(parsed.value, blob());
    } else if (token_.kind == TokenKind::kName && (token_.text == "true" || token_.text == "false")) {
      parsed.value = token_.text == "true";
      ANEDVD_TRY_VOID(advance());
    } else {
      return wrong("a value");
    }
    ANEDVD_TRY_VOID(expect(")"));
    return parsed;
  }

  Result<MilArgument> argument() {
    MilArgument parsed;
    ANEDVD_TRY(parsed.name, take(TokenKind::kName, "an argument's name"));
    ANEDVD_TRY_VOID(expect("="));
    if (is("(")) {
      ANEDVD_TRY_VOID(advance());
      while (!is(")")) {
        if (!parsed.values.empty()) ANEDVD_TRY_VOID(expect(","));
        if (parsed.values.size() == kMaxItems) return wrong("fewer values");
        ANEDVD_TRY(std::string value, take(TokenKind::kName, "a value"));
        parsed.values.push_back(std::move(value));
      }
      ANEDVD_TRY_VOID(advance());
      return parsed;
    }
    // A name followed by "(" or "<" is the type of a literal.
    const MilLexer lexer_before = lexer_;
    const Token token_before = token_;
    ANEDVD_TRY(std::string value, take(TokenKind::kName, "a value"));
    if (!is("(") && !is("<")) {
      parsed.values.push_back(std::move(value));
      return parsed;
    }
    lexer_ = lexer_before;
    token_ = token_before;
    ANEDVD_TRY(parsed.literal, literal());
    return parsed;
  }

  Result<std::vector<MilArgument>> arguments(std::string_view open, std::string_view close) {
    std::vector<MilArgument> list;
    ANEDVD_TRY_VOID(expect(open));
    while (!is(close)) {
      if (!list.empty()) ANEDVD_TRY_VOID(expect(","));
      if (list.size() == kMaxItems) return wrong("fewer arguments");
      ANEDVD_TRY(MilArgument parsed, argument());
      list.push_back(std::move(parsed));
    }
    ANEDVD_TRY_VOID(advance());
    return list;
  }

  Result<std::vector<MilArgument>> bracket() { return arguments("[", "]"); }

  Result<MilStatement> statement() {
    MilStatement parsed;
    parsed.line = lexer_.line();
    ANEDVD_TRY(parsed.type, type(0));
    ANEDVD_TRY(parsed.name, take(TokenKind::kName, "a value's name"));
    ANEDVD_TRY_VOID(expect("="));
    ANEDVD_TRY(parsed.op, take(TokenKind::kName, "an operation"));
    ANEDVD_TRY(parsed.arguments, arguments("(", ")"));
    if (is("[")) {
      ANEDVD_TRY(parsed.attributes, bracket());
    }
    ANEDVD_TRY_VOID(expect(";"));
    return parsed;
  }

  Result<MilFunctionText> function() {
    MilFunctionText parsed;
    ANEDVD_TRY_VOID(expect_name("func"));
    ANEDVD_TRY(parsed.name, take(TokenKind::kName, "a function's name"));
    ANEDVD_TRY_VOID(expect("<"));
    ANEDVD_TRY(parsed.opset, take(TokenKind::kName, "an opset"));
    ANEDVD_TRY_VOID(expect(">"));
    ANEDVD_TRY_VOID(expect("("));
    while (!is(")")) {
      if (!parsed.inputs.empty()) ANEDVD_TRY_VOID(expect(","));
      if (parsed.inputs.size() == kMaxItems) return wrong("fewer inputs");
      MilParameter parameter;
      ANEDVD_TRY(parameter.type, type(0));
      ANEDVD_TRY(parameter.name, take(TokenKind::kName, "an input's name"));
      parsed.inputs.push_back(std::move(parameter));
    }
    ANEDVD_TRY_VOID(advance());
    ANEDVD_TRY_VOID(expect("{"));
    while (!is("}")) {
      if (parsed.statements.size() == kMaxStatements) return wrong("fewer statements");
      ANEDVD_TRY(MilStatement next, statement());
      parsed.statements.push_back(std::move(next));
    }
    ANEDVD_TRY_VOID(advance());
    ANEDVD_TRY_VOID(expect("->"));
    ANEDVD_TRY_VOID(expect("("));
    while (!is(")")) {
      if (!parsed.outputs.empty()) ANEDVD_TRY_VOID(expect(","));
      if (parsed.outputs.size() == kMaxItems) return wrong("fewer outputs");
      ANEDVD_TRY(std::string output, take(TokenKind::kName, "an output"));
      parsed.outputs.push_back(std::move(output));
    }
    ANEDVD_TRY_VOID(advance());
    ANEDVD_TRY_VOID(expect(";"));
    return parsed;
  }

  MilLexer lexer_;
  Token token_;
};

}  // namespace

Result<MilText> parse_mil(std::string_view text) {
  if (text.size() > kMaxMilBytes) return fail(ErrorCode::kBadFile, "{} bytes of text", text.size());
  return Parser(text).parse();
}

}  // namespace anedvd::sim
