// Sends and receives RoCEv2 packets as UDP datagrams (annex A17) through the kernel. Consecutive
// packets to one peer are sent as one batch (UDP_SEGMENT), and received datagrams that the kernel
// coalesced are split (UDP_GRO).
//
// The ICRC covers the identification that the kernel assigns to an IPv4 datagram. On an unconnected
// socket with don't-fragment it is 0; in a batch it counts up from 0.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <rpcrdma/fabric/error.h>
#include <rpcrdma/soft/frame.h>
#include <rpcrdma/soft/packet.h>
#include <rpcrdma/trace/packet_tap.h>

namespace rpcrdma::soft {

class PacketLog;

struct UdpOptions {
  // One datagram per packet, each sent to the kernel separately.
  bool exact = false;
  // Bytes; the kernel grants as much as it allows.
  int send_buffer = 8 << 20;
  int receive_buffer = 8 << 20;
};

struct UdpCounters {
  std::uint64_t sent_packets = 0;
  std::uint64_t sent_bytes = 0;    // BTH through ICRC
  std::uint64_t sent_batches = 0;  // system calls that sent them
  std::uint64_t refused = 0;       // packets that the kernel refused, see `last_error`; they are
                                   // lost, as on a wire
  std::uint64_t received_packets = 0;
  std::uint64_t received_bytes = 0;    // BTH through ICRC
  std::uint64_t received_batches = 0;  // buffers with one datagram or several coalesced ones
  std::uint64_t icrc_good = 0;
  std::uint64_t icrc_bad = 0;
  std::uint64_t icrc_unchecked = 0;
  std::uint64_t too_short = 0;  // for a BTH and an ICRC, or truncated; not in received_packets
  std::uint64_t errors = 0;     // reported by peers or routers (ICMP) while receiving
  int last_error = 0;           // errno of the last refusal or error
  // Packets for other endpoints that share the port, which are in received_packets of those:
  // forwarded, and lost because the other endpoint was too slow or has ended.
  std::uint64_t forwarded = 0, forward_dropped = 0;
};

// A received packet.
struct InPacket {
  const Path* path = nullptr;  // `remote` sent it from its port `udp_source_port`
  wire::Bytes bytes;           // from the BTH through the pad bytes
  IcrcCheck icrc = IcrcCheck::kUnchecked;
};

class UdpSocket {
 public:
  // Opens a socket on `local`, which must be the address of an interface, and the RoCEv2 port, from
  // which it also sends. Up to kShares endpoints of one user share the port of an address
  // (share.h). Errors: kSystem, kBadArgument for the unspecified address.
  [[nodiscard]] static fabric::Expected<UdpSocket> open(const fabric::Address& local,
                                                        const UdpOptions& options = {});
  ~UdpSocket();
  UdpSocket(UdpSocket&&) noexcept;
  UdpSocket& operator=(UdpSocket&&) noexcept;

  [[nodiscard]] int fd() const;
  // The `local` and `udp_source_port` of paths on this socket.
  [[nodiscard]] const fabric::Address& local() const;
  [[nodiscard]] std::uint16_t source_port() const;

  // Bytes that the kernel keeps until they are received, including its own for each datagram.
  [[nodiscard]] std::size_t receive_buffer() const;

  [[nodiscard]] std::uint8_t share() const;
  // Claims a listener's port among the endpoints that share the address; connection requests for it
  // come here then. Error: kSystem, another one has it.
  [[nodiscard]] fabric::Expected<void> claim_port(std::uint16_t port);
  void release_port(std::uint16_t port);
  // Further descriptors that become readable when there is something to receive: those of packets
  // that another endpoint has forwarded. They change with claim_port().
  [[nodiscard]] std::vector<int> more_fds() const;

  // Adds the packet to the current batch; packet.path holds the remote address. May send the
  // batch. False: the packet was not accepted, since fd() is not writable; the batch is kept. A
  // payload that stays (OutPacket::payload_stays) must stay, unchanged, until the next flush() or
  // the next add() that returns false; everything else is copied.
  [[nodiscard]] bool add(const OutPacket& packet);
  // Sends bytes that frame() built with identification 0, even if they were damaged since, in a
  // batch of their own. False as in add().
  [[nodiscard]] bool add_framed(const Path& path, wire::Bytes datagram);
  // Sends the batch. False: a part of it remains, since fd() is not writable. True for an empty
  // batch.
  [[nodiscard]] bool flush();

  // Calls `visitor` with an InPacket for each received packet, at most those of one system call;
  // its path and bytes are valid until `visitor` returns. A packet with a definitely wrong ICRC is
  // only counted. False if there was nothing to receive. `visitor` may call add() and flush().
  template <typename Visitor>
  bool receive(Visitor&& visitor) {
    const bool more = begin_receive();
    InPacket packet;
    while (next(packet)) visitor(static_cast<const InPacket&>(packet));
    return more;
  }

  // Writes everything sent and received to `log`, which must live until it is replaced; null: no
  // log.
  void log_to(PacketLog* log);
  // Also passes everything to the readers of `tap`, if there are any; null: no tap.
  void show_to(trace::PacketTap* tap);

  [[nodiscard]] const UdpCounters& counters() const;

 private:
  struct State;

  explicit UdpSocket(std::unique_ptr<State> state);
  bool begin_receive();
  bool next(InPacket& packet);

  std::unique_ptr<State> state_;
};

}  // namespace rpcrdma::soft
