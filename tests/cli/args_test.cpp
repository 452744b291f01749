#include "cli/args.h"

#include <gtest/gtest.h>

#include "cli/option_groups.h"
#include "sampling/sampler.h"

namespace anedvd {
namespace {

const Command& sample_command() {
  static const Command command = {
      .name = "run",
      .summary = "Answer",
      .arguments = "[MODEL] [PROMPT]",
      .max_arguments = 2,
      .options = join({model_option(), sampling_options(), json_option(), runtime_options()}),
  };
  return command;
}

Result<Args> parse(const std::vector<std::string>& words) { return Args::parse(sample_command(), words); }

std::string error_of(const std::vector<std::string>& words) {
  const auto args = parse(words);
  if (args) return "(no error)";
  EXPECT_EQ(args.error().code, ErrorCode::kUsage);
  return args.error().message;
}

TEST(Args, ValuesComeInAllSpellings) {
  const auto args = parse({"--temp=0.5", "-n", "7", "-t3", "--seed", "0", "word", "--json"});
  ASSERT_TRUE(args) << args.error().message;
  EXPECT_EQ(args->number("--temp"), 0.5);
  EXPECT_EQ(args->integer("--max-tokens"), 7);
  EXPECT_EQ(args->integer("--threads"), 3);
  EXPECT_EQ(args->integer("--seed"), 0);
  EXPECT_TRUE(args->given("--json"));
  EXPECT_EQ(args->positionals(), std::vector<std::string>{"word"});
}

TEST(Args, AbsentOptionsAnswerTheirFallback) {
  const auto args = parse({});
  ASSERT_TRUE(args);
  EXPECT_FALSE(args->given("--temp"));
  EXPECT_EQ(args->number("--temp"), 0.8);
  EXPECT_EQ(args->integer("--seed"), std::nullopt);
  EXPECT_EQ(args->text("--model"), "smollm2");
}

TEST(Args, HelpPromisesTheSamplersOwnDefaults) {
  const auto args = parse({});
  ASSERT_TRUE(args);
  const SamplingParams params;
  EXPECT_EQ(float(*args->number("--temp")), params.temperature);
  EXPECT_EQ(*args->integer("--top-k"), params.top_k);
  EXPECT_EQ(float(*args->number("--top-p")), params.top_p);
  EXPECT_EQ(float(*args->number("--min-p")), params.min_p);
  EXPECT_EQ(float(*args->number("--repeat-penalty")), params.repeat_penalty);
  EXPECT_EQ(float(*args->number("--presence-penalty")), params.presence_penalty);
  EXPECT_EQ(float(*args->number("--frequency-penalty")), params.frequency_penalty);
}

TEST(Args, TheLastValueCountsUnlessTheOptionIsRepeatable) {
  const auto args = parse({"--temp", "0.1", "--stop", "a", "--temp", "0.2", "--stop", "b"});
  ASSERT_TRUE(args);
  EXPECT_EQ(args->number("--temp"), 0.2);
  EXPECT_EQ(args->texts("--stop"), (std::vector<std::string>{"a", "b"}));
}

TEST(Args, ValuesAreTakenAsTheyAre) {
  // What CLI11 or a shell's habits might make something else of.
  for (const std::string value : {"", "-x", "--json", "[a,b]", "\"quoted\"", "a,b", "--", "{}", "%$", "-1"}) {
    const auto args = parse({"--stop", value, "after"});
    ASSERT_TRUE(args) << value << ": " << args.error().message;
    EXPECT_EQ(args->texts("--stop"), std::vector<std::string>{value});
    EXPECT_EQ(args->positionals(), std::vector<std::string>{"after"});
  }
  const auto joined = parse({"--stop=", "--json"});
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined->texts("--stop"), std::vector<std::string>{""});
  EXPECT_TRUE(joined->given("--json"));
}

TEST(Args, WordsKeepTheirOrderAndShape) {
  const auto args = parse({"[a, b]", "- a list"});
  ASSERT_TRUE(args) << args.error().message;
  EXPECT_EQ(args->positionals(), (std::vector<std::string>{"[a, b]", "- a list"}));
  const auto dashed = parse({"--json", "--", "--temp", "-x"});
  ASSERT_TRUE(dashed) << dashed.error().message;
  EXPECT_EQ(dashed->positionals(), (std::vector<std::string>{"--temp", "-x"}));
  EXPECT_TRUE(dashed->given("--json"));
}

TEST(Args, NegativeNumbersAreValues) {
  const auto args = parse({"--presence-penalty", "-1.5", "--frequency-penalty=-2"});
  ASSERT_TRUE(args) << args.error().message;
  EXPECT_EQ(args->number("--presence-penalty"), -1.5);
  EXPECT_EQ(args->number("--frequency-penalty"), -2);
}

TEST(Args, HelpWinsOverEverythingElse) {
  const auto args = parse({"--nonsense", "--temp", "warm", "-h"});
  ASSERT_TRUE(args);
  EXPECT_TRUE(args->given("--help"));
}

struct Mistake {
  std::vector<std::string> words;
  const char* message;
};

TEST(Args, ChoicesOfALaterVersionSayWhichThereAre) {
  EXPECT_EQ(error_of({"--kv-type", "q8_0"}), "--kv-type q8_0: not in this version; use f16");
  EXPECT_TRUE(parse({"--kv-type", "f16"}));
}

TEST(Args, OnlyACommandWithATextSpeaksOfQuotes) {
  const Command command = {.name = "rm", .summary = "Remove", .arguments = "NAME", .max_arguments = 1};
  const auto args = Args::parse(command, {"a", "b"});
  ASSERT_FALSE(args);
  EXPECT_EQ(args.error().message, "rm: \"b\" is one word too many; usage: anedvd rm NAME");
}

TEST(Args, MistakesSayWhatWouldBeRight) {
  const Mistake mistakes[] = {
      {{"--temp", "warm"}, "--temp warm: not a number; 0 to 2, for example --temp 0.7"},
      {{"--temp", "0x1"}, "--temp 0x1: not a number; 0 to 2, for example --temp 0.7"},
      {{"--temp", "1e999"}, "--temp 1e999: not a number; 0 to 2, for example --temp 0.7"},
      {{"--temp", " 1"}, "--temp  1: not a number; 0 to 2, for example --temp 0.7"},
      {{"--temp", ""}, "--temp : not a number; 0 to 2, for example --temp 0.7"},
      {{"--threads", "0"}, "--threads 0: out of range; 1 to 1,024, for example --threads 4"},
      {{"--threads"}, "--threads: needs a value; 1 to 1,024, for example --threads 4"},
      {{"--device", "gpu"}, "--device gpu: no such choice; one of auto, ane, cpu, sim, for example --device cpu"},
      {{"--temprature", "1"}, "--temprature: \"run\" has no such flag; did you mean --temp?"},
      {{"--tmep=1"}, "--tmep: \"run\" has no such flag; did you mean --temp?"},
      {{"-z"}, "-z: \"run\" has no such flag; \"anedvd run --help\" lists them"},
      {{"--\x1b[2J"}, "--\\x1b[2J: \"run\" has no such flag; \"anedvd run --help\" lists them"},
      {{"--grammar-json-schema", "x"}, "--grammar-json-schema: not in this version; \"anedvd help run\" lists what is"},
      {{"a", "b", "c"}, "run: \"c\" is one word too many; put a text with spaces in quotes"},
  };
  for (const Mistake& mistake : mistakes) EXPECT_EQ(error_of(mistake.words), mistake.message);
}

}  // namespace
}  // namespace anedvd
