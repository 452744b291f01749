#include "base/zip_file.h"

#include <algorithm>

namespace anedvd {
namespace {

constexpr uint32_t kEndSignature = 0x06054b50, kDirectorySignature = 0x02014b50, kLocalSignature = 0x04034b50;
constexpr size_t kEndSize = 22, kDirectorySize = 46, kLocalSize = 30;
constexpr size_t kMaxComment = 65535;
constexpr size_t kMaxMembers = 100000;
constexpr uint32_t kZip64 = 0xffffffff;  // "see the ZIP64 record"

uint32_t little16(std::span<const std::byte> bytes, size_t at) {
  return uint32_t(bytes[at]) | uint32_t(bytes[at + 1]) << 8;
}
uint32_t little32(std::span<const std::byte> bytes, size_t at) {
  return little16(bytes, at) | little16(bytes, at + 2) << 16;
}

tl::unexpected<Error> broken(std::string_view what) {
  return fail(ErrorCode::kBadFile, "not a whole zip archive ({}); fetch it again", what);
}

}  // namespace

Result<std::vector<ZipMember>> read_zip(std::span<const std::byte> archive) {
  // The end record stands last but for a comment of up to 64 KiB: look for it backwards.
  if (archive.size() < kEndSize) return broken("too short");
  size_t end = archive.size() - kEndSize;
  const size_t lowest = end - std::min(end, kMaxComment);
  while (little32(archive, end) != kEndSignature) {
    if (end == lowest) return broken("no directory");
    --end;
  }
  const size_t count = little16(archive, end + 10);
  const uint64_t directory_size = little32(archive, end + 12), directory_start = little32(archive, end + 16);
  if (count == 0xffff || directory_start == kZip64)
    return fail(ErrorCode::kUnsupported, "a ZIP64 archive, which anedvd does not read; unpack it by hand");
  if (directory_start + directory_size > end) return broken("directory outside the file");

  std::vector<ZipMember> members;
  auto rest = archive.subspan(directory_start, directory_size);
  while (members.size() < std::min(count, kMaxMembers)) {
    if (rest.size() < kDirectorySize || little32(rest, 0) != kDirectorySignature) return broken("directory cut short");
    const size_t name_size = little16(rest, 28);
    const size_t record = kDirectorySize + name_size + little16(rest, 30) + little16(rest, 32);
    if (record > rest.size()) return broken("directory cut short");
    ZipMember member;
    member.name.assign(reinterpret_cast<const char*>(rest.data()) + kDirectorySize, name_size);
    member.size = little32(rest, 24);
    const uint64_t packed_size = little32(rest, 20), local = little32(rest, 42);
    const uint32_t flags = little16(rest, 8), method = little16(rest, 10);
    if (member.size == kZip64 || packed_size == kZip64 || local == kZip64)
      return fail(ErrorCode::kUnsupported, "a ZIP64 archive, which anedvd does not read; unpack it by hand");
    if ((flags & 1) != 0 || (method != 0 && method != 8))
      return fail(ErrorCode::kUnsupported, "a zip archive packed in a way (flags {}, method {}) anedvd does not read",
                  flags, method);
    member.is_deflated = method == 8;
    // Name and extra field are told again before the data, and may differ in length from the directory's.
    if (local + kLocalSize > archive.size() || little32(archive, local) != kLocalSignature)
      return broken("member outside the file");
    const uint64_t data = local + kLocalSize + little16(archive, local + 26) + little16(archive, local + 28);
    if (data + packed_size > archive.size()) return broken("member outside the file");
    member.packed = archive.subspan(data, packed_size);
    if (!member.is_deflated && packed_size != member.size) return broken("a stored member of two sizes");
    members.push_back(std::move(member));
    rest = rest.subspan(record);
  }
  return members;
}

Result<> unpack(const ZipMember& member, const ByteSink& sink) {
  if (!member.is_deflated) return sink(member.packed);
  ANEDVD_TRY(const uint64_t size, inflate(member.packed, member.size, sink));
  if (size != member.size) return broken("a member shorter than declared");
  return {};
}

}  // namespace anedvd
