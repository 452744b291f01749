// IOSurface's C functions. The address is given out only under a lock, and a lock must be undone with the options it was taken with.
#include "surface.h"

#include <cstring>

#include <sys/mman.h>

#include "foundation.h"
#include "report.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

// CFString constants are variables: the symbol is the address of the pointer.
EXPORTED standin::Id kIOSurfaceWidth, kIOSurfaceHeight, kIOSurfaceBytesPerElement, kIOSurfaceBytesPerRow,
    kIOSurfaceAllocSize, kIOSurfacePixelFormat;
standin::Id kIOSurfaceWidth, kIOSurfaceHeight, kIOSurfaceBytesPerElement, kIOSurfaceBytesPerRow, kIOSurfaceAllocSize,
    kIOSurfacePixelFormat;

namespace standin {
namespace {

constexpr size_t kPage = 16384;
constexpr unsigned kReadOnly = 1;

long long property(const Dictionary* properties, Id key) {
  Id value = entry_of(properties, static_cast<String*>(key)->value);
  if (value == nullptr)
    complain("wrong argument", text("IOSurfaceCreate without %s", static_cast<String*>(key)->value.c_str()));
  return cast<Number>(value, "NSNumber", "a property of IOSurfaceCreate")->value;
}

Surface* checked(Id surface, const char* where) { return cast<Surface>(surface, "IOSurface", where); }

}  // namespace

Surface::~Surface() {
  if (read_locks != 0 || write_locks != 0) complain("locked surface", "a surface is freed while it is locked");
  ::munmap(memory, bytes);
}

void define_surfaces() {
  define("IOSurface", "NSObject");
  kIOSurfaceWidth = constant("IOSurfaceWidth");
  kIOSurfaceHeight = constant("IOSurfaceHeight");
  kIOSurfaceBytesPerElement = constant("IOSurfaceBytesPerElement");
  kIOSurfaceBytesPerRow = constant("IOSurfaceBytesPerRow");
  kIOSurfaceAllocSize = constant("IOSurfaceAllocSize");
  kIOSurfacePixelFormat = constant("IOSurfacePixelFormat");
}

EXPORTED Surface* IOSurfaceCreate(Id properties) {
  const auto* entries = cast<Dictionary>(properties, "NSDictionary", "IOSurfaceCreate");
  const long long bytes = property(entries, kIOSurfaceAllocSize);
  const long long row = property(entries, kIOSurfaceBytesPerRow);
  const long long height = property(entries, kIOSurfaceHeight);
  const long long element = property(entries, kIOSurfaceBytesPerElement);
  if (property(entries, kIOSurfaceWidth) * element > row || row * height > bytes)
    complain("wrong argument", "IOSurfaceCreate: width, height and rows do not fit its size");
  property(entries, kIOSurfacePixelFormat);
  if (bytes <= 0) return nullptr;
  auto* out = make<Surface>("IOSurface");
  out->bytes = (size_t(bytes) + kPage - 1) / kPage * kPage;
  // Shared pages, as the kernel's are: they count apart from the memory that the process allocates.
  void* pages = ::mmap(nullptr, out->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) complain("no memory", text("a surface of %zu bytes", out->bytes));
  out->memory = static_cast<std::byte*>(pages);
  // Real surfaces may hold what was there before: whoever needs zeros must write them.
  std::memset(out->memory, 0x7e, out->bytes);
  return out;
}

EXPORTED int IOSurfaceLock(Id surface, unsigned options, unsigned*) {
  auto* it = checked(surface, "IOSurfaceLock");
  ++(options == kReadOnly ? it->read_locks : it->write_locks);
  return 0;
}

EXPORTED int IOSurfaceUnlock(Id surface, unsigned options, unsigned*) {
  auto* it = checked(surface, "IOSurfaceUnlock");
  int& locks = options == kReadOnly ? it->read_locks : it->write_locks;
  if (locks == 0) complain("unlock without lock", "IOSurfaceUnlock with options that no IOSurfaceLock had");
  --locks;
  return 0;
}

EXPORTED void* IOSurfaceGetBaseAddress(Id surface) {
  auto* it = checked(surface, "IOSurfaceGetBaseAddress");
  if (it->read_locks + it->write_locks == 0)
    complain("unlocked base address", "IOSurfaceGetBaseAddress without a lock");
  return it->memory;
}

EXPORTED size_t IOSurfaceGetAllocSize(Id surface) { return checked(surface, "IOSurfaceGetAllocSize")->bytes; }

}  // namespace standin
