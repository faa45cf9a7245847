// Writes the blocks of a pcapng file (draft-ietf-opsawg-pcapng section 4), in this machine's byte
// order and with nanosecond timestamps.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <rpcrdma/base/frame.h>

namespace rpcrdma::base {

// Values of epb_flags; kUnknown omits the option.
enum class Direction : std::uint32_t { kUnknown = 0, kInbound = 1, kOutbound = 2 };

class PcapngBlocks {
 public:
  static constexpr std::uint8_t kTsresol = 9;  // nanoseconds

  struct Statistics {
    std::int64_t first_ns = 0;  // the start of the capture; 0: omitted
    std::int64_t last_ns = 0;   // its end, and the time of the block
    std::uint64_t received = 0;
    std::uint64_t dropped = 0;
    // Counts drops by the interface itself, as Wireshark shows them; otherwise by the capturing
    // system.
    bool by_interface = false;
    bool end_time = true;  // store `last_ns` as an option, in addition to the time of the block
  };

  // The block that the writer always puts at the end of its section, if any. A reader that does not
  // find it reports that the file was not closed.
  enum class End : std::uint8_t { kAny, kStatistics };

  // Each function appends one whole block.
  void section(End end = End::kAny);
  void interface(const Interface& interface);
  // `interface`: its index in the section, from 0.
  void packet(const Frame& frame, std::uint32_t interface = 0);
  // Appends a packet with a comment in UTF-8.
  void packet(const Frame& frame, std::uint32_t interface, const std::string& comment);
  // Appends an untruncated packet whose data are in two parts.
  void packet(std::int64_t time_ns, std::span<const std::uint8_t> data,
              std::span<const std::uint8_t> more_data, Direction direction = Direction::kUnknown);
  void statistics(const Statistics& statistics);
  // Appends a complete block that was built elsewhere.
  void block(std::span<const std::uint8_t> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }

  // Returns the size of the block that packet() appends.
  [[nodiscard]] static std::size_t packet_bytes(const Frame& frame);
  [[nodiscard]] static std::size_t packet_bytes(std::size_t data, Direction direction);

  [[nodiscard]] const std::vector<std::uint8_t>& bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }
  void reserve(std::size_t bytes) { bytes_.reserve(bytes); }

 private:
  void packet(std::uint32_t interface, std::int64_t time_ns, std::size_t original,
              std::span<const std::uint8_t> data, std::span<const std::uint8_t> more_data,
              Direction direction);
  void begin(std::uint32_t type);
  void end();
  template <typename T>
  void put(T value);
  void put_time(std::int64_t ns);
  void put_bytes(std::span<const std::uint8_t> bytes);  // with padding to four
  void option(std::uint16_t code, std::span<const std::uint8_t> value);
  void option_text(std::uint16_t code, std::string text);
  void option_u64(std::uint16_t code, std::uint64_t value);
  void option_time(std::uint16_t code, std::int64_t ns);
  void end_options();

  std::vector<std::uint8_t> bytes_;
  std::size_t block_ = 0;  // where the current block begins
};

}  // namespace rpcrdma::base
