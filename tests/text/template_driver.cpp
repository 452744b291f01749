// Renders chat templates for tools/text/template_parity.py: one JSON object a line in, one out.
//
//   {"template": "…", "input": {"messages": […], "tools": …, "documents": …, "add_generation_prompt": true,
//    "special_tokens": {"bos_token": "<s>"}, "extra": {…}}}        →  {"text": "…", "spans": [[0, 5, true], …]} or {"error": "…"}
//
// The clock stands at Thursday 5 March 2026, 14:07:09.
#include <ctime>
#include <iostream>
#include <string>

#include <nlohmann/json.hpp>

#include "text/chat_template.h"

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

Json render(const Json& line) {
  const Json& in = line.at("input");
  const auto part = [&](const char* name) { return in.contains(name) ? &in.at(name) : nullptr; };
  anedvd::ChatInput input;
  input.messages = part("messages");
  input.tools = part("tools");
  input.documents = part("documents");
  input.extra = part("extra");
  input.add_generation_prompt = in.value("add_generation_prompt", false);
  input.now = fixed_time();
  if (const Json* tokens = part("special_tokens")) {
    for (const auto& [name, token] : tokens->items()) input.special_tokens.emplace_back(name, token.get<std::string>());
  }
  const auto parsed = anedvd::ChatTemplate::parse(line.at("template").get<std::string>(), "template");
  if (!parsed) return {{"error", parsed.error().message}};
  const auto rendered = parsed->render_marked(input);
  if (!rendered) return {{"error", rendered.error().message}};
  Json spans = Json::array();
  for (const auto& span : rendered->spans) spans.push_back({span.begin, span.end, span.trusted});
  return {{"text", rendered->text}, {"spans", spans}};
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << render(Json::parse(line)).dump(-1, ' ', false, Json::error_handler_t::replace) << "\n" << std::flush;
  }
}
