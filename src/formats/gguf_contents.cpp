#include "formats/gguf_contents.h"

#include <bit>
#include <string>
#include <unordered_set>

#include "base/checked_math.h"
#include "base/words.h"
#include "formats/gguf_cursor.h"
#include "formats/gguf_header.h"

namespace anedvd {

namespace {

constexpr uint32_t kMaxDimensions = 4;  // ggml's GGML_MAX_DIMS
constexpr uint64_t kSmallestRow =
    8 + 4 + 8 + 4 + 8;  // of the table: name length, dimension count, one dimension, type, offset
constexpr uint64_t kMaxTensors = uint64_t(1) << 20;    // the largest known models have a few thousand
constexpr uint64_t kMaxAlignment = uint64_t(1) << 20;  // files use 32; more than a huge page gains nothing

// A row of the tensor table as the file has it: shape and type are checked, the place of the data is not yet.
struct TensorRow {
  TensorView view;
  uint64_t offset;  // from the start of the data
  uint64_t size;
};

// GGUF's `ne` as a shape, for messages: dimensions that do not fit in Shape are shown too.
std::string ne_words(std::span<const uint64_t> ne) {
  std::string words = "[";
  for (size_t i = ne.size(); i > 0; --i) words += fmt::format("{}{}", ne[i - 1], i == 1 ? "" : ", ");
  return words + "]";
}

Result<std::vector<uint64_t>> read_dimensions(GgufCursor& cursor, std::string_view where, std::string_view what) {
  const auto count = cursor.read<uint32_t>();
  if (!count) return cursor.overrun(where, what);
  if (*count == 0)
    return fail(ErrorCode::kBadFile, "{}: {} has no dimensions (shape []); fetch the file again", where, what);
  std::vector<uint64_t> ne;
  // A few more than allowed are read for the message's sake.
  constexpr uint32_t kShownDimensions = 8;
  for (uint32_t i = 0; i < std::min(*count, kShownDimensions); ++i) {
    const auto dimension = cursor.read<uint64_t>();
    if (!dimension && *count <= kMaxDimensions) return cursor.overrun(where, what);
    if (!dimension) break;
    ne.push_back(*dimension);
  }
  if (*count > kMaxDimensions)
    return fail(ErrorCode::kBadFile,
                "{}: {} has {} dimensions (shape {}{}); 1 to {} are possible, fetch the file again", where, what,
                number_words(*count), *count > ne.size() ? "…, " : "", ne_words(ne), kMaxDimensions);
  return ne;
}

// Bytes of the whole tensor; checks each dimension, the product and that rows are whole blocks.
Result<uint64_t> check_shape(std::span<const uint64_t> ne, const QuantFormat& format, std::string_view where,
                             std::string_view what) {
  std::optional<uint64_t> elements = 1;
  for (const uint64_t dimension : ne) {
    if (dimension == 0)
      return fail(ErrorCode::kBadFile, "{}: {} has shape {} with a dimension of 0; fetch the file again", where, what,
                  ne_words(ne));
    elements = checked_mul(elements, dimension);
  }
  const auto size = checked_mul(elements ? std::optional(*elements / format.block_elements) : std::nullopt,
                                uint64_t(format.block_bytes));
  if (!size || *size > kNoFileIsThisLong)
    return fail(ErrorCode::kBadFile, "{}: {} has shape {}, too large to exist; the file is damaged, fetch it again",
                where, what, ne_words(ne));
  if (ne[0] % uint64_t(format.block_elements) != 0)
    return fail(ErrorCode::kBadFile,
                "{}: {} has shape {}, but {} stores {} values a block and rows are whole blocks; fetch the file again",
                where, what, ne_words(ne), format.name, format.block_elements);
  return *size;
}

Result<TensorRow> read_row(GgufCursor& cursor, uint64_t number, uint64_t count, std::string_view where) {
  const auto name = cursor.string();
  if (!name) return cursor.overrun(where, fmt::format("the name of tensor {} of {}", number + 1, count));
  if (name->empty())
    return fail(ErrorCode::kBadFile, "{}: tensor {} of {} has no name; fetch the file again", where, number + 1, count);
  const std::string what = fmt::format("tensor \"{}\"", visible(*name));
  ANEDVD_TRY(const std::vector<uint64_t> ne, read_dimensions(cursor, where, what));
  const auto type = cursor.read<uint32_t>();
  const auto offset = type ? cursor.read<uint64_t>() : std::nullopt;
  if (!offset) return cursor.overrun(where, "the table row of " + what);
  const auto dtype = dtype_from_number(*type);
  if (!dtype)
    return fail(ErrorCode::kUnsupported,
                "{}: {} has type {} ({}), which anedvd does not read; use a Q4_K_M, Q8_0 or F16 file", where, what,
                *type, unsupported_type_name(*type));
  ANEDVD_TRY(const uint64_t size, check_shape(ne, format_of(*dtype), where, what));
  TensorRow row{{std::string(*name), *dtype, {}, {}}, *offset, size};
  row.view.shape.assign(ne.rbegin(), ne.rend());
  return row;
}

Result<uint64_t> read_alignment(const GgufMetadata& metadata, std::string_view where) {
  constexpr std::string_view kKey = "general.alignment";
  constexpr uint64_t kDefault = 32;
  if (!metadata.has(kKey)) return kDefault;
  const auto value = metadata.integer(kKey);
  // The format asks for a multiple of 8, ggml for a power of two.
  if (!value || *value < 8 || uint64_t(*value) > kMaxAlignment || !std::has_single_bit(uint64_t(*value)))
    return fail(ErrorCode::kBadFile, "{}: metadata \"{}\" is {}; it must be a power of two from 8 to {}", where, kKey,
                value ? std::to_string(*value) : "not a number", number_words(kMaxAlignment));
  return uint64_t(*value);
}

// Points the view at its data, once that is known to lie inside of the file.
Result<> place(TensorRow& row, uint64_t data_start, uint64_t alignment, std::span<const std::byte> file,
               std::string_view where) {
  const std::string name = visible(row.view.name);
  if (row.offset % alignment != 0)
    return fail(ErrorCode::kBadFile,
                "{}: tensor \"{}\" starts at {} in the data, no multiple of the alignment {}; fetch the file again",
                where, name, number_words(row.offset), alignment);
  const auto end = checked_add(checked_add(data_start, row.offset), row.size);
  if (!end || *end > kNoFileIsThisLong)
    return fail(ErrorCode::kBadFile,
                "{}: tensor \"{}\" starts at {} in the data, beyond any file; the file is damaged, fetch it again",
                where, name, number_words(row.offset));
  if (*end > file.size())
    return fail(ErrorCode::kBadFile,
                "{}: tensor \"{}\" ends at byte {} but the file has {}; the download stopped early, fetch it again",
                where, name, number_words(*end), number_words(file.size()));
  row.view.bytes = file.subspan(data_start + row.offset, row.size);
  return {};
}

}  // namespace

Result<GgufContents> read_gguf(std::span<const std::byte> bytes, std::string_view where) {
  GgufCursor cursor(bytes);
  ANEDVD_TRY(const GgufHeader header, read_gguf_header(cursor, where));
  GgufContents contents;
  contents.version = header.version;
  // Before the metadata is read: a count that cannot be true says more than what goes wrong later because of it.
  if (header.tensor_count > cursor.remaining() / kSmallestRow)
    return fail(ErrorCode::kBadFile,
                "{}: the header says {} tensors, more than the {} bytes behind it can hold; the file is damaged or cut "
                "short, fetch it again",
                where, number_words(header.tensor_count), number_words(cursor.remaining()));
  if (header.tensor_count > kMaxTensors)
    return fail(ErrorCode::kUnsupported, "{}: {} tensors; anedvd reads files with at most {}", where,
                number_words(header.tensor_count), number_words(kMaxTensors));
  ANEDVD_TRY(contents.metadata, GgufMetadata::read(cursor, header.pair_count, where));
  ANEDVD_TRY(contents.alignment, read_alignment(contents.metadata, where));

  std::vector<TensorRow> rows;
  std::unordered_set<std::string> names;
  for (uint64_t i = 0; i < header.tensor_count; ++i) {
    ANEDVD_TRY(TensorRow row, read_row(cursor, i, header.tensor_count, where));
    if (!names.insert(row.view.name).second)
      return fail(ErrorCode::kBadFile, "{}: tensor \"{}\" is there twice; fetch the file again or use another", where,
                  visible(row.view.name));
    rows.push_back(std::move(row));
  }
  const uint64_t data_start = (cursor.offset() + contents.alignment - 1) / contents.alignment * contents.alignment;
  contents.tensors.reserve(rows.size());
  for (TensorRow& row : rows) {
    ANEDVD_TRY_VOID(place(row, data_start, contents.alignment, bytes, where));
    contents.tensors.push_back(std::move(row.view));
  }
  return contents;
}

}  // namespace anedvd
