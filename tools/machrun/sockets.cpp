// Sockets, host names and the event queue that serve waits at. Layouts and numbers are those of macOS's public headers; a kqueue is an epoll here.
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "imports.h"

namespace machrun {
namespace {

constexpr int kMacInet6 = 30;

int family_of(int mac) { return mac == kMacInet6 ? AF_INET6 : mac; }
int mac_family(int here) { return here == AF_INET6 ? kMacInet6 : here; }

// A socket address has its length in the first byte there and a family of one byte; the rest is the same.
struct Address {
  sockaddr_storage bytes{};

  Address() = default;
  Address(const void* mac, socklen_t size) {
    std::memcpy(&bytes, mac, std::min<size_t>(size, sizeof bytes));
    bytes.ss_family = sa_family_t(family_of(static_cast<const uint8_t*>(mac)[1]));
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&bytes); }

  void to_mac(void* out, size_t size, socklen_t length) const {
    uint8_t head[2] = {uint8_t(length), uint8_t(mac_family(bytes.ss_family))};
    std::memcpy(out, &bytes, std::min<size_t>(size, length));
    std::memcpy(out, head, std::min<size_t>(size, 2));
  }
};

int socket_mac(int family, int type, int protocol) { return ::socket(family_of(family), type, protocol); }
int bind_mac(int file, const void* address, socklen_t size) { return ::bind(file, Address(address, size).get(), size); }
int connect_mac(int file, const void* address, socklen_t size) {
  return ::connect(file, Address(address, size).get(), size);
}

// accept, getsockname, getpeername: they differ in the call alone.
template <int (*Call)(int, sockaddr*, socklen_t*)>
int named(int file, void* out, socklen_t* size) {
  if (out == nullptr) return Call(file, nullptr, nullptr);
  Address address;
  socklen_t length = sizeof address.bytes;
  const int result = Call(file, address.get(), &length);
  if (result < 0) return result;
  address.to_mac(out, *size, length);
  *size = length;
  return result;
}
int accept_here(int file, sockaddr* address, socklen_t* size) { return ::accept(file, address, size); }
int name_here(int file, sockaddr* address, socklen_t* size) { return ::getsockname(file, address, size); }
int peer_here(int file, sockaddr* address, socklen_t* size) { return ::getpeername(file, address, size); }

struct Option {
  int mac_level, mac, level, here;
};
constexpr int kMacSocket = 0xffff, kMacNoSignal = 0x1022, kMacError = 0x1007;
constexpr Option kOptions[] = {
    {kMacSocket, 0x4, SOL_SOCKET, SO_REUSEADDR},  {kMacSocket, 0x8, SOL_SOCKET, SO_KEEPALIVE},
    {kMacSocket, 0x80, SOL_SOCKET, SO_LINGER},    {kMacSocket, 0x1001, SOL_SOCKET, SO_SNDBUF},
    {kMacSocket, 0x1002, SOL_SOCKET, SO_RCVBUF},  {kMacSocket, kMacError, SOL_SOCKET, SO_ERROR},
    {kMacSocket, 0x1008, SOL_SOCKET, SO_TYPE},    {IPPROTO_TCP, 1, IPPROTO_TCP, 1},  // TCP_NODELAY
    {IPPROTO_IPV6, 27, IPPROTO_IPV6, IPV6_V6ONLY}};

const Option* option_of(int level, int name) {
  for (const Option& option : kOptions)
    if (option.mac_level == level && option.mac == name) return &option;
  errno = ENOPROTOOPT;
  return nullptr;
}
int set_option(int file, int level, int name, const void* value, socklen_t size) {
  if (level == kMacSocket && name == kMacNoSignal) return 0;  // send() below never signals
  const Option* option = option_of(level, name);
  return option == nullptr ? -1 : ::setsockopt(file, option->level, option->here, value, size);
}
int get_option(int file, int level, int name, void* value, socklen_t* size) {
  const Option* option = option_of(level, name);
  if (option == nullptr || ::getsockopt(file, option->level, option->here, value, size) != 0) return -1;
  if (name == kMacError) *static_cast<int*>(value) = mac_error(*static_cast<int*>(value));
  return 0;
}

int message_flags(int mac) { return (mac & 0x7) | ((mac & 0x80) != 0 ? MSG_DONTWAIT : 0); }
ssize_t send_mac(int file, const void* bytes, size_t count, int flags) {
  return ::send(file, bytes, count, message_flags(flags) | MSG_NOSIGNAL);
}
ssize_t receive_mac(int file, void* bytes, size_t count, int flags) {
  return ::recv(file, bytes, count, message_flags(flags));
}

const char* address_text(int family, const void* address, char* out, socklen_t size) {
  return ::inet_ntop(family_of(family), address, out, size);
}

struct MacAddressInfo {
  int flags, family, type, protocol;
  socklen_t length;
  char* name;
  void* address;
  MacAddressInfo* next;
};

struct Pair {
  int mac, here;
};
constexpr Pair kInfoFlags[] = {{0x1, AI_PASSIVE},      {0x2, AI_CANONNAME},  {0x4, AI_NUMERICHOST},   {0x100, AI_ALL},
                               {0x400, AI_ADDRCONFIG}, {0x800, AI_V4MAPPED}, {0x1000, AI_NUMERICSERV}};
constexpr Pair kInfoErrors[] = {{2, EAI_AGAIN},   {3, EAI_BADFLAGS},  {4, EAI_FAIL},
                                {5, EAI_FAMILY},  {6, EAI_MEMORY},    {8, EAI_NONAME},
                                {9, EAI_SERVICE}, {10, EAI_SOCKTYPE}, {11, EAI_SYSTEM}};

void free_info(MacAddressInfo* info) {
  while (info != nullptr) {
    MacAddressInfo* next = info->next;
    std::free(info->address);
    std::free(info->name);
    std::free(info);
    info = next;
  }
}

int get_info(const char* node, const char* service, const MacAddressInfo* hints, MacAddressInfo** out) {
  addrinfo wanted{};
  if (hints != nullptr) {
    for (const Pair& flag : kInfoFlags)
      if ((hints->flags & flag.mac) != 0) wanted.ai_flags |= flag.here;
    wanted.ai_family = family_of(hints->family);
    wanted.ai_socktype = hints->type;
    wanted.ai_protocol = hints->protocol;
  }
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(node, service, hints != nullptr ? &wanted : nullptr, &found); error != 0) {
    for (const Pair& pair : kInfoErrors)
      if (pair.here == error) return pair.mac;
    return 4;
  }
  *out = nullptr;
  MacAddressInfo** end = out;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    auto* info = static_cast<MacAddressInfo*>(std::calloc(1, sizeof(MacAddressInfo)));
    Address address;
    std::memcpy(&address.bytes, each->ai_addr, each->ai_addrlen);
    info->family = mac_family(each->ai_family);
    info->type = each->ai_socktype;
    info->protocol = each->ai_protocol;
    info->length = each->ai_addrlen;
    info->name = each->ai_canonname != nullptr ? ::strdup(each->ai_canonname) : nullptr;
    info->address = std::calloc(1, sizeof(sockaddr_storage));
    address.to_mac(info->address, sizeof(sockaddr_storage), each->ai_addrlen);
    *end = info;
    end = &info->next;
  }
  ::freeaddrinfo(found);
  return 0;
}

