// The Objective-C runtime and the frameworks behind it, found when the program runs.
//
// Nothing of an Apple SDK is used: each library is opened by its name, each function looked up in it. On macOS those libraries live in the
// system's shared cache and have no file on disk, so only opening them tells whether they exist. ANEDVD_ANE_FRAMEWORK names one library that
// takes the place of all four: the tests' stand-in, which exports the same symbols on Linux.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace anedvd::objc {

// An Objective-C object. Never made or read here; only its address travels.
struct Object {};
using Id = Object*;
struct Class : Object {};
struct NSArray : Object {};
struct NSData : Object {};
struct NSDictionary : Object {};
struct NSError : Object {};
struct NSIndexSet : Object {};
struct NSNumber : Object {};
struct NSString : Object {};

struct SelectorName;
using Selector = SelectorName*;

// BOOL is a C++ bool for 64-bit Arm Macs, a signed char elsewhere. Only the named type may be read: the upper bits are undefined.
#if defined(__APPLE__) && defined(__aarch64__)
using Bool = bool;
#else
using Bool = signed char;
#endif

using NSInteger = long;
using NSUInteger = unsigned long;
struct Method;
struct IOSurface : Object {};  // an IOSurfaceRef; toll-free, so retain and release work on it too

// Where the libraries are.
struct LibraryPaths {
  std::string objc = "/usr/lib/libobjc.A.dylib";
  std::string foundation = "/System/Library/Frameworks/Foundation.framework/Foundation";
  std::string iosurface = "/System/Library/Frameworks/IOSurface.framework/IOSurface";
  std::string neural_engine = "/System/Library/PrivateFrameworks/AppleNeuralEngine.framework/AppleNeuralEngine";

  // The paths above, or the one library that ANEDVD_ANE_FRAMEWORK names in place of all.
  static LibraryPaths from_environment();
};

// Every function and constant that the bridge calls, in the order they are looked up.
struct Runtime {
  void* message_send = nullptr;  // call only through send(): its C type is a lie
  Class* (*get_class)(const char*) = nullptr;
  Selector (*register_selector)(const char*) = nullptr;
  Id (*retain)(Id) = nullptr;
  void (*release)(Id) = nullptr;
  void* (*push_pool)() = nullptr;
  void (*pop_pool)(void*) = nullptr;
  Method* (*instance_method)(Class*, Selector) = nullptr;
  Method* (*class_method)(Class*, Selector) = nullptr;
  const char* (*method_encoding)(Method*) = nullptr;
  const char* (*object_class_name)(Id) = nullptr;

  NSString* (*temporary_directory)() = nullptr;

  IOSurface* (*surface_create)(NSDictionary*) = nullptr;
  int (*surface_lock)(IOSurface*, unsigned options, unsigned* seed) = nullptr;
  int (*surface_unlock)(IOSurface*, unsigned options, unsigned* seed) = nullptr;
  void* (*surface_base)(IOSurface*) = nullptr;
  size_t (*surface_bytes)(IOSurface*) = nullptr;
  NSString* surface_width = nullptr;
  NSString* surface_height = nullptr;
  NSString* surface_bytes_per_element = nullptr;
  NSString* surface_bytes_per_row = nullptr;
  NSString* surface_alloc_size = nullptr;
  NSString* surface_pixel_format = nullptr;

  LibraryPaths paths;
};

// Opens the libraries and finds every symbol; kDevice names what is missing. The first success is kept for the life of the process, as the
// Objective-C runtime is: later calls return it, and ask kUsage when they want other paths. Any thread may call.
Result<const Runtime*> load_runtime(const LibraryPaths& paths = LibraryPaths::from_environment());

// What load_runtime() found; it must have succeeded before.
const Runtime& runtime();

}  // namespace anedvd::objc
