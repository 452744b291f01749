#include "formats/gguf_header.h"

#include <algorithm>
#include <string>

#include "base/words.h"
#include "formats/wrong_download.h"

namespace anedvd {

namespace {

constexpr std::string_view kMagic = "GGUF";
constexpr size_t kPointerBytes = 1024;  // Git LFS: a pointer file is smaller (git-lfs docs/spec.md)

// The start of the file as text, for recognising it.
std::string_view head_of(GgufCursor cursor) {
  const uint64_t length = std::min<uint64_t>(cursor.remaining(), kPointerBytes);
  const auto bytes = *cursor.take(length);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

struct KnownStart {
  std::string_view bytes;
  std::string_view words;
};

// Model files of other kinds, by their first bytes. GGML's older containers store their names as little-endian words.
constexpr KnownStart kKnownStarts[] = {
    {"lmgg", "a GGML file from before GGUF; use a GGUF file of the model"},
    {"fmgg", "a GGMF file from before GGUF; use a GGUF file of the model"},
    {"tjgg", "a GGJT file from before GGUF; use a GGUF file of the model"},
    {"algg", "a GGLA adapter, not a model; use a GGUF file of the model"},
    {"PK\x03\x04", "a zip archive (PyTorch checkpoints are); use a GGUF file of the model"},
    {"\x1f\x8b", "compressed with gzip; unpack it first"},
    {"\x28\xb5\x2f\xfd", "compressed with zstd; unpack it first"},
};

// The error for bytes that do not start with the magic.
tl::unexpected<Error> refuse_foreign(std::string_view head, std::string_view where) {
  if (auto fault = wrong_download(head, where)) return tl::unexpected(std::move(*fault));
  if (head.starts_with("FUGG"))
    return fail(ErrorCode::kUnsupported, "{}: this GGUF file is big-endian; use the little-endian file of the model",
                where);
  for (const KnownStart& known : kKnownStarts)
    if (head.starts_with(known.bytes)) return fail(ErrorCode::kUnsupported, "{}: this is {}", where, known.words);
  // Eight bytes of header length, then JSON.
  if (head.size() > 9 && head[8] == '{' && head[7] == 0 && head[6] == 0)
    return fail(ErrorCode::kUnsupported,
                "{}: this is a safetensors file; give the folder it lies in, or a GGUF file of the model", where);
  if (head.find_first_not_of('\0') == std::string_view::npos)
    return fail(ErrorCode::kBadFile,
                "{}: starts with zeros, not \"GGUF\"; the download never filled it, fetch it again", where);
  return fail(ErrorCode::kBadFile, "{}: not a GGUF file (it starts \"{}\"); fetch it again or give another file", where,
              shown_start(head));
}

}  // namespace

Result<GgufHeader> read_gguf_header(GgufCursor& cursor, std::string_view where) {
  const std::string_view head = head_of(cursor);
  if (!head.starts_with(kMagic) && !(head.size() < kMagic.size() && kMagic.starts_with(head)))
    return refuse_foreign(head, where);
  // A version alone is enough to refuse by, even in a file that ends behind it.
  GgufCursor fields = cursor;
  const auto magic = fields.read<uint32_t>();
  const auto version = magic ? fields.read<uint32_t>() : std::nullopt;
  if (version && __builtin_bswap32(*version) < 0x10000 && *version >= 0x10000)
    return fail(ErrorCode::kUnsupported, "{}: this GGUF file is big-endian; use the little-endian file of the model",
                where);
  if (version == 1u)
    return fail(ErrorCode::kUnsupported,
                "{}: GGUF version 1, which nobody has written since 2023; use a newer file of the model", where);
  if (version && (*version < 2 || *version > 3))
    return fail(ErrorCode::kUnsupported, "{}: GGUF version {}; anedvd reads 2 and 3, use such a file", where, *version);
  constexpr uint64_t kHeaderBytes = 24;
  if (!cursor.fits(kHeaderBytes)) return cursor.overrun(where, "the header");
  const uint64_t tensor_count = *fields.read<uint64_t>();
  const uint64_t pair_count = *fields.read<uint64_t>();
  cursor = fields;
  return GgufHeader{*version, tensor_count, pair_count};
}

}  // namespace anedvd
