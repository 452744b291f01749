// The template language against jinja2 (constructs.json, made by tools/text/make_template_constructs.py), and against templates that mean harm.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "text/chat_template.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

std::tm fixed_time() {
  std::tm now{};
  now.tm_year = 2026 - 1900;
  now.tm_mon = 2;
  now.tm_mday = 5;
  now.tm_hour = 14;
  now.tm_min = 7;
  now.tm_sec = 9;
  now.tm_wday = 4;
  now.tm_yday = 63;
  return now;
}

Result<std::string> render(const std::string& source, const Json& messages = Json::array()) {
  auto parsed = ChatTemplate::parse(source, "t");
  if (!parsed) return tl::unexpected(parsed.error());
  ChatInput input;
  input.messages = &messages;
  input.now = fixed_time();
  return parsed->render(input);
}

std::string error_of(const std::string& source) {
  const auto rendered = render(source);
  return rendered ? "no error, but: " + *rendered : rendered.error().message;
}

TEST(Jinja, RendersEveryConstructAsJinja2Does) {
  std::ifstream file(std::string(ANEDVD_TEST_DATA) + "/templates/constructs.json");
  const Json data = Json::parse(file);
  const Json& context = data["context"];
  ASSERT_GE(data["rows"].size(), 300u);
  for (const Json& row : data["rows"]) {
    const std::string source = row["template"];
    ChatInput input;
    input.messages = &context["messages"];
    input.extra = &context["extra"];
    for (const auto& [name, token] : context["special_tokens"].items()) input.special_tokens.emplace_back(name, token);
    input.now = fixed_time();
    const auto parsed = ChatTemplate::parse(source, "t");
    const auto rendered = parsed ? parsed->render(input) : tl::unexpected(parsed.error());
    if (row.contains("want")) {
      EXPECT_TRUE(rendered) << source << "\n" << (rendered ? "" : rendered.error().message);
      EXPECT_EQ(rendered.value_or(""), row["want"].get<std::string>()) << source;
    } else {
      EXPECT_FALSE(rendered) << source << "\nrendered: " << *rendered << "\njinja2: " << row["error"];
      EXPECT_TRUE(rendered || rendered.error().message.find('\n') == std::string::npos) << source;
    }
  }
}

TEST(Jinja, ErrorsNameLineAndColumn) {
  EXPECT_EQ(error_of("a\n  {{ missing.x }}"), "t: line 2, column 6: 'missing' is undefined");
  EXPECT_EQ(error_of("{% if true %}\né {{ 'a' + 1 }}{% endif %}"),
            "t: line 2, column 10: 'str' + 'int' has no meaning; ~ joins anything as text");
  EXPECT_EQ(error_of("{% include 'x' %}"),
            "t: line 1, column 4: {% include %} is not supported; a chat template must stand alone");
  EXPECT_EQ(error_of("{{ 'a' | nope }}"), "t: line 1, column 10: there is no filter 'nope'");
  EXPECT_EQ(error_of("{% for x in [1] %}"), "t: line 1, column 19: the template ends, but {% endfor %} is missing");
  EXPECT_EQ(error_of("{{ [1].append(2) }}"),
            "t: line 1, column 14: list.append is refused; templates can't change a list");
}

TEST(Jinja, ErrorsStayOnOneLine) {
  for (const char* source : {"{{ '%5.\n%s' % 1 }}", "{{ '{!\n}'.format(1) }}", "{{ raise_exception('a\nb') }}",
                             "{{ x['\n'].y }}", "{% \n %}", "{{ f(**{'\n': 1}) }}"}) {
    const auto rendered = render(source);
    ASSERT_FALSE(rendered) << source;
    EXPECT_EQ(rendered.error().message.find('\n'), std::string::npos) << rendered.error().message;
  }
}

TEST(Jinja, NumbersThatLeave64BitsAreErrors) {
  for (const char* source :
       {"{{ 9223372036854775807 + 1 }}", "{{ -9223372036854775807 - 2 }}", "{{ 9223372036854775807 * 2 }}",
        "{{ 2 ** 63 }}", "{{ 9223372036854775808 }}", "{{ (-9223372036854775807 - 1) // -1 }}", "{{ 1e30 | int }}",
        "{{ '9223372036854775808' | int }}", "{{ -(-9223372036854775807 - 1) }}",
        "{{ (-9223372036854775807 - 1) | abs }}"}) {
    EXPECT_NE(error_of(source).find("64 bits"), std::string::npos) << source << ": " << error_of(source);
  }
  EXPECT_EQ(*render("{{ (-9223372036854775807 - 1) % -1 }}"), "0");
}

std::string repeated(const std::string& part, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += part;
  return out;
}

