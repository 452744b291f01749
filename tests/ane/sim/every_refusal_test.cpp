// Everything that the simulator's reader of programs refuses, in the words of its source: each by a program that breaks this and nothing else.
// A refusal in the source without a program here fails the last test; a refusal that goes fails its own.
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "ane/sim/mil_syntax.h"
#include "ane/sim/service_fixture.h"

namespace anedvd::sim {
namespace {

const std::string kX = tensor(4, 8) + " x", kT = tensor(4, 8), kW = "tensor<fp16, [4, 4, 1, 1]>";

// Records of the weight file: 16 int8, 4 halves, 16 uint4, 16 halves, 32 halves, 16 uint1 that are all ones.
constexpr int kInt8 = 64, kFourHalves = 192, kUint4 = 320, kHalves = 448, kMoreHalves = 576, kBits = 704;

std::string refusal_of_text(const std::string& mil) {
  Profile profile = quiet("e5");
  profile.takes_literals = true;  // operands without statements of their own
  Service service(profile);
  ProgramFolder folder;
  folder.records({filled(BlobType::kInt8, 16, 16), filled(BlobType::kFp16, 4, 8), filled(BlobType::kUint4, 16, 8),
                  filled(BlobType::kFp16, 16, 32), filled(BlobType::kFp16, 32, 64),
                  filled(BlobType::kUint1, 16, 2, 0xff)});
  folder.text(mil);
  const auto done = compile(service, folder);
  return done ? "" : done.error().text;
}

std::string body(const std::string& statements, const std::string& outputs = "y", const std::string& inputs = kX) {
  return program(inputs, statements, outputs);
}

// y of the usual shape.
std::string call(const std::string& words, const std::string& inputs = kX) {
  return body(statement(kT, "y", words), "y", inputs);
}

std::string constant(const std::string& type, const std::string& name, const std::string& value) {
  return fmt::format("    {0} {1} = const()[name = string(\"{1}\"), val = {2}];\n", type, name, value);
}

std::string blob(const std::string& type, int offset) {
  return fmt::format("{}(BLOBFILE(path = string(\"@model_path/weights/w.bin\"), offset = uint64({})))", type, offset);
}

std::string weight(const std::string& type, const std::string& name, int offset) {
  return constant(type, name, blob(type, offset));
}

// y = conv(x) with this weight, changed in one operand.
std::string conv_with(const std::string& weight_statements, const std::string& from = {}, const std::string& to = {}) {
  std::string words =
      "conv(dilations = tensor<int32, [2]>([1, 1]), groups = int32(1), pad = tensor<int32, [4]>([0, 0, 0, 0]), "
      "pad_type = string(\"valid\"), strides = tensor<int32, [2]>([1, 1]), weight = W, x = x)";
  if (!from.empty()) words.replace(words.find(from), from.size(), to);
  return body(weight_statements + statement(kT, "y", words));
}

// A weight that is expanded; `data`, `scale` and so on are written by who calls.
std::string affine(const std::string& attributes) {
  return conv_with("    " + kW + " W = constexpr_affine_dequantize()[" + attributes + "];\n");
}
std::string affine_of(const std::string& data, const std::string& scale = "fp16(0x1p-3)",
                      const std::string& zero = "int8(0)", const std::string& axis = "int32(0)") {
  return affine(fmt::format("axis = {}, name = string(\"W\"), quantized_data = {}, scale = {}, zero_point = {}", axis,
                            data, scale, zero));
}
const std::string kData = blob("tensor<int8, [4, 4, 1, 1]>", kInt8);

std::string expanded(const std::string& operands, const std::string& words, const std::string& type = kW) {
  return conv_with(operands + statement(type, "W", words));
}
std::string rows_of(const std::string& data, const std::string& scale) {
  return expanded(data + scale, "constexpr_blockwise_shift_scale(data = d, scale = s)");
}
std::string table_of(const std::string& indices, const std::string& table) {
  return expanded(indices + table, "constexpr_lut_to_dense(indices = i, lut = l)");
}
std::string sparse_of(const std::string& mask, const std::string& values) {
  return expanded(mask + values, "constexpr_sparse_to_dense(mask = m, nonzero_data = n)");
}
const std::string kD = weight("tensor<int8, [4, 4, 1, 1]>", "d", kInt8);
const std::string kS = weight("tensor<fp16, [4, 1, 1, 1]>", "s", kFourHalves);
const std::string kI = weight("tensor<uint4, [4, 4, 1, 1]>", "i", kUint4);
const std::string kM = weight("tensor<uint1, [4, 4, 1, 1]>", "m", kBits);

std::string in_opset_16(std::string mil) { return mil.replace(mil.find("ios18"), 5, "ios16"); }

const std::string kTwo = kT + " x, " + tensor(3, 8) + " z";  // of different shapes
const std::string kInt8Tensor = "tensor<int8, [1, 4, 1, 8]>";
const std::string kQuantized =
    statement(kInt8Tensor, "q", "quantize(input = x, output_dtype = string(\"int8\"), scale = fp16(1))");
const std::string kFlat = statement("tensor<fp16, [4, 8]>", "r", "reshape(shape = tensor<int32, [2]>([4, 8]), x = x)");

struct RefusalCase {
  std::string words;  // as they stand in the source
  std::string mil;
};

std::vector<RefusalCase> of_graphs() {
  return {
      {"a tensor without a bound", call("tanh(x = x)", "tensor<fp16, [1, 1099511627776, 1, 8]> x")},
      {"{} is defined twice",
       body(statement(kT, "y", "tanh(x = x)") + "    " + kT + " y = tanh(x = x)[name = string(\"other\")];\n")},
      {"input {} is no fp16 tensor [1, channels, 1, width]", call("tanh(x = x)", "tensor<fp32, [1, 4, 1, 8]> x")},
      {"output {} is not defined", body(statement(kT, "y", "tanh(x = x)"), "z")},
      {"output {} is an input passed through", body(statement(kT, "y", "tanh(x = x)"), "x")},
      {"output {} is no computed fp16 tensor", body(constant("fp16", "h", "fp16(1)"), "h")},
      {"output {} is listed twice", body(statement(kT, "y", "tanh(x = x)"), "y, y")},
      {"label {} is used twice",
       body(statement(kT, "y", "tanh(x = x)") + "    " + kT + " z = tanh(x = x)[name = string(\"y\")];\n")},
      {"operation {} is unknown", call("frobnicate(x = x)")},
      {"a const without val", body("    fp16 h = const()[name = string(\"h\")];\n")},
      {"a const of another type than its val", body(constant("fp16", "h", "int32(1)"))},
      {"{} in opset {}", in_opset_16(rows_of(kD, kS))},
      {" with arguments in parentheses",
       conv_with("    " + kW + " W = constexpr_affine_dequantize(scale = fp16(1))[name = string(\"W\")];\n")},
      {"{} has no {}", expanded(kD + kS, "constexpr_blockwise_shift_scale(data = d, offset = s, scale = s)")},
      {" takes values, not names", affine("axis = k, name = string(\"W\")")},
      {" without name", affine("axis = int32(0)")},
      {"a tuple", expanded(kD + kS, "constexpr_blockwise_shift_scale(data = (d, d), scale = s)")},
      {"{} without {}", expanded(kD + kS, "constexpr_blockwise_shift_scale(data = d)")},
      {"a constexpr of another shape than its data",
       expanded(kD + kS, "constexpr_blockwise_shift_scale(data = d, scale = s)", "tensor<fp16, [4, 2, 1, 1]>")},
      {"{} is not defined yet", call("tanh(x = z)")},
      {"{} takes {} arguments, not {}", call("mul(x = x)")},
      {"{} without {}", call("mul(x = x, z = x)")},
      {"{} of type {}", body(statement(kInt8Tensor, "y", "tanh(x = x)"))},
      {"{} is declared with another shape than it has", body(statement(tensor(5, 8), "y", "tanh(x = x)"))},
      {"a tuple where one value is due", call("tanh(x = (x, x))")},
      {"{} of a constant", call("tanh(x = fp16(1))")},
      {"only [1, channels, 1, width] is simulated", body(kFlat + statement(kT, "y", "tanh(x = r)"))},
      {"only [1, channels, 1, width] is simulated", body(kFlat + statement(kT, "y", "add(x = x, y = r)"))},
      {"{} of {}", body(kQuantized + statement(kT, "y", "tanh(x = q)"))},
      {"{} of {}", body(kQuantized + statement(kT, "y", "add(x = x, y = q)"))},
      {" with another scale than one number",
       body(statement(kInt8Tensor, "y", "quantize(input = x, output_dtype = string(\"int8\"), scale = x)"))},
      {"quantize to another type than int8",
       body(statement(kInt8Tensor, "y", "quantize(input = x, output_dtype = string(\"uint8\"), scale = fp16(1))"))},
      {"matmul: transposes that are no constants",
       call("matmul(transpose_x = x, transpose_y = bool(true), x = x, y = x)")},
      {"only x · yᵀ of [1, channels, 1, width] is simulated",
       call("matmul(transpose_x = bool(true), transpose_y = bool(false), x = x, y = x)")},
      {"matmul of shapes that do not fit",
       call("matmul(transpose_x = bool(false), transpose_y = bool(true), x = x, y = z)", kTwo)},
      {"mode ", call("gelu(mode = string(\"EXACT\"), x = x)")},
      {"{}: operand {} is no number", call("clip(alpha = x, beta = fp16(1), x = x)")},
      {"{} of shapes that do not fit", call("add(x = x, y = z)", kTwo)},
      {"{} of constants", call("add(x = fp16(1), y = fp16(2))")},
      {"conv: the weight is no constant of the weight file", conv_with("", "weight = W", "weight = x")},
      {"only 1×1 convolutions are simulated", conv_with(weight("tensor<fp16, [4, 2, 2, 1]>", "W", kHalves))},
      {"conv: a weight for {} channels on {}", conv_with(weight("tensor<fp16, [8, 2, 1, 1]>", "W", kHalves))},
      {"only plain convolutions are simulated",
       conv_with(weight(kW, "W", kHalves), "groups = int32(1)", "groups = int32(2)")},
      {"pad_type is not valid", conv_with(weight(kW, "W", kHalves), "valid", "same")},
      {"axis {}", call("softmax(axis = int32(2), x = x)")},
      {"a reduction over one axis only",
       call("reduce_sum(axes = tensor<int32, [2]>([1, 3]), keep_dims = bool(true), x = x)")},
      {"keep_dims is not true", call("reduce_sum(axes = tensor<int32, [1]>([1]), keep_dims = bool(false), x = x)")},
      {"concat of nothing", call("concat(axis = x, interleave = bool(false), values = ())")},
      {"concat without axis or interleave", call("concat(axis = x, interleave = bool(false), values = (x, x))")},
      {"concat along channels only", call("concat(axis = int32(3), interleave = bool(false), values = (x, x))")},
      {"concat of shapes that do not fit",
       call("concat(axis = int32(1), interleave = bool(false), values = (x, z))", kT + " x, " + tensor(4, 4) + " z")},
      {"slice_by_size without four begins and sizes",
       call("slice_by_size(begin = tensor<int32, [1]>([0]), size = tensor<int32, [4]>([1, 4, 1, 8]), x = x)")},
      {"a slice past the tensor's end",
       call("slice_by_size(begin = tensor<int32, [4]>([0, 1, 0, 0]), size = tensor<int32, [4]>([1, 4, 1, 8]), x = x)")},
      {"slices of channels only",
       call("slice_by_size(begin = tensor<int32, [4]>([0, 0, 0, 4]), size = tensor<int32, [4]>([1, 4, 1, 4]), x = x)")},
  };
}

std::vector<RefusalCase> of_constants() {
  const std::string in_text = "tensor<int8, [1, 1, 1, 1]>", half_in_text = "tensor<fp16, [1, 1, 1, 1]>";
  return {
      {"a weight of type ", body(weight("tensor<fp8e4m3fn, [16]>", "w", kInt8))},
      {"a record of element type {} for {}", body(weight("tensor<fp16, [16]>", "w", kInt8))},
      {"a record of {} elements for a tensor of {}", body(weight("tensor<fp16, [12]>", "w", kHalves))},
      {"a string for ", body(constant("fp16", "h", "fp16(\"one\")"))},
      {"a truth value for ", body(constant("fp16", "h", "fp16(true)"))},
      {"a number for ", body(constant("string", "h", "string(1)"))},
      {"{} numbers for {}", body(constant("tensor<int32, [2]>", "h", "tensor<int32, [2]>([1, 2, 3])"))},
      {"{} for {}", body(constant("int32", "h", "int32(1.5)"))},
      {"quantized_data without bytes", affine_of(in_text + "([[[[1]]]])")},
      {"quantized_data is no int8", affine_of(blob("tensor<uint4, [4, 4, 1, 1]>", kUint4))},
      {"a scale of type ", affine_of(kData, "int32(1)")},
      {"a zero point of another type than its data", affine_of(kData, "fp16(1)", "uint8(0)")},
      {"a scale with more than one axis", affine_of(kData, blob("tensor<fp16, [4, 1]>", kFourHalves))},
      {"axis {}", affine_of(kData, "fp16(1)", "int8(0)", "int32(4)")},
      {"{} scales along an axis of {}",
       affine_of(kData, blob("tensor<fp16, [4]>", kFourHalves), "int8(0)", "int32(2)")},
      {"data without bytes", rows_of(constant(in_text, "d", in_text + "([[[[1]]]])"), kS)},
      {"a scale without bytes", rows_of(kD, constant(half_in_text, "s", half_in_text + "([[[[1]]]])"))},
      {"a scale of another rank than its data", rows_of(kD, weight("tensor<fp16, [4]>", "s", kFourHalves))},
      {"a scale that does not divide its data", rows_of(kD, weight("tensor<fp16, [16, 1, 1, 1]>", "s", kHalves))},
      {"indices without bytes",
       table_of(constant("tensor<uint8, [1, 1, 1, 1]>", "i", "tensor<uint8, [1, 1, 1, 1]>([[[[1]]]])"),
                weight("tensor<fp16, [16]>", "l", kHalves))},
      {"a table without bytes", table_of(kI, constant(half_in_text, "l", half_in_text + "([[[[1]]]])"))},
      {"indices of type ",
       table_of(weight("tensor<int8, [4, 4, 1, 1]>", "i", kInt8), weight("tensor<fp16, [16]>", "l", kHalves))},
      {"a table that is not [1, …, 1, entries, 1]", table_of(kI, weight("tensor<fp16, [16]>", "l", kHalves))},
      {"a table of {} entries for {}", table_of(kI, weight("tensor<fp16, [1, 1, 1, 1, 4, 1]>", "l", kFourHalves))},
      {"a table for a part of a row", table_of(kI, weight("tensor<fp16, [1, 2, 1, 1, 16, 1]>", "l", kMoreHalves))},
      {"tables that do not divide their rows", table_of(weight("tensor<uint1, [4, 4, 1, 1]>", "i", kBits),
                                                        weight("tensor<fp16, [8, 1, 1, 1, 2, 1]>", "l", kHalves))},
      {"a mask without bits",
       sparse_of(weight("tensor<uint4, [4, 4, 1, 1]>", "m", kUint4), weight("tensor<fp16, [16]>", "n", kHalves))},
      {"nonzero_data without bytes", sparse_of(kM, constant("tensor<fp16, [1]>", "n", "tensor<fp16, [1]>([1])"))},
      {"a mask for more values than there are", sparse_of(kM, weight("tensor<fp16, [4]>", "n", kFourHalves))},
      {"a mask for fewer values than there are", sparse_of(kM, weight("tensor<fp16, [32]>", "n", kMoreHalves))},
  };
}

std::vector<RefusalCase> of_texts() {
  return {
      {"a program without a function", "program(1.3)\n{\n}\n"},
      {"line {}: {} found where {} was due", call("tanh(x = x) tanh")},
      {"line {}: {} is no whole number", call("tanh(x = x)", "tensor<fp16, [1, 4.5, 1, 8]> x")},
      {"line {}: {} is no number", body(constant("fp16", "h", "fp16(1.2.3)"))},
      {"line {}: a tensor's shape out of range", call("tanh(x = x)", "tensor<fp16, [1, 0, 1, 8]> x")},
      {"{} bytes of text", std::string(kMaxMilBytes + 1, ' ')},
      {"line {}: a word of {} bytes", call("tanh(x = " + std::string(70000, 'x') + ")")},
      {"line {}: a string without an end, or with a backslash", body(constant("string", "h", "string(\"a"))},
      {"line {}: unexpected \"{}\"", call("tanh(x = $)")},
      {"line {}: the simulator has no {}",
       body(statement(tensor(8, 4), "y", "reshape(shape = tensor<int32, [4]>([1, 8, 1, 4]), x = x)"))},
  };
}

std::vector<RefusalCase> all_cases() {
  std::vector<RefusalCase> cases = of_graphs();
  for (auto* more : {&of_constants, &of_texts})
    for (RefusalCase& given : (*more)()) cases.push_back(std::move(given));
  return cases;
}

// Words of the source as a pattern: each {} is one word.
std::string pattern_of(const std::string& words) {
  std::string pattern;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words.compare(i, 2, "{}") == 0) {
      pattern += "[^ ]+";
      ++i;
    } else {
      if (std::string_view(".[](){}*+?^$|\\").find(words[i]) != std::string_view::npos) pattern += '\\';
      pattern += words[i];
    }
  }
  return pattern;
}

