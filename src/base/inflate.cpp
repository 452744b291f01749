#include "base/inflate.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

namespace anedvd {
namespace {

constexpr size_t kWindow = 32768;        // farthest distance of a match, RFC 1951 §2
constexpr size_t kBuffer = 8 * kWindow;  // unpacked bytes held; the last kWindow of them stay when it is handed on
constexpr int kMaxCodeBits = 15;
constexpr int kFastBits =
    10;  // codes up to this length take one look-up; a table of 1,024 entries fits the first-level cache

// Bits from the low end of each byte upwards. Past the end come zeros, counted so that the caller can tell.
class BitReader {
 public:
  explicit BitReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  // At least 32 bits become available.
  void fill() {
    while (count_ <= 56) {
      if (next_ < bytes_.size()) {
        bits_ |= uint64_t(bytes_[next_]) << count_;
      } else {
        ++missing_;
      }
      ++next_;
      count_ += 8;
    }
  }
  uint32_t peek(int n) const { return uint32_t(bits_ & ((uint64_t(1) << n) - 1)); }
  void drop(int n) {
    bits_ >>= n;
    count_ -= n;
  }
  uint32_t take(int n) {
    const uint32_t value = peek(n);
    drop(n);
    return value;
  }
  // Bits were consumed that do not exist.
  bool is_overrun() const { return missing_ * 8 > uint64_t(count_); }

  // Goes to the next byte border and hands out `size` whole bytes; empty optional-like span with null data when there are fewer.
  std::span<const std::byte> take_bytes(size_t size) {
    drop(count_ % 8);
    next_ -= size_t(count_ / 8);
    bits_ = 0;
    count_ = 0;
    missing_ = 0;
    if (next_ > bytes_.size() || bytes_.size() - next_ < size) return {};
    const auto taken = bytes_.subspan(next_, size);
    next_ += size;
    return taken;
  }

 private:
  std::span<const std::byte> bytes_;
  size_t next_ = 0;
  uint64_t bits_ = 0;
  int count_ = 0;
  uint64_t missing_ = 0;  // bytes invented past the end
};

// A canonical Huffman code (RFC 1951 §3.2.2).
class HuffmanCode {
 public:
  // lengths[symbol]: bits of its code, 0 = unused. False if the lengths are no prefix code. An incomplete code is only right when it has
  // at most one symbol (a block with one distance, or none).
  bool build(std::span<const uint8_t> lengths) {
    std::array<int, kMaxCodeBits + 1> count = {};
    for (const uint8_t length : lengths) ++count[length];
    const int used = int(lengths.size()) - count[0];
    count[0] = 0;
    int left = 1;  // codes of the current length not yet given out
    for (int bits = 1; bits <= kMaxCodeBits; ++bits) {
      left = left * 2 - count[size_t(bits)];
      if (left < 0) return false;
    }
    if (left > 0 && used > 1) return false;

    std::array<int, kMaxCodeBits + 2> offset = {};
    for (size_t bits = 1; bits <= kMaxCodeBits; ++bits) offset[bits + 1] = offset[bits] + count[bits];
    count_ = count;
    symbols_.assign(size_t(used), 0);
    auto place = offset;
    for (size_t symbol = 0; symbol < lengths.size(); ++symbol)
      if (lengths[symbol] != 0) symbols_[size_t(place[lengths[symbol]]++)] = uint16_t(symbol);

    fast_.fill({0, 0});
    int code = 0;
    size_t index = 0;
    for (int bits = 1; bits <= kFastBits; ++bits) {
      for (int i = 0; i < count[size_t(bits)]; ++i, ++code, ++index) {
        // The stream carries codes from their high bit on: the table is indexed by the code reversed.
        uint32_t reversed = 0;
        for (int b = 0; b < bits; ++b) reversed |= uint32_t((code >> b) & 1) << (bits - 1 - b);
        for (uint32_t at = reversed; at < fast_.size(); at += 1u << bits) fast_[at] = {symbols_[index], uint8_t(bits)};
      }
      code <<= 1;
    }
    return true;
  }

