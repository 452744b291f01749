// anedvd conform: does a server speak the APIs as clients expect?
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/words.h"
#include "cli/args.h"
#include "cli/commands/all.h"
#include "cli/conform/checks.h"
#include "cli/option_groups.h"
#include "cli/terminal/console.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

// The first model that the server lists.
Result<std::string> first_model(const ConformTarget& target) {
  std::vector<std::string> headers;
  if (!target.key.empty()) headers.push_back("Authorization: Bearer " + target.key);
  ANEDVD_TRY(const HttpReply reply, http_call(target.address, "GET", "/v1/models", "", headers));
  const auto json = parse_ordered_json(reply.body, "/v1/models");
  if (reply.status == 401) return fail(ErrorCode::kUsage, "conform: the server wants a key; add --api-key SECRET");
  if (!json || !json->is_object() || !json->contains("data") || !(*json)["data"].is_array() ||
      (*json)["data"].empty() || !(*json)["data"][0].is_object())
    return std::string();
  return (*json)["data"][0].value("id", "");
}

Result<ExitCode> run_conform(const Args& args) {
  ConformTarget target;
  ANEDVD_TRY(target.address, parse_url(args.positionals().at(0)));
  target.key = args.text("--api-key").value_or("");
  target.model = args.text("--model").value_or("");
  if (target.model.empty()) {
    ANEDVD_TRY(target.model, first_model(target));
  }
  Json checks = Json::array();
  int wrong = 0;
  for (const ConformCheck& check : conform_checks()) {
    const std::string why = check.run(target);
    wrong += !why.empty();
    checks.push_back({{"name", check.name}, {"ok", why.empty()}, {"why", why}});
    if (args.given("--json")) continue;
    const std::string line = fmt::format("{:<7} {}{}{}\n", why.empty() ? "ok" : "differs", check.name,
                                         why.empty() ? "" : ": ", visible(why, 400));
    ANEDVD_TRY_VOID(write_out(line));
  }
  const size_t all = conform_checks().size();
  const std::string end =
      args.given("--json")
          ? Json{{"checks", std::move(checks)}}.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"
          : fmt::format("{}  {} of {} checks\n", wrong == 0 ? "ok" : "differs", all - size_t(wrong), all);
  ANEDVD_TRY_VOID(write_out(end));
  return wrong == 0 ? kDone : kDifferent;
}

}  // namespace

Command conform_command() {
  return {.name = "conform",
          .group = CommandGroup::kCheck,
          .summary = "Check a server of OpenAI's and Anthropic's APIs, this one or another",
          .arguments = "URL",
          .min_arguments = 1,
          .max_arguments = 1,
          .examples = {"anedvd conform http://127.0.0.1:8080", "anedvd conform http://127.0.0.1:8080 --json"},
          .options = join({{{.name = "--api-key",
                             .group = OptionGroup::kInput,
                             .kind = OptionKind::kText,
                             .value = "SECRET",
                             .help = "sent with every request",
                             .example = "SECRET"},
                            {.name = "--model",
                             .alias = "-m",
                             .group = OptionGroup::kModel,
                             .kind = OptionKind::kText,
                             .value = "NAME",
                             .help = "asked for [the first that is listed]",
                             .example = "smollm2"}},
                           json_option()}),
          .run = run_conform};
}

}  // namespace anedvd
