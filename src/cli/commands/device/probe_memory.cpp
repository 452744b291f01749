#include "cli/commands/device/probe_memory.h"

#include <cctype>
#include <span>

#include <nlohmann/json.hpp>

#include "base/mapped_file.h"
#include "base/partial_file.h"
#include "base/words.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

// "h16g, 25F71" as part of a file's name.
std::string file_word(std::string_view text) {
  std::string word;
  for (const unsigned char c : text)
    if (std::isalnum(c) != 0 || c == '.')
      word += char(std::tolower(c));
    else if (!word.empty() && word.back() != '-')
      word += '-';
  return word;
}

}  // namespace

ProbeMemory::ProbeMemory(std::filesystem::path folder, std::string machine, std::string version)
    : file_(std::move(folder) / fmt::format("{}-{}.json", file_word(machine), file_word(version))),
      machine_(std::move(machine)),
      version_(std::move(version)) {
  const auto mapped = MappedFile::open(file_);
  if (!mapped) return;
  const std::string_view text(reinterpret_cast<const char*>(mapped->bytes().data()), mapped->bytes().size());
  const Json json = Json::parse(text, nullptr, false);
  // Names of files are shorter than what they stand for: two machines may share one.
  if (!json.is_object() || json.value("machine", "") != machine_ || json.value("version", "") != version_) return;
  if (!json.contains("probes") || !json["probes"].is_array()) return;
  for (const Json& result : json["probes"])
    if (result.is_object() && result.contains("id") && result["id"].is_string() && result.contains("ok") &&
        result["ok"].is_boolean() && result.contains("value"))
      keep(result["id"].get_ref<const std::string&>(), result);
}

Json ProbeMemory::find(std::string_view id) const {
  const auto found = results_.find(id);
  return found == results_.end() ? Json() : Json::parse(found->second, nullptr, false);
}

void ProbeMemory::keep(std::string_view id, const Json& result) { results_[std::string(id)] = result.dump(); }

Result<> ProbeMemory::save() const {
  Json json = {{"machine", machine_}, {"version", version_}, {"probes", Json::array()}};
  for (const auto& [id, result] : results_) json["probes"].push_back(Json::parse(result, nullptr, false));
  const std::string text = json.dump(1) + "\n";
  const auto write = [&]() -> Result<> {
    ANEDVD_TRY(PartialFile out, PartialFile::create(file_));
    ANEDVD_TRY_VOID(out.write(std::as_bytes(std::span(text))));
    return out.publish(false);
  };
  std::error_code ignored;  // a missing folder is told by the file
  std::filesystem::create_directories(file_.parent_path(), ignored);
  if (!write())
    return fail(ErrorCode::kIo, "{}: cannot be written; what was found is not remembered", visible(file_.string()));
  return {};
}

}  // namespace anedvd
