#include "imports.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unwind.h>

#include "image.h"
#include "thread_locals.h"

extern "C" {
unsigned __int128 __udivti3(unsigned __int128, unsigned __int128);
unsigned __int128 __umodti3(unsigned __int128, unsigned __int128);
__int128 __divti3(__int128, __int128);
}

namespace machrun {
namespace {

// Functions that only Apple's libm has. A pair of doubles comes back in two vector registers on both systems.
struct SineCosine {
  double sine, cosine;
};
SineCosine sine_cosine(double angle) { return {std::sin(angle), std::cos(angle)}; }
double power_of_ten(double exponent) { return std::pow(10.0, exponent); }

void name_and_stop(const char* name) { give_up(std::string("call of ") + name + ", which machrun does not have"); }

// ldr x0, name; ldr x16, stop; br x16; then both addresses.
void* stub_for(const std::string& name) {
  constexpr uint32_t kCode[] = {0x58000080, 0x580000b0, 0xd61f0200, 0xd503201f};
  constexpr size_t kStub = 32, kPage = 65536;
  static char* next = nullptr;
  static char* end = nullptr;
  if (next == end) {
    next = static_cast<char*>(
        ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (next == MAP_FAILED) give_up("no memory for stubs");
    end = next + kPage;
  }
  char* out = next;
  next += kStub;
  const char* kept = ::strdup(name.c_str());
  const auto stop = &name_and_stop;
  std::memcpy(out, kCode, sizeof kCode);
  std::memcpy(out + 16, &kept, 8);
  std::memcpy(out + 24, &stop, 8);
  __builtin___clear_cache(out, next);
  return out;
}

// The unwinder that exceptions of the image go through is the one that its frames are registered with (unwind.cpp).
void add_unwinder(Table& table) {
  put(table, "__Unwind_RaiseException", _Unwind_RaiseException);
  put(table, "__Unwind_Resume", _Unwind_Resume);
  put(table, "__Unwind_DeleteException", _Unwind_DeleteException);
  put(table, "__Unwind_GetIP", _Unwind_GetIP);
  put(table, "__Unwind_SetIP", _Unwind_SetIP);
  put(table, "__Unwind_SetGR", _Unwind_SetGR);
  put(table, "__Unwind_GetGR", _Unwind_GetGR);
  put(table, "__Unwind_GetLanguageSpecificData", _Unwind_GetLanguageSpecificData);
  put(table, "__Unwind_GetRegionStart", _Unwind_GetRegionStart);
}

}  // namespace

Imports::Imports() {
  ::dlopen("libm.so.6", RTLD_NOW | RTLD_GLOBAL);
  add_output(table_);
  add_files(table_);
  add_threads(table_);
  add_system(table_);
  add_text(table_);
  add_sockets(table_);
  add_processes(table_);
  add_unwinder(table_);
  add_thread_locals(table_);
  put(table_, "___sincos_stret", sine_cosine);
  put(table_, "___exp10", power_of_ten);
  put(table_, "___udivti3", __udivti3);
  put(table_, "___umodti3", __umodti3);
  put(table_, "___divti3", __divti3);
  // Lazy binds are done at the start: nobody asks for the binder.
  table_["dyld_stub_binder"] = stub_for("dyld_stub_binder");
}

void* Imports::resolve(const std::string& name, bool weak) {
  if (const auto found = table_.find(name); found != table_.end()) return found->second;
  if (!name.empty() && name[0] == '_')
    if (void* found = ::dlsym(RTLD_DEFAULT, name.c_str() + 1)) return found;
  if (weak) return nullptr;
  missing_ += (missing_.empty() ? "" : " ") + name;
  return table_[name] = stub_for(name);
}

}  // namespace machrun