// Each must end with an error, soon. The bound is generous: sanitizers and busy machines are slow.
TEST(Jinja, HostileTemplatesAreCutOff) {
  const std::string doubling =
      "{% set ns = namespace(s='xxxxxxxx') %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor %}";
  const std::string lists =
      "{% set ns = namespace(s=[1]) %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor %}";
  const std::string shared =
      "{% set ns = namespace(a=[], b=[]) %}{% for i in range(200) %}{% set ns.a = [ns.a, ns.a] %}{% set ns.b = [ns.b, "
      "ns.b] %}{% endfor %}";
  const std::string chain =
      "{% set ns = namespace(a=[]) %}{% for i in range(100000) %}{% set ns.a = [ns.a] %}{% endfor %}";
  const std::string ring = "{% set ns = namespace() %}{% set ns.me = [ns] %}";
  const std::string sources[] = {
      repeated("{% for a in range(100000) %}", 4) + repeated("{% endfor %}", 4),
      "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
      "{% macro m(x) %}{{ m([x]) }}{% endmacro %}{{ m(1) }}",
      "{% macro a() %}{% call b() %}{% endcall %}{% endmacro %}{% macro b() %}{{ a() }}{{ caller() }}{% endmacro %}{{ "
      "a() }}",
      "{{ " + repeated("(", 100000) + "1" + repeated(")", 100000) + " }}",
      "{{ " + repeated("[", 100000) + " }}",
      "{{ " + repeated("not ", 100000) + "1 }}",
      "{{ " + repeated("-", 100000) + "1 }}",
      "{{ x" + repeated(".a", 100000) + " }}",
      "{{ 1" + repeated(" if 1 else 1", 100000) + " }}",
      "{{ x" + repeated(" | upper", 100000) + " }}",
      repeated("{% if 1 %}", 100000),
      repeated("{% for x in y %}", 100000),
      doubling,
      lists,
      "{{ 'x' * 9223372036854775807 }}",
      "{{ [1] * 9223372036854775807 }}",
      "{{ ('x' * 1000000).replace('x', 'y' * 1000000) }}",
      "{{ ('x' * 1000000).replace('', 'y' * 1000) }}",
      "{{ ('a' * 1000000) | list | join('b' * 1000) }}",
      "{{ '%999999999d' % 1 }}",
      "{{ '{:999999999}'.format(1) }}",
      "{{ 'x'.ljust(9223372036854775807) }}",
      "{{ ('x\n' * 1000000) | indent(9999) }}",
      "{{ [1] | tojson(indent=999999999) }}",
      "{% for i in range(100000) %}{{ 'x' * 100000 }}{% endfor %}",
      shared + "{{ ns.a == ns.b }}",
      shared + "{{ ns.a }}",
      shared + "{{ ns.a | tojson }}",
      shared + "{{ {(1, 2): 3}[ns.a] }}{{ ns.a < ns.b }}",
      chain,
      ring + "{{ ns }}",
      "{% set ns = namespace(f=[].index) %}{% for i in range(100000) %}{% set ns.f = [ns.f].index %}{% endfor %}",
      "{% set ns = namespace(m='') %}{% for i in range(100000) %}{% macro m() %}{{ x }}{% endmacro %}{% set ns.m = [m, "
      "ns.m] %}{% endfor %}",
  };
  double slowest = 0;
  for (const std::string& source : sources) {
    const std::clock_t start = std::clock();  // of the processor: other programs count little
    const auto rendered = render(source);
    const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    EXPECT_FALSE(rendered) << source.substr(0, 120);
    EXPECT_TRUE(rendered || rendered.error().message.size() < 600u) << source.substr(0, 120);
    EXPECT_LT(took, 20.0) << source.substr(0, 120);
    slowest = std::max(slowest, took);
  }
  std::printf("%zu hostile templates, the slowest took %.2f s of processor time\n", std::size(sources), slowest);
}

TEST(Jinja, KeptRingsAreFreed) {  // the leak checker of the sanitizers is the judge
  EXPECT_TRUE(render("{% set ns = namespace() %}{% set ns.me = ns %}{% set ns.l = [ns, {'a': ns}] %}x"));
  EXPECT_TRUE(
      render("{% set ns = namespace() %}{% for x in [1, 2] %}{% macro m() %}{{ x }}{{ m }}{% endmacro %}{% set ns.m = "
             "m %}{% endfor %}"));
  EXPECT_TRUE(render(
      "{% set ns = namespace() %}{% for x in [1, 2] %}{% set ns.loop = loop %}{{ loop.changed([loop]) }}{% endfor %}"));
  EXPECT_FALSE(
      render("{% set ns = namespace() %}{% for x in [1, 2] %}{% set ns.loop = [loop] %}{{ loop.changed(ns) }}{{ y.z "
             "}}{% endfor %}"));
}

}  // namespace
}  // namespace anedvd