  // The next symbol, or −1 for bits that are no code. 15 bits must be available.
  int decode(BitReader& in) const {
    const Entry entry = fast_[in.peek(kFastBits)];
    if (entry.bits != 0) {
      in.drop(entry.bits);
      return entry.symbol;
    }
    int code = 0, first = 0, index = 0;
    for (int bits = 1; bits <= kMaxCodeBits; ++bits) {
      code |= int((in.peek(bits) >> (bits - 1)) & 1);
      const int count = count_[size_t(bits)];
      if (code - first < count) {
        in.drop(bits);
        return symbols_[size_t(index + code - first)];
      }
      index += count;
      first = (first + count) * 2;
      code *= 2;
    }
    return -1;
  }

 private:
  struct Entry {
    uint16_t symbol;
    uint8_t bits;  // 0: longer than kFastBits, or no code
  };
  std::array<Entry, 1 << kFastBits> fast_;
  std::array<int, kMaxCodeBits + 1> count_;
  std::vector<uint16_t> symbols_;  // in order of their codes
};

// The last 32 KiB for matches, and what is still to be handed on.
class Output {
 public:
  Output(uint64_t max_bytes, const ByteSink& sink) : max_bytes_(max_bytes), sink_(sink), buffer_(kBuffer) {}

  // Room for a match of the longest kind, or for `size` ≤ kBuffer − kWindow bytes.
  Result<> reserve(size_t size) {
    if (buffer_.size() - end_ >= size) return {};
    ANEDVD_TRY_VOID(hand_on());
    const size_t kept = std::min(kWindow, end_);
    std::memmove(buffer_.data(), buffer_.data() + end_ - kept, kept);
    end_ = handed_ = kept;
    return {};
  }
  Result<> hand_on() {
    total_ += end_ - handed_;
    if (total_ > max_bytes_)
      return fail(ErrorCode::kBadFile, "unpacks to more than the {} bytes it declares; fetch it again", max_bytes_);
    ANEDVD_TRY_VOID(sink_(std::span(buffer_).subspan(handed_, end_ - handed_)));
    handed_ = end_;
    return {};
  }
  void put(uint8_t byte) { buffer_[end_++] = std::byte(byte); }
  void put(std::span<const std::byte> bytes) {
    std::copy(bytes.begin(), bytes.end(), buffer_.begin() + ptrdiff_t(end_));
    end_ += bytes.size();
  }
  // False when the distance reaches before the first byte.
  bool copy(size_t distance, size_t length) {
    if (distance > end_) return false;
    // Byte by byte: source and target overlap when the distance is short, and then the copy repeats.
    for (size_t i = 0; i < length; ++i, ++end_) buffer_[end_] = buffer_[end_ - distance];
    return true;
  }
  uint64_t total() const { return total_; }

