#include "snoop_reader.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include <rpcrdma/wire/endian.h>

namespace rpcrdma::capture {
namespace {

using wire::load_be32;
using namespace std::string_view_literals;

constexpr std::string_view kSnoopMagic = "snoop\0\0\0"sv;
constexpr std::uint32_t kSnoopVersion = 2;
constexpr std::size_t kSnoopRecordBytes = 24;
constexpr std::size_t kMostPadding = 64;  // writers align records to at most eight bytes

struct SnoopRecord {
  std::uint32_t original;
  std::uint32_t captured;
  std::uint32_t length;   // with header and padding
  std::uint32_t dropped;  // since the capture began
  std::uint32_t seconds;
  std::uint32_t microseconds;
};

SnoopRecord load_snoop(const std::uint8_t* p) {
  return {load_be32(p),      load_be32(p + 4),  load_be32(p + 8),
          load_be32(p + 12), load_be32(p + 16), load_be32(p + 20)};
}

bool possible_snoop(const SnoopRecord& r) {
  return r.captured <= kMaxRecordBytes && r.length <= kMaxRecordBytes &&
         r.length >= kSnoopRecordBytes + r.captured && r.microseconds < 1'000'000;
}

// Stricter than possible_snoop(): here nothing shows yet that there is a record at all.
bool plausible_snoop(const SnoopRecord& r) {
  return possible_snoop(r) && r.captured != 0 && r.captured <= r.original &&
         r.original <= kUsualLimit && r.length - kSnoopRecordBytes - r.captured <= kMostPadding;
}

struct DataLink {
  std::uint32_t snoop;
  std::uint16_t link;
  const char* name;
};

// RFC 1761 and DLPI's later types, with their LINKTYPE_ numbers; 0xffff: there is none.
constexpr std::uint16_t kNoLink = 0xffff;
constexpr DataLink kDataLinks[] = {
    {0, 1, "IEEE 802.3"},
    {1, kNoLink, "Token Bus"},
    {2, 6, "Token Ring"},
    {3, kNoLink, "Metro Net"},
    {4, 1, "Ethernet"},
    {5, kNoLink, "HDLC"},
    {8, 10, "FDDI"},
    {9, kNoLink, "other"},
    {14, kNoLink, "loopback"},
    {16, 122, "IP over Fibre Channel"},
    {26, 242, "IP over InfiniBand"},
    {0x80000005, 226, "IPNET"},
};

}  // namespace

bool SnoopReader::begins(const std::uint8_t* start) {
  return std::memcmp(start, kSnoopMagic.data(), kSnoopMagic.size()) == 0;
}

Expected<std::unique_ptr<FileSource>> SnoopReader::open(std::unique_ptr<Feed> feed,
                                                        std::string name,
                                                        std::uint64_t bytes_total) {
  const std::uint8_t* const p = feed->need(kSnoopHeaderBytes);
  if (p == nullptr) {
    if (!feed->failure().empty()) return fail(name + ": " + feed->failure());
    return fail(name + ": the file ends within its snoop header: only " +
                std::to_string(feed->available()) + " bytes of it are present" +
                (feed->damage().empty() ? "" : ": " + feed->damage()));
  }
  const std::uint32_t version = load_be32(p + 8);
  if (version != kSnoopVersion) {
    return fail(name + ": snoop version " + std::to_string(version) +
                " is not supported, only 2; editcap converts it");
  }
  const std::uint32_t type = load_be32(p + 12);
  const DataLink* const known = std::find_if(std::begin(kDataLinks), std::end(kDataLinks),
                                             [&](const DataLink& d) { return d.snoop == type; });
  if (known == std::end(kDataLinks) || known->link == kNoLink) {
    const std::string called = known == std::end(kDataLinks) ? "" : std::string(known->name) + ", ";
    return fail(name + ": snoop datalink type " + std::to_string(type) + " (" + called +
                "no RDMA) is not supported");
  }
  feed->skip(kSnoopHeaderBytes);
  return std::unique_ptr<FileSource>(new SnoopReader(std::move(feed), std::move(name), bytes_total,
                                                     static_cast<LinkType>(known->link)));
}

Expected<bool> SnoopReader::next(Frame& frame) try {
  for (;;) {
    const std::uint8_t* p = feed_->need(kSnoopRecordBytes);
    if (p == nullptr) return end_of_input("record header");
    const SnoopRecord r = load_snoop(p);
    if (!possible_snoop(r)) {
      const std::string reason =
          r.microseconds >= 1'000'000
              ? "impossible fraction of a second " + std::to_string(r.microseconds)
              : "impossible record length " + std::to_string(r.length);
      if (!resynchronise(reason, kSnoopRecordBytes, [&] { return chain_at_cursor(); })) {
        return false;
      }
      continue;
    }
    p = feed_->need(r.length);
    if (p == nullptr) {
      // The last record may lack its padding.
      p = feed_->need(kSnoopRecordBytes + r.captured);
      if (p == nullptr || feed_->available() > kSnoopRecordBytes + r.captured) {
        return end_of_input("record");
      }
    }
    const std::size_t bytes = std::min<std::size_t>(r.length, feed_->available());
    feed_->advance(bytes);
    feed_->prefetch(bytes);
    // The counter counts since the capture began, so the last one is the sum.
    stats_.dropped = std::max<std::uint64_t>(stats_.dropped, r.dropped);
    frame.number = ++stats_.frames;
    frame.time_ns = std::int64_t{r.seconds} * 1'000'000'000 + std::int64_t{r.microseconds} * 1000;
    frame.original = r.original;
    frame.interface = 0;
    frame.link = link_;
    frame.room = room_taken();
    frame.data = {p + kSnoopRecordBytes, r.captured};
    return true;
  }
} catch (const std::bad_alloc&) {
  return base::out_of_memory(name_);
}

bool SnoopReader::chain_at_cursor() {
  std::size_t at = 0;
  std::int64_t previous = 0;
  for (int i = 0; i < kChain; ++i) {
    const std::uint8_t* const p = feed_->need(at + kSnoopRecordBytes);
    if (p == nullptr) return i != 0 && feed_->available() == at;
    const SnoopRecord r = load_snoop(p + at);
    if (!plausible_snoop(r)) return false;
    const std::int64_t apart = std::int64_t{r.seconds} - previous;
    if (i != 0 && (apart > kNeighbourSeconds || apart < -kNeighbourSeconds)) return false;
    previous = r.seconds;
    at += r.length;
    if (at > kMaxRecordBytes) return false;
  }
  return true;
}

}  // namespace rpcrdma::capture
