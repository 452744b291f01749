#include "formats/gguf_writer.h"

#include <array>

#include "base/checked_math.h"
#include "base/words.h"

namespace anedvd {
namespace {

constexpr uint32_t kVersion = 3;

template <class T>
void put_number(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::optional<uint64_t> data_bytes(const GgufTensor& tensor) {
  const QuantFormat& format = format_of(tensor.dtype);
  std::optional<uint64_t> elements = 1;
  for (const int64_t dimension : tensor.shape) elements = checked_mul(elements, uint64_t(dimension));
  if (!elements) return std::nullopt;
  return checked_mul(*elements / uint64_t(format.block_elements), uint64_t(format.block_bytes));
}

uint64_t aligned(uint64_t offset) {
  return (offset + GgufWriter::kAlignment - 1) / GgufWriter::kAlignment * GgufWriter::kAlignment;
}

void put_row(std::string& bytes, const GgufTensor& tensor, uint64_t offset) {
  put_number<uint64_t>(bytes, tensor.name.size());
  bytes += tensor.name;
  put_number<uint32_t>(bytes, uint32_t(tensor.shape.size()));
  for (size_t i = tensor.shape.size(); i > 0; --i) put_number<uint64_t>(bytes, uint64_t(tensor.shape[i - 1]));
  put_number<uint32_t>(bytes, uint32_t(tensor.dtype));
  put_number<uint64_t>(bytes, offset);
}

}  // namespace

void GgufPairs::put_text(std::string_view text) {
  put_number<uint64_t>(bytes_, text.size());
  bytes_ += text;
}

void GgufPairs::begin(std::string_view key, GgufType type) {
  put_text(key);
  put_number(bytes_, uint32_t(type));
  ++count_;
}

void GgufPairs::begin_array(std::string_view key, GgufType element, uint64_t count) {
  begin(key, GgufType::kArray);
  put_number(bytes_, uint32_t(element));
  put_number(bytes_, count);
}

void GgufPairs::text(std::string_view key, std::string_view value) {
  begin(key, GgufType::kString);
  put_text(value);
}

void GgufPairs::texts(std::string_view key, std::span<const std::string> values) {
  begin_array(key, GgufType::kString, values.size());
  for (const std::string& value : values) put_text(value);
}

void GgufPairs::copy(const GgufMetadata::Entry& entry) {
  if (entry.type == GgufType::kArray) {
    begin_array(entry.key, entry.element, entry.count);
  } else {
    begin(entry.key, entry.type);
    if (entry.type == GgufType::kString) put_number<uint64_t>(bytes_, entry.bytes.size());
  }
  put(entry.bytes.data(), entry.bytes.size());
}

Result<GgufWriter> GgufWriter::create(const std::filesystem::path& path, const GgufPairs& pairs,
                                      const std::vector<GgufTensor>& tensors) {
  std::string head = "GGUF";
  put_number(head, kVersion);
  put_number<uint64_t>(head, tensors.size());
  put_number<uint64_t>(head, pairs.count());
  head += pairs.bytes();
  std::vector<uint64_t> sizes;
  uint64_t offset = 0;
  for (const GgufTensor& tensor : tensors) {
    ANEDVD_CHECK(!tensor.shape.empty() && tensor.shape.back() % format_of(tensor.dtype).block_elements == 0,
                 "tensor {} is no whole number of blocks", tensor.name);
    const auto size = data_bytes(tensor);
    const auto end = checked_add(size, offset);
    if (!end || *end > kNoFileIsThisLong)
      return fail(ErrorCode::kBadFile, "{}: tensor \"{}\" has shape {}, too large for a file", path.string(),
                  visible(tensor.name), shape_words(tensor.shape));
    put_row(head, tensor, offset);
    sizes.push_back(*size);
    offset = aligned(*end);
  }
  head.resize(aligned(head.size()));
  ANEDVD_TRY(PartialFile file, PartialFile::create(path, head.size() + offset));
  ANEDVD_TRY_VOID(file.write(std::as_bytes(std::span(head))));
  return GgufWriter(std::move(file), std::move(sizes));
}

Result<> GgufWriter::append(std::span<const std::byte> bytes) {
  ANEDVD_CHECK(tensor_ < sizes_.size() && bytes.size() <= sizes_[tensor_] - done_, "more data than tensor {} holds",
               tensor_);
  ANEDVD_TRY_VOID(file_.write(bytes));
  done_ += bytes.size();
  if (done_ < sizes_[tensor_]) return {};
  ++tensor_;
  done_ = 0;
  return pad();
}

Result<> GgufWriter::pad() {
  constexpr std::array<std::byte, kAlignment> kZeros{};
  return file_.write(std::span(kZeros).first(aligned(file_.written()) - file_.written()));
}

Result<uint64_t> GgufWriter::finish() {
  ANEDVD_CHECK(tensor_ == sizes_.size(), "the data of tensor {} is not complete", tensor_);
  const uint64_t size = file_.written();
  ANEDVD_TRY_VOID(file_.publish());
  return size;
}

}  // namespace anedvd
