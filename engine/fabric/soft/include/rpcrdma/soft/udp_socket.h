// Carries packets as UDP datagrams of RoCEv2 (annex A17) through the kernel: packets that follow
// each other to one peer leave as one batch (UDP_SEGMENT), and what the kernel joined on its way in
// is taken apart (UDP_GRO).
//
// The ICRC covers the identification that the kernel gives an IPv4 datagram. With don't-fragment on
// a socket that is not connected it is 0, and that of a batch's datagrams counts up from 0.
#pragma once

#include <cstdint>
#include <memory>

#include <rpcrdma/fabric/error.h>
#include <rpcrdma/soft/frame.h>
#include <rpcrdma/soft/packet.h>
#include <rpcrdma/trace/packet_tap.h>

namespace rpcrdma::soft {

class PacketLog;

struct UdpOptions {
  // One datagram a packet, each on its own through the kernel.
  bool exact = false;
  // Bytes, of which the kernel gives as much as it allows.
  int send_buffer = 8 << 20;
  int receive_buffer = 8 << 20;
};

struct UdpCounters {
  std::uint64_t sent_packets = 0;
  std::uint64_t sent_bytes = 0;    // BTH through ICRC
  std::uint64_t sent_batches = 0;  // calls of the kernel that took them
  std::uint64_t refused = 0;  // packets that the kernel did not take, for `last_error`; they are
                              // lost, as on a wire
  std::uint64_t received_packets = 0;
  std::uint64_t received_bytes = 0;    // BTH through ICRC
  std::uint64_t received_batches = 0;  // buffers, each of one datagram or of several joined ones
  std::uint64_t icrc_good = 0;
  std::uint64_t icrc_bad = 0;
  std::uint64_t icrc_unchecked = 0;
  std::uint64_t too_short = 0;  // for a BTH and an ICRC, or cut; not in received_packets
  std::uint64_t errors = 0;     // that peers or routers told of (ICMP), while receiving
  int last_error = 0;           // errno of the last refusal or error
};

// A packet on its way in.
struct InPacket {
  const Path* path = nullptr;  // `remote` sent it from its port `udp_source_port`
  wire::Bytes bytes;           // from the BTH through the pad bytes
  IcrcCheck icrc = IcrcCheck::kUnchecked;
};

class UdpSocket {
 public:
  // Bound to `local`, which has to be the address of an interface, and the port of RoCEv2, from
  // which it also sends. Errors: kSystem, kBadArgument for the unspecified address.
  [[nodiscard]] static fabric::Expected<UdpSocket> open(const fabric::Address& local,
                                                        const UdpOptions& options = {});
  ~UdpSocket();
  UdpSocket(UdpSocket&&) noexcept;
  UdpSocket& operator=(UdpSocket&&) noexcept;

  [[nodiscard]] int fd() const;
  // What a path of this socket's has as `local` and `udp_source_port`.
  [[nodiscard]] const fabric::Address& local() const;
  [[nodiscard]] std::uint16_t source_port() const;

  // Copies the packet into the batch that is to be sent; packet.path tells the remote address. It
  // may send what waits already. False: the packet was not taken, since fd() is not writable; what
  // waits is kept.
  [[nodiscard]] bool add(const OutPacket& packet);
  // Sends bytes that frame() made with identification 0, by themselves, also if they were damaged
  // since. False as of add().
  [[nodiscard]] bool add_framed(const Path& path, wire::Bytes datagram);
  // Sends what waits. False: something still does, since fd() is not writable. An empty batch is
  // sent.
  [[nodiscard]] bool flush();

  // Gives `visitor` an InPacket for each packet that has come, at most what one call of the kernel
  // yields; its path and bytes are valid until `visitor` returns. A packet whose ICRC is wrong for
  // certain is counted and not given. False when there was nothing to receive.
  // `visitor` may call add() and flush().
  template <typename Visitor>
  bool receive(Visitor&& visitor) {
    const bool more = begin_receive();
    InPacket packet;
    while (next(packet)) visitor(static_cast<const InPacket&>(packet));
    return more;
  }

  // Everything sent and received is written to `log`, which lives until it is replaced; null: to
  // none.
  void log_to(PacketLog* log);
  // And shown to those who read `tap`, while there are any; null: to none.
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
