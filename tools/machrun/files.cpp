// Files: the same calls with other numbers and other structures. Layouts and numbers are those of macOS's public headers for 64-bit Arm.
#include <cerrno>
#include <cstdint>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "imports.h"

namespace {

constexpr int kMacAtCwd = -2;
int folder_of(int mac) { return mac == kMacAtCwd ? AT_FDCWD : mac; }

struct Flag {
  int mac, here;
};
constexpr Flag kOpenFlags[] = {{0x4, O_NONBLOCK}, {0x8, O_APPEND}, {0x100, O_NOFOLLOW},     {0x200, O_CREAT},
                               {0x400, O_TRUNC},  {0x800, O_EXCL}, {0x100000, O_DIRECTORY}, {0x1000000, O_CLOEXEC}};

int open_flags(int mac) {
  int out = mac & 3;
  for (const Flag& flag : kOpenFlags)
    if ((mac & flag.mac) != 0) out |= flag.here;
  return out;
}

struct MacStat {
  int32_t device;
  uint16_t mode, links;
  uint64_t inode;
  uint32_t user, group;
  int32_t special, padding;
  timespec access, modified, changed, born;
  int64_t size, blocks;
  int32_t block_size;
  uint32_t flags, generation;
  int32_t spare;
  int64_t spares[2];
};
static_assert(sizeof(MacStat) == 144);

int to_mac(int result, const struct stat& from, MacStat* to) {
  if (result != 0) return result;
  *to = {};
  to->device = int32_t(from.st_dev);
  to->mode = uint16_t(from.st_mode);
  to->links = uint16_t(from.st_nlink);
  to->inode = from.st_ino;
  to->user = from.st_uid;
  to->group = from.st_gid;
  to->access = from.st_atim;
  to->modified = from.st_mtim;
  to->changed = to->born = from.st_ctim;
  to->size = from.st_size;
  to->blocks = from.st_blocks;
  to->block_size = from.st_blksize;
  return 0;
}

int shim_stat(const char* path, MacStat* out) {
  struct stat found {};
  return to_mac(::stat(path, &found), found, out);
}
int shim_lstat(const char* path, MacStat* out) {
  struct stat found {};
  return to_mac(::lstat(path, &found), found, out);
}
int shim_fstat(int file, MacStat* out) {
  struct stat found {};
  return to_mac(::fstat(file, &found), found, out);
}
int shim_fstatat(int folder, const char* path, MacStat* out, int flags) {
  struct stat found {};
  return to_mac(::fstatat(folder_of(folder), path, &found, (flags & 0x20) != 0 ? AT_SYMLINK_NOFOLLOW : 0), found, out);
}

struct MacStatvfs {
  unsigned long block, fragment;
  uint32_t blocks, free_blocks, available_blocks, files, free_files, available_files;
  unsigned long id, flags, name_max;
};

int shim_statvfs(const char* path, MacStatvfs* out) {
  struct statvfs found {};
  if (::statvfs(path, &found) != 0) return -1;
  *out = {found.f_bsize,
          found.f_frsize,
          uint32_t(found.f_blocks),
          uint32_t(found.f_bfree),
          uint32_t(found.f_bavail),
          uint32_t(found.f_files),
          uint32_t(found.f_ffree),
          uint32_t(found.f_favail),
          found.f_fsid,
          found.f_flag,
          found.f_namemax};
  return 0;
}

struct MacDirent {
  uint64_t inode, seek;
  uint16_t record, name_bytes;
  uint8_t type;
  char name[1024];
};

MacDirent* shim_readdir(DIR* folder) {
  static thread_local MacDirent out;
  const dirent* found = ::readdir(folder);
  if (found == nullptr) return nullptr;
  out = {};
  out.inode = found->d_ino;
  out.type = found->d_type;
  out.name_bytes = uint16_t(std::strlen(found->d_name));
  out.record = sizeof out;
  std::strcpy(out.name, found->d_name);
  return &out;
}

void* shim_mmap(void* address, size_t bytes, int protection, int flags, int file, off_t offset) {
  int here = flags & 3;
  if ((flags & 0x10) != 0) here |= MAP_FIXED;
  if ((flags & 0x1000) != 0) here |= MAP_ANONYMOUS;
  return ::mmap(address, bytes, protection, here, file, offset);
}

int shim_madvise(void* address, size_t bytes, int advice) {
  // 0…4 agree; macOS's own values are hints about reuse that have no counterpart.
  return advice >= 0 && advice <= 4 ? ::madvise(address, bytes, advice) : 0;
}

int shim_unlinkat(int folder, const char* path, int flags) {
  return ::unlinkat(folder_of(folder), path, (flags & 0x80) != 0 ? AT_REMOVEDIR : 0);
}

int shim_fchmodat(int folder, const char* path, mode_t mode, int) {
  return ::fchmodat(folder_of(folder), path, mode, 0);
}

// What a copy keeps besides the bytes has no counterpart here.
void* copy_state() { return new char; }
int copy_state_free(void* state) {
  delete static_cast<char*>(state);
  return 0;
}
int copy_file(int from, int to, void*, uint32_t) {
  char bytes[65536];
  for (;;) {
    const ssize_t got = ::read(from, bytes, sizeof bytes);
    if (got <= 0) return int(got);
    for (ssize_t done = 0; done < got;) {
      const ssize_t written = ::write(to, bytes + done, size_t(got - done));
      if (written < 0) return -1;
      done += written;
    }
  }
}

// termios has other flags and another size there: nothing under machrun is a terminal.
int no_terminal(int, void*) {
  errno = ENOTTY;
  return -1;
}
int no_terminal_to_set(int, int, const void*) { return no_terminal(0, nullptr); }

// utsname has 256 bytes a field there, 65 here.
struct MacNames {
  char fields[5][256];
};
int shim_uname(MacNames* out) {
  *out = {};
  const char* words[5] = {"Darwin", "machrun", "0", "machrun", "arm64"};
  for (int i = 0; i < 5; ++i) std::strcpy(out->fields[i], words[i]);
  return 0;
}

// struct winsize is the same on both sides, the request's number is not.
constexpr unsigned long kMacWindowSize = 0x40087468;
// FIONBIO: whether reads and writes wait.
constexpr unsigned long kMacNonBlocking = 0x8004667e;

}  // namespace

