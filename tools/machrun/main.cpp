// machrun MACHO [arguments…]: runs a macOS executable for 64-bit Arm on 64-bit Arm Linux. MACHRUN_LIST=1 prints what it could not find.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "image.h"
#include "imports.h"
#include "thread_locals.h"
#include "unwind.h"

namespace {

constexpr uint32_t kInitialisers = 9, kInitialiserOffsets = 0x16;  // S_MOD_INIT_FUNC_POINTERS, S_INIT_FUNC_OFFSETS

using Start = int (*)(int, char**, char**, const char**);

std::span<const std::byte> map_file(const char* path) {
  const int file = ::open(path, O_RDONLY);
  struct stat status {};
  if (file < 0 || ::fstat(file, &status) != 0 || status.st_size == 0)
    machrun::give_up(std::string(path) + " cannot be read");
  void* bytes = ::mmap(nullptr, size_t(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
  if (bytes == MAP_FAILED) machrun::give_up(std::string(path) + " cannot be mapped");
  return {static_cast<const std::byte*>(bytes), size_t(status.st_size)};
}

}  // namespace

int main(int argc, char** argv, char** environment) {
  if (argc < 2) machrun::give_up("usage: machrun MACHO [arguments]");
  machrun::Image image(map_file(argv[1]));
  machrun::Imports imports;
  // A definition of the image's own stands for an import of the same name.
  image.bind([&](const std::string& name, bool weak) -> void* {
    if (const uint64_t own = image.symbol(name)) return reinterpret_cast<void*>(own);
    return imports.resolve(name, weak);
  });
  if (!imports.missing().empty() && std::getenv("MACHRUN_LIST") != nullptr)
    std::fprintf(stderr, "machrun: not found: %s\n", imports.missing().c_str());
  machrun::use_thread_locals_of(image);
  machrun::register_frames(image);

  if (char* absolute = ::realpath(argv[1], nullptr)) machrun::executable() = absolute;
  const std::string path = "executable_path=" + machrun::executable();
  const char* apple[] = {path.c_str(), nullptr};
  const auto start = [&](uint64_t address) {
    return reinterpret_cast<Start>(address)(argc - 1, argv + 1, environment, apple);
  };
  for (const machrun::Section& section : image.sections()) {
    if (section.type == kInitialisers)
      for (uint64_t at = 0; at + 8 <= section.bytes; at += 8)
        start(*reinterpret_cast<const uint64_t*>(section.address + at));
    if (section.type == kInitialiserOffsets)
      for (uint64_t at = 0; at + 4 <= section.bytes; at += 4)
        start(image.base() + *reinterpret_cast<const uint32_t*>(section.address + at));
  }
  std::exit(start(image.entry()));
}
