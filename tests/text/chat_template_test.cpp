#include "text/chat_template.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

// Rendered text with what is not trusted put in ⟦ ⟧.
std::string marked(const std::string& source, const Json& messages, const Json& extra = Json::object()) {
  const auto parsed = ChatTemplate::parse(source, "t");
  if (!parsed) return parsed.error().message;
  ChatInput input;
  input.messages = &messages;
  input.extra = &extra;
  input.special_tokens = {{"bos_token", "<s>"}};
  const auto rendered = parsed->render_marked(input);
  if (!rendered) return rendered.error().message;
  std::string out;
  for (const RenderedSpan& span : rendered->spans) {
    const std::string part = rendered->text.substr(span.begin, span.end - span.begin);
    out += span.trusted ? part : "⟦" + part + "⟧";
  }
  return out;
}

const Json kUser = Json::parse(R"([{"role": "user", "content": " a<|x|>b,c "}])");

TEST(ChatTemplate, OnlyTheTemplateIsTrusted) {
  EXPECT_EQ(marked("{{ bos_token }}<|im_start|>{{ messages[0].role }}\n{{ messages[0].content }}<|im_end|>", kUser),
            "<s><|im_start|>user\n⟦ a<|x|>b,c ⟧<|im_end|>");
}

TEST(ChatTemplate, TrustFollowsThePieces) {
  const std::pair<const char*, const char*> cases[] = {
      {"{{ '<' + c | trim + '>' }}", "<⟦a<|x|>b,c⟧>"},
      {"{{ '<' ~ c.strip() ~ '>' }}", "<⟦a<|x|>b,c⟧>"},
      {"{{ (' [' + c + '] ').strip()[1:-1] }}", "⟦ a<|x|>b,c ⟧"},
      {"{{ c.split(',') | join('+') }}", "⟦ a<|x|>b⟧+⟦c ⟧"},
      {"{{ '-'.join(c.strip().split('<|x|>')) }}", "⟦a⟧-⟦b,c⟧"},
      {"{{ c.replace('<|x|>', '|') }}", "⟦ a⟧|⟦b,c ⟧"},
      {"{{ 'X-X'.replace('X', c.strip()) }}", "⟦a<|x|>b,c⟧-⟦a<|x|>b,c⟧"},
      {"{{ ('<' + c.strip() + '>') | upper }}", "<⟦A<|X|>B,C⟧>"},
      {"{{ ('<' + c.strip() + '>')[::-1] }}", ">⟦c,b>|x|<a⟧<"},
      {"{{ '[%s]' % c.strip() }}", "[⟦a<|x|>b,c⟧]"},
      {"{{ '[{}]'.format(c.strip()) }}", "[⟦a<|x|>b,c⟧]"},
      {"{{ c.strip() | tojson }}{{ ['t'] | tojson }}", "⟦\"a<|x|>b,c\"⟧[\"t\"]"},
      {"{{ {'k': c.strip()} }}", "⟦{'k': 'a<|x|>b,c'}⟧"},
      {"{% set x %}<{{ c.strip() }}>{% endset %}{{ x }}", "<⟦a<|x|>b,c⟧>"},
      {"{% macro m(v) %}<{{ v }}>{% endmacro %}{{ m(c[1]) }}", "<⟦a⟧>"},
      {"{% filter lower %}A{{ c[1] }}{% endfilter %}", "a⟦a⟧"},
      {"{% for ch in 'x' + c[1] %}{{ ch }}.{% endfor %}", "x.⟦a⟧."},
      {"{{ ('a\n' + c.strip()) | indent(1) }}", "a\n ⟦a<|x|>b,c⟧"},
      {"{{ (c.strip() | list)[0] }}{{ c | trim | first }}", "⟦aa⟧"},
      {"{{ {'user': '<|user|>'}[messages[0].role] }}", "<|user|>"},
      {"{{ (c | safe) }}{{ (c[2] | escape) }}", "⟦ a<|x|>b,c &lt;⟧"},
  };
  for (const auto& [source, want] : cases) {
    EXPECT_EQ(marked(std::string("{% set c = messages[0].content %}") + source, kUser), want) << source;
  }
}

TEST(ChatTemplate, RolesOutsideTheUsualOnesAndExtraVariablesAreNotTrusted) {
  EXPECT_EQ(marked("<|{{ messages[0].role }}|>{{ name }}", Json::parse(R"([{"role": "im_end"}])"),
                   Json::parse(R"({"name": "<|im_end|>"})")),
            "<|⟦im_end⟧|>⟦<|im_end|>⟧");
  EXPECT_EQ(
      marked("{{ messages[0].im_end }}{% for k in messages[0] %}{{ k }}{% endfor %}", Json::parse(R"([{"<|x|>": 1}])")),
      "⟦<|x|>⟧");
}

TEST(ChatTemplate, ReasoningGoesByBothNames) {
  const char* source = "{{ messages[0].thinking }}{{ messages[0].reasoning_content }}";
  EXPECT_EQ(marked(source, Json::parse(R"([{"reasoning_content": "hm"}])")), "⟦hmhm⟧");
  EXPECT_EQ(marked(source, Json::parse(R"([{"thinking": "hm"}])")), "⟦hmhm⟧");
  EXPECT_EQ(marked(source, Json::parse(R"([{"thinking": "a", "reasoning_content": "b"}])")), "⟦ab⟧");
}

TEST(ChatTemplate, ItsOwnRefusalIsToldApart) {
  const auto parsed =
      ChatTemplate::parse("{% if messages %}\n{{ raise_exception('System role not supported') }}{% endif %}", "m.gguf");
  ASSERT_TRUE(parsed);
  ChatInput input;
  input.messages = &kUser;
  const auto refused = parsed->render(input);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kBadFile);
  EXPECT_EQ(refused.error().message, "m.gguf: line 2, column 19: the template says: System role not supported");
  EXPECT_EQ(template_refusal(refused.error()), "System role not supported");
  EXPECT_EQ(template_refusal(Error{ErrorCode::kUnsupported, "the template says: x"}), "");
}

TEST(ChatTemplate, NoToolsAreDefinedButNone) {
  EXPECT_EQ(marked("{{ tools is defined }}{{ tools is none }}{{ eos_token is defined }}", kUser), "TrueTrueFalse");
}

TEST(ChatTemplate, StepsCanBeBounded) {
  const auto parsed = ChatTemplate::parse("{% for i in range(1000) %}{{ i }}{% endfor %}", "t");
  ASSERT_TRUE(parsed);
  ChatInput input;
  EXPECT_TRUE(parsed->render(input));
  input.max_steps = 500;
  EXPECT_FALSE(parsed->render(input));
}

}  // namespace
}  // namespace anedvd
