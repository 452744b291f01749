// Every rule of the simulator by name: with it something is refused in its name, without it the same is let pass.
#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "ane/sim/rules.h"
#include "ane/sim/service_fixture.h"

namespace anedvd::sim {
namespace {

const std::string kX = tensor(4, 8) + " x", kT = tensor(4, 8);

// What a service said last: its words, or "ok".
std::string words(const DriverResult<>& done) { return done ? "ok" : done.error().text; }

std::string compiled(const Profile& profile, const std::string& mil) {
  Service service(profile);
  return words(compile_text(service, mil));
}

// `count` convolutions in a row, each with a weight [4, 4] of its own, the files in turn.
std::string chain(Service& service, int count, int files = 1) {
  ProgramFolder folder;
  const std::vector<std::vector<float>> records(size_t(count), std::vector<float>(16, 0.25f));
  const auto name_of = [](int file) { return file == 0 ? std::string("w.bin") : fmt::format("w{}.bin", file); };
  std::vector<uint64_t> offsets;
  for (int f = 0; f < files; ++f) offsets = folder.weights(records, name_of(f));
  std::string body = kConvConstants, x = "x";
  for (int i = 0; i < count; ++i) {
    const std::string name = fmt::format("c{}", i);
    body += conv_body(4, 4, 8, offsets[size_t(i)], name, x, name_of(i % files));
    x = name;
  }
  folder.text(program(kX, body, x));
  return words(compile(service, folder));
}

std::string compiled_chain(const Profile& profile, int count, int files = 1) {
  Service service(profile);
  return chain(service, count, files);
}

// y = conv(x) with the weight that `body` makes of these records: codes at 64 (int4), 192 (int8) and 320 (uint4), 4, 16 and 32 halves at 448, 576
// and 704.
std::string compiled_codes(const Profile& profile, const std::string& body) {
  Service service(profile);
  ProgramFolder folder;
  folder.records({filled(BlobType::kInt4, 16, 8), filled(BlobType::kInt8, 16, 16), filled(BlobType::kUint4, 16, 8),
                  filled(BlobType::kFp16, 4, 8), filled(BlobType::kFp16, 16, 32), filled(BlobType::kFp16, 32, 64)});
  folder.text(program(kX,
                      kConvConstants + body +
                          statement(kT, "y",
                                    "conv(dilations = dl, groups = gr, pad = pd, pad_type = pt, strides = st, "
                                    "weight = W, x = x)"),
                      "y"));
  return words(compile(service, folder));
}

std::string record(const std::string& type, const std::string& name, int offset) {
  return fmt::format(
      "    {0} {1} = const()[name = string(\"{1}\"), val = {0}(BLOBFILE(path = "
      "string(\"@model_path/weights/w.bin\"), offset = uint64({2})))];\n",
      type, name, offset);
}

std::string scaled(const std::string& data, const std::string& scale) {
  return data + scale +
         statement("tensor<fp16, [4, 4, 1, 1]>", "W", "constexpr_blockwise_shift_scale(data = d, scale = s)");
}

// Program `id` once, with an input of ones: the first number of its output, or the words.
std::string evaluated(Service& service, size_t in_bytes = 256, size_t out_bytes = 256, int symbol = 0,
                      const char* id = "p") {
  const auto handle = service.load(id);
  if (!handle) return handle.error().text;
  auto in = memory(in_bytes), out = memory(out_bytes);
  for (size_t i = 0; i + 1 < in.size(); i += 2) reinterpret_cast<uint16_t*>(in.data())[i / 2] = float_to_half(1);
  const Bound inputs[] = {{symbol, in}}, outputs[] = {{0, out}};
  const auto done = service.evaluate(*handle, 0, inputs, outputs);
  return done ? "ok" : done.error().text;
}

std::string evaluated_text(const Profile& profile, const std::string& mil, size_t in_bytes = 256,
                           size_t out_bytes = 256, int symbol = 0) {
  Service service(profile);
  EXPECT_TRUE(compile_text(service, mil)) << mil;
  return evaluated(service, in_bytes, out_bytes, symbol);
}

std::string tile_program() {
  return program(kX,
                 "    tensor<int32, [4]> r = const()[name = string(\"r\"), val = tensor<int32, [4]>([1, 2, 1, 1])];\n" +
                     statement(tensor(8, 8), "y", "tile(reps = r, x = x)"),
                 "y");
}

struct RuleCase {
  std::string_view rule, profile;
  std::string (*outcome)(Profile profile);
  // Where a rule does not refuse but spoils: what it makes of "ok".
  std::string_view instead = {};
};

const RuleCase kCases[] = {
    {"operation_is_taken", "orion15", [](Profile p) { return compiled(p, unary_program("silu")); }},
    {"operands_are_named", "a18pro-27",
     [](Profile p) { return compiled(p, program(kX, statement(kT, "y", "mul(x = x, y = fp16(0.5))"), "y")); }},
    {"codes_are_of_a_known_type", "e5",
     [](Profile p) {
       return compiled_codes(
           p, scaled(record("tensor<int4, [4, 4, 1, 1]>", "d", 64), record("tensor<fp16, [4, 1, 1, 1]>", "s", 448)));
     }},
    {"scales_are_of_rows", "e5",
     [](Profile p) {
       return compiled_codes(
           p, scaled(record("tensor<int8, [4, 4, 1, 1]>", "d", 192), record("tensor<fp16, [4, 4, 1, 1]>", "s", 576)));
     }},
    {"table_is_of_the_tensor", "e5",
     [](Profile p) {
       return compiled_codes(
           p, record("tensor<uint4, [4, 4, 1, 1]>", "i", 320) + record("tensor<fp16, [2, 1, 1, 1, 16, 1]>", "l", 704) +
                  statement("tensor<fp16, [4, 4, 1, 1]>", "W", "constexpr_lut_to_dense(indices = i, lut = l)"));
     }},
    {"dialect_is_taken", "a18pro-27",
     [](Profile p) {
       p.takes_terse = false;
       return compiled(p, unary_program("tanh"));
     }},
    {"outputs_are_live", "a18pro-27",
     [](Profile p) {
       return compiled(p, program(kX, statement(kT, "d", "tanh(x = x)") + statement(kT, "y", "tanh(x = x)"), "y"));
     }},
    {"one_weight_file", "a18pro-27", [](Profile p) { return compiled_chain(p, 2, 2); }},
    {"blob_slots", "a18pro-27", [](Profile p) { return compiled_chain(p, 17); }},
    {"extents", "orion15", [](Profile p) { return compiled(p, unary_program("tanh", 4, 16385)); }},
    {"out_channels", "a18pro-27",
     [](Profile p) {
       p.max_out_channels = 3;
       return compiled_chain(p, 1);
     }},
    {"program_bytes", "a18pro-27",
     [](Profile p) {
       p.max_weight_bytes = 32;
       return compiled_chain(p, 2);
     }},
    {"softmax_of_power_of_two", "m4-26",
     [](Profile p) {
       return compiled(p, program(tensor(12, 8) + " x",
                                  "    int32 ax = const()[name = string(\"ax\"), val = int32(1)];\n" +
                                      statement(tensor(12, 8), "y", "softmax(axis = ax, x = x)"),
                                  "y"));
     }},
    {"procedures", "a18pro-27",
     [](Profile p) {
       p.max_procedures = 1;
       const std::string one = unary_program("tanh");
       std::string two = one.substr(0, one.size() - 2) + one.substr(one.find("  func main"));
       two.replace(two.rfind("main"), 4, "next");
       return compiled(p, two);
     }},
    {"compiles_of_a_process", "orion15",
     [](Profile p) {
       Service service(p);
       for (int i = 0; i < p.max_compiles; ++i) EXPECT_TRUE(compile_text(service, unary_program("tanh", 1, 1)));
       return words(compile_text(service, unary_program("tanh", 1, 1)));
     }},
    {"stalls_after_a_failure", "a18pro-27",
     [](Profile p) {
       p.stall_seconds = 15;
       Service service(p);
       EXPECT_FALSE(compile(service, ProgramFolder()));  // a program without a text
       return words(compile_text(service, unary_program("tanh")));
     }},
    {"loaded_at_a_time", "a18pro-27",
     [](Profile p) {
       p.max_loaded = 1;
       Service service(p);
       EXPECT_TRUE(compile_text(service, unary_program("tanh")) && service.load("p"));
       return evaluated(service);
     }},
    {"huge_programs_are_doubtful", "a18pro-27",
     [](Profile p) {
       p.doubtful_weight_bytes = 32;
       Service service(p);
       EXPECT_EQ(chain(service, 1), "ok");
       std::vector<std::vector<std::byte>> seen;
       for (int i = 0; i < 2; ++i) {
         auto in = memory(256), out = memory(256);
         EXPECT_TRUE(evaluate_once(service, in, out));
         seen.push_back(out);
       }
       return std::string(seen[0] == seen[1] ? "ok" : "other values");
     },
     "other values"},
    {"cancelled_after_idle", "a18pro-27",
     [](Profile p) {
       Service service(p);
       EXPECT_TRUE(compile_text(service, unary_program("tanh")));
       service.host_worked(2'000'000'000);
       return evaluated(service);
     }},
    {"fails_at_run", "a18pro-27",
     [](Profile p) {
       const std::string flags =
           "    bool no = const()[name = string(\"no\"), val = bool(false)];\n"
           "    bool yes = const()[name = string(\"yes\"), val = bool(true)];\n";
       const std::string call = "matmul(transpose_x = no, transpose_y = yes, x = x, y = x)";
       return evaluated_text(p, program(kX, flags + statement(tensor(4, 1), "y", call), "y"));
     }},
    {"poisons_the_process", "a18pro-27",
     [](Profile p) {
       Service service(p);
       EXPECT_TRUE(compile_text(service, unary_program("tanh")));
       ProgramFolder folder;
       folder.text(tile_program());
       EXPECT_TRUE(compile(service, folder, "tile"));
       EXPECT_NE(evaluated(service, 256, 512, 0, "tile"), "ok");
       return evaluated(service);
     }},
    {"symbols_are_the_procedures", "a18pro-27",
     [](Profile p) { return evaluated_text(p, unary_program("tanh"), 256, 256, 1); }},
    {"surfaces_hold_their_symbol", "a18pro-27",
     [](Profile p) { return evaluated_text(p, unary_program("tanh"), 256, 64); }},
    {"surfaces_are_equal", "orion15",
     [](Profile p) {
       Service service(p);
       EXPECT_TRUE(
           compile_text(service, program(kT + " a, " + kT + " b", statement(kT, "y", "add(x = a, y = b)"), "y")));
       const int handle = *service.load("p");
       auto a = memory(49152), b = memory(65536), out = memory(49152);
       const Bound inputs[] = {{0, a}, {1, b}}, outputs[] = {{0, out}};
       return words(service.evaluate(handle, 0, inputs, outputs));
     }},
    {"surfaces_reach_the_minimum", "orion15",
     [](Profile p) { return evaluated_text(p, unary_program("tanh"), 16384, 16384); }},
};

class EveryRule : public testing::TestWithParam<RuleCase> {};

TEST_P(EveryRule, RefusesWhatIsAcceptedWithoutIt) {
  const RuleCase& given = GetParam();
  const std::string by_name = fmt::format("[rule {}]", given.rule);
  const auto is_refused = [&](const std::string& outcome) {
    return given.instead.empty() ? outcome.ends_with(by_name) : outcome == given.instead;
  };
  const Profile whole = quiet(given.profile);
  EXPECT_PRED1(is_refused, given.outcome(whole));

  Profile without = whole;
  without.rules_off = {std::string(given.rule)};
  EXPECT_EQ(given.outcome(without), "ok");

  // It alone is what refuses: nothing else has to hold.
  Profile alone = whole;
  for (const Rule& rule : kRules)
    if (rule.name != given.rule) alone.rules_off.insert(std::string(rule.name));
  EXPECT_PRED1(is_refused, given.outcome(alone));
}

INSTANTIATE_TEST_SUITE_P(Rules, EveryRule, testing::ValuesIn(kCases),
                         [](const auto& given) { return std::string(given.param.rule); });

TEST(EveryRule, IsInTheTableAbove) {
  std::set<std::string_view> cases;
  for (const RuleCase& given : kCases) EXPECT_TRUE(cases.insert(given.rule).second) << given.rule;
  EXPECT_EQ(cases.size(), std::size(kRules));
  for (const Rule& rule : kRules) EXPECT_TRUE(cases.contains(rule.name)) << rule.name << " has no case";
}

// A check that nobody names, or a name that nothing checks, has no case above that passes; here are those of lists.
TEST(EveryRule, OfAListHasANameOfItsOwn) {
  std::set<std::string_view> listed;
  for (const CompileRule& checked : compile_rules()) EXPECT_TRUE(listed.insert(checked.rule.name).second);
  for (const RequestRule& checked : request_rules()) EXPECT_TRUE(listed.insert(checked.rule.name).second);
  EXPECT_EQ(listed.size(), 13u);
}

TEST(EveryRule, IsExplainedOnThePage) {
  std::ifstream file(std::filesystem::path(ANEDVD_TEST_DATA).parent_path().parent_path() / "docs/ane.md");
  if (!file) GTEST_SKIP() << "docs/ane.md is not here";
  std::stringstream text;
  text << file.rdbuf();
  const std::string page = text.str(), list = page.substr(page.find("\n## rules\n") + 1);
  for (const Rule& rule : kRules) {
    EXPECT_NE(list.find(fmt::format("`{}`", rule.name)), std::string::npos) << rule.name;
    EXPECT_NE(page.find(fmt::format("\n## {}\n", rule.anchor)), std::string::npos) << rule.anchor;
  }
}

}  // namespace
}  // namespace anedvd::sim
