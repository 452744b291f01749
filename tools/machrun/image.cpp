#include "image.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/mman.h>

namespace machrun {
namespace {

// Numbers of <mach-o/loader.h>, facts of the format.
constexpr uint32_t kMagic = 0xfeedfacf, kArm64 = 0x0100000c, kExecutable = 2;
constexpr uint32_t kSegment = 0x19, kSymbols = 2, kDyldInfo = 0x22, kDyldInfoOnly = 0x80000022, kMain = 0x80000028;
constexpr uint32_t kChainedFixups = 0x80000034;
constexpr uint64_t kPage = 16384;
constexpr uint64_t kLargestImage = uint64_t(1) << 32;

// A cursor over opcodes: variable-length numbers and names.
class Opcode {
 public:
  Opcode(std::span<const std::byte> bytes) : bytes_(bytes) {}
  bool more() const { return at_ < bytes_.size(); }
  uint8_t byte() {
    if (!more()) give_up("rebase or bind opcodes are cut short");
    return uint8_t(bytes_[at_++]);
  }
  uint64_t unsigned_number() {
    uint64_t out = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const uint8_t next = byte();
      out |= uint64_t(next & 0x7f) << shift;
      if ((next & 0x80) == 0) return out;
    }
    give_up("a number in the opcodes has more than 64 bits");
  }
  int64_t signed_number() {
    uint64_t out = 0;
    int shift = 0;
    uint8_t next = 0x80;
    while ((next & 0x80) != 0 && shift < 64) {
      next = byte();
      out |= uint64_t(next & 0x7f) << shift;
      shift += 7;
    }
    if (shift < 64 && (next & 0x40) != 0) out |= ~uint64_t(0) << shift;
    return int64_t(out);
  }
  std::string name() {
    std::string out;
    for (char c = char(byte()); c != '\0'; c = char(byte())) out += c;
    return out;
  }

 private:
  std::span<const std::byte> bytes_;
  size_t at_ = 0;
};

}  // namespace

void give_up(const std::string& why) {
  std::fprintf(stderr, "machrun: %s\n", why.c_str());
  std::exit(125);
}

template <class T>
T Image::read(size_t at) const {
  if (at > file_.size() || sizeof(T) > file_.size() - at) give_up("the file ends inside a structure");
  T out;
  std::memcpy(&out, file_.data() + at, sizeof out);
  return out;
}

Image::Image(std::span<const std::byte> file) : file_(file) {
  if (read<uint32_t>(0) != kMagic || read<uint32_t>(4) != kArm64 || read<uint32_t>(12) != kExecutable)
    give_up("not a Mach-O executable for 64-bit Arm");
  read_commands();
  map_segments();
  read_symbols();
  rebase();
}

void Image::read_commands() {
  const auto count = read<uint32_t>(16);
  size_t at = 32;
  for (uint32_t i = 0; i < count; ++i) {
    const auto command = read<uint32_t>(at), bytes = read<uint32_t>(at + 4);
    if (bytes < 8) give_up("a load command of no size");
    if (command == kSegment) read_segment(at);
    if (command == kDyldInfo || command == kDyldInfoOnly) {
      rebase_ = {read<uint32_t>(at + 8), read<uint32_t>(at + 12)};
      bind_ = {read<uint32_t>(at + 16), read<uint32_t>(at + 20)};
      weak_ = {read<uint32_t>(at + 24), read<uint32_t>(at + 28)};
      lazy_ = {read<uint32_t>(at + 32), read<uint32_t>(at + 36)};
    }
    if (command == kSymbols) {
      symbols_at_ = read<uint32_t>(at + 8);
      symbol_count_ = read<uint32_t>(at + 12);
      strings_at_ = read<uint32_t>(at + 16);
      strings_bytes_ = read<uint32_t>(at + 20);
    }
    if (command == kMain) entry_ = read<uint64_t>(at + 8);
    if (command == kChainedFixups) give_up("chained fixups, as Apple's linker writes them, are not read");
    at += bytes;
  }
  if (entry_ == 0) give_up("no entry point");
}

void Image::read_segment(size_t at) {
  const auto fixed_name = [&](size_t where) {
    const auto raw = read<std::array<char, 16>>(where);
    return std::string(raw.data(), strnlen(raw.data(), raw.size()));
  };
  segments_.push_back({fixed_name(at + 8), read<uint64_t>(at + 24), read<uint64_t>(at + 32), read<uint64_t>(at + 40),
                       read<uint64_t>(at + 48)});
  const auto count = read<uint32_t>(at + 64);
  for (uint32_t i = 0; i < count; ++i) {
    const size_t section = at + 72 + size_t(80) * i;
    sections_.push_back({fixed_name(section), read<uint64_t>(section + 32), read<uint64_t>(section + 40),
                         read<uint32_t>(section + 64) & 0xff});
  }
}

void Image::map_segments() {
  uint64_t low = ~uint64_t(0), high = 0;
  for (const Segment& segment : segments_) {
    if (segment.name == "__PAGEZERO") continue;
    low = std::min(low, segment.address);
    high = std::max(high, segment.address + segment.bytes);
  }
  if (low >= high || high - low > kLargestImage) give_up("segments of impossible size");
  // One block that is writable and executable: simple, and enough for a test tool.
  void* block =
      ::mmap(nullptr, high - low + kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) give_up("no memory for the image");
  base_ = (reinterpret_cast<uint64_t>(block) + kPage - 1) / kPage * kPage;
  slide_ = base_ - low;
  mapped_begin_ = base_;
  mapped_end_ = base_ + (high - low);
  for (const Segment& segment : segments_) {
    if (segment.name == "__PAGEZERO" || segment.file_bytes == 0) continue;
    if (segment.file_bytes > segment.bytes || segment.file_offset > file_.size() ||
        segment.file_bytes > file_.size() - segment.file_offset)
      give_up("segment " + segment.name + " reaches past the file");
    std::memcpy(reinterpret_cast<void*>(segment.address + slide_), file_.data() + segment.file_offset,
                segment.file_bytes);
  }
  for (Section& section : sections_) section.address += slide_;
  entry_ += base_;
  __builtin___clear_cache(reinterpret_cast<char*>(mapped_begin_), reinterpret_cast<char*>(mapped_end_));
}