extern "C" {
int shim_open(const char* path, int flags, const int* stack) { return ::open(path, open_flags(flags), *stack); }
int shim_openat(int folder, const char* path, int flags, const int* stack) {
  return ::openat(folder_of(folder), path, open_flags(flags), *stack);
}
int shim_fcntl(int file, int command, const int* stack) {
  if (command <= 2) return ::fcntl(file, command, *stack);
  if (command == 4) return ::fcntl(file, F_SETFL, open_flags(*stack) & ~3);
  if (command == 3) {
    const int here = ::fcntl(file, F_GETFL);
    int out = here & 3;
    for (const Flag& flag : kOpenFlags)
      if ((here & flag.here) != 0) out |= flag.mac;
    return out;
  }
  if (command == 44 || command == 45 || command == 48 || command == 51) return 0;  // read-ahead, cache hints, full sync
  errno = EINVAL;
  return -1;
}
int shim_ioctl(int file, unsigned long request, void* const* stack) {
  if (request == kMacWindowSize) return ::ioctl(file, TIOCGWINSZ, *stack);
  if (request == kMacNonBlocking) return ::ioctl(file, FIONBIO, *stack);
  errno = ENOTTY;
  return -1;
}
}

MACHRUN_VARIADIC(shim_open, "x2")
MACHRUN_VARIADIC(shim_openat, "x3")
MACHRUN_VARIADIC(shim_fcntl, "x2")
MACHRUN_VARIADIC(shim_ioctl, "x2")

namespace machrun {

void add_files(Table& table) {
  put(table, "_open", thunk_shim_open);
  put(table, "_openat", thunk_shim_openat);
  put(table, "_fcntl", thunk_shim_fcntl);
  put(table, "_ioctl", thunk_shim_ioctl);
  put(table, "_stat", shim_stat);
  put(table, "_lstat", shim_lstat);
  put(table, "_fstat", shim_fstat);
  put(table, "_fstatat", shim_fstatat);
  put(table, "_statvfs", shim_statvfs);
  put(table, "_readdir", shim_readdir);
  put(table, "_mmap", shim_mmap);
  put(table, "_madvise", shim_madvise);
  put(table, "_posix_madvise", shim_madvise);
  put(table, "_unlinkat", shim_unlinkat);
  put(table, "_fchmodat", shim_fchmodat);
  put(table, "_uname", shim_uname);
  put(table, "_realpath$DARWIN_EXTSN", ::realpath);
  put(table, "_copyfile_state_alloc", copy_state);
  put(table, "_copyfile_state_free", copy_state_free);
  put(table, "_fcopyfile", copy_file);
  put(table, "_tcgetattr", no_terminal);
  put(table, "_tcsetattr", no_terminal_to_set);
}

}  // namespace machrun
