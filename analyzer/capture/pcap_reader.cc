#include "pcap_reader.h"

#include <algorithm>

namespace rpcrdma::capture {
namespace {

// The largest packet that libpcap itself accepts, whatever the header's snapshot length.
constexpr std::uint32_t kUsualLimit = 262144;

// How far after an impossible record the reader searches for the next good one.
constexpr std::uint64_t kSearchBytes = std::uint64_t{16} << 20;

// Number of consecutive headers that must be valid before bytes count as records, and the largest
// distance in time between such neighbours.
constexpr int kChain = 3;
constexpr std::int64_t kNeighbourSeconds = 86400;

}  // namespace

Expected<std::unique_ptr<FileSource>> PcapReader::open(std::unique_ptr<Feed> feed,
                                                       std::uint32_t magic, base::ByteOrder order,
                                                       std::string name,
                                                       std::uint64_t bytes_total) {
  const std::uint8_t* const p = feed->need(kPcapHeaderBytes);
  if (p == nullptr) {
    if (!feed->failure().empty()) return fail(name + ": " + feed->failure());
    return fail(name + ": the file ends within its pcap header: only " +
                std::to_string(feed->available()) + " bytes of it are present" +
                (feed->damage().empty() ? "" : ": " + feed->damage()));
  }
  const std::uint16_t major = order.u16(p + 4);
  const std::uint16_t minor = order.u16(p + 6);
  if (major != 2 || minor < 4) {
    return fail(name + ": pcap version " + std::to_string(major) + "." + std::to_string(minor) +
                " is not supported, only 2.4");
  }
  return std::unique_ptr<FileSource>(
      new PcapReader(std::move(feed), magic, order, std::move(name), bytes_total, p));
}

PcapReader::PcapReader(std::unique_ptr<Feed> feed, std::uint32_t magic, base::ByteOrder order,
                       std::string name, std::uint64_t bytes_total, const std::uint8_t* header)
    : FileSource(std::move(feed), std::move(name), bytes_total),
      order_(order),
      // The upper half announces a frame check sequence at the end of each frame.
      link_(static_cast<LinkType>(order.u32(header + 20) & 0xffff)),
      limit_(static_cast<std::uint32_t>(
          std::min<std::uint64_t>(std::max(order.u32(header + 16), kUsualLimit), kMaxRecordBytes))),
      fraction_limit_(magic == kPcapNanoseconds ? 1'000'000'000 : 1'000'000),
      fraction_ns_(magic == kPcapNanoseconds ? 1 : 1000),
      header_bytes_(magic == kPcapModified ? 24 : 16) {
  feed_->skip(kPcapHeaderBytes);
}

PcapReader::Record PcapReader::load(const std::uint8_t* p) const {
  return {order_.u32(p), order_.u32(p + 4), order_.u32(p + 8), order_.u32(p + 12)};
}

Expected<bool> PcapReader::next(Frame& frame) {
  for (;;) {
    const std::uint8_t* p = feed_->need(header_bytes_);
    if (p == nullptr) [[unlikely]] {
      return end_of_input("record header");
    }
    const Record r = load(p);
    if (!possible(r)) [[unlikely]] {
      if (!resynchronise(r)) return false;
      continue;
    }
    const std::size_t bytes = std::size_t{header_bytes_} + r.captured;
    p = feed_->need(bytes);
    if (p == nullptr) [[unlikely]] {
      return end_of_input("record");
    }
    feed_->advance(bytes);
    feed_->prefetch(bytes);
    frame.number = ++stats_.frames;
    frame.time_ns = std::int64_t{r.seconds} * 1'000'000'000 +
                    std::int64_t{r.fraction} * std::int64_t{fraction_ns_};
    frame.original = r.original;
    frame.interface = 0;
    frame.link = link_;
    frame.room = room_taken();
    frame.data = {p + header_bytes_, r.captured};
    return true;
  }
}

// Searches for the next good record after an impossible record header. Each byte is examined a
// bounded number of times, and what is found is then read as records, so the whole walk stays
// linear.
bool PcapReader::resynchronise(const Record& bad) {
  const std::string reason =
      bad.captured > limit_ ? "impossible record length " + std::to_string(bad.captured)
                            : "impossible fraction of a second " + std::to_string(bad.fraction);
  const std::uint64_t from = feed_->offset();
  const std::string hopeless = reason + ", with no record found after it,";
  while (feed_->offset() - from < kSearchBytes) {
    if (feed_->need(std::size_t{header_bytes_} + 1) == nullptr) {
      // The next call reports a read error.
      return !feed_->failure().empty() || stop(hopeless, from);
    }
    feed_->skip(1);
    if (chain_at_cursor()) {
      skipped(from, reason, feed_->offset() - from);
      return true;
    }
  }
  return stop(hopeless, from);
}

// Stricter than possible(): here nothing shows yet that there is a record at all. Fewer headers
// than kChain suffice if the last record ends at the end of the file.
bool PcapReader::chain_at_cursor() {
  std::size_t at = 0;
  std::int64_t previous = 0;
  for (int i = 0; i < kChain; ++i) {
    const std::uint8_t* const p = feed_->need(at + header_bytes_);
    if (p == nullptr) return i != 0 && feed_->available() == at;
    const Record r = load(p + at);
    if (!possible(r) || r.captured == 0 || r.captured > r.original ||
        r.original > std::max(limit_, r.captured)) {
      return false;
    }
    const std::int64_t apart = std::int64_t{r.seconds} - previous;
    if (i != 0 && (apart > kNeighbourSeconds || apart < -kNeighbourSeconds)) return false;
    previous = r.seconds;
    at += std::size_t{header_bytes_} + r.captured;
    if (at > kMaxRecordBytes) return false;
  }
  return true;
}

}  // namespace rpcrdma::capture