void Image::read_symbols() {
  for (uint32_t i = 0; i < symbol_count_; ++i) {
    const size_t at = symbols_at_ + size_t(16) * i;
    const auto name_at = read<uint32_t>(at);
    const auto type = read<uint8_t>(at + 4);
    // External (1) definitions in a section (0xe) that are no debugging entries (0xe0).
    if ((type & 0xe0) != 0 || (type & 0x0e) != 0x0e || (type & 1) == 0 || name_at >= strings_bytes_) continue;
    const auto* name = reinterpret_cast<const char*>(file_.data()) + strings_at_ + name_at;
    if (strings_at_ + strings_bytes_ > file_.size()) give_up("names reach past the file");
    own_[std::string(name, strnlen(name, strings_bytes_ - name_at))] = read<uint64_t>(at + 8) + slide_;
  }
}

uint64_t* Image::pointer_in_segment(size_t segment, uint64_t offset) {
  if (segment >= segments_.size()) give_up("an opcode names a segment that is not there");
  return reinterpret_cast<uint64_t*>(segments_[segment].address + slide_ + offset);
}

const Section* Image::section(std::string_view name) const {
  for (const Section& each : sections_)
    if (each.name == name) return &each;
  return nullptr;
}

uint64_t Image::symbol(const std::string& name) const {
  const auto found = own_.find(name);
  return found == own_.end() ? 0 : found->second;
}

void Image::rebase() {
  if (uint64_t(rebase_.offset) + rebase_.bytes > file_.size()) give_up("rebase opcodes reach past the file");
  Opcode code(file_.subspan(rebase_.offset, rebase_.bytes));
  uint64_t address = 0;
  const auto add = [&](uint64_t times, uint64_t skip) {
    for (uint64_t i = 0; i < times; ++i, address += 8 + skip) {
      if (address < mapped_begin_ || address + 8 > mapped_end_) give_up("a rebase lies outside the image");
      *reinterpret_cast<uint64_t*>(address) += slide_;
    }
  };
  while (code.more()) {
    const uint8_t byte = code.byte();
    const uint8_t low = byte & 15;
    switch (byte & 0xf0) {
      case 0x00: return;
      case 0x10: break;
      case 0x20: address = reinterpret_cast<uint64_t>(pointer_in_segment(low, code.unsigned_number())); break;
      case 0x30: address += code.unsigned_number(); break;
      case 0x40: address += low * 8u; break;
      case 0x50: add(low, 0); break;
      case 0x60: add(code.unsigned_number(), 0); break;
      case 0x70: {
        const uint64_t skip = code.unsigned_number();
        add(1, skip);
        break;
      }
      case 0x80: {
        const uint64_t times = code.unsigned_number();
        add(times, code.unsigned_number());
        break;
      }
      default: give_up("an unknown rebase opcode");
    }
  }
}

void Image::run_bind(Opcodes opcodes, bool lazy, bool weak_only, const Resolve& resolve) {
  if (uint64_t(opcodes.offset) + opcodes.bytes > file_.size()) give_up("bind opcodes reach past the file");
  Opcode code(file_.subspan(opcodes.offset, opcodes.bytes));
  uint64_t address = 0;
  int64_t addend = 0;
  std::string name;
  bool weak = false;
  const auto write = [&](uint64_t skip) {
    if (address < mapped_begin_ || address + 8 > mapped_end_) give_up("a bind lies outside the image");
    uint64_t target = weak_only ? symbol(name) : 0;
    // A weak bind that nobody defines keeps what the ordinary one wrote.
    if (!weak_only) target = reinterpret_cast<uint64_t>(resolve(name, weak));
    if (!weak_only || target != 0) *reinterpret_cast<uint64_t*>(address) = target + uint64_t(addend);
    address += 8 + skip;
  };
  while (code.more()) {
    const uint8_t byte = code.byte();
    const uint8_t low = byte & 15;
    switch (byte & 0xf0) {
      case 0x00:
        if (!lazy) return;  // between lazy binds it only separates
        break;
      case 0x10: break;
      case 0x20: code.unsigned_number(); break;
      case 0x30: break;
      case 0x40:
        weak = (low & 1) != 0;
        name = code.name();
        break;
      case 0x50: break;
      case 0x60: addend = code.signed_number(); break;
      case 0x70: address = reinterpret_cast<uint64_t>(pointer_in_segment(low, code.unsigned_number())); break;
      case 0x80: address += code.unsigned_number(); break;
      case 0x90: write(0); break;
      case 0xa0: write(code.unsigned_number()); break;
      case 0xb0: write(low * 8u); break;
      case 0xc0: {
        const uint64_t times = code.unsigned_number(), skip = code.unsigned_number();
        for (uint64_t i = 0; i < times; ++i) write(skip);
        break;
      }
      default: give_up("an unknown bind opcode");
    }
  }
}

void Image::bind(const Resolve& resolve) {
  run_bind(bind_, false, false, resolve);
  run_bind(lazy_, true, false, resolve);
  run_bind(weak_, false, true, resolve);
}

}  // namespace machrun
