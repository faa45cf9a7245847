#include "file_kind.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace rpcrdma::capture {
namespace {

using namespace std::string_view_literals;

struct Signature {
  std::string_view magic;
  const char* name;
};

constexpr auto kSignatures = std::to_array<Signature>({
    {"\xfd"
     "7zXZ"sv,
     "an xz-compressed file (decompress it first)"},
    {"BZh"sv, "a bzip2-compressed file (decompress it first)"},
    {"\x04\x22\x4d\x18"sv, "an lz4-compressed file (decompress it first)"},
    {"PK\x03\x04"sv, "a zip archive (unpack it first)"},
    {"\x7f"
     "ELF"sv,
     "an ELF program or core file"},
    {"snoop\0\0\0"sv, "a snoop capture (convert it with editcap)"},
    {"GMBU"sv, "a Microsoft Network Monitor capture (convert it with editcap)"},
    {"RTSS"sv, "a Microsoft Network Monitor capture (convert it with editcap)"},
    {"\x1c\x00\x01\xac"sv, "an IXIA lcap capture (convert it with editcap)"},
    {"\xac\x01\x00\x1c"sv, "an IXIA lcap capture (convert it with editcap)"},
    {"%PDF"sv, "a PDF document"},
    {"\x89PNG"sv, "a PNG image"},
    {"SQLite format 3"sv, "an SQLite database"},
});

bool starts_with(std::span<const std::uint8_t> bytes, std::string_view magic) {
  return bytes.size() >= magic.size() &&
         std::equal(magic.begin(), magic.end(), bytes.begin(),
                    [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; });
}

bool is_text(std::uint8_t c) {
  return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\r' || c == '\t';
}

std::string hex(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t b : bytes) {
    if (!text.empty()) text += ' ';
    text += kDigits[b >> 4];
    text += kDigits[b & 15];
  }
  return text;
}

}  // namespace

std::string file_kind(std::span<const std::uint8_t> start) {
  for (const Signature& s : kSignatures) {
    if (starts_with(start, s.magic)) return s.name;
  }
  if (std::all_of(start.begin(), start.end(), [](std::uint8_t b) { return b == 0; })) {
    return "a file of zeros";
  }
  if (std::all_of(start.begin(), start.end(), is_text)) return "plain text";
  return "a file that begins " + hex(start.first(std::min<std::size_t>(start.size(), 8)));
}

Compression compression(std::span<const std::uint8_t> start) {
  if (starts_with(start, "\x1f\x8b"sv)) return Compression::kGzip;
  if (starts_with(start, "\x28\xb5\x2f\xfd"sv)) return Compression::kZstd;
  // A skippable frame, which several compressors write first (RFC 8878 section 3.1.2).
  if (start.size() >= 4 && (start[0] & 0xf0) == 0x50 &&
      starts_with(start.subspan(1), "\x2a\x4d\x18"sv)) {
    return Compression::kZstd;
  }
  return Compression::kNone;
}

}  // namespace rpcrdma::capture
