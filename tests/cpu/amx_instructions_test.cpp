// The amx level as it is compiled, also on a processor without tiles: there each of its tile instructions is an illegal one, and a handler of that signal
// reads it, does to a TileState what it says, and goes on behind it. So the very object file is executed: its order of loads and stores, its shapes and
// its registers. Only the processor's own tiles, and the speed, are not.
#include <string>

#include <gtest/gtest.h>

#include "cpu/kernels/amx/support.h"
#include "cpu/tested_kernels.h"
#include "cpu/tile_state.h"

#if defined(__x86_64__) && defined(__linux__)
#include <csignal>

#include <ucontext.h>
#endif

namespace anedvd {
namespace {

#if defined(__x86_64__) && defined(__linux__)

thread_local TileState tiles;
thread_local int64_t carried_out = 0;

// An instruction with a 3-byte VEX prefix of map 0F38, as Intel's manual lays it out (volume 2, chapter 2): all of AMX is there.
struct Instruction {
  int prefix = 0, opcode = 0;  // prefix: 0 none, 1 66, 2 F3, 3 F2
  int reg = 0, rm = 0, vvvv = 0;
  bool is_memory = false;
  uintptr_t address = 0;  // without the index, which is the stride of a tile
  int64_t stride = 0;
  int length = 0;
};

uint64_t register_of(const greg_t* registers, int number) {
  static constexpr int kPlaces[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                      REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return uint64_t(registers[kPlaces[number]]);
}

int32_t displacement(const uint8_t* code, int bytes) {
  if (bytes == 1) return int8_t(code[0]);
  int32_t value = 0;
  if (bytes == 4) std::memcpy(&value, code, 4);
  return value;
}

bool read_instruction(const greg_t* registers, Instruction* out) {
  const auto* code = reinterpret_cast<const uint8_t*>(registers[REG_RIP]);
  if (code[0] != 0xc4 || (code[1] & 31) != 2 || (code[2] & 0x84) != 0) return false;  // map 0F38, W0, 128 bits
  const int x = (~code[1] >> 6) & 1, b = (~code[1] >> 5) & 1;
  out->vvvv = (~code[2] >> 3) & 15;
  out->prefix = code[2] & 3;
  out->opcode = code[3];
  const int mod = code[4] >> 6, rm = code[4] & 7;
  out->reg = (code[4] >> 3) & 7;
  out->rm = rm;
  out->length = 5;
  if (mod == 3) return true;
  out->is_memory = true;
  int bytes = mod == 1 ? 1 : mod == 2 ? 4 : 0;
  if (rm == 4) {
    const int sib = code[out->length++], base = sib & 7, index = ((sib >> 3) & 7) + 8 * x;
    if (index != 4) out->stride = int64_t(register_of(registers, index)) * (1 << (sib >> 6));
    if (base == 5 && mod == 0) {
      bytes = 4;
    } else {
      out->address = register_of(registers, base + 8 * b);
    }
  } else if (rm == 5 && mod == 0) {
    return false;  // relative to the instruction: nothing here lies there
  } else {
    out->address = register_of(registers, rm + 8 * b);
  }
  out->address += uint64_t(int64_t(displacement(code + out->length, bytes)));
  out->length += bytes;
  return true;
}

bool configure(const uint8_t* config) {
  if (config[0] != 1 || config[1] != 0) return false;  // palette, first row
  for (int tile = 0; tile < 8; ++tile) {
    const int row_bytes = config[16 + 2 * tile] | config[17 + 2 * tile] << 8;
    if (!tiles.configure(tile, config[48 + tile], row_bytes)) return false;
  }
  return true;
}

bool carry_out(const Instruction& i) {
  constexpr int kNone = 0, kF3 = 2, kF2 = 3;
  if (i.opcode == 0x49 && i.prefix == kNone && i.is_memory)
    return configure(reinterpret_cast<const uint8_t*>(i.address + uint64_t(i.stride)));
  if (i.opcode == 0x49 && i.prefix == kNone) {
    tiles.release();
    return true;
  }
  if (!tiles.is_usable(i.reg)) return false;
  if (i.opcode == 0x49 && i.prefix == kF2 && !i.is_memory) {
    tiles.zero(i.reg);
  } else if (i.opcode == 0x4b && i.prefix == kF2 && i.is_memory) {
    tiles.load(i.reg, reinterpret_cast<const void*>(i.address), i.stride);
  } else if (i.opcode == 0x4b && i.prefix == kF3 && i.is_memory) {
    tiles.store(i.reg, reinterpret_cast<void*>(i.address), i.stride);
  } else if (i.opcode == 0x5e && i.prefix == kF2 && !i.is_memory) {
    return i.vvvv < 8 && tiles.multiply(i.reg, i.rm, i.vvvv);
  } else {
    return false;
  }
  return true;
}

void on_illegal_instruction(int, siginfo_t*, void* context) {
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  Instruction instruction;
  if (!read_instruction(registers, &instruction) || !carry_out(instruction)) {
    ::signal(SIGILL, SIG_DFL);  // not ours: it comes again and ends the program
    return;
  }
  ++carried_out;
  registers[REG_RIP] += instruction.length;
}

bool has_vnni() {
  for (const KernelTable* level : available_kernels())
    if (std::string(level->name) == "vnni") return true;
  return false;
}

#endif

TEST(AmxInstructions, AreTheProcessorsOwn) {
  if (why_no_amx() != nullptr)
    GTEST_SKIP() << why_no_amx()
                 << (amx_kernels_or_by_hand() != nullptr
                         ? "; the tests of the amx level carry its instructions out by hand"
                         : "; only the emulated tiles are tested");
  EXPECT_STREQ(available_kernels().back()->name, "amx");
}

#if defined(__x86_64__) && defined(__linux__)

TEST(AmxInstructions, ByHandAreReallyCarriedOut) {
  const KernelTable* amx = amx_kernels_or_by_hand();
  if (amx == nullptr || why_no_amx() == nullptr) GTEST_SKIP() << "nothing is done by hand here";
  const int64_t before = carried_out;
  amx->dot_rate(4096);
  // One configuration, four zeroed, four loaded, 4 × 4 products, two stored, one release.
  EXPECT_EQ(carried_out - before, 1 + 4 + 4 + 16 + 2 + 1);
}

#endif

}  // namespace

const KernelTable* amx_kernels_or_by_hand() {
#if defined(__x86_64__) && defined(__linux__)
  if (why_no_amx() == nullptr) return has_vnni() ? amx_kernels() : nullptr;
  if (!has_vnni()) return nullptr;
  static const bool kHandled = [] {
    struct sigaction action {};
    action.sa_sigaction = on_illegal_instruction;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    return ::sigaction(SIGILL, &action, nullptr) == 0;
  }();
  return kHandled ? amx_kernels() : nullptr;
#else
  return nullptr;
#endif
}

}  // namespace anedvd
