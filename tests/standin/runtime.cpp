// Classes, selectors, reference counts and autorelease pools, under the names of Apple's runtime.
#include <algorithm>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <set>
#include <unordered_map>
#include <vector>

#include "object.h"
#include "report.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace standin {

struct Selector {
  std::string name;
};

namespace {

constexpr size_t kKeptDead = 1 << 16;  // freed objects whose memory stays to catch messages to them

// Everything the runtime knows; `lock` guards all of it.
struct State {
  std::recursive_mutex lock;
  std::map<std::string, Class*> classes;
  std::unordered_map<std::string, Selector*> selectors;
  std::set<std::string> hidden;
  std::deque<Object*> dead;
  std::unordered_map<Object*, Destroy> destroyers;
};

State& state() {
  static State* const it = new State;  // never destroyed: objects are released until the last destructor has run
  return *it;
}

// The pools of one thread, innermost last.
struct Pools {
  std::vector<std::vector<Id>> stack;
  ~Pools() {
    if (!stack.empty()) complain("unbalanced pools", text("a thread ends with %zu pools in place", stack.size()));
  }
};
thread_local Pools pools;

bool is_hidden(const Class* owner, const Selector* selector, bool meta) {
  const auto& hidden = state().hidden;
  return !hidden.empty() && hidden.contains(std::string(owner->name) + (meta ? " +" : " -") + selector->name);
}

const MethodEntry* find_method(const Class* where, Selector* selector) {
  const std::lock_guard guard(state().lock);
  for (const Class* at = where; at != nullptr; at = at->parent)
    if (const auto found = at->methods.find(selector); found != at->methods.end())
      return is_hidden(where, selector, where->is_meta) ? nullptr : &found->second;
  return nullptr;
}

void bury(Object* object) {
  State& all = state();
  Destroy destroy = nullptr;
  {
    const std::lock_guard guard(all.lock);
    const auto found = all.destroyers.find(object);
    destroy = found->second;
    all.destroyers.erase(found);
    --object->isa->live;
  }
  Class* isa = object->isa;
  destroy(object);
  // The destructor ended the object; its first words are written anew to mark the grave.
  auto* grave = new (object) Object;
  grave->isa = isa;
  grave->mark = kDead;
  const std::lock_guard guard(all.lock);
  all.dead.push_back(grave);
  if (all.dead.size() > kKeptDead) {
    ::operator delete(all.dead.front());
    all.dead.pop_front();
  }
}

}  // namespace

Class* find_class(const char* name) {
  const std::lock_guard guard(state().lock);
  const auto found = state().classes.find(name);
  return found == state().classes.end() || state().hidden.contains(name) ? nullptr : found->second;
}

Class* define(const char* name, const char* parent) {
  Class* above = parent != nullptr ? find_class(parent) : nullptr;
  auto* made = new Class;
  auto* meta = new Class;
  for (Class* each : {made, meta}) {
    each->name = name;
    each->mark = kAlive;
    each->count = kImmortal;
  }
  made->isa = meta;
  made->parent = above;
  meta->is_meta = true;
  meta->isa = above != nullptr ? above->isa->isa : meta;
  // Class objects answer the root class's instance messages too.
  meta->parent = above != nullptr ? above->isa : made;
  const std::lock_guard guard(state().lock);
  state().classes[name] = made;
  return made;
}

EXPORTED Selector* sel_registerName(const char* name) {
  const std::lock_guard guard(state().lock);
  Selector*& entry = state().selectors[name];
  if (entry == nullptr) entry = new Selector{name};
  return entry;
}

void add_method(Class* owner, const char* name, const char* encoding, Method function) {
  Class* where = name[0] == '+' ? owner->isa : owner;
  MethodEntry& entry = where->methods[sel_registerName(name + 1)];
  entry.encoding = encoding;
  entry.function = function;
}

void hide(const std::string& what) {
  const std::lock_guard guard(state().lock);
  state().hidden.insert(what);
}

void show_all() {
  const std::lock_guard guard(state().lock);
  state().hidden.clear();
}

void adopt(Object* made, const char* class_name, Destroy destroy) {
  const std::lock_guard guard(state().lock);
  made->isa = state().classes.at(class_name);
  made->mark = kAlive;
  made->count = 1;
  ++made->isa->live;
  state().destroyers[made] = destroy;
}

void check_alive(Id object, const char* doing) {
  if (object->mark == kAlive) return;
  if (object->mark == kDead) complain("freed object", text("%s of a freed %s", doing, object->isa->name));
  complain("no object", text("%s of something that is no object", doing));
}

Id retain(Id object) {
  if (object == nullptr) return nullptr;
  check_alive(object, "retain");
  if (object->count < kImmortal) ++object->count;
  return object;
}

