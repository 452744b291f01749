// A Mach-O describes most functions in compact form (__unwind_info: one word a function says which registers lie where) and only the rest by
// DWARF (__eh_frame). The unwinder here reads DWARF, so the compact words are written out as frame descriptions. Formats: LLVM's
// compact_unwind_encoding.h and the DWARF standard.
#include "unwind.h"

#include <cstring>
#include <unordered_map>

extern "C" void __unw_add_dynamic_fde(uintptr_t);

namespace machrun {
namespace {

constexpr uint32_t kModeMask = 0x0f000000, kFrame = 0x04000000, kFrameless = 0x02000000;
constexpr uint8_t kFp = 29, kLr = 30, kSp = 31;

struct Function {
  uint32_t offset, encoding;  // from the image's header
};

// The two-level table.
struct CompactTable {
  std::vector<Function> functions;  // ascending; the last one only ends the table
  std::unordered_map<uint32_t, uint32_t> exception_tables;
  std::vector<uint32_t> personalities;  // offsets of pointers to them
};

class Words {
 public:
  explicit Words(const Section& section) : base_(section.address) {}
  uint32_t at32(uint64_t offset) const { return *reinterpret_cast<const uint32_t*>(base_ + offset); }
  uint16_t at16(uint64_t offset) const { return *reinterpret_cast<const uint16_t*>(base_ + offset); }

 private:
  uint64_t base_;
};

void read_page(const Words& words, uint32_t first, uint32_t page, CompactTable& out) {
  const uint32_t common_at = words.at32(4), common_count = words.at32(8);
  const uint32_t entries_at = words.at16(page + 4), entries = words.at16(page + 6);
  if (words.at32(page) == 2) {  // regular: offset and encoding in full
    for (uint32_t i = 0; i < entries; ++i)
      out.functions.push_back({words.at32(page + entries_at + 8 * i), words.at32(page + entries_at + 8 * i + 4)});
    return;
  }
  const uint32_t own_at = words.at16(page + 8);
  for (uint32_t i = 0; i < entries; ++i) {
    const uint32_t entry = words.at32(page + entries_at + 4 * i), index = entry >> 24;
    const uint32_t encoding = index < common_count ? words.at32(common_at + 4 * index)
                                                   : words.at32(page + own_at + 4 * (index - common_count));
    out.functions.push_back({first + (entry & 0xffffff), encoding});
  }
}

CompactTable read_compact(const Section& section) {
  const Words words(section);
  CompactTable out;
  const uint32_t personality_at = words.at32(12), personality_count = words.at32(16);
  for (uint32_t i = 0; i < personality_count; ++i) out.personalities.push_back(words.at32(personality_at + 4 * i));
  const uint32_t index_at = words.at32(20), index_count = words.at32(24);
  for (uint32_t i = 0; i < index_count; ++i) {
    const uint32_t entry = index_at + 12 * i, first = words.at32(entry), page = words.at32(entry + 4);
    if (page == 0) {
      out.functions.push_back({first, 0});
      break;
    }
    read_page(words, first, page, out);
    for (uint32_t at = words.at32(entry + 8), end = words.at32(entry + 20); at < end; at += 8)
      out.exception_tables[words.at32(at)] = words.at32(at + 4);
  }
  return out;
}

// Bytes of DWARF call frame information.
class Frames {
 public:
  void byte(uint8_t value) { bytes_.push_back(value); }
  void word(uint32_t value) { append(&value, 4); }
  void address(uint64_t value) { append(&value, 8); }
  void text(const char* letters) { append(letters, std::strlen(letters) + 1); }
  void cfa(uint8_t reg, uint32_t offset) {
    byte(0x0c);  // DW_CFA_def_cfa
    byte(reg);
    for (; offset > 127; offset >>= 7) byte(uint8_t(offset | 0x80));
    byte(uint8_t(offset));
  }
  // Register saved at CFA − 8 · slot (data alignment is −8).
  void saved(uint8_t reg, uint8_t slot) {
    if (reg < 64) {
      byte(uint8_t(0x80 | reg));  // DW_CFA_offset
    } else {
      byte(0x05);  // DW_CFA_offset_extended
      byte(reg);
    }
    byte(slot);
  }
  size_t begin() {
    const size_t at = bytes_.size();
    word(0);
    return at;
  }
  // Pads with DW_CFA_nop and writes the length that begin() left open.
  void end(size_t at) {
    while ((bytes_.size() - at) % 8 != 4) byte(0);
    const uint32_t length = uint32_t(bytes_.size() - at - 4);
    std::memcpy(bytes_.data() + at, &length, 4);
  }
  size_t size() const { return bytes_.size(); }
  std::vector<uint8_t> take() { return std::move(bytes_); }

