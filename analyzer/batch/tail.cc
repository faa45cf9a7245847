// The end of a file is read by the readers of captures: from memory, as a capture of the file's
// head and its last record.
#include "tail.h"

#include <algorithm>
#include <fstream>
#include <span>
#include <vector>

#include <rpcrdma/base/byte_order.h>
#include <rpcrdma/capture/source.h>

namespace rpcrdma::batch {

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kHeadBytes = std::size_t{64} << 10;
constexpr std::size_t kTailBytes = std::size_t{1} << 20;

struct Ends {
  Bytes head, tail;
};

std::optional<Ends> read_ends(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::uint64_t>(in.tellg());
  if (!in || size < kHeadBytes + kTailBytes) return std::nullopt;
  const auto read = [&](std::uint64_t at, std::size_t bytes) {
    Bytes piece(bytes);
    in.seekg(static_cast<std::streamoff>(at));
    in.read(reinterpret_cast<char*>(piece.data()), static_cast<std::streamsize>(bytes));
    return piece;
  };
  Ends ends;
  ends.head = read(0, kHeadBytes);
  ends.tail = read(size - kTailBytes, kTailBytes);
  if (!in) return std::nullopt;
  return ends;
}

std::optional<std::int64_t> time_in(const Bytes& file) {
  const auto source = capture::open_memory(file);
  if (!source) return std::nullopt;
  capture::Frame frame;
  std::optional<std::int64_t> last;
  for (auto more = (*source)->next(frame); more && *more; more = (*source)->next(frame)) {
    last = std::max(last.value_or(INT64_MIN), frame.time_ns);
  }
  return last;
}

Bytes joined(std::span<const std::uint8_t> head, std::span<const std::uint8_t> record) {
  Bytes file(head.begin(), head.end());
  file.insert(file.end(), record.begin(), record.end());
  return file;
}

// The records of pcap have no mark. A chain of records that leads exactly to the end of the file,
// or to a record that the end cuts, is taken for one if its times fit.
std::optional<std::int64_t> pcap_tail(const Ends& ends, base::ByteOrder order,
                                      std::int64_t first_ns) {
  constexpr std::size_t kFileHeader = 24, kRecordHeader = 16;
  constexpr std::uint32_t kMostCaptured = 262144;
  constexpr std::size_t kLeastRecords = 3;
  constexpr std::int64_t kSecond = 1'000'000'000, kSlack = 3600;
  const std::int64_t first = first_ns / kSecond;
  const Bytes& tail = ends.tail;
  const auto plausible = [&](std::size_t at) {
    const std::uint32_t seconds = order.u32(&tail[at]);
    const std::uint32_t fraction = order.u32(&tail[at + 4]);
    const std::uint32_t captured = order.u32(&tail[at + 8]);
    const std::uint32_t length = order.u32(&tail[at + 12]);
    return seconds + kSlack >= first && fraction < kSecond && captured != 0 &&
           captured <= std::min(kMostCaptured, length);
  };
  for (std::size_t begin = 0; begin < kMostCaptured && begin + kRecordHeader <= tail.size();
       ++begin) {
    std::size_t at = begin, last = begin, records = 0;
    while (at + kRecordHeader <= tail.size() && plausible(at)) {
      const std::size_t next = at + kRecordHeader + order.u32(&tail[at + 8]);
      if (next > tail.size()) {
        at = tail.size();  // the end cuts this record
        break;
      }
      last = at;
      at = next;
      ++records;
    }
    if (at + kRecordHeader <= tail.size() || records < kLeastRecords) continue;
    const std::size_t bytes = kRecordHeader + order.u32(&tail[last + 8]);
    return time_in(
        joined(std::span(ends.head).first(kFileHeader), std::span(tail).subspan(last, bytes)));
  }
  return std::nullopt;
}

// Blocks of pcapng have their length at both ends.
std::optional<std::int64_t> pcapng_tail(const Ends& ends, base::ByteOrder order) {
  constexpr std::size_t kLeastBlock = 12;
  constexpr std::uint32_t kSection = 0x0a0d0d0a, kInterface = 1, kPacket = 2, kEnhanced = 6;
  const auto holds_time = [](std::uint32_t type) { return type == kPacket || type == kEnhanced; };
  std::size_t head = 0;  // up to the first packet
  while (true) {
    if (head + kLeastBlock > ends.head.size()) return std::nullopt;
    const std::uint32_t type = order.u32(&ends.head[head]);
    const std::uint32_t length = order.u32(&ends.head[head + 4]);
    if (holds_time(type)) break;
    if (length < kLeastBlock || length % 4 != 0 || length > ends.head.size() - head) {
      return std::nullopt;
    }
    head += length;
  }
  std::size_t end = ends.tail.size();
  while (end >= kLeastBlock) {
    const std::uint32_t length = order.u32(&ends.tail[end - 4]);
    if (length < kLeastBlock || length % 4 != 0 || length > end) return std::nullopt;
    const std::size_t at = end - length;
    const std::uint32_t type = order.u32(&ends.tail[at]);
    if (order.u32(&ends.tail[at + 4]) != length) return std::nullopt;
    // Packets behind these would be of interfaces that the head does not describe.
    if (type == kSection || type == kInterface) return std::nullopt;
    if (holds_time(type)) {
      return time_in(
          joined(std::span(ends.head).first(head), std::span(ends.tail).subspan(at, length)));
    }
    end = at;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> last_time(const std::string& path, std::int64_t first_ns) {
  constexpr std::uint32_t kMicroseconds = 0xa1b2c3d4, kNanoseconds = 0xa1b23c4d;
  constexpr std::uint32_t kSection = 0x0a0d0d0a, kOrder = 0x1a2b3c4d;
  const auto ends = read_ends(path);
  if (!ends) return std::nullopt;
  for (const bool swapped : {false, true}) {
    const base::ByteOrder order{swapped};
    const std::uint32_t magic = order.u32(ends->head.data());
    if (magic == kMicroseconds || magic == kNanoseconds) return pcap_tail(*ends, order, first_ns);
    if (magic == kSection && order.u32(&ends->head[8]) == kOrder) return pcapng_tail(*ends, order);
  }
  return std::nullopt;
}

}  // namespace rpcrdma::batch