void release(Id object) {
  if (object == nullptr) return;
  if (object->mark == kDead) complain("over-release", text("release of a freed %s", object->isa->name));
  check_alive(object, "release");
  if (object->count < kImmortal && --object->count == 0) bury(object);
}

Id autorelease(Id object) {
  if (object == nullptr) return nullptr;
  if (pools.stack.empty())
    complain("no pool", text("an autoreleased %s on a thread without a pool", object->isa->name));
  pools.stack.back().push_back(object);
  return object;
}

const MethodEntry* method_of(const Class* where, Selector* selector) { return find_method(where, selector); }

bool is_kind(Id object, const Class* wanted) {
  for (const Class* at = object->isa; at != nullptr; at = at->parent)
    if (at == wanted) return true;
  return false;
}

void require_class(Id object, const char* class_name, const char* where) {
  if (object == nullptr) complain("nil argument", text("%s wants %s", where, class_name));
  check_alive(object, where);
  const std::lock_guard guard(state().lock);
  if (!is_kind(object, state().classes.at(class_name)))
    complain("wrong class", text("%s wants %s, got %s", where, class_name, object->isa->name));
}

EXPORTED Class* objc_getClass(const char* name) { return find_class(name); }
EXPORTED Class* object_getClass(Id object) { return object != nullptr ? object->isa : nullptr; }
EXPORTED const char* object_getClassName(Id object) { return object != nullptr ? object->isa->name : "nil"; }
EXPORTED Id objc_retain(Id object) { return retain(object); }
EXPORTED void objc_release(Id object) { release(object); }
EXPORTED Id objc_autorelease(Id object) { return autorelease(object); }

EXPORTED void* objc_autoreleasePoolPush() {
  pools.stack.emplace_back();
  return reinterpret_cast<void*>(pools.stack.size());
}

EXPORTED void objc_autoreleasePoolPop(void* token) {
  const auto depth = reinterpret_cast<size_t>(token);
  if (depth == 0 || depth != pools.stack.size())
    complain("unbalanced pools", text("pool %zu goes while %zu are in place", depth, pools.stack.size()));
  // Releasing may autorelease into this same pool.
  while (!pools.stack.back().empty()) {
    Id object = pools.stack.back().back();
    pools.stack.back().pop_back();
    release(object);
  }
  pools.stack.pop_back();
}

EXPORTED const MethodEntry* class_getInstanceMethod(Class* owner, Selector* selector) {
  return owner != nullptr ? find_method(owner, selector) : nullptr;
}
EXPORTED const MethodEntry* class_getClassMethod(Class* owner, Selector* selector) {
  return owner != nullptr ? find_method(owner->isa, selector) : nullptr;
}
EXPORTED const char* method_getTypeEncoding(const MethodEntry* entry) { return entry->encoding.c_str(); }

// Called by objc_msgSend (message_send.cpp) for every message to an object.
extern "C" __attribute__((visibility("hidden"))) Method standin_lookup(Id receiver, Selector* selector) {
  if (receiver->mark == kDead)
    complain("freed object", text("[%s %s] to a freed object", receiver->isa->name, selector->name.c_str()));
  check_alive(receiver, selector->name.c_str());
  const MethodEntry* found = find_method(receiver->isa, selector);
  if (found == nullptr)
    complain("unrecognized selector",
             text("%c[%s %s]", receiver->isa->is_meta ? '+' : '-', receiver->isa->name, selector->name.c_str()));
  found->messages.fetch_add(1, std::memory_order_relaxed);
  return found->function;
}

std::string message_counts() {
  const std::lock_guard guard(state().lock);
  std::vector<std::string> lines;
  for (const auto& [name, each] : state().classes)
    for (const bool of_class : {true, false})
      for (const auto& [selector, entry] : (of_class ? each->isa : each)->methods)
        lines.push_back(text("%s %c%s %lld\n", name.c_str(), of_class ? '+' : '-', selector->name.c_str(),
                             static_cast<long long>(entry.messages.load())));
  std::sort(lines.begin(), lines.end());
  std::string out;
  for (const std::string& line : lines) out += line;
  return out;
}

// Objects of all classes that are alive; `out` (may be null) gets "2 NSString, 1 _ANERequest".
EXPORTED int64_t standin_live_objects(char* out, size_t bytes) {
  const std::lock_guard guard(state().lock);
  int64_t total = 0;
  std::string words;
  for (const auto& [name, each] : state().classes) {
    const int64_t live = each->live;
    total += live;
    if (live != 0) words += (words.empty() ? "" : ", ") + std::to_string(live) + " " + name;
  }
  if (out != nullptr && bytes > 0) {
    const size_t kept = std::min(words.size(), bytes - 1);
    std::memcpy(out, words.data(), kept);
    out[kept] = '\0';
  }
  return total;
}

}  // namespace standin
