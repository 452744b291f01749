#include "cli/models/simple_index.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include <nlohmann/json.hpp>

#include "base/ascii.h"
#include "base/json.h"

namespace anedvd {
namespace {

bool is_sha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// The five entities that an attribute may hold.
std::string without_entities(std::string_view text) {
  constexpr std::pair<std::string_view, char> kEntities[] = {
      {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#39;", '\''}};
  std::string out;
  while (!text.empty()) {
    const auto* found = std::find_if(std::begin(kEntities), std::end(kEntities),
                                     [&](const auto& entity) { return text.starts_with(entity.first); });
    out += found != std::end(kEntities) ? found->second : text[0];
    text.remove_prefix(found != std::end(kEntities) ? found->first.size() : 1);
  }
  return out;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, code, 16).ptr == text.data() + i + 3) {
      out += char(code);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

// The file name at the end of an address.
std::string name_of(std::string_view url) {
  url = url.substr(0, url.find_first_of("?#"));
  return percent_decoded(url.substr(url.rfind('/') + 1));
}

// One attribute of a tag's inside (`a href="…" data-yanked`); false when it is absent.
bool attribute(std::string_view tag, std::string_view wanted, std::string& value) {
  size_t at = 0;
  const auto skip = [&](auto stops) {
    while (at < tag.size() && !stops(tag[at])) ++at;
  };
  const auto is_space = [](char c) { return std::isspace(uint8_t(c)) != 0; };
  skip(is_space);  // the tag's name
  while (at < tag.size()) {
    skip([&](char c) { return !is_space(c); });
    const size_t start = at;
    skip([&](char c) { return is_space(c) || c == '='; });
    const std::string name = lower_ascii(tag.substr(start, at - start));
    skip([&](char c) { return !is_space(c); });
    std::string_view content;
    if (at < tag.size() && tag[at] == '=') {
      ++at;
      skip([&](char c) { return !is_space(c); });
      const char quote = at < tag.size() && (tag[at] == '"' || tag[at] == '\'') ? tag[at] : '\0';
      if (quote != '\0') ++at;
      const size_t begin = at;
      skip([&](char c) { return quote != '\0' ? c == quote : is_space(c); });
      content = tag.substr(begin, at - begin);
      if (quote != '\0' && at < tag.size()) ++at;
    } else if (name.empty()) {
      ++at;  // a stray character: go on, whatever it is
    }
    if (name == wanted) {
      value = without_entities(content);
      return true;
    }
  }
  return false;
}

std::vector<IndexFile> parse_html(std::string_view page, std::string base) {
  std::vector<IndexFile> files;
  for (size_t at = 0; (at = page.find('<', at)) != std::string_view::npos;) {
    const std::string_view rest = page.substr(at + 1);
    if (rest.starts_with("!--")) {
      at = std::min(page.find("-->", at), page.size());
      continue;
    }
    const size_t end = rest.find('>');
    if (end == std::string_view::npos) break;
    const std::string_view tag = rest.substr(0, end);
    at += 1 + end;
    const std::string kind = lower_ascii(tag.substr(0, tag.find_first_of(" \t\r\n/")));
    std::string link;
    if ((kind != "a" && kind != "base") || !attribute(tag, "href", link)) continue;
    if (kind == "base") {
      base = absolute_url(base, link);
      continue;
    }
    IndexFile file;
    const size_t hash = std::min(link.find('#'), link.size());
    if (const std::string fragment = link.substr(hash); fragment.starts_with("#sha256="))
      file.sha256 = lower_ascii(fragment.substr(8, fragment.find('&') - 8));
    if (!is_sha256(file.sha256)) file.sha256.clear();
    file.url = absolute_url(base, link.substr(0, hash));
    file.name = name_of(file.url);
    std::string reason;
    file.is_yanked = attribute(tag, "data-yanked", reason);
    if (!file.name.empty()) files.push_back(std::move(file));
  }
  return files;
}

Result<std::vector<IndexFile>> parse_json_page(std::string_view page, std::string_view base) {
  ANEDVD_TRY(const nlohmann::json root, parse_json(page, "package index"));
  std::vector<IndexFile> files;
  if (!root.is_object() || !root.contains("files") || !root["files"].is_array()) return files;
  for (const nlohmann::json& entry : root["files"]) {
    if (!entry.is_object() || !entry.contains("url") || !entry["url"].is_string()) continue;
    IndexFile file;
    file.url = absolute_url(base, entry["url"].get<std::string>());
    file.name = entry.contains("filename") && entry["filename"].is_string() ? entry["filename"].get<std::string>()
                                                                            : name_of(file.url);
    if (entry.contains("size") && entry["size"].is_number_unsigned()) file.bytes = entry["size"].get<uint64_t>();
    if (entry.contains("hashes") && entry["hashes"].is_object() && entry["hashes"].contains("sha256") &&
        entry["hashes"]["sha256"].is_string()) {
      file.sha256 = lower_ascii(entry["hashes"]["sha256"].get<std::string>());
    }
    if (!is_sha256(file.sha256)) file.sha256.clear();
    if (entry.contains("yanked")) file.is_yanked = !entry["yanked"].is_boolean() || entry["yanked"].get<bool>();
    files.push_back(std::move(file));
  }
  return files;
}

// "0.1.12" → {0, 1, 12}. Empty for anything but numbers and dots: pre-releases, local versions, epochs.
std::vector<uint64_t> plain_version(std::string_view text) {
  std::vector<uint64_t> numbers;
  while (true) {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return {};
    numbers.push_back(number);
    text.remove_prefix(size_t(end - text.data()));
    if (text.empty()) break;
    if (text[0] != '.') return {};
    text.remove_prefix(1);
  }
  while (numbers.size() > 1 && numbers.back() == 0) numbers.pop_back();  // 1.0 = 1
  return numbers;
}

}  // namespace

std::string absolute_url(std::string_view base, std::string_view link) {
  if (link.find("://") != std::string_view::npos) return std::string(link);
  const size_t scheme = base.find("://");
  if (scheme == std::string_view::npos) return std::string(link);
  if (link.starts_with("//")) return fmt::format("{}:{}", base.substr(0, scheme), link);
  const size_t root = std::min(base.find('/', scheme + 3), base.size());
  base = base.substr(0, std::min(base.find_first_of("?#"), base.size()));
  std::string path(link);
  if (!link.starts_with('/')) {
    const std::string_view folder = base.size() > root ? base.substr(root, base.rfind('/') - root + 1) : "/";
    path = fmt::format("{}{}", folder, link);
  }
  std::vector<std::string_view> parts;
  for (std::string_view rest = std::string_view(path).substr(1);;) {
    const size_t slash = std::min(rest.find('/'), rest.size());
    const std::string_view part = rest.substr(0, slash);
    const bool is_last = slash == rest.size();
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
    } else if (part != ".") {
      parts.push_back(part);
    }
    if (is_last) {
      if (part == "." || part == "..") parts.emplace_back();
      break;
    }
    rest.remove_prefix(slash + 1);
  }
  std::string url(base.substr(0, std::min(root, base.size())));
  for (const std::string_view part : parts) url += fmt::format("/{}", part);
  return url;
}

Result<std::vector<IndexFile>> parse_simple_index(std::string_view page, std::string_view page_url) {
  const size_t first = page.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && page[first] == '{') return parse_json_page(page, page_url);
  return parse_html(page, std::string(page_url));
}

const IndexFile* newest_wheel(const std::vector<IndexFile>& files) {
  const IndexFile* best = nullptr;
  std::vector<uint64_t> best_version;
  for (const IndexFile& file : files) {
    if (file.is_yanked || !file.name.ends_with("-none-any.whl")) continue;
    const size_t dash = file.name.find('-');
    const std::string_view rest = std::string_view(file.name).substr(dash + 1);
    const auto version = plain_version(rest.substr(0, rest.find('-')));
    if (version.empty() || (best && version <= best_version)) continue;
    best = &file;
    best_version = version;
  }
  return best;
}

}  // namespace anedvd
