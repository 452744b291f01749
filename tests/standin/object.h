// The data model of a small Objective-C runtime, for running the Neural Engine bridge where there is no Apple framework.
//
// It exports the same C symbols as Apple's, objc_msgSend included, so the bridge runs unchanged, through the same registers and stack slots.
// It is strict where Apple's crashes or stays silent: every misuse ends the process with one line that says which (report.h). Freed objects keep
// their memory for a while, so that a message to one is seen.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

namespace standin {

struct Class;

struct Object {
  Class* isa = nullptr;
  uint32_t mark = 0;  // kAlive, kDead, anything else: no object
  std::atomic<int64_t> count{0};
};
using Id = Object*;

constexpr uint32_t kAlive = 0x0b1ec7ed;
constexpr uint32_t kDead = 0xdeadb0d1;
constexpr int64_t kImmortal = int64_t(1) << 40;  // classes and constants

struct Selector;  // interned: one address a name
using Method = void (*)();

struct MethodEntry {
  std::string encoding;  // types of result and arguments as the runtime tells them
  Method function = nullptr;
  mutable std::atomic<int64_t> messages{0};  // that reached it
};

struct Class : Object {
  const char* name = nullptr;
  Class* parent = nullptr;
  bool is_meta = false;
  std::map<Selector*, MethodEntry> methods;
  std::atomic<int64_t> live{0};  // objects of this very class
};

// Makes a class; its objects are structs derived from Object.
Class* define(const char* name, const char* parent);
Class* find_class(const char* name);
// `name`: "+class method:" or "-method:". Results that are BOOL are a whole word, 0 or 1: callers built for macOS read more than a byte.
void add_method(Class* owner, const char* name, const char* encoding, Method function);
template <class Function>
void method(Class* owner, const char* name, const char* encoding, Function function) {
  add_method(owner, name, encoding, reinterpret_cast<Method>(+function));
}

// A class or selector that is to be missing from now on: "_ANERequest", "_ANEInMemoryModel -modelAttributes". Undone by show_all().
void hide(const std::string& what);
void show_all();

using Destroy = void (*)(Object*);
void adopt(Object* made, const char* class_name, Destroy destroy);  // count 1

// A new object of a struct derived from Object, owned by the caller.
template <class T>
T* make(const char* class_name) {
  auto* out = new T;
  adopt(out, class_name, [](Object* dead) { static_cast<T*>(dead)->~T(); });
  return out;
}

Id retain(Id object);
void release(Id object);
Id autorelease(Id object);
// Ends the process unless `object` is alive and of the class or one derived from it. `where` names argument and method.
void require_class(Id object, const char* class_name, const char* where);
bool is_kind(Id object, const Class* wanted);
// A line "NSArray -count 12" for each method of every class, also for those that no message reached, in a fixed order.
std::string message_counts();
// A method by the class of its receiver, nullptr when there is none.
const MethodEntry* method_of(const Class* where, Selector* selector);
void check_alive(Id object, const char* doing);

template <class T>
T* cast(Id object, const char* class_name, const char* where) {
  require_class(object, class_name, where);
  return static_cast<T*>(object);
}

}  // namespace standin
