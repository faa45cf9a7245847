// Collects packets and sends them as one batch. Long payloads that stay where they are until then
// are not copied: the kernel gathers them.
#pragma once

#include "udp_state.h"

#include <array>
#include <memory>

#include <rpcrdma/fabric/socket_address.h>

namespace rpcrdma::soft {

class SendBatch {
 public:
  // `joined`: the kernel accepts several datagrams at once.
  SendBatch(UdpShared& shared, bool joined);

  // See UdpSocket::add(), add_framed() and flush().
  [[nodiscard]] bool add(const OutPacket& packet);
  [[nodiscard]] bool add_framed(const Path& path, wire::Bytes datagram);
  [[nodiscard]] bool flush();

 private:
  [[nodiscard]] bool fits(const OutPacket& packet, std::size_t length) const;
  void begin(const Path& path, std::size_t length);
  // Sends the batch in one system call. Returns 0 or errno.
  [[nodiscard]] int send_gathered();
  [[nodiscard]] bool send_joined();
  [[nodiscard]] bool send_singly();
  // Fills the gaps in buffer_.
  void copy_gaps();
  void number_singly();
  [[nodiscard]] wire::MutableBytes datagram(std::size_t offset) const;
  void refused(int error, std::size_t packets);
  void log_sent(std::size_t offset, std::uint16_t ip_id);

  UdpShared& shared_;
  std::size_t most_;              // datagrams in a batch
  bool joining_refused_ = false;  // for this batch
  Path path_;                     // of the batch, or of the previous one if the batch is empty
  fabric::SocketAddress to_;
  std::unique_ptr<std::uint8_t[]> buffer_;
  // Payloads that are not in buffer_, where their places are gaps. None after flush().
  struct Gap {
    std::size_t offset = 0;
    wire::Bytes payload;
  };
  std::array<Gap, kMaxBatch> gaps_;
  std::size_t gap_count_ = 0;
  std::size_t datagrams_ = 0;
  std::size_t each_ = 0;   // bytes of each datagram but the last, which may be shorter
  std::size_t bytes_ = 0;  // total
  std::size_t gone_ = 0;   // bytes at the front that were sent
};

}  // namespace rpcrdma::soft
