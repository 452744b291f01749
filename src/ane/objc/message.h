// Messages, ownership and pools.
//
//   Pool pool;                                             one for each thread and each group of messages
//   Ref<NSString> kept(send<NSString*>(cls, "…", …));       takes a share of an object that somebody else owns
//   auto made = Ref<IOSurface>::adopt(create(…));           takes over a share that was made for us (alloc, new, copy, Create)
//
// The types written at a send are the ABI. A literal 21 is an int where the method wants unsigned; write 21u, 0ul and Id(nullptr).
#pragma once

#include <type_traits>
#include <utility>

#include "ane/driver_failure.h"
#include "ane/objc/runtime.h"

namespace anedvd::objc {

// Sends a message. A nil receiver answers zero. Results are scalars or pointers only: structures would need another entry point on x86-64.
template <class R, class... A>
R send(Id receiver, Selector selector, A... arguments) {
  static_assert(std::is_void_v<R> || std::is_scalar_v<R>, "a message that returns a structure takes another path");
  static_assert((std::is_scalar_v<A> && ...), "arguments are scalars and pointers");
  static_assert((!std::is_null_pointer_v<A> && ...), "write Id(nullptr)");
  const auto function = reinterpret_cast<R (*)(Id, Selector, A...)>(runtime().message_send);
  return function(receiver, selector, arguments...);
}

// The same by the selector's name, for messages that are not sent a token.
template <class R, class... A>
R send(Id receiver, const char* selector, A... arguments) {
  return send<R>(receiver, runtime().register_selector(selector), arguments...);
}

// A class by its name; nullptr when this system has none.
inline Class* class_named(const char* name) { return runtime().get_class(name); }

// Objects that nobody took over live until the pool goes. Pools of one thread nest, and go in reverse order.
class Pool {
 public:
  Pool() : token_(runtime().push_pool()) {}
  ~Pool() { runtime().pop_pool(token_); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

 private:
  void* token_;
};

// A share of an object; nil is allowed.
template <class T = Object>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* borrowed) : object_(borrowed) { runtime().retain(borrowed); }
  static Ref adopt(T* owned) {
    Ref out;
    out.object_ = owned;
    return out;
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr) runtime().release(object_);
  }

  T* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  void reset() { Ref().swap(*this); }
  void swap(Ref& other) noexcept { std::swap(object_, other.object_); }

 private:
  T* object_ = nullptr;
};

// Runs `work`, which returns a DriverResult. An NSException passes C++ frames as something foreign: it is caught here and told, and whoever
// sees it must not use the object again.
template <class Work>
auto guarded(const char* what, Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (...) {
    return tl::unexpected(own_failure(fmt::format("{}: the framework raised an exception", what)));
  }
}

}  // namespace anedvd::objc
