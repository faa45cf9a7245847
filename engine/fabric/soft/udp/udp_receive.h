// Receives datagrams into buffers, and iterates over the packets in them.
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

  // Makes one system call and discards the previous contents. False: there was nothing to receive.
  [[nodiscard]] bool fill();
  // The same for packets that other endpoints have forwarded.
  [[nodiscard]] bool fill_forwarded();
  // Returns the next packet; false: none is left. Forwards those of other endpoints.
  [[nodiscard]] bool next(InPacket& packet);

 private:
  // A few suffice, since the kernel coalesces the datagrams of a flow.
  static constexpr std::size_t kBuffers = 8;
  static constexpr std::size_t kBufferBytes = 65536;

  struct alignas(cmsghdr) Control {
    std::array<std::uint8_t, CMSG_SPACE(sizeof(int))> bytes;
  };

  void prepare(std::size_t buffer);
  // Makes one system call. Returns how many buffers it filled, or -1 with errno.
  [[nodiscard]] int call();
  // Opens the buffer number `at_`; false: its contents are invalid.
  [[nodiscard]] bool open();
  [[nodiscard]] bool take(wire::Bytes datagram, InPacket& packet);
  [[nodiscard]] bool next_forwarded(InPacket& packet);

  UdpShared& shared_;
  std::unique_ptr<std::uint8_t[]> memory_;
  std::array<mmsghdr, kBuffers> messages_{};
  std::array<iovec, kBuffers> contents_{};
  std::array<fabric::SocketAddress, kBuffers> names_{};
  std::array<Control, kBuffers> controls_{};
  // Consecutive system calls that received something. One buffer is requested at first, several
  // during a burst.
  unsigned in_a_row_ = 0;
  std::size_t filled_ = 0;  // buffers
  std::size_t at_ = 0;      // the current buffer
  // State of the current buffer.
  wire::Bytes rest_;
  std::size_t each_ = 0;  // bytes of each datagram but the last, which may be shorter
  std::uint16_t likely_ip_id_ = 0;
  Path path_;
};

}  // namespace rpcrdma::soft
