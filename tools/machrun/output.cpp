// printf and its family: variadic on both sides, differently.
#include <cstdarg>
#include <cstdio>
#include <cwchar>

#include "imports.h"

namespace {

// The AAPCS64 va_list with both register areas used up, so that every argument is read from the stack.
struct LinuxArguments {
  void* stack;
  void* general_top = nullptr;
  void* vector_top = nullptr;
  int general_offset = 0;
  int vector_offset = 0;
};
static_assert(sizeof(LinuxArguments) == sizeof(va_list));

va_list& list_of(LinuxArguments& arguments) { return reinterpret_cast<va_list&>(arguments); }

}  // namespace

extern "C" {
int shim_printf(const char* format, void* stack) {
  LinuxArguments arguments{stack};
  return std::vprintf(format, list_of(arguments));
}
int shim_fprintf(FILE* file, const char* format, void* stack) {
  LinuxArguments arguments{stack};
  return std::vfprintf(file, format, list_of(arguments));
}
int shim_snprintf(char* out, size_t bytes, const char* format, void* stack) {
  LinuxArguments arguments{stack};
  return std::vsnprintf(out, bytes, format, list_of(arguments));
}
int shim_snprintf_l(char* out, size_t bytes, void*, const char* format, void* stack) {
  return shim_snprintf(out, bytes, format, stack);
}
int shim_asprintf(char** out, const char* format, void* stack) {
  LinuxArguments arguments{stack};
  return vasprintf(out, format, list_of(arguments));
}
int shim_asprintf_l(char** out, void*, const char* format, void* stack) { return shim_asprintf(out, format, stack); }
int shim_sscanf(const char* text, const char* format, void* stack) {
  LinuxArguments arguments{stack};
  return std::vsscanf(text, format, list_of(arguments));
}
int shim_sscanf_l(const char* text, void*, const char* format, void* stack) { return shim_sscanf(text, format, stack); }
int shim_swprintf(wchar_t* out, size_t count, const wchar_t* format, void* stack) {
  LinuxArguments arguments{stack};
  return std::vswprintf(out, count, format, list_of(arguments));
}
// Apple's va_list is the stack pointer itself.
int shim_vfprintf(FILE* file, const char* format, void* stack) { return shim_fprintf(file, format, stack); }
int shim_vsnprintf(char* out, size_t bytes, const char* format, void* stack) {
  return shim_snprintf(out, bytes, format, stack);
}
int shim_vasprintf(char** out, const char* format, void* stack) { return shim_asprintf(out, format, stack); }
}

MACHRUN_VARIADIC(shim_printf, "x1")
MACHRUN_VARIADIC(shim_fprintf, "x2")
MACHRUN_VARIADIC(shim_snprintf, "x3")
MACHRUN_VARIADIC(shim_snprintf_l, "x4")
MACHRUN_VARIADIC(shim_asprintf, "x2")
MACHRUN_VARIADIC(shim_asprintf_l, "x3")
MACHRUN_VARIADIC(shim_sscanf, "x2")
MACHRUN_VARIADIC(shim_sscanf_l, "x3")
MACHRUN_VARIADIC(shim_swprintf, "x3")

namespace machrun {

void add_output(Table& table) {
  put(table, "_printf", thunk_shim_printf);
  put(table, "_fprintf", thunk_shim_fprintf);
  put(table, "_snprintf", thunk_shim_snprintf);
  put(table, "_snprintf_l", thunk_shim_snprintf_l);
  put(table, "_asprintf", thunk_shim_asprintf);
  put(table, "_asprintf_l", thunk_shim_asprintf_l);
  put(table, "_sscanf", thunk_shim_sscanf);
  put(table, "_sscanf_l", thunk_shim_sscanf_l);
  put(table, "_swprintf", thunk_shim_swprintf);
  put(table, "_vfprintf", shim_vfprintf);
  put(table, "_vsnprintf", shim_vsnprintf);
  put(table, "_vasprintf", shim_vasprintf);
  // The streams are variables; the address of the variable is what is imported.
  static FILE *out = stdout, *err = stderr, *in = stdin;
  table["___stdoutp"] = &out;
  table["___stderrp"] = &err;
  table["___stdinp"] = &in;
}

}  // namespace machrun