// ---- kqueue -----------------------------------------------------------------------------------------------------------------------

struct MacEvent {
  uint64_t file;
  int16_t filter;
  uint16_t flags;
  uint32_t filter_flags;
  int64_t data;
  void* context;
};
static_assert(sizeof(MacEvent) == 32);
constexpr int16_t kRead = -1, kWrite = -2;
constexpr uint16_t kAdd = 0x1, kDelete = 0x2, kClear = 0x20, kEnd = 0x8000;

// What one descriptor is watched for in one queue. epoll knows a descriptor once, kqueue once a filter.
struct Watch {
  bool reads = false, writes = false;
  bool edge = false;
  void* read_context = nullptr;
  void* write_context = nullptr;

  uint32_t events() const {
    return (reads ? uint32_t(EPOLLIN) | uint32_t(EPOLLRDHUP) : 0) | (writes ? uint32_t(EPOLLOUT) : 0) |
           (edge ? uint32_t(EPOLLET) : 0);
  }
};

std::mutex watching;
std::map<std::pair<int, int>, Watch> watches;  // by queue and descriptor

int change(int queue, const MacEvent& wanted) {
  if (wanted.filter != kRead && wanted.filter != kWrite) {
    errno = EINVAL;
    return -1;
  }
  const int file = int(wanted.file);
  const auto apply = [&](Watch& watch, bool on) {
    (wanted.filter == kRead ? watch.reads : watch.writes) = on;
    (wanted.filter == kRead ? watch.read_context : watch.write_context) = wanted.context;
    watch.edge = (wanted.flags & kClear) != 0;
  };
  const std::lock_guard guard(watching);
  Watch& watch = watches[{queue, file}];
  if ((wanted.flags & kDelete) != 0) {
    apply(watch, false);
    epoll_event event{watch.events(), {.fd = file}};
    const bool is_over = !watch.reads && !watch.writes;
    if (is_over) watches.erase({queue, file});
    return ::epoll_ctl(queue, is_over ? EPOLL_CTL_DEL : EPOLL_CTL_MOD, file, &event);
  }
  if ((wanted.flags & kAdd) == 0) {
    errno = EINVAL;
    return -1;
  }
  apply(watch, true);
  epoll_event event{watch.events(), {.fd = file}};
  if (::epoll_ctl(queue, EPOLL_CTL_MOD, file, &event) == 0) return 0;
  // Not there: new, or the number of one that was closed, of which nothing may be left.
  watch = {};
  apply(watch, true);
  event.events = watch.events();
  return ::epoll_ctl(queue, EPOLL_CTL_ADD, file, &event);
}

