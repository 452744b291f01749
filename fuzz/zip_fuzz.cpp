// Zip archives and the deflate streams in them.
#include <cstddef>
#include <cstdint>

#include "base/zip_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  if (auto members = anedvd::read_zip(bytes)) {
    for (const anedvd::ZipMember& member : *members) {
      uint64_t unpacked = 0;
      (void)anedvd::unpack(member, [&](std::span<const std::byte> piece) -> anedvd::Result<> {
        unpacked += piece.size();
        if (unpacked > (1u << 20)) return anedvd::fail(anedvd::ErrorCode::kIo, "enough");
        return {};
      });
    }
  }
  (void)anedvd::inflate(bytes, 1u << 20, [](std::span<const std::byte>) -> anedvd::Result<> { return {}; });
  return 0;
}
