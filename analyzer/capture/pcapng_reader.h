// pcapng (draft-ietf-opsawg-pcapng): sections, interfaces, packets of all three kinds, statistics.
#pragma once

#include "file_source.h"
#include "time_scale.h"

#include <memory>
#include <string>
#include <vector>

#include <rpcrdma/base/pcapng/read_blocks.h>

namespace rpcrdma::capture {

namespace pcapng = base::pcapng;

class PcapngReader final : public FileSource {
 public:
  // The cursor must be at a Section Header Block.
  [[nodiscard]] static Expected<std::unique_ptr<FileSource>> open(std::unique_ptr<Feed> feed,
                                                                  std::string name,
                                                                  std::uint64_t bytes_total);

  [[nodiscard]] Expected<bool> next(Frame& frame) override;
  [[nodiscard]] std::optional<Mark> mark() const override;

 private:
  friend struct Mark::Format;
  using Bytes = std::span<const std::uint8_t>;

  [[nodiscard]] bool take_format(const Mark& mark) override;

  struct Interface {
    LinkType link;
    std::uint32_t snaplen;  // 0: no limit
    TimeScale time;
    // Two ways to report the same losses: a running total in statistics blocks, and counts since
    // the packet before. The larger one counts.
    std::uint64_t drops_reported = 0;
    std::uint64_t drops_counted = 0;
  };

  // A packet's fields, whichever block type held them.
  struct Packet {
    std::uint32_t interface;
    std::uint64_t ticks;
    std::uint32_t captured;
    std::uint32_t original;
    std::size_t data_at;  // from the start of the block
  };

  PcapngReader(std::unique_ptr<Feed> feed, std::string name, std::uint64_t bytes_total)
      : FileSource(std::move(feed), std::move(name), bytes_total) {}

  // Reads the Section Header Block at the cursor. On failure, returns what next() is to return.
  [[nodiscard]] Expected<bool> begin_section();

  // Returns the block at the cursor, whose length field says `total`; an empty span if it is
  // incomplete or inconsistent, in which case next() returns broken_block().
  [[nodiscard]] Bytes whole_block(std::uint32_t total);
  [[nodiscard]] Expected<bool> broken_block(std::uint32_t total);

  // Each parses a whole block. Returns null, or why the block is invalid.
  [[nodiscard]] const char* add_interface(Bytes block);
  [[nodiscard]] const char* statistics(Bytes block);
  [[nodiscard]] const char* enhanced_packet(Bytes block, Frame& frame);
  [[nodiscard]] const char* simple_packet(Bytes block, Frame& frame);
  [[nodiscard]] const char* obsolete_packet(Bytes block, Frame& frame);
  [[nodiscard]] const char* packet(Bytes block, const Packet& packet, Frame& frame);

  // Calls visit(code, value) for each option from `at` to the end of the block's body.
  template <typename Visit>
  void options(Bytes block, std::size_t at, Visit&& visit) const {
    pcapng::read_options(block, at, visit, order_);
  }
  // The time of a packet block, in the resolution of its interface.
  [[nodiscard]] std::uint64_t ticks(const std::uint8_t* block) const {
    return std::uint64_t{order_.u32(block + pcapng::kTimeAt)} << 32 |
           order_.u32(block + pcapng::kTimeAt + 4);
  }

  void update_drops(Interface& interface, std::uint64_t reported, std::uint64_t counted);

  // Called at the end of a section; see kEndsWithStatistics.
  void check_closed() { unclosed_ |= promised_ && !has_last_; }
  [[nodiscard]] Expected<bool> end_of_file();

  bool promised_ = false;  // the section announced statistics at its end
  bool has_last_ = false;  // the latest block was statistics
  bool unclosed_ = false;  // a section ended without them
  base::ByteOrder order_;
  std::uint32_t first_interface_ = 0;  // of the section, counted over the whole file
  std::vector<Interface> interfaces_;  // of the section
  // The interfaces for marks, built on first use and dropped when they change.
  mutable std::shared_ptr<const Mark::Format> format_;
};

struct Mark::Format {
  std::uint32_t pcap_scale = 0;  // of a pcap file; see PcapReader
  base::ByteOrder order;
  std::uint32_t first_interface = 0;
  std::vector<PcapngReader::Interface> interfaces;
};

}  // namespace rpcrdma::capture
