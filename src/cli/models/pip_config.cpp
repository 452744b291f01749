#include "cli/models/pip_config.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <fstream>
#include <sstream>

#include <fmt/core.h>

namespace anedvd {
namespace {

constexpr std::string_view kDefaultIndex = "https://pypi.org/simple";

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// The configuration files in the order in which pip reads them: later ones win.
std::vector<std::filesystem::path> pip_files(const Environment& env) {
  const std::filesystem::path home = env("HOME");
  const std::string named = env("PIP_CONFIG_FILE");
  if (named == "/dev/null") return {};  // pip's way of saying "no files"
  std::vector<std::filesystem::path> files;
#if defined(__APPLE__)
  files.push_back("/Library/Application Support/pip/pip.conf");
#endif
  std::istringstream shared(env("XDG_CONFIG_DIRS").empty() ? "/etc/xdg" : env("XDG_CONFIG_DIRS"));
  for (std::string folder; std::getline(shared, folder, ':');)
    if (!folder.empty()) files.push_back(std::filesystem::path(folder) / "pip/pip.conf");
  files.push_back("/etc/pip.conf");
  if (!home.empty()) {
    files.push_back(home / ".pip/pip.conf");
#if defined(__APPLE__)
    files.push_back(home / "Library/Application Support/pip/pip.conf");
#endif
    const std::string config = env("XDG_CONFIG_HOME");
    files.push_back((config.empty() ? home / ".config" : std::filesystem::path(config)) / "pip/pip.conf");
  }
  if (const std::string venv = env("VIRTUAL_ENV"); !venv.empty())
    files.push_back(std::filesystem::path(venv) / "pip.conf");
  if (!named.empty()) files.emplace_back(named);
  return files;
}

}  // namespace

void parse_pip_file(std::string_view text, std::map<std::string, std::string>& settings) {
  std::string section;
  std::string* current = nullptr;  // the value that an indented line goes on with
  while (!text.empty()) {
    const size_t newline = std::min(text.find('\n'), text.size());
    const std::string_view raw = text.substr(0, newline), line = trimmed(raw);
    text.remove_prefix(std::min(newline + 1, text.size()));
    if (line.empty() || line[0] == '#' || line[0] == ';') continue;
    if (current && std::isspace(uint8_t(raw[0]))) {
      *current += fmt::format("{}{}", current->empty() ? "" : " ", line);
      continue;
    }
    current = nullptr;
    if (line[0] == '[') {
      section = trimmed(line.substr(1, std::min(line.find(']'), line.size()) - 1));
      continue;
    }
    const size_t equals = line.find_first_of("=:");
    if (equals == std::string_view::npos) continue;
    std::string key(trimmed(line.substr(0, equals)));
    for (char& c : key) c = c == '_' ? '-' : char(std::tolower(uint8_t(c)));
    current = &settings[fmt::format("{}.{}", section, key)];
    *current = trimmed(line.substr(equals + 1));
  }
}

PipConfig read_pip_config(const Environment& env) {
  std::map<std::string, std::string> settings;
  for (const std::filesystem::path& path : pip_files(env)) {
    std::ifstream file(path);
    std::ostringstream text;
    if (file && text << file.rdbuf()) parse_pip_file(text.str(), settings);
  }
  const auto value = [&](const char* variable, const std::string& key) {
    if (std::string set = env(variable); !set.empty()) return set;
    for (const char* section : {"install.", "global."})
      if (const auto found = settings.find(section + key); found != settings.end()) return found->second;
    return std::string();
  };

  PipConfig config;
  const std::string no_index = value("PIP_NO_INDEX", "no-index");
  if (no_index.empty() || no_index == "0" || no_index == "false" || no_index == "no") {
    config.indexes = words_of(value("PIP_INDEX_URL", "index-url"));
    if (config.indexes.empty()) config.indexes.emplace_back(kDefaultIndex);
    for (std::string& extra : words_of(value("PIP_EXTRA_INDEX_URL", "extra-index-url")))
      config.indexes.push_back(std::move(extra));
    for (std::string& index : config.indexes)
      while (index.ends_with('/')) index.pop_back();
  }
  for (const std::string& link : words_of(value("PIP_FIND_LINKS", "find-links"))) {
    const std::string path = link.starts_with("file://") ? link.substr(7) : link;
    if (path.find("://") == std::string::npos) config.folders.emplace_back(path);
  }
  config.certificate = value("PIP_CERT", "cert");
  config.proxy = value("PIP_PROXY", "proxy");
  return config;
}

}  // namespace anedvd
