// Writes the blocks of a pcapng file (draft-ietf-opsawg-pcapng section 4), in the byte order of
// this machine and in nanoseconds.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <rpcrdma/base/frame.h>

namespace rpcrdma::base {

// The direction in epb_flags, which are left out when it is unknown.
enum class Direction : std::uint32_t { kUnknown = 0, kInbound = 1, kOutbound = 2 };

class PcapngBlocks {
 public:
  static constexpr std::uint8_t kTsresol = 9;  // nanoseconds

  struct Statistics {
    std::int64_t first_ns = 0;  // when the capture began; 0: left out
    std::int64_t last_ns = 0;   // when it ended; also the time of the block
    std::uint64_t received = 0;
    std::uint64_t dropped = 0;
    // By the interface itself, as Wireshark shows it; else by the system that captures from it.
    bool by_interface = false;
    bool end_time = true;  // writes `last_ns` as an option, too
  };

  // What the writer of a section puts at its end, whatever happens to it before: where that is
  // missing, its reader says that the file was not closed.
  enum class End : std::uint8_t { kAny, kStatistics };

  // Each appends one whole block.
  void section(End end = End::kAny);
  void interface(const Interface& interface);
  // `interface`: which of the section's, from 0.
  void packet(const Frame& frame, std::uint32_t interface = 0);
  // The same for one that was not cut, whose data are in two parts.
  void packet(std::int64_t time_ns, std::span<const std::uint8_t> data,
              std::span<const std::uint8_t> more_data, Direction direction = Direction::kUnknown);
  void statistics(const Statistics& statistics);
  // One that somebody else has made, whole.
  void block(std::span<const std::uint8_t> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }

  // The size of the block that packet() appends.
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
  std::size_t block_ = 0;  // where the block that is being appended begins
};

}  // namespace rpcrdma::base
