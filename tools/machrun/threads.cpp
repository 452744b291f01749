// Threads. glibc's mutex and condition fit into Apple's, so they are made in place when the first call meets Apple's static initialiser.
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <mutex>

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "imports.h"

namespace {

using machrun::mac_error;

// First words of PTHREAD_…_INITIALIZER in macOS's <pthread.h>.
constexpr long kMutex = 0x32AAABA7, kErrorCheckMutex = 0x32AAABA1, kRecursiveMutex = 0x32AAABA2;
constexpr long kCondition = 0x3CB0B1BB;
constexpr int kMacRecursive = 2;

std::mutex making;  // guards the first use of a statically initialised object

pthread_mutex_t* mutex_at(long* at) {
  const auto is_new = [](long word) { return word == kMutex || word == kErrorCheckMutex || word == kRecursiveMutex; };
  if (is_new(__atomic_load_n(at, __ATOMIC_ACQUIRE))) {
    const std::lock_guard guard(making);
    const long word = *at;
    if (is_new(word)) {
      pthread_mutexattr_t attributes;
      pthread_mutexattr_init(&attributes);
      if (word == kRecursiveMutex) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
      pthread_mutex_init(reinterpret_cast<pthread_mutex_t*>(at), &attributes);
    }
  }
  return reinterpret_cast<pthread_mutex_t*>(at);
}

pthread_cond_t* condition_at(long* at) {
  if (__atomic_load_n(at, __ATOMIC_ACQUIRE) == kCondition) {
    const std::lock_guard guard(making);
    if (*at == kCondition) pthread_cond_init(reinterpret_cast<pthread_cond_t*>(at), nullptr);
  }
  return reinterpret_cast<pthread_cond_t*>(at);
}

int mutex_lock(long* at) { return mac_error(pthread_mutex_lock(mutex_at(at))); }
int mutex_unlock(long* at) { return mac_error(pthread_mutex_unlock(mutex_at(at))); }
int mutex_trylock(long* at) { return mac_error(pthread_mutex_trylock(mutex_at(at))); }
int mutex_init(long* at, const int* kind) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  if (kind != nullptr && *kind == kMacRecursive) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  return pthread_mutex_init(reinterpret_cast<pthread_mutex_t*>(at), &attributes);
}
int nothing(void*) { return 0; }
int attributes_init(int* kind) { return *kind = 0; }
int attributes_set(int* kind, int type) {
  *kind = type;
  return 0;
}

int condition_wait(long* condition, long* mutex) { return pthread_cond_wait(condition_at(condition), mutex_at(mutex)); }
int condition_timed_wait(long* condition, long* mutex, const timespec* until) {
  return mac_error(pthread_cond_timedwait(condition_at(condition), mutex_at(mutex), until));
}
int condition_wake_all(long* condition) { return pthread_cond_broadcast(condition_at(condition)); }
int condition_wake_one(long* condition) { return pthread_cond_signal(condition_at(condition)); }

int key_create(unsigned long* key, void (*destroy)(void*)) {
  pthread_key_t made = 0;
  const int result = pthread_key_create(&made, destroy);
  *key = made;
  return result;
}
void* get_specific(unsigned long key) { return pthread_getspecific(pthread_key_t(key)); }
int set_specific(unsigned long key, const void* value) { return pthread_setspecific(pthread_key_t(key), value); }

int create(pthread_t* thread, void*, void* (*run)(void*), void* argument) {
  return mac_error(pthread_create(thread, nullptr, run, argument));
}
uint32_t mach_thread(pthread_t) { return uint32_t(::syscall(SYS_gettid)); }
int thread_id(pthread_t, uint64_t* out) {
  *out = uint64_t(::syscall(SYS_gettid));
  return 0;
}

// __ulock: a futex by another name. Operation 5 compares 64 bits, which no futex does: those waits poll.
int ulock_wait(uint32_t operation, void* at, uint64_t expected, uint32_t microseconds) {
  if ((operation & 0xff) == 5) {
    const timespec short_while{0, 1'000'000};
    if (*static_cast<volatile uint64_t*>(at) == expected) ::nanosleep(&short_while, nullptr);
    return 0;
  }
  const timespec limit{time_t(microseconds / 1'000'000), long(microseconds % 1'000'000) * 1000};
  if (::syscall(SYS_futex, at, FUTEX_WAIT, uint32_t(expected), microseconds != 0 ? &limit : nullptr, nullptr, 0) >= 0)
    return 0;
  constexpr uint32_t kReturnsErrors = 0x1000000;
  return (operation & kReturnsErrors) != 0 ? -mac_error(errno) : -1;
}
int ulock_wake(uint32_t operation, void* at, uint64_t) {
  constexpr uint32_t kAll = 0x100;
  ::syscall(SYS_futex, at, FUTEX_WAKE, (operation & kAll) != 0 ? 0x7fffffff : 1, nullptr, nullptr, 0);
  return 0;
}

}  // namespace

namespace machrun {

void add_threads(Table& table) {
  put(table, "_pthread_mutex_lock", mutex_lock);
  put(table, "_pthread_mutex_unlock", mutex_unlock);
  put(table, "_pthread_mutex_trylock", mutex_trylock);
  put(table, "_pthread_mutex_init", mutex_init);
  put(table, "_pthread_mutex_destroy", nothing);
  put(table, "_pthread_mutexattr_init", attributes_init);
  put(table, "_pthread_mutexattr_settype", attributes_set);
  put(table, "_pthread_mutexattr_destroy", nothing);
  put(table, "_pthread_cond_wait", condition_wait);
  put(table, "_pthread_cond_timedwait", condition_timed_wait);
  put(table, "_pthread_cond_broadcast", condition_wake_all);
  put(table, "_pthread_cond_signal", condition_wake_one);
  put(table, "_pthread_cond_destroy", nothing);
  put(table, "_pthread_key_create", key_create);
  put(table, "_pthread_getspecific", get_specific);
  put(table, "_pthread_setspecific", set_specific);
  put(table, "_pthread_create", create);
  put(table, "_pthread_mach_thread_np", mach_thread);
  put(table, "_pthread_threadid_np", thread_id);
  put(table, "___ulock_wait", ulock_wait);
  put(table, "___ulock_wake", ulock_wake);
}

}  // namespace machrun