int kevent_mac(int queue, const MacEvent* changes, int change_count, MacEvent* out, int count, const timespec* limit) {
  for (int i = 0; i < change_count; ++i)
    if (change(queue, changes[i]) != 0 && (changes[i].flags & kDelete) == 0) return -1;
  if (count == 0) return 0;
  std::vector<epoll_event> found(size_t(std::max(1, count / 2)));  // each may become two
  const int wait = limit == nullptr ? -1 : int(limit->tv_sec * 1000 + (limit->tv_nsec + 999'999) / 1'000'000);
  const int ready = ::epoll_wait(queue, found.data(), int(found.size()), wait);
  if (ready < 0) return -1;
  int filled = 0;
  const std::lock_guard guard(watching);
  for (int i = 0; i < ready; ++i) {
    const uint32_t events = found[size_t(i)].events;
    const int file = found[size_t(i)].data.fd;
    const auto watch = watches.find({queue, file});
    if (watch == watches.end()) continue;
    const bool ended = (events & (EPOLLHUP | EPOLLERR)) != 0;
    const uint16_t flags = ended || (events & EPOLLRDHUP) != 0 ? kEnd : 0;
    if (watch->second.reads && ((events & (EPOLLIN | EPOLLRDHUP)) != 0 || ended))
      out[filled++] = {uint64_t(file), kRead, flags, 0, 0, watch->second.read_context};
    if (watch->second.writes && ((events & EPOLLOUT) != 0 || ended))
      out[filled++] = {uint64_t(file), kWrite, flags, 0, 0, watch->second.write_context};
  }
  return filled;
}
int kqueue_mac() { return ::epoll_create1(EPOLL_CLOEXEC); }

}  // namespace

void add_sockets(Table& table) {
  put(table, "_socket", socket_mac);
  put(table, "_bind", bind_mac);
  put(table, "_connect", connect_mac);
  put(table, "_accept", named<accept_here>);
  put(table, "_getsockname", named<name_here>);
  put(table, "_getpeername", named<peer_here>);
  put(table, "_setsockopt", set_option);
  put(table, "_getsockopt", get_option);
  put(table, "_send", send_mac);
  put(table, "_recv", receive_mac);
  put(table, "_inet_ntop", address_text);
  put(table, "_getaddrinfo", get_info);
  put(table, "_freeaddrinfo", free_info);
  put(table, "_kqueue", kqueue_mac);
  put(table, "_kevent", kevent_mac);
}

}  // namespace machrun
