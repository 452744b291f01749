#include "ane/sim/constants.h"

#include <cmath>
#include <cstring>

#include "ane/sim/rule.h"
#include "ane/weight_blob.h"
#include "base/checked_math.h"
#include "base/half.h"

namespace anedvd::sim {
namespace {

constexpr double kLargestWhole = 0x7fffffff;  // of an integer in the text

using Made = DriverResult<std::shared_ptr<const Constant>>;

tl::unexpected<DriverFailure> unlowerable(const std::string& why) { return tl::unexpected(cannot_lower(why)); }
tl::unexpected<DriverFailure> invalid(const std::string& why) { return tl::unexpected(invalid_program(why)); }

std::optional<BlobType> blob_type_of(std::string_view element) {
  if (element == "fp16") return BlobType::kFp16;
  if (element == "int8") return BlobType::kInt8;
  if (element == "uint8") return BlobType::kUint8;
  if (element == "int4") return BlobType::kInt4;
  if (element == "uint1") return BlobType::kUint1;
  if (element == "uint2") return BlobType::kUint2;
  if (element == "uint3") return BlobType::kUint3;
  if (element == "uint4") return BlobType::kUint4;
  if (element == "uint6") return BlobType::kUint6;
  return std::nullopt;
}

// Element `i` of packed numbers of at most 8 bits, least significant bit first.
int32_t packed_at(std::span<const std::byte> bytes, uint64_t i, int bits, bool is_signed) {
  const uint64_t first = i * uint64_t(bits), at = first / 8;
  uint32_t value = uint32_t(bytes[size_t(at)]);
  if (at + 1 < bytes.size()) value |= uint32_t(bytes[size_t(at + 1)]) << 8;
  value = value >> (first % 8) & ((1u << bits) - 1);
  if (is_signed && (value >> (bits - 1) & 1u)) return int32_t(value) - (1 << bits);
  return int32_t(value);
}

Made read_record(const MilType& type, const BlobReference& reference, const FileFinder& files) {
  const auto bytes = files(reference.path);
  if (!bytes) return unlowerable(bytes.error().message);
  const auto record = read_blob_record(*bytes, reference.offset);
  if (!record) return unlowerable(record.error().message);
  const auto blob_type = blob_type_of(type.element);
  if (!blob_type) return invalid("a weight of type " + type.element);
  if (record->type != *blob_type)
    return unlowerable(fmt::format("a record of element type {} for {}", int(record->type), type.element));
  std::optional<uint64_t> elements = 1;
  for (const int64_t extent : type.shape) elements = checked_mul(elements, uint64_t(extent));
  if (!elements || record->elements != *elements)
    return unlowerable(fmt::format("a record of {} elements for a tensor of {}", record->elements,
                                   elements ? std::to_string(*elements) : "too many"));
  auto constant = std::make_shared<Constant>();
  if (*blob_type == BlobType::kFp16) {
    constant->halves.resize(size_t(*elements));
    std::memcpy(constant->halves.data(), record->payload.data(), constant->halves.size() * sizeof(uint16_t));
  } else {
    const bool is_signed = *blob_type == BlobType::kInt8 || *blob_type == BlobType::kInt4;
    constant->codes.resize(size_t(*elements));
    for (uint64_t i = 0; i < *elements; ++i)
      constant->codes[size_t(i)] = packed_at(record->payload, i, bits_of(*blob_type), is_signed);
  }
  return constant;
}

int64_t extent(const GraphValue& value, size_t axis) { return value.type.shape[axis]; }

}  // namespace

Made read_constant(const MilLiteral& literal, const FileFinder& files) {
  const MilType& type = literal.type;
  if (const auto* blob = std::get_if<BlobReference>(&literal.value)) return read_record(type, *blob, files);
  auto constant = std::make_shared<Constant>();
  if (const auto* text = std::get_if<std::string>(&literal.value)) {
    if (type.element != "string") return invalid("a string for " + type.element);
    constant->text = *text;
  } else if (const auto* flag = std::get_if<bool>(&literal.value)) {
    if (type.element != "bool") return invalid("a truth value for " + type.element);
    constant->flag = *flag;
  } else {
    constant->numbers = std::get<std::vector<double>>(literal.value);
    if (type.element == "string" || type.element == "bool") return invalid("a number for " + type.element);
    size_t elements = 1;
    for (const int64_t n : type.shape) elements *= size_t(n);  // bounded by the caller's check of the type
    if (constant->numbers.size() != elements)
      return invalid(fmt::format("{} numbers for {}", constant->numbers.size(), elements));
    for (double& number : constant->numbers) {
      if (type.element == "fp16")
        number = double(half_to_float(float_to_half(float(number))));
      else if (number != std::trunc(number) || std::abs(number) > kLargestWhole)
        return invalid(fmt::format("{} for {}", number, type.element));
    }
  }
  return constant;
}

std::optional<int64_t> whole_of(const GraphValue& value) {
  const auto number = scalar_of(value);
  if (!number || *number != std::trunc(*number) || std::abs(*number) > kLargestWhole) return std::nullopt;
  return int64_t(*number);
}

std::optional<double> scalar_of(const GraphValue& value) {
  if (value.constant == nullptr || value.elements() != 1) return std::nullopt;
  if (!value.constant->numbers.empty()) return value.constant->numbers[0];
  if (!value.constant->halves.empty()) return double(half_to_float(value.constant->halves[0]));
  if (!value.constant->codes.empty()) return double(value.constant->codes[0]);
  return std::nullopt;
}

namespace {

// Number `i` of a scale or a zero point.
double number_at(const Constant& constant, size_t i) {
  if (!constant.halves.empty()) return double(half_to_float(constant.halves[i]));
  return !constant.codes.empty() ? double(constant.codes[i]) : constant.numbers[i];
}

}  // namespace

Made expand_affine(const GraphValue& data, const GraphValue& scale, const GraphValue& zero_point, int64_t axis) {
  if (data.constant == nullptr || data.constant->codes.empty()) return invalid("quantized_data without bytes");
  if (data.type.element != "int8" && data.type.element != "uint8") return invalid("quantized_data is no int8");
  if (scale.type.element != "fp16") return invalid("a scale of type " + scale.type.element);
  if (zero_point.type.element != data.type.element) return invalid("a zero point of another type than its data");
  if (scale.type.shape.size() > 1 || zero_point.type.shape.size() > 1)
    return invalid("a scale with more than one axis");
  const auto& shape = data.type.shape;
  if (axis < 0 || axis >= int64_t(shape.size())) return invalid(fmt::format("axis {}", axis));
  for (const GraphValue* v : {&scale, &zero_point})
    if (v->elements() != 1 && v->elements() != shape[size_t(axis)])
      return invalid(fmt::format("{} scales along an axis of {}", v->elements(), shape[size_t(axis)]));
  int64_t inner = 1;
  for (size_t i = size_t(axis) + 1; i < shape.size(); ++i) inner *= shape[i];
  auto dense = std::make_shared<Constant>();
  dense->halves.resize(data.constant->codes.size());
  for (size_t i = 0; i < dense->halves.size(); ++i) {
    const size_t position = size_t(int64_t(i) / inner % shape[size_t(axis)]);
    const double s = number_at(*scale.constant, scale.elements() == 1 ? 0 : position);
    const double z = number_at(*zero_point.constant, zero_point.elements() == 1 ? 0 : position);
    dense->halves[i] = float_to_half(float((double(data.constant->codes[i]) - z) * s));
  }
  return dense;
}

Made expand_blockwise(const GraphValue& data, const GraphValue& scale, const Profile& profile) {
  if (data.constant == nullptr || data.constant->codes.empty()) return invalid("data without bytes");
  if (scale.constant == nullptr || scale.constant->halves.empty()) return invalid("a scale without bytes");
  const size_t rank = data.type.shape.size();
  if (scale.type.shape.size() != rank) return invalid("a scale of another rank than its data");
  for (size_t i = 0; i < rank; ++i) {
    if (extent(data, i) % extent(scale, i) != 0) return invalid("a scale that does not divide its data");
    if (i > 0 && extent(scale, i) != 1 && !profile.takes_block_scales && holds(rule("scales_are_of_rows"), profile))
      return tl::unexpected(refused_by(rule("scales_are_of_rows"), cannot_lower("scales of blocks of a row")));
  }
  auto dense = std::make_shared<Constant>();
  dense->halves.resize(data.constant->codes.size());
  for (size_t i = 0; i < dense->halves.size(); ++i) {
    int64_t rest = int64_t(i), at = 0, step = 1;
    for (size_t axis = rank; axis-- > 0;) {
      const int64_t position = rest % extent(data, axis);
      rest /= extent(data, axis);
      at += position / (extent(data, axis) / extent(scale, axis)) * step;
      step *= extent(scale, axis);
    }
    dense->halves[i] =
        float_to_half(float(data.constant->codes[i]) * half_to_float(scale.constant->halves[size_t(at)]));
  }
  return dense;
}

Made expand_table(const GraphValue& indices, const GraphValue& table, const Profile& profile) {
  if (indices.constant == nullptr || indices.constant->codes.empty()) return invalid("indices without bytes");
  if (table.constant == nullptr || table.constant->halves.empty()) return invalid("a table without bytes");
  const auto& shape = table.type.shape;
  const size_t rank = indices.type.shape.size();
  if (!indices.type.element.starts_with("uint")) return invalid("indices of type " + indices.type.element);
  if (shape.size() != rank + 2 || shape.back() != 1) return invalid("a table that is not [1, …, 1, entries, 1]");
  const int64_t entries = shape[rank];
  if (entries != int64_t(1) << *stored_bits(indices.type.element))
    return invalid(fmt::format("a table of {} entries for {}", entries, indices.type.element));
  const int64_t groups = shape[0];
  for (size_t i = 1; i < rank; ++i)
    if (shape[i] != 1) return unlowerable("a table for a part of a row");
  if (extent(indices, 0) % groups != 0) return invalid("tables that do not divide their rows");
  if (groups > 1 && !profile.takes_grouped_tables && holds(rule("table_is_of_the_tensor"), profile))
    return tl::unexpected(refused_by(rule("table_is_of_the_tensor"), cannot_lower("a table for some rows only")));
  auto dense = std::make_shared<Constant>();
  dense->halves.resize(indices.constant->codes.size());
  const size_t of_group = dense->halves.size() / size_t(groups);
  for (size_t i = 0; i < dense->halves.size(); ++i)
    dense->halves[i] =
        table.constant->halves[i / of_group * size_t(entries) + size_t(uint32_t(indices.constant->codes[i]))];
  return dense;
}

Made expand_sparse(const GraphValue& values, const GraphValue& mask) {
  if (mask.constant == nullptr || mask.constant->codes.empty() || mask.type.element != "uint1")
    return invalid("a mask without bits");
  if (values.constant == nullptr || values.constant->halves.empty() || values.type.shape.size() != 1)
    return invalid("nonzero_data without bytes");
  auto dense = std::make_shared<Constant>();
  size_t next = 0;
  for (const int32_t bit : mask.constant->codes) {
    if (bit != 0 && next == values.constant->halves.size()) return invalid("a mask for more values than there are");
    dense->halves.push_back(bit != 0 ? values.constant->halves[next++] : 0);
  }
  if (next != values.constant->halves.size()) return invalid("a mask for fewer values than there are");
  return dense;
}

std::optional<int> stored_bits(std::string_view element) {
  const auto type = blob_type_of(element);
  return type ? std::optional(bits_of(*type)) : std::nullopt;
}

}  // namespace anedvd::sim
