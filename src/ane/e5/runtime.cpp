#include "ane/e5/runtime.h"

#include <cstdlib>
#include <cstring>

#include <dlfcn.h>

namespace anedvd::e5 {
namespace {

struct Row {
  const char* name;
  size_t offset;  // of the pointer within Functions
  bool is_needed;
};

#define ANEDVD_E5_ROW(member, name, needed) \
  { name, offsetof(Functions, member), needed }

constexpr Row kRows[] = {
    ANEDVD_E5_ROW(config_create, "e5rt_e5_compiler_config_options_create", true),
    ANEDVD_E5_ROW(config_set_cache, "e5rt_e5_compiler_config_options_set_cache_bundle_location", true),
    ANEDVD_E5_ROW(compiler_create, "e5rt_e5_compiler_create_with_config", true),
    ANEDVD_E5_ROW(options_create, "e5rt_e5_compiler_options_create", true),
    ANEDVD_E5_ROW(options_set_devices, "e5rt_e5_compiler_options_set_compute_device_types_mask", true),
    ANEDVD_E5_ROW(options_set_force, "e5rt_e5_compiler_options_set_force_recompilation", true),
    ANEDVD_E5_ROW(options_set_segmenter, "e5rt_e5_compiler_options_set_segmenter", true),
    ANEDVD_E5_ROW(compile, "e5rt_e5_compiler_compile", true),
    ANEDVD_E5_ROW(retain_function, "e5rt_program_library_retain_program_function", true),
    ANEDVD_E5_ROW(op_options_create, "e5rt_precompiled_compute_op_create_options_create_with_program_function", true),
    ANEDVD_E5_ROW(op_options_set_name, "e5rt_precompiled_compute_op_create_options_set_operation_name", true),
    ANEDVD_E5_ROW(op_options_set_intermediates,
                  "e5rt_precompiled_compute_op_create_options_set_allocate_intermediate_buffers", true),
    ANEDVD_E5_ROW(op_create, "e5rt_execution_stream_operation_create_precompiled_compute_operation_with_options", true),
    ANEDVD_E5_ROW(retain_input_port, "e5rt_execution_stream_operation_retain_input_port", true),
    ANEDVD_E5_ROW(retain_output_port, "e5rt_execution_stream_operation_retain_output_port", true),
    ANEDVD_E5_ROW(buffer_alloc, "e5rt_buffer_object_alloc", true),
    ANEDVD_E5_ROW(buffer_data, "e5rt_buffer_object_get_data_ptr", true),
    ANEDVD_E5_ROW(port_bind, "e5rt_io_port_bind_buffer_object", true),
    ANEDVD_E5_ROW(stream_create, "e5rt_execution_stream_create", true),
    ANEDVD_E5_ROW(stream_encode, "e5rt_execution_stream_encode_operation", true),
    ANEDVD_E5_ROW(stream_execute, "e5rt_execution_stream_execute_sync", true),
    ANEDVD_E5_ROW(stream_reset, "e5rt_execution_stream_reset", true),
    ANEDVD_E5_ROW(op_prepare, "e5rt_execution_stream_operation_prepare_op_for_encode", true),
    ANEDVD_E5_ROW(config_release, "e5rt_e5_compiler_config_options_release", false),
    ANEDVD_E5_ROW(compiler_release, "e5rt_e5_compiler_release", false),
    ANEDVD_E5_ROW(options_release, "e5rt_e5_compiler_options_release", false),
    ANEDVD_E5_ROW(library_release, "e5rt_program_library_release", false),
    ANEDVD_E5_ROW(function_release, "e5rt_program_function_release", false),
    ANEDVD_E5_ROW(op_options_release, "e5rt_precompiled_compute_op_create_options_release", false),
    ANEDVD_E5_ROW(op_release, "e5rt_execution_stream_operation_release", false),
    ANEDVD_E5_ROW(port_release, "e5rt_io_port_release", false),
    ANEDVD_E5_ROW(buffer_release, "e5rt_buffer_object_release", false),
    ANEDVD_E5_ROW(stream_release, "e5rt_execution_stream_release", false),
};
#undef ANEDVD_E5_ROW

// Stays open: code that was handed out may run until the end.
void* open_library(const std::string& path) { return ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); }

}  // namespace

std::string library_path() {
  const char* instead = std::getenv("ANEDVD_ANE_FRAMEWORK");
  return instead != nullptr ? instead : kEspresso;
}

Result<Functions> load_functions(const std::string& path) {
  void* library = open_library(path);
  if (library == nullptr)
    return fail(ErrorCode::kDevice, "Espresso: cannot be opened: {}; use --ane-route inmem", ::dlerror());
  Functions functions = {};
  std::string missing;
  for (const Row& row : kRows) {
    void* found = ::dlsym(library, row.name);
    std::memcpy(reinterpret_cast<std::byte*>(&functions) + row.offset, &found, sizeof found);
    if (found == nullptr && row.is_needed) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", row.name);
  }
  if (!missing.empty())
    return fail(ErrorCode::kDevice, "Espresso: this system lacks {}; use --ane-route inmem", missing);
  return functions;
}

std::vector<Symbol> take_inventory(const std::string& path) {
  std::vector<Symbol> symbols;
  void* library = open_library(path);
  if (library == nullptr) return symbols;
  for (const Row& row : kRows) symbols.push_back({row.name, ::dlsym(library, row.name) != nullptr, row.is_needed});
  return symbols;
}

}  // namespace anedvd::e5