 private:
  void append(const void* from, size_t count) {
    const auto* bytes = static_cast<const uint8_t*>(from);
    bytes_.insert(bytes_.end(), bytes, bytes + count);
  }
  std::vector<uint8_t> bytes_;
};

// One CIE and one FDE for a function; the FDE's place goes to `descriptions`.
void write_function(Frames& out, const Image& image, const CompactTable& table, size_t index,
                    std::vector<size_t>& descriptions) {
  const auto [offset, encoding] = table.functions[index];
  const uint32_t personality = (encoding >> 28) & 3;
  const uint32_t mode = encoding & kModeMask;
  const size_t cie = out.begin();
  out.word(0);
  out.byte(1);
  out.text(personality != 0 ? "zPLR" : "zR");
  out.byte(1);     // code alignment
  out.byte(0x78);  // data alignment −8
  out.byte(kLr);
  out.byte(personality != 0 ? 11 : 1);
  if (personality != 0) {
    out.byte(0);  // absolute pointer
    out.address(*reinterpret_cast<const uint64_t*>(image.base() + table.personalities.at(personality - 1)));
    out.byte(0);
  }
  out.byte(0);
  out.cfa(kSp, 0);
  out.end(cie);

  descriptions.push_back(out.size());
  const size_t fde = out.begin();
  out.word(uint32_t(fde + 4 - cie));
  out.address(image.base() + offset);
  out.address(table.functions[index + 1].offset - offset);
  out.byte(personality != 0 ? 8 : 0);
  if (personality != 0) {
    const auto found = table.exception_tables.find(offset);
    out.address(found == table.exception_tables.end() ? 0 : image.base() + found->second);
  }
  uint8_t slot = 1;
  if (mode == kFrame) {
    out.cfa(kFp, 16);
    out.saved(kFp, 2);
    out.saved(kLr, 1);
    slot = 3;
  } else {
    out.cfa(kSp, ((encoding >> 12) & 0xfff) * 16);
  }
  for (uint8_t pair = 0; pair < 5; ++pair)  // x19, x20 … x27, x28
    if ((encoding & (1u << pair)) != 0)
      for (uint8_t which = 0; which < 2; ++which) out.saved(uint8_t(19 + 2 * pair + which), slot++);
  for (uint8_t pair = 0; pair < 4; ++pair)  // d8, d9 … d14, d15
    if ((encoding & (0x100u << pair)) != 0)
      for (uint8_t which = 0; which < 2; ++which) out.saved(uint8_t(72 + 2 * pair + which), slot++);
  out.end(fde);
}

}  // namespace

void register_frames(const Image& image) {
  if (const Section* dwarf = image.section("__eh_frame"))
    for (uint64_t at = dwarf->address, end = at + dwarf->bytes; at + 8 <= end;) {
      const auto length = *reinterpret_cast<const uint32_t*>(at);
      if (length == 0) break;
      // The second word is 0 in a CIE, the way back to it in an FDE.
      if (*reinterpret_cast<const uint32_t*>(at + 4) != 0) __unw_add_dynamic_fde(at);
      at += 4 + length;
    }
  const Section* compact = image.section("__unwind_info");
  if (compact == nullptr) return;
  const CompactTable table = read_compact(*compact);
  Frames frames;
  std::vector<size_t> descriptions;
  for (size_t i = 0; i + 1 < table.functions.size(); ++i) {
    const uint32_t mode = table.functions[i].encoding & kModeMask;
    if (mode == kFrame || mode == kFrameless) write_function(frames, image, table, i, descriptions);
  }
  // The unwinder keeps pointing into it: never freed.
  static const std::vector<uint8_t> kept = frames.take();
  for (const size_t at : descriptions) __unw_add_dynamic_fde(reinterpret_cast<uintptr_t>(kept.data() + at));
}

}  // namespace machrun