TEST(EveryRefusal, IsInItsOwnWords) {
  for (const RefusalCase& given : all_cases()) {
    const std::string said = refusal_of_text(given.mil);
    const std::regex wanted(".*: err=\\((InvalidMILProgram|CompilationFailure)\\): (line \\d+: )?[^ ]*" +
                            pattern_of(given.words) + "[^ ]*( \\(line \\d+, [^ ]+\\))?");
    EXPECT_TRUE(std::regex_match(said, wanted)) << given.words << "\nsaid: " << said << "\n"
                                                << given.mil.substr(0, 2000);
  }
}

// The first piece of text in the brackets that open at `at`; empty if there is none.
std::string first_text(const std::string& source, size_t at) {
  int depth = 0;
  for (size_t i = at; i < source.size(); ++i) {
    if (source[i] == '(') ++depth;
    if (source[i] == ')' && --depth == 0) return {};
    if (source[i] != '"') continue;
    std::string text;
    for (++i; source[i] != '"'; ++i) text += source[i] == '\\' ? source[++i] : source[i];
    return text;
  }
  return {};
}

TEST(EveryRefusal, OfTheSourceHasAProgram) {
  const auto folder = std::filesystem::path(ANEDVD_TEST_DATA).parent_path().parent_path() / "src/ane/sim";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the sources are not here";
  std::map<std::string, int> in_source, in_cases;
  const std::pair<const char*, const char*> calls[] = {{"graph_builder.cpp", "return invalid("},
                                                       {"graph_builder.cpp", ": invalid("},
                                                       {"graph_builder.cpp", "return unlowerable("},
                                                       {"constants.cpp", "return invalid("},
                                                       {"constants.cpp", "return unlowerable("},
                                                       {"mil_parser.cpp", "return fail("},
                                                       {"mil_lexer.cpp", "return fail("},
                                                       {"interpreter.cpp", "(cannot_lower("}};
  for (const auto& [file, mark] : calls) {
    std::stringstream text;
    text << std::ifstream(folder / file).rdbuf();
    const std::string source = text.str();
    for (size_t at = 0; (at = source.find(mark, at)) != std::string::npos; ++at) {
      const std::string words = first_text(source, source.find('(', at + 1));
      if (!words.empty()) ++in_source[words];
    }
  }
  EXPECT_GT(in_source.size(), 80u);
  for (const RefusalCase& given : all_cases()) ++in_cases[given.words];
  for (const auto& [words, count] : in_source) EXPECT_EQ(in_cases[words], count) << "\"" << words << "\" in the source";
  for (const auto& [words, count] : in_cases) EXPECT_EQ(in_source[words], count) << "\"" << words << "\" here";
}

}  // namespace
}  // namespace anedvd::sim
