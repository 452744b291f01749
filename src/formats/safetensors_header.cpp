#include "formats/safetensors_header.h"

#include <bit>
#include <cstring>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "base/words.h"
#include "formats/wrong_download.h"

namespace anedvd {
namespace {

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kLongestHeader = 100000000;  // the reference implementation's limit
constexpr int kDeepest = 16;                    // honest headers have 3 levels: file, tensor, list

// Receives the header's JSON event by event. Levels: 1 the file's object, 2 a tensor's object, 3 its shape or offsets; deeper ones belong to
// keys that the format does not have, and are skipped.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  HeaderReader(std::vector<SafetensorsEntry>& entries, std::string_view where) : entries_(entries), where_(where) {}

  const std::optional<Error>& error() const { return error_; }

  bool null() override { return value("null"); }
  bool boolean(bool) override { return value("true or false"); }
  bool binary(binary_t&) override { return value("binary"); }
  bool number_float(number_float_t, const string_t& text) override { return value(visible(text, 40)); }

  bool number_integer(number_integer_t number) override {
    return number >= 0 ? number_unsigned(number_unsigned_t(number)) : value(std::to_string(number));
  }

  bool number_unsigned(number_unsigned_t number) override {
    if (level_ != 3 || field_ == Field::kOther) return value(std::to_string(number));
    (field_ == Field::kShape ? entry_.shape : offsets_).push_back(number);
    return true;
  }

  bool string(string_t& text) override {
    if (level_ != 2 || field_ != Field::kDtype) return value("\"" + visible(text, 40) + "\"");
    entry_.dtype = std::move(text);
    return true;
  }

  bool start_object(size_t) override {
    if (level_ > 1 && is_awaited()) return value("an object");
    return descend();
  }

  bool start_array(size_t) override {
    if (level_ == 0) return refuse("the header is no JSON object");
    if (level_ == 1 && !in_metadata_) return value("a list");
    if (is_awaited() && (level_ == 3 || field_ == Field::kDtype)) return value("a list");
    return descend();
  }

  bool key(string_t& text) override {
    if (level_ == 1) return start_tensor(text);
    if (level_ != 2 || in_metadata_) return true;
    field_ = text == "dtype"          ? Field::kDtype
             : text == "shape"        ? Field::kShape
             : text == "data_offsets" ? Field::kOffsets
                                      : Field::kOther;
    if (field_ == Field::kOther) return true;
    const unsigned bit = 1u << unsigned(field_);
    if ((seen_ & bit) != 0) return refuse(fmt::format("tensor \"{}\" has \"{}\" twice", visible(name_), text));
    seen_ |= bit;
    return true;
  }

  bool end_array() override { return ascend(); }

  bool end_object() override {
    if (level_ == 2 && !in_metadata_ && !finish_tensor()) return false;
    return ascend();
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    return refuse(fmt::format("the header is not valid JSON at its byte {}", position));
  }

 private:
  enum class Field { kDtype, kShape, kOffsets, kOther };

  // Inside a tensor's description, at one of the three fields.
  bool is_awaited() const { return !in_metadata_ && field_ != Field::kOther; }

  bool refuse(std::string what) {
    if (!error_)
      error_ = Error{ErrorCode::kBadFile, fmt::format("{}: {}; the file is damaged, fetch it again", where_, what)};
    return false;
  }

  // A value that no place of interest takes: skipped where anything may stand, an error elsewhere.
  bool value(const std::string& shown) {
    if (level_ == 0) return refuse("the header is no JSON object");
    if (in_metadata_ && level_ > 1) return true;
    if (level_ == 1)
      return refuse(fmt::format("\"{}\" in the header is {}, not a tensor's description", visible(name_), shown));
    if (field_ == Field::kOther) return true;
    constexpr std::string_view kFields[] = {"dtype", "shape", "data_offsets"};
    return refuse(fmt::format("tensor \"{}\": \"{}\" holds {}", visible(name_), kFields[size_t(field_)], shown));
  }

  bool descend() {
    if (++level_ <= kDeepest) return true;
    return refuse(fmt::format("the header nests deeper than {} levels", kDeepest));
  }

  bool ascend() {
    --level_;
    return true;
  }

  bool start_tensor(string_t& text) {
    name_ = std::move(text);
    in_metadata_ = name_ == "__metadata__";
    if (!names_.insert(name_).second) return refuse(fmt::format("tensor \"{}\" is there twice", visible(name_)));
    if (name_.empty()) return refuse("a tensor has no name");
    entry_ = {};
    entry_.name = name_;
    offsets_.clear();
    seen_ = 0;
    field_ = Field::kOther;
    return true;
  }

  bool finish_tensor() {
    constexpr unsigned kAll = 7;
    const std::string tensor = fmt::format("tensor \"{}\"", visible(name_));
    if (seen_ != kAll) {
      const char* missing = (seen_ & 1) == 0 ? "dtype" : (seen_ & 2) == 0 ? "shape" : "data_offsets";
      return refuse(fmt::format("{} has no \"{}\"", tensor, missing));
    }
    if (offsets_.size() != 2)
      return refuse(fmt::format("{}: \"data_offsets\" has {} numbers, not 2", tensor, offsets_.size()));
    entry_.begin = offsets_[0];
    entry_.end = offsets_[1];
    entries_.push_back(std::move(entry_));
    field_ = Field::kOther;
    return true;
  }

  std::vector<SafetensorsEntry>& entries_;
  std::string_view where_;
  std::optional<Error> error_;
  std::unordered_set<std::string> names_;
  int level_ = 0;
  std::string name_;  // of the tensor in work
  bool in_metadata_ = false;
  SafetensorsEntry entry_;
  std::vector<uint64_t> offsets_;
  unsigned seen_ = 0;  // bits: the fields that the tensor has
  Field field_ = Field::kOther;
};

}  // namespace

Result<SafetensorsHeader> read_safetensors_header(std::span<const std::byte> file, std::string_view where) {
  static_assert(std::endian::native == std::endian::little);
  const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.size());
  if (auto fault = wrong_download(bytes, where)) return tl::unexpected(std::move(*fault));
  if (file.size() < kLengthBytes)
    return fail(ErrorCode::kBadFile, "{}: {} bytes are no safetensors file; the download stopped early, fetch it again",
                where, file.size());
  uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof(length));
  const uint64_t left = file.size() - kLengthBytes;
  if (length > left || length > kLongestHeader)
    return fail(ErrorCode::kBadFile,
                "{}: the header says it is {} bytes long and the file has {} behind it; not a safetensors file, or "
                "damaged: fetch it again",
                where, length, left);
  if (length == 0) return fail(ErrorCode::kBadFile, "{}: the header is empty; fetch the file again", where);
  const std::string_view text = bytes.substr(kLengthBytes, size_t(length));
  SafetensorsHeader header;
  header.data_start = kLengthBytes + length;
  HeaderReader reader(header.entries, where);
  const bool is_read = nlohmann::json::sax_parse(text, &reader);
  if (reader.error()) return tl::unexpected(*reader.error());
  if (!is_read) return fail(ErrorCode::kBadFile, "{}: the header is not valid JSON; fetch the file again", where);
  return header;
}

}  // namespace anedvd
