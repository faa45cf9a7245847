// Chooses the reader for a path: detects the kind of file by its first bytes.
#include "byte_stream.h"
#include "erf_reader.h"
#include "helper_stream.h"
#include "inflate.h"
#include "kernel_trace.h"
#include "open_reusing.h"
#include "pcap_reader.h"
#include "pcapng_reader.h"
#include "read_ahead.h"
#include "snoop_reader.h"
#include "stream_feed.h"
#include "window_file.h"
#include "window_stream.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/capture/source.h>

namespace rpcrdma::capture {
namespace {

using OpenResult = Expected<std::unique_ptr<Source>>;
using OpenedFile = Expected<std::unique_ptr<FileSource>>;

constexpr std::size_t kMagicBytes = 4;

using namespace std::string_view_literals;

// Bytes at the start of a file that suffice to distinguish kinds; a shorter file is passed whole.
constexpr std::size_t kKindBytes = 512;

enum class Compression : std::uint8_t { kNone, kGzip, kZstd, kXz, kBzip2, kLz4 };
constexpr std::size_t kCompressionBytes = 4;

struct Signature {
  std::string_view magic;
  const char* name;
};

constexpr auto kSignatures = std::to_array<Signature>({
    {"\x02\x21\x4c\x18"sv, "an lz4 file in the legacy format: decompress it first"},
    {"\x5d\x00\x00"sv, "an lzma-compressed file: decompress it first"},
    {"\x1f\x9d"sv, "a file of compress(1): decompress it first"},
    {"LZIP"sv, "an lzip-compressed file: decompress it first"},
    {"\x89LZO"sv, "an lzop-compressed file: decompress it first"},
    {"PK\x03\x04"sv, "a zip archive: extract it first"},
    {"7z\xbc\xaf\x27\x1c"sv, "a 7-Zip archive: extract it first"},
    {"Rar!"sv, "a RAR archive: extract it first"},
    {"\xed\xab\xee\xdb"sv, "an RPM package"},
    {"!<arch>"sv, "an ar archive or Debian package: extract it first"},
    {"\x7f"
     "ELF"sv,
     "an ELF program or core file"},
    {"GMBU"sv, "a Microsoft Network Monitor capture: convert it with editcap"},
    {"RTSS"sv, "a Microsoft Network Monitor capture: convert it with editcap"},
    {"\x1c\x00\x01\xac"sv, "an IXIA lcap capture: convert it with editcap"},
    {"\xac\x01\x00\x1c"sv, "an IXIA lcap capture: convert it with editcap"},
    {"TRSNIFF data"sv, "a Sniffer capture: convert it with editcap"},
    {"XCP\0"sv, "a Sniffer capture: convert it with editcap"},
    {"\x7fver"sv, "an OmniPeek capture: convert it with editcap"},
    {"ObserverPktBuffer"sv, "an Observer capture: convert it with editcap"},
    {"\x05VNF"sv, "a Visual Networks capture: convert it with editcap"},
    {"iptrace "sv, "an AIX iptrace capture: convert it with editcap"},
    {"btsnoop\0"sv, "a Bluetooth capture: it holds no RDMA"},
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

// Every tar format has a checksum over its first block: the sum of the bytes, in octal, with the
// field itself as spaces.
bool is_tar(std::span<const std::uint8_t> start) {
  constexpr std::size_t kBlock = 512, kFieldAt = 148, kField = 8;
  if (start.size() < kBlock) return false;
  std::uint32_t sum = kField * ' ';
  std::uint32_t stored = 0;
  bool any = false;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const std::uint8_t b = start[i];
    if (i < kFieldAt || i >= kFieldAt + kField) {
      sum += b;
    } else if (b >= '0' && b <= '7') {
      stored = stored * 8 + (b - std::uint32_t{'0'});
      any = true;
    }
  }
  return any && sum == stored;
}

// A Windows event trace begins with a buffer of the session, whose first event is the header of the
// log file.
bool is_event_trace(std::span<const std::uint8_t> start) {
  constexpr std::size_t kEventAt = 0x48;
  if (start.size() < kEventAt + 8) return false;
  const std::uint32_t buffer = base::ByteOrder{false}.u32(start.data());
  const std::uint8_t kind = start[kEventAt + 2];
  return buffer >= 1024 && buffer <= 16U << 20 && buffer % 512 == 0 && start[kEventAt + 1] == 0 &&
         (kind == 1 || kind == 2) && start[kEventAt + 3] == 0xc0;
}

bool ends_with(std::string_view name, std::string_view suffix) {
  if (name.size() < suffix.size()) return false;
  name.remove_prefix(name.size() - suffix.size());
  return std::equal(name.begin(), name.end(), suffix.begin(), [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

const Signature* signature(std::span<const std::uint8_t> start) {
  const auto* const found =
      std::find_if(kSignatures.begin(), kSignatures.end(),
                   [&](const Signature& s) { return starts_with(start, s.magic); });
  return found == kSignatures.end() ? nullptr : found;
}

// Names the kind of a file that is not a capture, for the error message: "an ELF program", "plain
// text", "a file that begins 7f 00 01 02". Formats without a signature are recognized by the
// file's name.
std::string file_kind(std::span<const std::uint8_t> start, std::string_view name) {
  if (const Signature* const s = signature(start)) return s->name;
  if (is_tar(start)) return "a tar archive: extract it first";
  if (is_event_trace(start) || ends_with(name, ".etl")) {
    return "a Windows event trace (netsh trace, pktmon): convert it with etl2pcapng or "
           "\"pktmon etl2pcap\"";
  }
  if (ends_with(name, ".ncf") || ends_with(name, ".ncfx")) {
    return "a CommView capture: convert it with editcap";
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
  if (starts_with(start, "\xfd\x37\x7a\x58"sv)) return Compression::kXz;
  if (starts_with(start, "BZh"sv) && start.size() >= 4 && start[3] >= '1' && start[3] <= '9') {
    return Compression::kBzip2;
  }
  if (starts_with(start, "\x04\x22\x4d\x18"sv)) return Compression::kLz4;
  return Compression::kNone;
}

tl::unexpected<Error> fail_errno(const std::string& name, int error) {
  return fail(name + ": " + std::strerror(error));
}

OpenedFile not_a_capture(Feed& feed, const std::string& name) {
  const std::uint8_t* start = feed.need(kKindBytes);
  if (start == nullptr) start = feed.need(feed.available());
  if (!feed.failure().empty()) return fail(name + ": " + feed.failure());
  const std::size_t size = std::min(feed.available(), kKindBytes);
  const std::string damage = feed.damage().empty() ? "" : " (" + feed.damage() + ")";
  if (size == 0) {
    return fail(name + ": " + (damage.empty() ? "the file is empty" : feed.damage()));
  }
  return fail(name + ": not a capture file: it looks like " + file_kind({start, size}, name) +
              damage);
}

OpenedFile open_feed(std::unique_ptr<Feed> feed, std::string name, std::uint64_t bytes_total) {
  const std::uint8_t* const p = feed->need(kMagicBytes);
  if (p == nullptr) return not_a_capture(*feed, name);
  for (const bool swapped : {false, true}) {
    const base::ByteOrder order{swapped};
    const std::uint32_t magic = order.u32(p);
    if (magic == pcapng::kSectionHeader) {
      return PcapngReader::open(std::move(feed), std::move(name), bytes_total);
    }
    if (magic == kPcapMicroseconds || magic == kPcapNanoseconds || magic == kPcapModified) {
      return PcapReader::open(std::move(feed), magic, order, std::move(name), bytes_total);
    }
  }
  if (const std::uint8_t* const snoop = feed->need(kSnoopMagicBytes);
      snoop != nullptr && SnoopReader::begins(snoop)) {
    return SnoopReader::open(std::move(feed), std::move(name), bytes_total);
  }
  if (signature({feed->need(kMagicBytes), std::min(feed->available(), kKindBytes)}) == nullptr &&
      ErfReader::begins(*feed)) {
    return std::make_unique<ErfReader>(std::move(feed), std::move(name), bytes_total);
  }
  return not_a_capture(*feed, name);
}

std::unique_ptr<ByteStream> decompressed(Compression how, std::unique_ptr<ByteStream> stream) {
  switch (how) {
    case Compression::kGzip:
      return inflate_gzip(std::move(stream));
    case Compression::kZstd:
      return inflate_zstd(std::move(stream));
    case Compression::kXz:
      return inflate_xz(std::move(stream));
    case Compression::kBzip2:
      return inflate_bzip2(std::move(stream));
    case Compression::kLz4:
      return inflate_lz4(std::move(stream));
    case Compression::kNone:
      break;
  }
  return stream;
}

// Reads until `start` has this many bytes, or the stream ends.
Expected<void> read_start(ByteStream& stream, std::size_t bytes, std::vector<std::uint8_t>& start) {
  std::size_t filled = start.size();
  start.resize(std::max(filled, bytes));
  while (filled < bytes) {
    const auto got = stream.read(std::span(start).subspan(filled));
    if (!got) return tl::unexpected(got.error());
    if (*got == 0) break;
    filled += *got;
  }
  start.resize(filled);
  return {};
}

bool is_trace(std::span<const std::uint8_t> start) {
  return is_trace_dat(start) || is_trace_text(start);
}

// A trace of the kernel's tracepoints: the helper converts it to a capture.
template <typename Input>
OpenedFile open_trace(Input input, std::string name, std::uint64_t bytes_total) {
  auto stream = run_helper(kTraceProgram, name, std::move(input));
  if (!stream) return fail(name + ": " + stream.error().message);
  return open_feed(std::make_unique<StreamFeed>(std::move(*stream)), std::move(name), bytes_total);
}

bool begins_capture(std::span<const std::uint8_t> start) {
  if (start.size() < kMagicBytes) return false;
  for (const bool swapped : {false, true}) {
    const std::uint32_t magic = base::ByteOrder{swapped}.u32(start.data());
    if (magic == pcapng::kSectionHeader || magic == kPcapMicroseconds ||
        magic == kPcapNanoseconds || magic == kPcapModified) {
      return true;
    }
  }
  return false;
}

// Where a stream's bytes come from. Those of a file never let a reader wait for long.
enum class Origin : std::uint8_t { kFile, kPipe };

OpenedFile open_stream(std::unique_ptr<ByteStream> stream, std::string name,
                       std::uint64_t bytes_total, Origin origin) {
  std::vector<std::uint8_t> start;
  if (const auto ok = read_start(*stream, kCompressionBytes, start); !ok) {
    return fail(name + ": " + ok.error().message);
  }
  const Compression how = compression(start);
  const bool capture = begins_capture(start);
  stream = decompressed(how, std::make_unique<PrefixedStream>(std::move(start), std::move(stream)));
  if (!capture) {
    // It may be a trace. Errors and damage are those that the reader below finds again.
    start.clear();
    if (const auto ok = read_start(*stream, kMagicBytes, start);
        ok && !begins_capture(start) && read_start(*stream, kKindBytes, start) && is_trace(start)) {
      stream = std::make_unique<PrefixedStream>(std::move(start), std::move(stream));
      return open_trace(std::move(stream), std::move(name), 0);
    }
    stream = std::make_unique<PrefixedStream>(std::move(start), std::move(stream));
  }
  if (origin == Origin::kFile) {
    auto ahead = std::make_unique<ReadAhead>(std::move(stream));
    return open_feed(std::make_unique<WindowStream>(std::move(ahead)), std::move(name),
                     bytes_total);
  }
  return open_feed(std::make_unique<StreamFeed>(std::move(stream)), std::move(name), bytes_total);
}

using Spare = std::shared_ptr<SpareBuffers>;

OpenedFile open_regular(base::FileDescriptor fd, std::string name, std::uint64_t size,
                        Spare spare) {
  if (size == 0) return fail(name + ": the file is empty");
  std::array<std::uint8_t, kKindBytes> bytes{};
  const ssize_t n = ::pread(fd.get(), bytes.data(), bytes.size(), 0);
  if (n < 0) return fail_errno(name, errno);
  const std::span start(bytes.data(), static_cast<std::size_t>(n));
  if (compression(start) == Compression::kNone) {
    if (is_trace(start)) return open_trace(std::move(fd), std::move(name), 0);
    // Of each file of a ring, the first frame is read beforehand. PcapReader looks at all records
    // of the first step, PcapngReader does not.
    constexpr std::size_t kFewBytes = std::size_t{32} << 10;
    const bool few = starts_with(start, "\x0a\x0d\x0d\x0a"sv);
    auto window = std::make_unique<WindowFile>(std::move(fd), size, std::move(spare),
                                               few ? kFewBytes : WindowFile::kStepBytes);
    auto source = open_feed(std::move(window), std::move(name), size);
    if (source) (*source)->allow_marks();
    return source;
  }
  return open_stream(std::make_unique<DescriptorStream>(std::move(fd)), std::move(name), size,
                     Origin::kFile);
}

OpenedFile open_path(const std::string& path, Spare spare = nullptr) {
  base::FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return fail_errno(path, errno);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return fail_errno(path, errno);
  if (S_ISDIR(status.st_mode)) return fail_errno(path, EISDIR);
  if (S_ISREG(status.st_mode)) {
    return open_regular(std::move(fd), path, static_cast<std::uint64_t>(status.st_size),
                        std::move(spare));
  }
  return open_stream(std::make_unique<DescriptorStream>(std::move(fd)), path, 0, Origin::kPipe);
}

}  // namespace

OpenResult open_file(const std::string& path) {
  return open_file_reusing(path, nullptr);
}

OpenResult open_file_reusing(const std::string& path, std::shared_ptr<SpareBuffers> spare) {
  return base::or_out_of_memory(path, [&]() -> OpenResult {
    if (path == "-") {
      return open_stream(std::make_unique<DescriptorStream>(STDIN_FILENO), "standard input", 0,
                         Origin::kPipe);
    }
    return open_path(path, std::move(spare));
  });
}

OpenResult open_file_at(const std::string& path, const Mark& mark) {
  return base::or_out_of_memory(path, [&]() -> OpenResult {
    auto source = open_path(path);
    if (!source) return tl::unexpected(source.error());
    if (!(*source)->go_to(mark)) {
      return fail(path + ": the file was changed: the frame at offset " +
                  std::to_string(mark.offset) + " is no longer there");
    }
    return source;
  });
}

OpenResult open_descriptor(base::FileDescriptor fd, std::string name) {
  return base::or_out_of_memory({}, [&]() -> OpenResult {
    return open_stream(std::make_unique<DescriptorStream>(std::move(fd)), std::move(name), 0,
                       Origin::kPipe);
  });
}

OpenResult open_memory(std::span<const std::uint8_t> bytes) {
  return base::or_out_of_memory("memory", [&]() -> OpenResult {
    const Compression how = compression(bytes);
    if (how == Compression::kNone) {
      return open_feed(std::make_unique<MemoryFeed>(bytes), "memory", bytes.size());
    }
    return open_feed(
        std::make_unique<StreamFeed>(decompressed(how, std::make_unique<SpanStream>(bytes))),
        "memory", bytes.size());
  });
}

}  // namespace rpcrdma::capture
