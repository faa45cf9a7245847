#include "pcap_reader.h"

#include "pcapng_reader.h"

#include <algorithm>

namespace rpcrdma::capture {
namespace {

constexpr std::uint32_t kMicrosecondsEnd = 1'000'000;
constexpr std::uint32_t kNanosecondsEnd = 1'000'000'000;

// Records to examine before fractions of a second count as nanoseconds under a magic number that
// says microseconds. Only one in a thousand times in nanoseconds is possible in microseconds.
constexpr int kScaleChain = 4;

// The reverse: so many records over so many seconds without a fraction beyond a millionth of the
// range, but spread over that.
constexpr int kCoarseRecords = 32;
constexpr int kCoarseSeconds = 3;
constexpr std::uint32_t kCoarseSpread = kMicrosecondsEnd / 2;

constexpr std::uint16_t kDgUx = 543;  // the major version that DG/UX's tcpdump writes

// The order of a record's two lengths: since version 2.4 the captured length comes first, before
// 2.3 the original one did, and files of version 2.3 have either.
PcapLengths lengths_of(std::uint16_t major, std::uint16_t minor) {
  if (major == kDgUx || minor < 3) return PcapLengths::kOriginalFirst;
  return minor == 3 ? PcapLengths::kUnknown : PcapLengths::kCapturedFirst;
}

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
  if (major != 2 && !(major == kDgUx && minor == 0)) {
    return fail(name + ": pcap version " + std::to_string(major) + "." + std::to_string(minor) +
                " is not supported, only 2.0 to 2.4");
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
      scale_(magic == kPcapNanoseconds ? kNanoseconds : kMicroseconds),
      fraction_limit_(scale_ == kNanoseconds ? kNanosecondsEnd : kMicrosecondsEnd),
      announced_(scale_),
      lengths_(lengths_of(order.u16(header + 4), order.u16(header + 6))),
      header_bytes_(magic == kPcapModified ? 24 : 16) {
  feed_->skip(kPcapHeaderBytes);
}

PcapReader::Record PcapReader::load(const std::uint8_t* p) const {
  Record r{order_.u32(p), order_.u32(p + 4), order_.u32(p + 8), order_.u32(p + 12)};
  if (lengths_ != PcapLengths::kCapturedFirst) [[unlikely]] {
    if (lengths_ == PcapLengths::kOriginalFirst || r.captured > r.original) {
      std::swap(r.captured, r.original);
    }
  }
  return r;
}

Expected<bool> PcapReader::next(Frame& frame) try {
  for (;;) {
    const std::uint8_t* p = feed_->need(header_bytes_);
    if (p == nullptr) [[unlikely]] {
      return end_of_input("record header");
    }
    if (stats_.frames == 0) [[unlikely]] {
      check_scale();
      p = feed_->need(header_bytes_);
    }
    const Record r = load(p);
    if (!possible(r)) [[unlikely]] {
      if (!finer_scale(r) && !skip_to_record(r)) return false;
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
    frame.time_ns =
        std::int64_t{r.seconds} * 1'000'000'000 + std::int64_t{r.fraction} * std::int64_t{scale_};
    frame.original = r.original;
    frame.interface = 0;
    frame.link = link_;
    frame.room = room_taken();
    frame.data = {p + header_bytes_, r.captured};
    return true;
  }
} catch (const std::bad_alloc&) {
  return base::out_of_memory(name_);
}

// Before the first record: finds out whether fractions of a second are what the magic number says.
void PcapReader::check_scale() {
  if (announced_ == kMicroseconds) {
    if (mostly_nanoseconds(true)) use_scale(kNanoseconds);
  } else if (only_microseconds()) {
    use_scale(kMicroseconds);
  }
}

// At a record whose fraction of a second is impossible in microseconds: a damaged record, or the
// file is in nanoseconds and those before it fell into the first millisecond of a second.
bool PcapReader::finer_scale(const Record& r) {
  if (scale_ == kNanoseconds || r.captured > limit_ || r.fraction >= kNanosecondsEnd) return false;
  if (!mostly_nanoseconds(false)) return false;
  use_scale(kNanoseconds);
  return true;
}

// Examines the next records: all but one must have fractions that are impossible in microseconds.
// At the beginning of a file, fewer records suffice if there are no more; a pipe is read no further
// than it must be.
bool PcapReader::mostly_nanoseconds(bool beginning) {
  std::size_t at = 0;
  int records = 0;
  int impossible = 0;
  for (; records < kScaleChain; ++records) {
    const bool wait = !beginning || records == 0 || impossible != 0;
    if (!wait && feed_->available() < at + header_bytes_) break;
    const std::uint8_t* const p = feed_->need(at + header_bytes_);
    if (p == nullptr) break;
    const Record r = load(p + at);
    if (r.fraction >= kNanosecondsEnd || !fits(r)) return false;
    if (r.fraction >= kMicrosecondsEnd) ++impossible;
    at += std::size_t{header_bytes_} + r.captured;
    if (at > kMaxRecordBytes) return false;
  }
  if (records == kScaleChain) return impossible >= kScaleChain - 1;
  return beginning && records != 0 && impossible == records;
}

// Looks at the records that are in memory already.
bool PcapReader::only_microseconds() {
  const std::uint8_t* const p = feed_->need(0);
  std::size_t at = 0;
  int records = 0;
  int seconds = 0;
  std::uint32_t latest = 0;
  std::uint32_t least = kMicrosecondsEnd;
  std::uint32_t most = 0;
  while (feed_->available() - at >= header_bytes_) {
    const Record r = load(p + at);
    if (r.fraction >= kMicrosecondsEnd || !fits(r)) return false;
    if (records == 0 || r.seconds > latest) ++seconds;
    latest = std::max(latest, r.seconds);
    least = std::min(least, r.fraction);
    most = std::max(most, r.fraction);
    ++records;
    if (records >= kCoarseRecords && seconds >= kCoarseSeconds && most - least > kCoarseSpread) {
      return true;
    }
    const std::size_t bytes = std::size_t{header_bytes_} + r.captured;
    if (feed_->available() - at < bytes) break;
    at += bytes;
  }
  return false;
}

void PcapReader::use_scale(std::uint32_t scale) {
  const char* const name = scale == kNanoseconds ? "nanoseconds" : "microseconds";
  const char* const announced = scale == kNanoseconds ? "microseconds" : "nanoseconds";
  stats_.note =
      std::string("times are read as ") + name + ", although the file's header says " + announced;
  if (stats_.frames != 0) {
    stats_.note += "; those of the first " + std::to_string(stats_.frames) + " frames are not";
  }
  set_scale(scale);
  auto format = std::make_shared<Mark::Format>();
  format->pcap_scale = scale;
  format_ = std::move(format);
}

std::optional<Mark> PcapReader::mark() const {
  if (!marks_) return std::nullopt;
  return Mark{feed_->offset(), stats_.frames, format_};
}

bool PcapReader::take_format(const Mark& mark) {
  if (mark.format == nullptr) return true;
  if (mark.format->pcap_scale == 0) return false;
  set_scale(mark.format->pcap_scale);
  format_ = mark.format;
  return true;
}

void PcapReader::set_scale(std::uint32_t scale) {
  scale_ = scale;
  fraction_limit_ = scale == kNanoseconds ? kNanosecondsEnd : kMicrosecondsEnd;
}

bool PcapReader::skip_to_record(const Record& bad) {
  const std::string reason =
      bad.captured > limit_ ? "impossible record length " + std::to_string(bad.captured)
                            : "impossible fraction of a second " + std::to_string(bad.fraction);
  return resynchronise(reason, header_bytes_, [&] { return chain_at_cursor(); });
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
    if (!possible(r) || !fits(r)) return false;
    const std::int64_t apart = std::int64_t{r.seconds} - previous;
    if (i != 0 && (apart > kNeighbourSeconds || apart < -kNeighbourSeconds)) return false;
    previous = r.seconds;
    at += std::size_t{header_bytes_} + r.captured;
    if (at > kMaxRecordBytes) return false;
  }
  return true;
}

}  // namespace rpcrdma::capture
