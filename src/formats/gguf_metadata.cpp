#include "formats/gguf_metadata.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/words.h"

namespace anedvd {

namespace {

constexpr int kMaxArrayDepth = 8;              // no known key nests arrays at all
constexpr uint64_t kMaxKeys = 65536;           // known files have below 100; bounds what a hostile one makes us keep
constexpr uint64_t kSmallestPair = 8 + 4 + 1;  // key length, type, one byte of value
constexpr size_t kShownEntries = 4;            // of an array, in describe()
constexpr size_t kShownBytes = 100;            // of a string, in describe()

// Bytes of a number; 0 for strings, arrays and types that do not exist.
uint64_t number_bytes(GgufType type) {
  switch (type) {
    case GgufType::kU8:
    case GgufType::kI8:
    case GgufType::kBool: return 1;
    case GgufType::kU16:
    case GgufType::kI16: return 2;
    case GgufType::kU32:
    case GgufType::kI32:
    case GgufType::kF32: return 4;
    case GgufType::kU64:
    case GgufType::kI64:
    case GgufType::kF64: return 8;
    case GgufType::kString:
    case GgufType::kArray: break;
  }
  return 0;
}

bool type_exists(GgufType type) { return uint32_t(type) <= uint32_t(GgufType::kF64); }

template <class T>
T load(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

std::optional<int64_t> float_as_integer(double value) {
  // 2^63 is exact in double; the range is half open, and NaN fails both comparisons.
  if (!(value >= -0x1p63 && value < 0x1p63) || value != std::trunc(value)) return std::nullopt;
  return int64_t(value);
}

// The number at the start of `bytes` (which hold number_bytes(type)), as an integer if it is one. Bools are 0 and 1.
std::optional<int64_t> number_as_integer(GgufType type, std::span<const std::byte> bytes) {
  switch (type) {
    case GgufType::kU8: return load<uint8_t>(bytes);
    case GgufType::kI8: return load<int8_t>(bytes);
    case GgufType::kU16: return load<uint16_t>(bytes);
    case GgufType::kI16: return load<int16_t>(bytes);
    case GgufType::kU32: return load<uint32_t>(bytes);
    case GgufType::kI32: return load<int32_t>(bytes);
    case GgufType::kI64: return load<int64_t>(bytes);
    case GgufType::kBool: return load<uint8_t>(bytes) != 0 ? 1 : 0;
    case GgufType::kF32: return float_as_integer(double(load<float>(bytes)));
    case GgufType::kF64: return float_as_integer(load<double>(bytes));
    case GgufType::kU64: {
      const auto value = load<uint64_t>(bytes);
      if (value > uint64_t(std::numeric_limits<int64_t>::max())) return std::nullopt;
      return int64_t(value);
    }
    case GgufType::kString:
    case GgufType::kArray: break;
  }
  return std::nullopt;
}

std::optional<double> number_as_double(GgufType type, std::span<const std::byte> bytes) {
  if (type == GgufType::kF32) return double(load<float>(bytes));
  if (type == GgufType::kF64) return load<double>(bytes);
  if (type == GgufType::kU64) return double(load<uint64_t>(bytes));
  const auto integer = number_as_integer(type, bytes);
  if (!integer) return std::nullopt;
  return double(*integer);
}

std::string number_text(GgufType type, std::span<const std::byte> bytes) {
  if (type == GgufType::kBool) return load<uint8_t>(bytes) != 0 ? "true" : "false";
  if (type == GgufType::kF32) return fmt::format("{}", load<float>(bytes));
  if (type == GgufType::kF64) return fmt::format("{}", load<double>(bytes));
  if (type == GgufType::kU64) return fmt::format("{}", load<uint64_t>(bytes));
  return fmt::format("{}", number_as_integer(type, bytes).value_or(0));
}

std::string quoted(std::string_view text) { return fmt::format("\"{}\"", visible(text, kShownBytes)); }

struct ArrayHead {
  GgufType element;
  uint64_t count;
};

// The twelve bytes before an array's entries, and whether that many entries can be there at all.
Result<ArrayHead> read_array_head(GgufCursor& cursor, std::string_view where, std::string_view what) {
  const auto element = cursor.read<uint32_t>();
  const auto count = element ? cursor.read<uint64_t>() : std::nullopt;
  if (!count) return cursor.overrun(where, what);
  const auto type = GgufType(*element);
  if (!type_exists(type))
    return fail(ErrorCode::kBadFile, "{}: {} is an array of type {}, which GGUF does not have; fetch the file again",
                where, what, *element);
  // Strings take at least their 8 bytes of length, arrays their 12 bytes of head.
  const uint64_t smallest = type == GgufType::kString ? 8 : type == GgufType::kArray ? 12 : number_bytes(type);
  if (!cursor.fits(checked_mul(*count, smallest))) return cursor.overrun(where, what);
  return ArrayHead{type, *count};
}

// Moves the cursor behind an array's entries. Its head has been read.
Result<> skip_entries(GgufCursor& cursor, ArrayHead head, int depth, std::string_view where, std::string_view what) {
  if (head.element == GgufType::kString) {
    for (uint64_t i = 0; i < head.count; ++i)
      if (!cursor.string()) return cursor.overrun(where, fmt::format("{}, entry {},", what, number_words(i)));
    return {};
  }
  if (head.element != GgufType::kArray) {
    if (!cursor.take(checked_mul(head.count, number_bytes(head.element)))) return cursor.overrun(where, what);
    return {};
  }
  if (depth == kMaxArrayDepth)
    return fail(ErrorCode::kBadFile, "{}: {} nests arrays more than {} deep; fetch the file again", where, what,
                kMaxArrayDepth);
  for (uint64_t i = 0; i < head.count; ++i) {
    ANEDVD_TRY(const ArrayHead inner, read_array_head(cursor, where, what));
    ANEDVD_TRY_VOID(skip_entries(cursor, inner, depth + 1, where, what));
  }
  return {};
}

std::string_view type_words(GgufType type) {
  constexpr std::string_view kNames[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                         "bool", "string", "array", "u64", "i64", "f64"};
  return kNames[uint32_t(type)];
}

}  // namespace

Result<GgufMetadata> GgufMetadata::read(GgufCursor& cursor, uint64_t count, std::string_view where) {
  if (count > cursor.remaining() / kSmallestPair)
    return fail(ErrorCode::kBadFile,
                "{}: the header says {} metadata keys, more than the {} bytes behind it can hold; the file is damaged "
                "or cut short, fetch it again",
                where, number_words(count), number_words(cursor.remaining()));
  if (count > kMaxKeys)
    return fail(ErrorCode::kUnsupported, "{}: {} metadata keys; anedvd reads files with at most {}", where,
                number_words(count), number_words(kMaxKeys));
  GgufMetadata metadata;
  metadata.where_ = where;
  metadata.entries_.reserve(count);
  metadata.index_.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    const auto key = cursor.string();
    if (!key) return cursor.overrun(where, fmt::format("the key of metadata pair {} of {}", i + 1, count));
    const std::string what = fmt::format("metadata \"{}\"", visible(*key));
    if (key->empty())
      return fail(ErrorCode::kBadFile, "{}: metadata pair {} has an empty key; fetch the file again", where, i + 1);
    const auto type_number = cursor.read<uint32_t>();
    if (!type_number) return cursor.overrun(where, what);
    Entry entry{*key, GgufType(*type_number), GgufType::kU8, 0, {}};
    if (!type_exists(entry.type))
      return fail(ErrorCode::kBadFile, "{}: {} has type {}, which GGUF does not have; fetch the file again", where,
                  what, *type_number);
    if (entry.type == GgufType::kString) {
      const auto text = cursor.string();
      if (!text) return cursor.overrun(where, what);
      entry.bytes = std::as_bytes(std::span(*text));
    } else if (entry.type == GgufType::kArray) {
      ANEDVD_TRY(const ArrayHead head, read_array_head(cursor, where, what));
      GgufCursor start = cursor;
      ANEDVD_TRY_VOID(skip_entries(cursor, head, 1, where, what));
      entry.element = head.element;
      entry.count = head.count;
      entry.bytes = *start.take(cursor.offset() - start.offset());
    } else {
      const auto number = cursor.take(number_bytes(entry.type));
      if (!number) return cursor.overrun(where, what);
      entry.bytes = *number;
    }
    if (!metadata.index_.emplace(*key, uint32_t(i)).second)
      return fail(ErrorCode::kBadFile, "{}: {} is there twice; which one counts is unknown, fetch another file", where,
                  what);
    metadata.entries_.push_back(entry);
  }
  return metadata;
}

const GgufMetadata::Entry* GgufMetadata::find(std::string_view key) const {
  const auto found = index_.find(key);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

bool GgufMetadata::has(std::string_view key) const { return find(key) != nullptr; }

std::optional<int64_t> GgufMetadata::integer(std::string_view key) const {
  const Entry* entry = find(key);
  if (entry == nullptr || entry->type == GgufType::kBool) return std::nullopt;
  return number_as_integer(entry->type, entry->bytes);
}

std::optional<double> GgufMetadata::number(std::string_view key) const {
  const Entry* entry = find(key);
  if (entry == nullptr || entry->type == GgufType::kBool) return std::nullopt;
  return number_as_double(entry->type, entry->bytes);
}

std::optional<bool> GgufMetadata::boolean(std::string_view key) const {
  const Entry* entry = find(key);
  if (entry == nullptr) return std::nullopt;
  const auto value = number_as_integer(entry->type, entry->bytes);
  if (!value || (*value != 0 && *value != 1)) return std::nullopt;
  return *value == 1;
}

std::optional<std::string_view> GgufMetadata::string(std::string_view key) const {
  const Entry* entry = find(key);
  if (entry == nullptr || entry->type != GgufType::kString) return std::nullopt;
  return std::string_view(reinterpret_cast<const char*>(entry->bytes.data()), entry->bytes.size());
}

std::optional<int64_t> GgufMetadata::array_size(std::string_view key) const {
  const Entry* entry = find(key);
  if (entry == nullptr || entry->type != GgufType::kArray) return std::nullopt;
  return int64_t(entry->count);  // at most the file's size: every entry takes a byte
}

Result<const GgufMetadata::Entry*> GgufMetadata::find_array(std::string_view key) const {
  const Entry* entry = find(key);
  if (entry == nullptr)
    return fail(ErrorCode::kNotFound, "{}: metadata \"{}\" is missing; use another file", where_, visible(key));
  if (entry->type != GgufType::kArray)
    return fail(ErrorCode::kBadFile, "{}: metadata \"{}\" is a single {}, not an array; use another file", where_,
                visible(key), type_words(entry->type));
  return entry;
}

Result<std::vector<std::string_view>> GgufMetadata::strings(std::string_view key) const {
  ANEDVD_TRY(const Entry* entry, find_array(key));
  if (entry->element != GgufType::kString)
    return fail(ErrorCode::kBadFile, "{}: metadata \"{}\" is an array of {}, not of strings; use another file", where_,
                visible(key), type_words(entry->element));
  std::vector<std::string_view> out;
  out.reserve(entry->count);
  GgufCursor cursor(entry->bytes);
  for (uint64_t i = 0; i < entry->count; ++i) {
    // Checked again, because somebody may write to a mapped file after it was opened.
    const auto text = cursor.string();
    if (!text) return fail(ErrorCode::kBadFile, "{}: the file changed while in use; start again", where_);
    out.push_back(*text);
  }
  return out;
}

Result<std::vector<int64_t>> GgufMetadata::integers(std::string_view key) const {
  ANEDVD_TRY(const Entry* entry, find_array(key));
  const uint64_t step = number_bytes(entry->element);
  std::vector<int64_t> out;
  out.reserve(step == 0 ? 0 : entry->count);
  for (uint64_t i = 0; i < entry->count; ++i) {
    const auto value = number_as_integer(entry->element, entry->bytes.subspan(i * step));
    if (!value)
      return fail(ErrorCode::kBadFile,
                  "{}: metadata \"{}\", entry {} ({}) is not a whole number of 64 bits; use another file", where_,
                  visible(key), i, type_words(entry->element));
    out.push_back(*value);
  }
  return out;
}

Result<std::vector<double>> GgufMetadata::numbers(std::string_view key) const {
  ANEDVD_TRY(const Entry* entry, find_array(key));
  const uint64_t step = number_bytes(entry->element);
  std::vector<double> out;
  out.reserve(step == 0 ? 0 : entry->count);
  for (uint64_t i = 0; i < entry->count; ++i) {
    const auto value = number_as_double(entry->element, entry->bytes.subspan(i * step));
    if (!value)
      return fail(ErrorCode::kBadFile, "{}: metadata \"{}\", entry {} ({}) is not a number; use another file", where_,
                  visible(key), i, type_words(entry->element));
    out.push_back(*value);
  }
  return out;
}

std::string GgufMetadata::words(const Entry& entry) {
  if (entry.type == GgufType::kString)
    return visible({reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size()}, kShownBytes);
  if (entry.type != GgufType::kArray) return number_text(entry.type, entry.bytes);
  std::string text = fmt::format("{} × {}", number_words(entry.count), type_words(entry.element));
  if (entry.element == GgufType::kArray) return text;
  GgufCursor cursor(entry.bytes);
  const uint64_t shown = std::min<uint64_t>(entry.count, kShownEntries);
  for (uint64_t i = 0; i < shown; ++i) {
    text += i == 0 ? ": " : ", ";
    if (entry.element == GgufType::kString) {
      text += quoted(cursor.string().value_or(""));
    } else {
      const uint64_t step = number_bytes(entry.element);
      text += number_text(entry.element, entry.bytes.subspan(i * step, step));
    }
  }
  return shown < entry.count ? text + ", …" : text;
}

std::vector<std::pair<std::string, std::string>> GgufMetadata::describe() const {
  std::vector<std::pair<std::string, std::string>> lines;
  lines.reserve(entries_.size());
  for (const Entry& entry : entries_) lines.emplace_back(visible(entry.key), words(entry));
  return lines;
}

}  // namespace anedvd
