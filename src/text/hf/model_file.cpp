#include "text/hf/model_file.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "text/hf/json_cursor.h"

namespace anedvd {
namespace {

using Json = nlohmann::json;

// Ids may have holes, but a file of a few bytes must not make a table of gigabytes.
constexpr size_t kHolesAtMost = 1u << 20;

// {"text": id, …}
void read_id_vocabulary(JsonCursor& cursor, HfModelFile& file) {
  // An entry takes five bytes at least, so no honest id is above this, in whatever order they come.
  const size_t ids_at_most = cursor.bytes_left() / 5 + kHolesAtMost;
  size_t count = 0;
  if (!cursor.enter('{')) return;
  std::string_view text;
  while (cursor.next_member(text)) {
    const double number = cursor.number();
    if (!(number >= 0 && number < INT32_MAX && number == std::floor(number)))
      return cursor.complain("a token id is no id");
    const auto id = static_cast<size_t>(number);
    if (id >= ids_at_most) return cursor.complain("token ids far beyond their number");
    if (id >= file.texts.size()) file.texts.resize(id + 1);
    file.texts[id] = text;
    ++count;
  }
  if (file.texts.size() > count + kHolesAtMost) cursor.complain("token ids far beyond their number");
}

// [["text", score], …]
void read_score_vocabulary(JsonCursor& cursor, HfModelFile& file) {
  if (!cursor.enter('[')) return;
  while (cursor.next_element()) {
    if (!cursor.enter('[') || !cursor.next_element()) return cursor.complain("expected a text and a score");
    file.texts.push_back(cursor.string());
    if (!cursor.next_element()) return cursor.complain("expected a score");
    file.scores.push_back(cursor.number());
    if (cursor.next_element()) return cursor.complain("expected two values");
  }
}

// ["left right", …] or [["left", "right"], …]
void read_merges(JsonCursor& cursor, HfModelFile& file, std::deque<std::string>& arena) {
  constexpr char kNeverInText = '\xFF';  // no byte of UTF-8, so pieces may hold spaces
  if (!cursor.enter('[')) return;
  file.merges.reserve(2 * file.texts.size());  // usual: one to two a token
  // The pairs are shorter than the text they are written in, so this never moves; pages that are not written cost nothing.
  std::string& pairs = arena.emplace_back();
  while (cursor.next_element()) {
    if (cursor.peek() == JsonCursor::Kind::kString) {
      if (file.separator != ' ') return cursor.complain("merges of two kinds");
      file.merges.push_back(cursor.string());
      continue;
    }
    if (file.separator == ' ') {
      if (!file.merges.empty()) return cursor.complain("merges of two kinds");
      file.separator = kNeverInText;
      pairs.reserve(cursor.bytes_left());
    }
    if (!cursor.enter('[') || !cursor.next_element()) return cursor.complain("expected a pair of pieces");
    const size_t start = pairs.size();
    pairs.append(cursor.string());
    pairs.push_back(kNeverInText);
    if (!cursor.next_element()) return cursor.complain("expected a pair of pieces");
    pairs.append(cursor.string());
    file.merges.push_back(std::string_view(pairs).substr(start));
    if (cursor.next_element()) return cursor.complain("expected a pair of pieces");
  }
}

Result<> keep(JsonCursor& cursor, std::string_view name, std::string_view where,
              std::map<std::string, Json, std::less<>>& to) {
  const std::string_view slice = cursor.skip();
  ANEDVD_TRY_VOID(cursor.status());
  ANEDVD_TRY(auto value, parse_json(slice, where));
  to[std::string(name)] = std::move(value);
  return {};
}

Result<> read_model(JsonCursor& cursor, std::string_view where, std::deque<std::string>& arena, HfModelFile& file) {
  if (!cursor.enter('{')) return cursor.status();
  std::string_view name;
  while (cursor.next_member(name)) {
    if (name == "vocab" && cursor.peek() == JsonCursor::Kind::kObject) {
      read_id_vocabulary(cursor, file);
    } else if (name == "vocab" && cursor.peek() == JsonCursor::Kind::kArray) {
      read_score_vocabulary(cursor, file);
    } else if (name == "merges" && cursor.peek() == JsonCursor::Kind::kArray) {
      read_merges(cursor, file, arena);
    } else {
      ANEDVD_TRY_VOID(keep(cursor, name, where, file.model));
    }
  }
  return cursor.status();
}

const Json& entry(const std::map<std::string, Json, std::less<>>& from, std::string_view name) {
  static const Json null;
  const auto at = from.find(name);
  return at == from.end() ? null : at->second;
}

}  // namespace

const Json& HfModelFile::section(std::string_view name) const { return entry(sections, name); }
const Json& HfModelFile::model_field(std::string_view name) const { return entry(model, name); }

Result<HfModelFile> read_hf_model_file(std::string_view json, std::string_view where, std::deque<std::string>& arena) {
  HfModelFile file;
  JsonCursor cursor(json, where, arena);
  if (!cursor.enter('{')) return tl::unexpected(cursor.status().error());
  std::string_view name;
  while (cursor.next_member(name)) {
    if (name == "model" && cursor.peek() == JsonCursor::Kind::kObject) {
      ANEDVD_TRY_VOID(read_model(cursor, where, arena, file));
    } else {
      ANEDVD_TRY_VOID(keep(cursor, name, where, file.sections));
    }
  }
  ANEDVD_TRY_VOID(cursor.status());
  if (!cursor.at_end())
    return fail(ErrorCode::kBadFile, "{}: broken JSON: text after the end; fetch the file again", where);
  return file;
}

}  // namespace anedvd
