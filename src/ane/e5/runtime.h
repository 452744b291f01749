// The C functions of the E5 runtime, the other way to the Neural Engine (docs/ane.md#route-e5): found by name, never linked.
//
// Handles are pointers to nothing we know. A function returns 0 when it did what it was told; of what it returns only the low 32 bits count.
// Where the result goes is each function's own: out first, or out last, as declared here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace anedvd::e5 {

using Handle = void*;
using Status = int64_t;

struct Functions {
  Status (*config_create)(Handle* out);
  Status (*config_set_cache)(Handle config, const char* folder);
  Status (*compiler_create)(Handle* out, Handle config);
  Status (*options_create)(Handle* out);
  Status (*options_set_devices)(Handle options, uint64_t mask);
  Status (*options_set_force)(Handle options, int force);
  Status (*options_set_segmenter)(Handle options, const char* name);
  Status (*compile)(Handle compiler, const char* mil, Handle options, Handle* library);
  Status (*retain_function)(Handle library, const char* name, Handle* out);
  Status (*op_options_create)(Handle* out, Handle function);
  Status (*op_options_set_name)(Handle options, const char* name);
  Status (*op_options_set_intermediates)(Handle options, int allocate);
  Status (*op_create)(Handle* out, Handle options);
  Status (*retain_input_port)(Handle op, const char* name, Handle* out);
  Status (*retain_output_port)(Handle op, const char* name, Handle* out);
  Status (*buffer_alloc)(Handle* out, uint64_t bytes, uint32_t type);
  Status (*buffer_data)(Handle buffer, void** out);
  Status (*port_bind)(Handle port, Handle buffer);
  Status (*stream_create)(Handle* out);
  Status (*stream_encode)(Handle stream, Handle op);
  Status (*stream_execute)(Handle stream);
  Status (*stream_reset)(Handle stream);
  Status (*op_prepare)(Handle op);

  // Null where the library has none: what they would give back then lives as long as the process.
  Status (*config_release)(Handle*);
  Status (*compiler_release)(Handle*);
  Status (*options_release)(Handle*);
  Status (*library_release)(Handle*);
  Status (*function_release)(Handle*);
  Status (*op_options_release)(Handle*);
  Status (*op_release)(Handle*);
  Status (*port_release)(Handle*);
  Status (*buffer_release)(Handle*);
  Status (*stream_release)(Handle*);
};

struct Symbol {
  std::string name;
  bool is_found = false, is_needed = true;
};

constexpr const char* kEspresso = "/System/Library/PrivateFrameworks/Espresso.framework/Espresso";

// The library that ANEDVD_ANE_FRAMEWORK names, else Espresso.
std::string library_path();

// Loads it. Error kDevice: it cannot be opened, or needed functions are missing.
Result<Functions> load_functions(const std::string& library);

// What of it is there; empty when the library cannot be opened.
std::vector<Symbol> take_inventory(const std::string& library);

// One reference, given back when this goes. Movable.
class Owned {
 public:
  Owned() = default;
  Owned(Handle handle, Status (*release)(Handle*)) : handle_(handle), release_(release) {}
  Owned(Owned&& other) noexcept { *this = std::move(other); }
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(release_, other.release_);
    return *this;
  }
  ~Owned() {
    if (handle_ != nullptr && release_ != nullptr) (void)release_(&handle_);
  }

  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
  Status (*release_)(Handle*) = nullptr;
};

}  // namespace anedvd::e5
