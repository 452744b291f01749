// A 64-bit Arm Mach-O executable, mapped and bound so that it can run in this process.
//
// machrun executes the very file that is shipped for macOS on 64-bit Arm Linux, native or under qemu's user mode. It proves the code that the
// compiler generated, start-up, the ABI of our calls and our logic; it proves nothing about Apple's loader, system or hardware.
// One image without libraries of its own, with classic rebase and bind opcodes (zig's linker writes those, not chained fixups).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace machrun {

struct Section {
  std::string name;
  uint64_t address = 0, bytes = 0;  // address where it lies now
  uint32_t type = 0;                // low byte of the flags
};

// Ends the program with a line on stderr.
[[noreturn]] void give_up(const std::string& why);

// Address for an import's name ("_printf"); nullptr only when `weak`.
using Resolve = std::function<void*(const std::string& name, bool weak)>;

class Image {
 public:
  // Maps a file's bytes. Gives up on anything that is no such executable or reaches outside the file.
  explicit Image(std::span<const std::byte> file);

  // Binds every import, lazy ones too. The image's own weak definitions go first, as in C++ where one is to win.
  void bind(const Resolve& resolve);

  uint64_t entry() const { return entry_; }  // main(argc, argv, envp, apple)
  uint64_t base() const { return base_; }    // of the Mach-O header
  const std::vector<Section>& sections() const { return sections_; }
  const Section* section(std::string_view name) const;
  uint64_t symbol(const std::string& name) const;  // of an external definition, 0 when there is none

 private:
  struct Segment {
    std::string name;
    uint64_t address, bytes, file_offset, file_bytes;
  };
  struct Opcodes {
    uint32_t offset = 0, bytes = 0;
  };

  void read_commands();
  void read_segment(size_t at);
  void map_segments();
  void read_symbols();
  void rebase();
  void run_bind(Opcodes opcodes, bool lazy, bool weak_only, const Resolve& resolve);
  uint64_t* pointer_in_segment(size_t segment, uint64_t offset);

  template <class T>
  T read(size_t at) const;

  std::span<const std::byte> file_;
  std::vector<Segment> segments_;
  std::vector<Section> sections_;
  Opcodes rebase_, bind_, weak_, lazy_;
  uint32_t symbols_at_ = 0, symbol_count_ = 0, strings_at_ = 0, strings_bytes_ = 0;
  uint64_t entry_ = 0, base_ = 0, slide_ = 0;
  uint64_t mapped_begin_ = 0, mapped_end_ = 0;
  std::unordered_map<std::string, uint64_t> own_;
};

}  // namespace machrun
