#include "ane/objc/io_surface.h"

#include <cstring>

#include "ane/objc/foundation.h"

namespace anedvd::objc {
namespace {

constexpr unsigned kLockReadOnly = 1;  // kIOSurfaceLockReadOnly: spares the write-back; unlock must be given the same

unsigned options_of(Surface::Access access) { return access == Surface::Access::kRead ? kLockReadOnly : 0; }

}  // namespace

DriverResult<std::unique_ptr<IoSurface>> IoSurface::make(size_t bytes) {
  return guarded("IOSurfaceCreate", [&]() -> DriverResult<std::unique_ptr<IoSurface>> {
    const Pool pool;
    const Runtime& rt = runtime();
    NSNumber* size = number(int64_t(bytes));
    NSDictionary* properties = dictionary({{rt.surface_width, size},
                                           {rt.surface_height, number(1)},
                                           {rt.surface_bytes_per_element, number(1)},
                                           {rt.surface_bytes_per_row, size},
                                           {rt.surface_alloc_size, size},
                                           {rt.surface_pixel_format, number(0)}});
    std::unique_ptr<IoSurface> out(new IoSurface);
    out->surface_ = Ref<IOSurface>::adopt(rt.surface_create(properties));
    if (!out->surface_ || rt.surface_bytes(out->surface_.get()) < bytes)
      return tl::unexpected(own_failure(fmt::format("no shared memory of {} bytes; free some memory", bytes)));
    out->wrapper_ = Ref<>(send<Id>(class_named("_ANEIOSurfaceObject"), "objectWithIOSurface:", out->surface_.get()));
    if (!out->wrapper_) return tl::unexpected(own_failure("_ANEIOSurfaceObject takes no surface"));
    out->bytes_ = bytes;
    auto memory = out->lock(Access::kWrite);
    if (!memory) return tl::unexpected(memory.error());
    // Padding between rows is read by reductions: it must not hold what was there before.
    std::memset(memory->data(), 0, memory->size());
    if (auto unlocked = out->unlock(Access::kWrite); !unlocked) return tl::unexpected(unlocked.error());
    return out;
  });
}

IoSurface::~IoSurface() = default;

DriverResult<std::span<std::byte>> IoSurface::lock(Access access) {
  const Runtime& rt = runtime();
  if (const int problem = rt.surface_lock(surface_.get(), options_of(access), nullptr); problem != 0)
    return tl::unexpected(own_failure(fmt::format("IOSurfaceLock answers {:#x}", unsigned(problem))));
  void* base = rt.surface_base(surface_.get());
  if (base == nullptr) return tl::unexpected(own_failure("a locked surface has no address"));
  return std::span(static_cast<std::byte*>(base), bytes_);
}

DriverResult<> IoSurface::unlock(Access access) {
  if (const int problem = runtime().surface_unlock(surface_.get(), options_of(access), nullptr); problem != 0)
    return tl::unexpected(own_failure(fmt::format("IOSurfaceUnlock answers {:#x}", unsigned(problem))));
  return {};
}

}  // namespace anedvd::objc
