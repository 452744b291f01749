#include "formats/safetensors_contents.h"

#include <algorithm>
#include <optional>

#include "base/checked_math.h"
#include "base/words.h"
#include "formats/safetensors_header.h"

namespace anedvd {
namespace {

constexpr size_t kMostDimensions = 4;                 // of a Shape
constexpr uint64_t kLargestSize = uint64_t(1) << 62;  // no file is this long; keeps sizes inside int64_t
constexpr size_t kShownDimensions = 8;

// A type of the format (safetensors/src/tensor.rs, `enum Dtype`).
struct StoredType {
  std::string_view name;
  uint64_t bits;
  std::optional<DType> dtype;  // nullopt: known, but not read
};

constexpr StoredType kTypes[] = {
    {"F32", 32, DType::kF32},
    {"F16", 16, DType::kF16},
    {"BF16", 16, DType::kBF16},
    {"F64", 64, DType::kF64},
    {"I8", 8, DType::kI8},
    {"U8", 8, DType::kI8},
    {"I16", 16, DType::kI16},
    {"I32", 32, DType::kI32},
    {"I64", 64, DType::kI64},
    {"BOOL", 8, std::nullopt},
    {"U16", 16, std::nullopt},
    {"U32", 32, std::nullopt},
    {"U64", 64, std::nullopt},
    {"F8_E4M3", 8, std::nullopt},
    {"F8_E5M2", 8, std::nullopt},
    {"F8_E8M0", 8, std::nullopt},
    {"F8_E4M3FNUZ", 8, std::nullopt},
    {"F8_E5M2FNUZ", 8, std::nullopt},
    {"F6_E2M3", 6, std::nullopt},
    {"F6_E3M2", 6, std::nullopt},
    {"F4", 4, std::nullopt},
    {"C64", 64, std::nullopt},
};

const StoredType* type_of(std::string_view name) {
  const auto* row =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const StoredType& t) { return t.name == name; });
  return row == std::end(kTypes) ? nullptr : row;
}

std::string words_of(const std::vector<uint64_t>& shape) {
  std::string words = "[";
  const size_t shown = std::min(shape.size(), kShownDimensions);
  for (size_t i = 0; i < shown; ++i) words += fmt::format("{}{}", i == 0 ? "" : ", ", shape[i]);
  return words + (shown < shape.size() ? ", …]" : "]");
}

std::string name_of(const SafetensorsEntry& entry) { return fmt::format("tensor \"{}\"", visible(entry.name)); }

// Elements; nullopt when the product leaves 64 bits. A dimension of 0 makes it 0, whatever stands beside it.
std::optional<uint64_t> elements_of(const std::vector<uint64_t>& shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::optional<uint64_t> elements = 1;
  for (const uint64_t dimension : shape) elements = checked_mul(elements, dimension);
  return elements;
}

Result<> check_place(const SafetensorsEntry& entry, uint64_t data_bytes, std::string_view where) {
  if (entry.begin > entry.end)
    return fail(ErrorCode::kBadFile, "{}: {} ends at {}, before it starts at {}; the file is damaged, fetch it again",
                where, name_of(entry), entry.end, entry.begin);
  if (entry.end > data_bytes)
    return fail(ErrorCode::kBadFile,
                "{}: {} ends at byte {} of the data but the file has {}; the download stopped early, fetch it again",
                where, name_of(entry), entry.end, data_bytes);
  return {};
}

Result<> check_size(const SafetensorsEntry& entry, const StoredType& type, std::string_view where) {
  const auto bits = checked_mul(elements_of(entry.shape), type.bits);
  if (!bits || *bits > kLargestSize)
    return fail(ErrorCode::kBadFile, "{}: {} has shape {}, too large to exist; the file is damaged, fetch it again",
                where, name_of(entry), words_of(entry.shape));
  if (*bits % 8 != 0 || *bits / 8 != entry.end - entry.begin)
    return fail(ErrorCode::kBadFile,
                "{}: {} has {} bytes, but shape {} of {} takes {}; the file is damaged, fetch it again", where,
                name_of(entry), entry.end - entry.begin, words_of(entry.shape), type.name, (*bits + 7) / 8);
  return {};
}

// Neighbours touch: with entries sorted by place, each starts where the last one ended, and the last one ends with the file.
Result<> check_cover(const std::vector<SafetensorsEntry>& sorted, uint64_t data_bytes, std::string_view where) {
  uint64_t covered = 0;
  const SafetensorsEntry* last = nullptr;
  for (const SafetensorsEntry& entry : sorted) {
    if (entry.begin < covered)
      return fail(ErrorCode::kBadFile,
                  "{}: {} starts at byte {} of the data, inside {}; the file is damaged, fetch it "
                  "again",
                  where, name_of(entry), entry.begin, name_of(*last));
    if (entry.begin > covered)
      return fail(ErrorCode::kBadFile,
                  "{}: {} starts at byte {} of the data, but what is before it ends at {}; the file is damaged, fetch "
                  "it again",
                  where, name_of(entry), entry.begin, covered);
    covered = entry.end;
    last = &entry;
  }
  if (covered == data_bytes) return {};
  return fail(ErrorCode::kBadFile, "{}: {} bytes follow {}; the file is damaged, fetch it again", where,
              data_bytes - covered, last != nullptr ? "the last one, " + name_of(*last) : "a header without tensors");
}

// Puts the entry, whose place and size are checked, where it belongs.
void add(SafetensorsEntry& entry, const StoredType& type, std::span<const std::byte> data,
         SafetensorsContents& contents) {
  if (entry.begin == entry.end) {
    contents.unreadable.push_back({std::move(entry.name), "has no element", true});
  } else if (!type.dtype) {
    contents.unreadable.push_back(
        {std::move(entry.name), fmt::format("is stored as {}", type.name), type.name == "BOOL"});
  } else if (entry.shape.size() > kMostDimensions) {
    contents.unreadable.push_back({std::move(entry.name), fmt::format("has {} dimensions", entry.shape.size()), false});
  } else {
    TensorView view{std::move(entry.name), *type.dtype, Shape(entry.shape.begin(), entry.shape.end()),
                    data.subspan(entry.begin, entry.end - entry.begin)};
    if (view.shape.empty()) view.shape = {1};
    contents.tensors.push_back(std::move(view));
  }
}

}  // namespace

Result<SafetensorsContents> read_safetensors(std::span<const std::byte> file, std::string_view where) {
  ANEDVD_TRY(SafetensorsHeader header, read_safetensors_header(file, where));
  const std::span<const std::byte> data = file.subspan(header.data_start);
  std::vector<SafetensorsEntry>& entries = header.entries;
  for (const SafetensorsEntry& entry : entries) {
    const StoredType* type = type_of(entry.dtype);
    if (type == nullptr)
      return fail(ErrorCode::kUnsupported, "{}: {} has type \"{}\", which anedvd does not know; use a BF16 or F16 file",
                  where, name_of(entry), visible(entry.dtype, 40));
    ANEDVD_TRY_VOID(check_place(entry, data.size(), where));
    ANEDVD_TRY_VOID(check_size(entry, *type, where));
  }
  // Tensors without a byte lie between their neighbours: before the one that starts at the same place.
  std::sort(entries.begin(), entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  ANEDVD_TRY_VOID(check_cover(entries, data.size(), where));
  SafetensorsContents contents;
  for (SafetensorsEntry& entry : entries) add(entry, *type_of(entry.dtype), data, contents);
  return contents;
}

}  // namespace anedvd
