#include "ane/objc/runtime.h"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <type_traits>

#include <dlfcn.h>

namespace anedvd::objc {
namespace {

// One process has one Objective-C runtime, so the pointer is global: wrappers' destructors need it without being told.
std::atomic<const Runtime*> loaded_runtime{nullptr};

class Library {
 public:
  static Result<Library> open(const std::string& path) {
    // Never closed: Objective-C classes cannot be taken out of a process again.
    void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (handle == nullptr) {
      const char* reason = ::dlerror();
      return fail(ErrorCode::kDevice, "{}: cannot be opened ({}); the Neural Engine needs macOS on Apple silicon", path,
                  reason != nullptr ? reason : "no reason given");
    }
    return Library(path, handle);
  }

  template <class Function>
  Result<> find(const char* name, Function& out) const {
    void* address = ::dlsym(handle_, name);
    if (address == nullptr)
      return fail(ErrorCode::kDevice, "{}: has no symbol {}; this system is not one that anedvd knows", path_, name);
    if constexpr (std::is_pointer_v<Function>) out = reinterpret_cast<Function>(address);
    return {};
  }

  // A constant is a variable: the symbol is the address of the object's pointer.
  Result<> find_constant(const char* name, NSString*& out) const {
    NSString** address = nullptr;
    ANEDVD_TRY_VOID(find(name, address));
    if (*address == nullptr) return fail(ErrorCode::kDevice, "{}: the constant {} is empty", path_, name);
    out = *address;
    return {};
  }

 private:
  Library(std::string path, void* handle) : path_(std::move(path)), handle_(handle) {}

  std::string path_;
  void* handle_;
};

Result<> find_objc(const Library& library, Runtime& out) {
  ANEDVD_TRY_VOID(library.find("objc_msgSend", out.message_send));
  ANEDVD_TRY_VOID(library.find("objc_getClass", out.get_class));
  ANEDVD_TRY_VOID(library.find("sel_registerName", out.register_selector));
  ANEDVD_TRY_VOID(library.find("objc_retain", out.retain));
  ANEDVD_TRY_VOID(library.find("objc_release", out.release));
  ANEDVD_TRY_VOID(library.find("objc_autoreleasePoolPush", out.push_pool));
  ANEDVD_TRY_VOID(library.find("objc_autoreleasePoolPop", out.pop_pool));
  ANEDVD_TRY_VOID(library.find("class_getInstanceMethod", out.instance_method));
  ANEDVD_TRY_VOID(library.find("class_getClassMethod", out.class_method));
  ANEDVD_TRY_VOID(library.find("method_getTypeEncoding", out.method_encoding));
  return library.find("object_getClassName", out.object_class_name);
}

Result<> find_surfaces(const Library& library, Runtime& out) {
  ANEDVD_TRY_VOID(library.find("IOSurfaceCreate", out.surface_create));
  ANEDVD_TRY_VOID(library.find("IOSurfaceLock", out.surface_lock));
  ANEDVD_TRY_VOID(library.find("IOSurfaceUnlock", out.surface_unlock));
  ANEDVD_TRY_VOID(library.find("IOSurfaceGetBaseAddress", out.surface_base));
  ANEDVD_TRY_VOID(library.find("IOSurfaceGetAllocSize", out.surface_bytes));
  ANEDVD_TRY_VOID(library.find_constant("kIOSurfaceWidth", out.surface_width));
  ANEDVD_TRY_VOID(library.find_constant("kIOSurfaceHeight", out.surface_height));
  ANEDVD_TRY_VOID(library.find_constant("kIOSurfaceBytesPerElement", out.surface_bytes_per_element));
  ANEDVD_TRY_VOID(library.find_constant("kIOSurfaceBytesPerRow", out.surface_bytes_per_row));
  ANEDVD_TRY_VOID(library.find_constant("kIOSurfaceAllocSize", out.surface_alloc_size));
  return library.find_constant("kIOSurfacePixelFormat", out.surface_pixel_format);
}

Result<Runtime> open_all(const LibraryPaths& paths) {
  Runtime out;
  out.paths = paths;
  ANEDVD_TRY(const auto objc, Library::open(paths.objc));
  ANEDVD_TRY_VOID(find_objc(objc, out));
  ANEDVD_TRY(const auto foundation, Library::open(paths.foundation));
  ANEDVD_TRY_VOID(foundation.find("NSTemporaryDirectory", out.temporary_directory));
  ANEDVD_TRY(const auto surfaces, Library::open(paths.iosurface));
  ANEDVD_TRY_VOID(find_surfaces(surfaces, out));
  // Only its classes are wanted, and opening it registers them.
  ANEDVD_TRY_VOID(Library::open(paths.neural_engine));
  return out;
}

bool same(const LibraryPaths& a, const LibraryPaths& b) {
  return a.objc == b.objc && a.foundation == b.foundation && a.iosurface == b.iosurface &&
         a.neural_engine == b.neural_engine;
}

}  // namespace

LibraryPaths LibraryPaths::from_environment() {
  const char* replacement = std::getenv("ANEDVD_ANE_FRAMEWORK");
  if (replacement == nullptr || *replacement == '\0') return {};
  return {replacement, replacement, replacement, replacement};
}

Result<const Runtime*> load_runtime(const LibraryPaths& paths) {
  static std::mutex loading;  // one thread looks, the others wait for what it finds
  const std::lock_guard lock(loading);
  if (const Runtime* found = loaded_runtime.load()) {
    if (same(found->paths, paths)) return found;
    return fail(ErrorCode::kUsage, "{}: another framework is in use already ({}); start anew to change it",
                paths.neural_engine, found->paths.neural_engine);
  }
  ANEDVD_TRY(Runtime opened, open_all(paths));
  static Runtime kept;
  kept = std::move(opened);
  loaded_runtime.store(&kept);
  return &kept;
}

const Runtime& runtime() {
  const Runtime* found = loaded_runtime.load(std::memory_order_acquire);
  ANEDVD_CHECK(found != nullptr, "the Objective-C runtime is used before it is loaded");
  return *found;
}

}  // namespace anedvd::objc
