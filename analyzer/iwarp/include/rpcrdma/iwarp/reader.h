// Turns the TCP segments of iWARP connections into the same calls of a listener as RoCE packets, so
// that Calls, chunks, credits and rules are handled alike for both. See reader.cc.
#pragma once

#include <cstdint>
#include <memory>

#include <rpcrdma/capture/ip_packet.h>
#include <rpcrdma/roce/connections.h>
#include <rpcrdma/roce/listener.h>

namespace rpcrdma::iwarp {

// Keeps state for at most roce::kMaxConnections iWARP connections, and for as many TCP connections
// of which it is not known yet what they are.
class Reader final : public roce::Connections {
 public:
  // Both must outlive the reader.
  Reader(roce::Listener& listener, roce::ConnectionNumbers& numbers);
  ~Reader() override;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Processes one IP packet; call it in capture order. Returns whether it is a segment of an iWARP
  // connection.
  bool packet(const capture::IpPacket& ip, const roce::PacketMeta& meta);

  // Announces a jump to a later place in the capture: what is missing there is no loss.
  void skip();

  // Ends the capture at `end_ns` of its own clock: closes every connection.
  void finish(std::int64_t end_ns = INT64_MIN);

  [[nodiscard]] roce::PacketStats stats() const override;
  [[nodiscard]] std::uint32_t connection_count() const override;
  [[nodiscard]] const roce::Connection* find(std::uint32_t index) const override;

  // Bytes that are held for all connections: for tests of the bounds.
  [[nodiscard]] std::size_t held_bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::iwarp
