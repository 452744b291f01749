// What stands behind the imports of a Mach-O: shims where macOS and Linux differ in layout, numbers or calling convention, the C library where
// they do not, and a stub that names itself for what is in neither.
#pragma once

#include <string>
#include <unordered_map>

namespace machrun {

using Table = std::unordered_map<std::string, void*>;

// Apple passes every variadic argument on the stack, eight bytes each. A shim for such a function gets the address of the first one.
#define MACHRUN_VARIADIC(shim, stack_register)                                                                   \
  asm(".text\n.globl thunk_" #shim "\n.type thunk_" #shim ", %function\nthunk_" #shim ":\n  mov " stack_register \
      ", sp\n  b " #shim "\n");                                                                                  \
  extern "C" void thunk_##shim();

template <class Function>
void put(Table& table, const char* name, Function* function) {
  table[name] = reinterpret_cast<void*>(function);
}

void add_output(Table& table);     // printf and its family
void add_files(Table& table);      // open, stat, directories, mmap, fcntl
void add_threads(Table& table);    // pthreads, futex-like waits
void add_system(Table& table);     // clocks, sysctl, signals, errors, dlopen
void add_text(Table& table);       // locales and character classes
void add_sockets(Table& table);    // sockets, host names, kqueue
void add_processes(Table& table);  // posix_spawn, limits, signal masks

// errno of this system as macOS numbers it, and the macOS errno of the thread.
int mac_error(int linux_error);

// The signal that macOS gives this number.
int signal_of(int mac);

// The path of the macOS executable, absolute; set once at the start.
std::string& executable();

class Imports {
 public:
  Imports();
  // The address for `name`. What is nowhere gets a stub that ends the program when it is called, and is counted.
  void* resolve(const std::string& name, bool weak);
  const std::string& missing() const { return missing_; }  // names, separated by spaces

 private:
  Table table_;
  std::string missing_;
};

}  // namespace machrun
