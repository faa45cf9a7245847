// Reads pcapng block by block.
#include "pcapng_reader.h"

#include <algorithm>

#include <rpcrdma/base/text.h>

namespace rpcrdma::capture {
namespace {

constexpr std::size_t kSmallestSimple = 16;

constexpr std::size_t kMaxInterfaces = 65536;  // per section: bounds the cost of a hostile file
constexpr std::uint16_t kDropsUnknown = 0xffff;
constexpr std::uint64_t kMostDrops = std::uint64_t{1} << 44;  // largest credible count

bool possible_length(std::uint32_t total) {
  return total >= pcapng::kSmallestBlock && total % 4 == 0 && total <= kMaxRecordBytes;
}

bool byte_order_of(const std::uint8_t* magic, base::ByteOrder& order) {
  for (const bool swapped : {false, true}) {
    order.swapped = swapped;
    if (order.u32(magic) == pcapng::kByteOrderMagic) return true;
  }
  return false;
}

}  // namespace

Expected<std::unique_ptr<FileSource>> PcapngReader::open(std::unique_ptr<Feed> feed,
                                                         std::string name,
                                                         std::uint64_t bytes_total) {
  const std::uint8_t* const p = feed->need(pcapng::kSmallestSection);
  if (p == nullptr) {
    if (!feed->failure().empty()) return fail(name + ": " + feed->failure());
    return fail(name + ": the file ends within its pcapng section header: only " +
                std::to_string(feed->available()) + " bytes of it are present" +
                (feed->damage().empty() ? "" : ": " + feed->damage()));
  }
  base::ByteOrder order;
  if (!byte_order_of(p + pcapng::kBlockHead, order)) {
    return fail(name + ": not a capture file: it begins like pcapng, but has no byte-order magic");
  }
  const std::uint16_t major = order.u16(p + 12);
  if (major != 1) {
    return fail(name + ": pcapng version " + std::to_string(major) + "." +
                std::to_string(order.u16(p + 14)) + " is not supported, only 1.x");
  }
  return std::unique_ptr<FileSource>(
      new PcapngReader(std::move(feed), std::move(name), bytes_total));
}

Expected<bool> PcapngReader::next(Frame& frame) try {
  for (;;) {
    const std::uint8_t* const p = feed_->need(pcapng::kSmallestBlock);
    if (p == nullptr) [[unlikely]] {
      return end_of_file();
    }
    const std::uint32_t type = order_.u32(p);
    if (type == pcapng::kSectionHeader) [[unlikely]] {
      if (auto begun = begin_section(); !begun || !*begun) return begun;
      continue;
    }
    const std::uint32_t total = order_.u32(p + 4);
    const Bytes block = whole_block(total);
    if (block.empty()) [[unlikely]] {
      return broken_block(total);
    }
    const std::uint64_t at = feed_->offset();
    bool is_packet = true;
    has_last_ = type == pcapng::kInterfaceStatistics;
    const char* why = nullptr;
    switch (type) {
      case pcapng::kEnhancedPacket:
        why = enhanced_packet(block, frame);
        break;
      case pcapng::kSimplePacket:
        why = simple_packet(block, frame);
        break;
      case pcapng::kObsoletePacket:
        why = obsolete_packet(block, frame);
        break;
      case pcapng::kInterfaceDescription:
        is_packet = false;
        why = add_interface(block);
        break;
      case pcapng::kInterfaceStatistics:
        is_packet = false;
        why = statistics(block);
        break;
      default:  // names, secrets, comments and future blocks
        is_packet = false;
        break;
    }
    if (is_packet && why == nullptr) [[likely]] {
      feed_->advance(total);
      feed_->prefetch(total);
      frame.room = room_taken();
      return true;
    }
    feed_->skip(total);
    if (why != nullptr) skipped(at, why, total);
  }
} catch (const std::bad_alloc&) {
  return base::out_of_memory(name_);
}

Expected<bool> PcapngReader::end_of_file() {
  check_closed();
  if (unclosed_) {
    lacks_end(
        "the recording was not closed: it ends without its statistics, and its last packets may "
        "be missing");
  }
  return end_of_input("block");
}

std::optional<Mark> PcapngReader::mark() const {
  if (!marks_) return std::nullopt;
  if (format_ == nullptr) {
    format_ = std::make_shared<const Mark::Format>(
        Mark::Format{0, order_, first_interface_, interfaces_});
  }
  return Mark{feed_->offset(), stats_.frames, format_};
}

bool PcapngReader::take_format(const Mark& mark) {
  if (mark.format == nullptr || mark.format->pcap_scale != 0) return false;
  order_ = mark.format->order;
  first_interface_ = mark.format->first_interface;
  interfaces_ = mark.format->interfaces;
  return true;
}

PcapngReader::Bytes PcapngReader::whole_block(std::uint32_t total) {
  if (!possible_length(total)) return {};
  const std::uint8_t* const p = feed_->need(total);
  if (p == nullptr || order_.u32(p + total - pcapng::kTrailer) != total) return {};
  return {p, total};
}

Expected<bool> PcapngReader::broken_block(std::uint32_t total) {
  if (!possible_length(total)) {
    return stop("impossible block length " + std::to_string(total), feed_->offset());
  }
  if (feed_->available() < total) return end_of_input("block");
  return stop("a block whose two lengths differ", feed_->offset());
}

Expected<bool> PcapngReader::begin_section() {
  const std::uint8_t* const p = feed_->need(pcapng::kSmallestSection);
  if (p == nullptr) return end_of_input("section header");
  if (!byte_order_of(p + pcapng::kBlockHead, order_)) {
    return stop("a section header without byte-order magic", feed_->offset());
  }
  if (order_.u16(p + 12) != 1) {
    return stop("a section of an unsupported pcapng version", feed_->offset());
  }
  const std::uint32_t total = order_.u32(p + 4);
  const Bytes block = whole_block(total);
  if (block.empty()) return broken_block(total);
  if (total < pcapng::kSmallestSection) {
    return stop("impossible block length " + std::to_string(total), feed_->offset());
  }
  check_closed();
  promised_ = has_last_ = false;
  options(block, pcapng::kSectionOptionsAt, [&](std::uint16_t code, Bytes value) {
    if (code == pcapng::kComment && base::as_text(value) == pcapng::kEndsWithStatistics)
      promised_ = true;
  });
  // The section's own length is not needed: its blocks lead to the next section.
  feed_->skip(total);
  first_interface_ += static_cast<std::uint32_t>(interfaces_.size());
  interfaces_.clear();
  format_.reset();
  return true;
}

const char* PcapngReader::add_interface(Bytes block) {
  if (block.size() < pcapng::kSmallestInterface)
    return "an interface description that is too short";
  if (interfaces_.size() == kMaxInterfaces) return "more interfaces than are supported";
  std::uint8_t tsresol = TimeScale::kMicroseconds;
  std::int64_t tsoffset = 0;
  options(block, pcapng::kInterfaceOptionsAt, [&](std::uint16_t code, Bytes value) {
    if (code == pcapng::kIfTsresol && value.size() == 1) tsresol = value[0];
    if (code == pcapng::kIfTsoffset && value.size() == 8) {
      tsoffset = static_cast<std::int64_t>(order_.u64(value.data()));
    }
  });
  format_.reset();
  interfaces_.push_back(
      {.link = static_cast<LinkType>(order_.u16(block.data() + pcapng::kLinkTypeAt)),
       .snaplen = order_.u32(block.data() + pcapng::kSnaplenAt),
       .time = TimeScale(tsresol, tsoffset)});
  return nullptr;
}

const char* PcapngReader::statistics(Bytes block) {
  if (block.size() < pcapng::kSmallestStatistics) return "interface statistics that are too short";
  const std::uint32_t id = order_.u32(block.data() + 8);
  if (id >= interfaces_.size()) return "statistics of an interface that is not described";
  std::uint64_t drops = 0;
  options(block, pcapng::kStatisticsOptionsAt, [&](std::uint16_t code, Bytes value) {
    if ((code == pcapng::kIsbIfdrop || code == pcapng::kIsbOsdrop) && value.size() == 8) {
      drops = std::min(drops + std::min(order_.u64(value.data()), kMostDrops), kMostDrops);
    }
  });
  update_drops(interfaces_[id], drops, interfaces_[id].drops_counted);
  return nullptr;
}

void PcapngReader::update_drops(Interface& interface, std::uint64_t reported,
                                std::uint64_t counted) {
  // A hostile file must not make the sum over its interfaces and sections overflow.
  if (stats_.dropped >= kMostDrops * kMaxInterfaces) return;
  stats_.dropped -= std::max(interface.drops_reported, interface.drops_counted);
  interface.drops_reported = std::min(reported, kMostDrops);
  interface.drops_counted = std::min(counted, kMostDrops);
  stats_.dropped += std::max(interface.drops_reported, interface.drops_counted);
}

const char* PcapngReader::enhanced_packet(Bytes block, Frame& frame) {
  if (block.size() < pcapng::kSmallestPacket) return "a packet block that is too short";
  const std::uint8_t* const p = block.data();
  const Packet fields{
      .interface = order_.u32(p + pcapng::kPacketInterfaceAt),
      .ticks = ticks(p),
      .captured = order_.u32(p + pcapng::kCapturedAt),
      .original = order_.u32(p + pcapng::kOriginalAt),
      .data_at = pcapng::kDataAt,
  };
  if (const char* const why = packet(block, fields, frame)) return why;
  options(block, pcapng::kDataAt + pcapng::padded(fields.captured),
          [&](std::uint16_t code, Bytes value) {
            if (code == pcapng::kEpbDropcount && value.size() == 8) {
              Interface& from = interfaces_[fields.interface];
              update_drops(from, from.drops_reported,
                           from.drops_counted + std::min(order_.u64(value.data()), kMostDrops));
            }
          });
  return nullptr;
}

const char* PcapngReader::obsolete_packet(Bytes block, Frame& frame) {
  if (block.size() < pcapng::kSmallestPacket) return "a packet block that is too short";
  const std::uint8_t* const p = block.data();
  const Packet fields{
      .interface = order_.u16(p + pcapng::kPacketInterfaceAt),
      .ticks = ticks(p),
      .captured = order_.u32(p + pcapng::kCapturedAt),
      .original = order_.u32(p + pcapng::kOriginalAt),
      .data_at = pcapng::kDataAt,
  };
  if (const char* const why = packet(block, fields, frame)) return why;
  if (const std::uint16_t drops = order_.u16(p + 10); drops != kDropsUnknown) {
    Interface& from = interfaces_[fields.interface];
    update_drops(from, from.drops_reported, from.drops_counted + drops);
  }
  return nullptr;
}

// A simple packet has no captured length of its own, no time, and always the first interface.
const char* PcapngReader::simple_packet(Bytes block, Frame& frame) {
  if (block.size() < kSmallestSimple) return "a packet block that is too short";
  if (interfaces_.empty()) return "a packet of an interface that is not described";
  const std::uint32_t original = order_.u32(block.data() + 8);
  const std::uint32_t snaplen = interfaces_.front().snaplen;
  const Packet fields{
      .interface = 0,
      .ticks = 0,
      .captured = snaplen == 0 ? original : std::min(original, snaplen),
      .original = original,
      .data_at = 12,
  };
  if (const char* const why = packet(block, fields, frame)) return why;
  frame.time_ns = 0;
  return nullptr;
}

const char* PcapngReader::packet(Bytes block, const Packet& packet, Frame& frame) {
  if (packet.interface >= interfaces_.size()) {
    return "a packet of an interface that is not described";
  }
  if (pcapng::padded(packet.captured) > block.size() - packet.data_at - pcapng::kTrailer) {
    return "a packet longer than its block";
  }
  const Interface& interface = interfaces_[packet.interface];
  frame.number = ++stats_.frames;
  frame.time_ns = interface.time.to_ns(packet.ticks);
  frame.original = packet.original;
  frame.interface = first_interface_ + packet.interface;
  frame.link = interface.link;
  frame.data = block.subspan(packet.data_at, packet.captured);
  return nullptr;
}

}  // namespace rpcrdma::capture
