// anedvd info: this machine, and a model without loading its weights.
#include <map>

#include <nlohmann/json.hpp>

#include "base/words.h"
#include "cli/args.h"
#include "cli/commands/all.h"
#include "cli/console.h"
#include "cli/model_path.h"
#include "cli/option_groups.h"
#include "cli/table.h"
#include "formats/tensor_source.h"

namespace anedvd {
namespace {

Result<ExitCode> run_info(const Args& args) {
  (void)args;
  return kDone;
}

}  // namespace

Command info_command() {
  return {.name = "info",
          .group = CommandGroup::kUse,
          .summary = "Tell what this machine offers, and what a model is",
          .arguments = "[MODEL]",
          .max_arguments = 1,
          .examples = {"anedvd info", "anedvd info smollm2 --verbose"},
          .options = join({model_option(), json_option()}),
          .run = run_info};
}

}  // namespace anedvd
