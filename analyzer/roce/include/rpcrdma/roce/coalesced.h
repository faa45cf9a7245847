// Cuts datagrams that segmentation offload (GSO, GRO) merged before the capture point: on a
// loopback interface, on a sending or a receiving host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <rpcrdma/roce/tracker.h>

namespace rpcrdma::roce {

// The largest path MTU, and more than all headers and the ICRC around such a payload need.
inline constexpr std::size_t kLongestPacket = 4096 + 128;

class CoalescedPackets {
 public:
  // May several packets be in this one? Then it is too long, or its ICRC is wrong.
  [[nodiscard]] static bool possible(const PreparedPacket& packet) {
    return packet.icrc == IcrcCheck::kBad || packet.transport.wire_length > kLongestPacket;
  }

  // Finds the length that all packets but the last have: the first packet has a valid ICRC of its
  // own, and a BTH follows wherever one must begin. Returns false if there is none. `merged` must
  // stay valid until the last next(), and is not the packet that next() fills in.
  [[nodiscard]] bool begin(const PreparedPacket& merged);

  // Returns the next packet, prepared; false after the last one. It is valid until the next call.
  [[nodiscard]] bool next(PreparedPacket& packet);

  // After the last next(): packets without a whole BTH in the capture.
  [[nodiscard]] std::size_t truncated() const { return truncated_; }

 private:
  [[nodiscard]] bool is_length(std::size_t length) const;
  [[nodiscard]] bool icrc_good(std::size_t at, std::size_t length, std::uint16_t ip_id);
  void set_headers(std::size_t length, std::uint16_t ip_id);

  const PreparedPacket* merged_ = nullptr;
  std::size_t length_ = 0, at_ = 0;
  std::size_t truncated_ = 0;
  std::uint16_t number_ = 0;
  std::vector<std::uint8_t> bytes_;  // the headers before the BTH, and a packet
};

}  // namespace rpcrdma::roce
