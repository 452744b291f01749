// The settings of a Hugging Face folder: config.json, and generation_config.json under a prefix.
//
//   "hidden_size"                       config.json's text_config.hidden_size, else its hidden_size
//   "rope_parameters.rope_type"         dots go into objects
//   "generation_config.eos_token_id"    from the other file
//
// Multimodal releases nest the text model's numbers in `text_config`: a key's first part is looked up there, then at the top level.
// null is absent. A number in an array of booleans and numbers counts as GGUF's do: false is 0.
#pragma once

#include <memory>

#include <nlohmann/json_fwd.hpp>

#include "formats/config_view.h"

namespace anedvd {

class HfConfig final : public ConfigView {
 public:
  // Parses both texts; an empty `generation` means that there is no such file. `where` names the folder in errors.
  // kBadFile: not JSON, nested too deep, or no object.
  static Result<HfConfig> read(std::string_view config, std::string_view generation, std::string_view where);

  HfConfig(HfConfig&&) noexcept;
  HfConfig& operator=(HfConfig&&) noexcept;
  ~HfConfig() override;

  bool has(std::string_view key) const override;  // also objects
  // An integer, or a float without a fraction, that fits in 64 signed bits.
  std::optional<int64_t> integer(std::string_view key) const override;
  std::optional<double> number(std::string_view key) const override;
  std::optional<bool> boolean(std::string_view key) const override;  // true, false, 1 or 0
  std::optional<std::string_view> string(std::string_view key) const override;
  std::optional<int64_t> array_size(std::string_view key) const override;
  Result<std::vector<std::string_view>> strings(std::string_view key) const override;
  Result<std::vector<int64_t>> integers(std::string_view key) const override;
  Result<std::vector<double>> numbers(std::string_view key) const override;

  // Keys sorted, objects as dotted paths: text_config's as "text_config.…", as the file has them.
  std::vector<std::pair<std::string, std::string>> describe() const override;

 private:
  struct Parsed;  // the JSON values, whose header is too heavy for this one

  explicit HfConfig(std::unique_ptr<Parsed> parsed);
  const nlohmann::json* find(std::string_view key) const;  // nullptr: absent or null
  Result<const nlohmann::json*> find_array(std::string_view key) const;

  std::unique_ptr<Parsed> parsed_;
};

}  // namespace anedvd
