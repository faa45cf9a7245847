#include "erf_reader.h"

#include <algorithm>

#include <rpcrdma/wire/endian.h>

namespace rpcrdma::capture {
namespace {

constexpr std::size_t kErfHeaderBytes = 16;
constexpr std::size_t kErfExtensionBytes = 8;
constexpr std::size_t kErfEthernetPad = 2;
constexpr std::uint8_t kMore = 0x80;
constexpr std::uint8_t kInterfaceBits = 0x03;

// Record types, by Endace's numbers.
enum : std::uint8_t {
  kEth = 2,
  kColorHdlc = 10,
  kColorEth = 11,
  kDsmColorHdlc = 15,
  kDsmColorEth = 16,
  kColorMcHdlc = 17,
  kColorHashHdlc = 19,
  kColorHashEth = 20,
  kMeta = 27,
  kLastType = 29,
  kPad = 48,
};

struct ErfHeader {
  std::uint64_t time = 0;  // seconds since the epoch in the upper half, 2^-32 s in the lower
  std::uint8_t type = 0;
  std::uint8_t flags = 0;
  bool more = false;         // extension headers follow
  std::uint16_t length = 0;  // of the record with its headers
  std::uint16_t lost = 0;    // packets before this one
  std::uint16_t on_wire = 0;

  // The smallest length that such a record can have.
  [[nodiscard]] std::size_t least() const {
    return kErfHeaderBytes + (more ? kErfExtensionBytes : 0);
  }
  [[nodiscard]] std::int64_t seconds() const { return static_cast<std::int64_t>(time >> 32); }
};

ErfHeader load_erf(const std::uint8_t* p) {
  ErfHeader r;
  for (int i = 7; i >= 0; --i) r.time = r.time << 8 | p[i];
  r.type = p[8] & 0x7f;
  r.more = (p[8] & kMore) != 0;
  r.flags = p[9];
  r.length = wire::load_be16(p + 10);
  r.lost = wire::load_be16(p + 12);
  r.on_wire = wire::load_be16(p + 14);
  return r;
}

// In these types a color has the place of the loss counter.
bool has_color(std::uint8_t type) {
  return type == kColorHdlc || type == kColorEth || type == kDsmColorHdlc || type == kDsmColorEth ||
         type == kColorMcHdlc || type == kColorHashHdlc || type == kColorHashEth;
}

bool is_erf_ethernet(std::uint8_t type) {
  return type == kEth || type == kColorEth || type == kDsmColorEth || type == kColorHashEth;
}

std::int64_t erf_nanoseconds(std::uint64_t time) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 31;
  const std::uint64_t fraction = ((time & 0xffffffff) * kSecond + kHalf) >> 32;
  return static_cast<std::int64_t>((time >> 32) * kSecond + fraction);
}

// Bytes of the headers in front of the frame itself; no more than the record has.
std::size_t erf_headers(const std::uint8_t* p, const ErfHeader& r) {
  std::size_t at = kErfHeaderBytes;
  bool more = r.more;
  while (more && at + kErfExtensionBytes <= r.length) {
    more = (p[at] & kMore) != 0;
    at += kErfExtensionBytes;
  }
  return std::min<std::size_t>(at + (is_erf_ethernet(r.type) ? kErfEthernetPad : 0), r.length);
}

// Stricter than the walk over records: here nothing shows yet that there is a record at all.
bool plausible_erf(const ErfHeader& r) {
  const bool known = (r.type != 0 && r.type <= kLastType) || r.type == kPad;
  return known && r.length >= r.least() && (r.on_wire != 0 || r.type == kMeta || r.type == kPad);
}

// Fewer headers than kChain suffice if the last record ends at the end of the file, or a second one
// is cut there.
bool erf_at_cursor(Feed& feed) {
  std::size_t at = 0;
  std::int64_t previous = -1;
  for (int i = 0; i < kChain; ++i) {
    const std::uint8_t* const p = feed.need(at + kErfHeaderBytes);
    if (p == nullptr) return i > 1 || (i == 1 && feed.available() == at);
    const ErfHeader r = load_erf(p + at);
    if (!plausible_erf(r)) return false;
    if (r.type != kPad) {
      const std::int64_t apart = r.seconds() - previous;
      if (previous >= 0 && (apart > kNeighbourSeconds || apart < -kNeighbourSeconds)) return false;
      previous = r.seconds();
    }
    at += r.length;
  }
  return true;
}

}  // namespace

bool ErfReader::begins(Feed& feed) {
  return erf_at_cursor(feed);
}

Expected<bool> ErfReader::next(Frame& frame) try {
  for (;;) {
    const std::uint8_t* p = feed_->need(kErfHeaderBytes);
    if (p == nullptr) return end_of_input("record header");
    const ErfHeader r = load_erf(p);
    if (r.length < r.least()) {
      if (!resynchronise("impossible record length " + std::to_string(r.length), kErfHeaderBytes,
                         [&] { return erf_at_cursor(*feed_); })) {
        return false;
      }
      continue;
    }
    p = feed_->need(r.length);
    if (p == nullptr) return end_of_input("record");
    feed_->advance(r.length);
    feed_->prefetch(r.length);
    if (!has_color(r.type)) stats_.dropped += r.lost;
    if (r.type == kPad) continue;
    const std::size_t before = erf_headers(p, r);
    // Records are padded to multiples of eight bytes.
    const std::size_t original =
        r.on_wire == 0 ? std::size_t{r.length} : before + std::size_t{r.on_wire};
    frame.number = ++stats_.frames;
    frame.time_ns = erf_nanoseconds(r.time);
    frame.original = static_cast<std::uint32_t>(original);
    frame.interface = r.flags & kInterfaceBits;
    frame.link = LinkType::kErf;
    frame.room = room_taken();
    frame.data = {p, std::min<std::size_t>(r.length, original)};
    return true;
  }
} catch (const std::bad_alloc&) {
  return base::out_of_memory(name_);
}

}  // namespace rpcrdma::capture
