// Buffers that datagrams are received into, and the walk over what is in them.
#pragma once

#include "udp_state.h"

#include <array>
#include <memory>
#include <optional>

#include <rpcrdma/fabric/socket_address.h>

namespace rpcrdma::soft {

class ReceiveRing {
 public:
  explicit ReceiveRing(UdpShared& shared);

  // One call of the kernel; what the last one gave is over. False: it had nothing.
  [[nodiscard]] bool fill();
  // The next packet of it; false: none is left.
  [[nodiscard]] bool next(InPacket& packet);

 private:
  // A few suffice: what belongs to one flow comes joined.
  static constexpr std::size_t kBuffers = 8;
  static constexpr std::size_t kBufferBytes = 65536;

  struct alignas(cmsghdr) Control {
    std::array<std::uint8_t, CMSG_SPACE(sizeof(int))> bytes;
  };

  void prepare(std::size_t buffer);
  // One call of the kernel: how many buffers it filled, or -1 with errno.
  [[nodiscard]] int call();
  // Takes up the buffer that `at_` counts; false: its content is of no use.
  [[nodiscard]] bool open();
  [[nodiscard]] bool take(wire::Bytes datagram, InPacket& packet);

  UdpShared& shared_;
  std::unique_ptr<std::uint8_t[]> memory_;
  std::array<mmsghdr, kBuffers> messages_{};
  std::array<iovec, kBuffers> contents_{};
  std::array<fabric::SocketAddress, kBuffers> names_{};
  std::array<Control, kBuffers> controls_{};
  // Calls in a row that brought something: one message comes alone, several ask for more at once.
  unsigned in_a_row_ = 0;
  std::size_t filled_ = 0;  // buffers
  std::size_t at_ = 0;      // the buffer that is walked over
  // Of that one.
  wire::Bytes rest_;
  std::size_t each_ = 0;  // bytes of every datagram but the last, which may be shorter
  std::uint16_t likely_ip_id_ = 0;
  Path path_;
};

}  // namespace rpcrdma::soft
