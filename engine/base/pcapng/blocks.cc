// Appends pcapng blocks to a buffer: section, interface, packet and statistics, with their options.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include <rpcrdma/base/pcapng/blocks.h>
#include <rpcrdma/base/pcapng/format.h>
#include <rpcrdma/base/text.h>

namespace rpcrdma::base {
namespace {

constexpr std::string_view kApplication = "rpcrdma";
// After a packet's data: its flags, and the end of the options.
constexpr std::size_t kFlagsBytes = 8 + 4;

}  // namespace

template <typename T>
void PcapngBlocks::put(T value) {
  const std::size_t at = bytes_.size();
  bytes_.resize(at + sizeof value);
  std::memcpy(bytes_.data() + at, &value, sizeof value);
}

void PcapngBlocks::put_time(std::int64_t ns) {
  const auto ticks = static_cast<std::uint64_t>(ns);
  put(static_cast<std::uint32_t>(ticks >> 32));
  put(static_cast<std::uint32_t>(ticks));
}

void PcapngBlocks::put_bytes(std::span<const std::uint8_t> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  bytes_.resize(bytes_.size() + pcapng::padded(bytes.size()) - bytes.size());
}

void PcapngBlocks::begin(std::uint32_t type) {
  block_ = bytes_.size();
  put(type);
  put(std::uint32_t{0});
}

void PcapngBlocks::end() {
  const auto total = static_cast<std::uint32_t>(bytes_.size() - block_ + sizeof(std::uint32_t));
  put(total);
  std::memcpy(bytes_.data() + block_ + pcapng::kLengthAt, &total, sizeof total);
}

void PcapngBlocks::option(std::uint16_t code, std::span<const std::uint8_t> value) {
  put(code);
  put(static_cast<std::uint16_t>(value.size()));
  put_bytes(value);
}

// Truncates text that is longer than an option can be.
void PcapngBlocks::option_text(std::uint16_t code, std::string text) {
  text.resize(std::min<std::size_t>(text.size(), std::numeric_limits<std::uint16_t>::max()));
  option(code, as_bytes(text));
}

void PcapngBlocks::option_u64(std::uint16_t code, std::uint64_t value) {
  put(code);
  put(std::uint16_t{sizeof value});
  put(value);
}

void PcapngBlocks::option_time(std::uint16_t code, std::int64_t ns) {
  put(code);
  put(std::uint16_t{sizeof ns});
  put_time(ns);
}

void PcapngBlocks::end_options() {
  put(pcapng::kEndOfOptions);
  put(std::uint16_t{0});
}

void PcapngBlocks::section(End at_end) {
  begin(pcapng::kSectionHeader);
  put(pcapng::kByteOrderMagic);
  put(std::uint16_t{1});
  put(std::uint16_t{0});
  put(std::int64_t{-1});  // section length unknown
  option(pcapng::kShbUserAppl, as_bytes(kApplication));
  if (at_end == End::kStatistics) option(pcapng::kComment, as_bytes(pcapng::kEndsWithStatistics));
  end_options();
  end();
}

void PcapngBlocks::interface(const Interface& interface) {
  begin(pcapng::kInterfaceDescription);
  put(static_cast<std::uint16_t>(interface.link));
  put(std::uint16_t{0});
  put(interface.snaplen);
  option_text(pcapng::kIfName, interface.name);
  option(pcapng::kIfTsresol, {&kTsresol, 1});
  // A leading zero byte means that the filter is in libpcap's language.
  if (!interface.filter.empty())
    option_text(pcapng::kIfFilter, std::string(1, '\0') + interface.filter);
  end_options();
  end();
}

std::size_t PcapngBlocks::packet_bytes(std::size_t data, Direction direction) {
  return pcapng::kSmallestPacket + pcapng::padded(data) +
         (direction == Direction::kUnknown ? 0 : kFlagsBytes);
}

std::size_t PcapngBlocks::packet_bytes(const Frame& frame) {
  return packet_bytes(frame.data.size(), Direction::kUnknown);
}

void PcapngBlocks::packet(const Frame& frame, std::uint32_t interface) {
  packet(interface, frame.time_ns, frame.original, frame.data, {}, Direction::kUnknown);
}

void PcapngBlocks::packet(const Frame& frame, std::uint32_t interface, const std::string& comment) {
  begin(pcapng::kEnhancedPacket);
  put(interface);
  put_time(frame.time_ns);
  put(static_cast<std::uint32_t>(frame.data.size()));
  put(static_cast<std::uint32_t>(frame.original));
  put_bytes(frame.data);
  option_text(pcapng::kComment, comment);
  end_options();
  end();
}

void PcapngBlocks::packet(std::int64_t time_ns, std::span<const std::uint8_t> data,
                          std::span<const std::uint8_t> more_data, Direction direction) {
  packet(0, time_ns, data.size() + more_data.size(), data, more_data, direction);
}

// Resizes once, since captures hold millions of packets.
void PcapngBlocks::packet(std::uint32_t interface, std::int64_t time_ns, std::size_t original,
                          std::span<const std::uint8_t> data,
                          std::span<const std::uint8_t> more_data, Direction direction) {
  const std::size_t captured = data.size() + more_data.size();
  const auto total = static_cast<std::uint32_t>(packet_bytes(captured, direction));
  const auto ticks = static_cast<std::uint64_t>(time_ns);
  const std::array<std::uint32_t, 7> head{pcapng::kEnhancedPacket,
                                          total,
                                          interface,
                                          static_cast<std::uint32_t>(ticks >> 32),
                                          static_cast<std::uint32_t>(ticks),
                                          static_cast<std::uint32_t>(captured),
                                          static_cast<std::uint32_t>(original)};
  const std::size_t at = bytes_.size();
  bytes_.resize(at + total);
  std::uint8_t* to = bytes_.data() + at;
  std::memcpy(to, head.data(), sizeof head);
  to += sizeof head;
  if (!data.empty()) std::memcpy(to, data.data(), data.size());
  if (!more_data.empty()) std::memcpy(to + data.size(), more_data.data(), more_data.size());
  if (direction != Direction::kUnknown) {
    const std::array<std::uint16_t, 2> option{pcapng::kEpbFlags, sizeof direction};
    to += pcapng::padded(captured);
    std::memcpy(to, option.data(), sizeof option);
    std::memcpy(to + sizeof option, &direction, sizeof direction);
  }
  std::memcpy(bytes_.data() + at + total - sizeof total, &total, sizeof total);
}

void PcapngBlocks::statistics(const Statistics& statistics) {
  begin(pcapng::kInterfaceStatistics);
  put(std::uint32_t{0});  // the interface
  put_time(statistics.last_ns);
  if (statistics.first_ns != 0) option_time(pcapng::kIsbStarttime, statistics.first_ns);
  if (statistics.end_time) option_time(pcapng::kIsbEndtime, statistics.last_ns);
  option_u64(pcapng::kIsbIfrecv, statistics.received);
  option_u64(statistics.by_interface ? pcapng::kIsbIfdrop : pcapng::kIsbOsdrop, statistics.dropped);
  end_options();
  end();
}

}  // namespace rpcrdma::base