 private:
  uint64_t max_bytes_;
  const ByteSink& sink_;
  std::vector<std::byte> buffer_;
  size_t end_ = 0, handed_ = 0;
  uint64_t total_ = 0;
};

tl::unexpected<Error> damaged() { return fail(ErrorCode::kBadFile, "the packed data is damaged; fetch it again"); }

// RFC 1951 §3.2.5: first length or distance of each symbol, and how many further bits refine it.
constexpr uint16_t kLengthBase[29] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                      31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
constexpr uint8_t kLengthBits[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                     2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
constexpr uint16_t kDistanceBase[30] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                        33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                        1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
constexpr uint8_t kDistanceBits[30] = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                       6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};
constexpr int kEndOfBlock = 256;
constexpr size_t kLongestMatch = 258;

struct BlockCodes {
  HuffmanCode literals, distances;
};

void build_fixed(BlockCodes& codes) {  // RFC 1951 §3.2.6
  std::array<uint8_t, 288> literals;
  std::fill_n(literals.begin(), 144, uint8_t(8));
  std::fill_n(literals.begin() + 144, 112, uint8_t(9));
  std::fill_n(literals.begin() + 256, 24, uint8_t(7));
  std::fill_n(literals.begin() + 280, 8, uint8_t(8));
  std::array<uint8_t, 32> distances;
  distances.fill(5);
  codes.literals.build(literals);
  codes.distances.build(distances);
}

// RFC 1951 §3.2.7: the lengths of both codes are themselves packed with a third one.
bool read_dynamic(BitReader& in, BlockCodes& codes) {
  constexpr uint8_t kOrder[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
  in.fill();
  const size_t literals = in.take(5) + 257, distances = in.take(5) + 1, given = in.take(4) + 4;
  if (literals > 286 || distances > 30) return false;
  std::array<uint8_t, 19> meta_lengths = {};
  for (size_t i = 0; i < given; ++i) {
    in.fill();
    meta_lengths[kOrder[i]] = uint8_t(in.take(3));
  }
  HuffmanCode& meta = codes.distances;  // rebuilt below: saves a table on the stack
  if (!meta.build(meta_lengths)) return false;
  std::array<uint8_t, 286 + 30> lengths = {};
  for (size_t at = 0; at < literals + distances;) {
    in.fill();
    const int symbol = meta.decode(in);
    if (symbol < 0 || in.is_overrun()) return false;
    if (symbol < 16) {
      lengths[at++] = uint8_t(symbol);
      continue;
    }
    if (symbol == 16 && at == 0) return false;  // repeats a length before there is one
    const uint8_t value = symbol == 16 ? lengths[at - 1] : uint8_t(0);
    const size_t times = symbol == 16 ? 3 + in.take(2) : symbol == 17 ? 3 + in.take(3) : 11 + in.take(7);
    if (times > literals + distances - at) return false;
    std::fill_n(lengths.begin() + ptrdiff_t(at), times, value);
    at += times;
  }
  if (lengths[kEndOfBlock] == 0) return false;
  return codes.literals.build(std::span(lengths).first(literals)) &&
         codes.distances.build(std::span(lengths).subspan(literals, distances));
}

Result<> inflate_block(BitReader& in, const BlockCodes& codes, Output& out) {
  while (true) {
    ANEDVD_TRY_VOID(out.reserve(kLongestMatch));
    in.fill();
    const int symbol = codes.literals.decode(in);
    if (symbol < 0 || in.is_overrun()) return damaged();
    if (symbol < kEndOfBlock) {
      out.put(uint8_t(symbol));
      continue;
    }
    if (symbol == kEndOfBlock) return {};
    const auto length_code = size_t(symbol - kEndOfBlock - 1);
    if (length_code >= std::size(kLengthBase)) return damaged();
    const size_t length = kLengthBase[length_code] + in.take(kLengthBits[length_code]);
    in.fill();
    const int distance_code = codes.distances.decode(in);
    if (distance_code < 0 || size_t(distance_code) >= std::size(kDistanceBase)) return damaged();
    const size_t distance = kDistanceBase[distance_code] + in.take(kDistanceBits[distance_code]);
    if (in.is_overrun() || !out.copy(distance, length)) return damaged();
  }
}

Result<> copy_stored(BitReader& in, Output& out) {
  const auto header = in.take_bytes(4);
  if (header.empty()) return damaged();
  const auto word = [&](size_t at) { return uint32_t(header[at]) | uint32_t(header[at + 1]) << 8; };
  if (word(0) != (word(2) ^ 0xffffu)) return damaged();
  const size_t size = word(0);
  const auto bytes = in.take_bytes(size);
  if (bytes.size() != size) return damaged();
  ANEDVD_TRY_VOID(out.reserve(size));
  out.put(bytes);
  return {};
}

}  // namespace

Result<uint64_t> inflate(std::span<const std::byte> packed, uint64_t max_bytes, const ByteSink& sink) {
  BitReader in(packed);
  Output out(max_bytes, sink);
  const auto codes = std::make_unique<BlockCodes>();
  for (bool is_last = false; !is_last;) {
    in.fill();
    is_last = in.take(1) != 0;
    switch (in.take(2)) {
      case 0: ANEDVD_TRY_VOID(copy_stored(in, out)); break;
      case 1:
        build_fixed(*codes);
        ANEDVD_TRY_VOID(inflate_block(in, *codes, out));
        break;
      case 2:
        if (!read_dynamic(in, *codes)) return damaged();
        ANEDVD_TRY_VOID(inflate_block(in, *codes, out));
        break;
      default: return damaged();
    }
    if (in.is_overrun()) return damaged();
  }
  ANEDVD_TRY_VOID(out.hand_on());
  return out.total();
}

}  // namespace anedvd
