// Hands packets to the other endpoints that share the RoCEv2 port of this address (share.h). The
// kernel passes all packets to the socket that was bound first (SO_REUSEPORT), and its endpoint
// forwards those of others through Unix sockets. If it ends, the kernel chooses another one.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/fabric/error.h>
#include <rpcrdma/soft/packet.h>
#include <rpcrdma/soft/share.h>
#include <rpcrdma/soft/udp_socket.h>
#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::soft {

class PortShare {
 public:
  // A packet that another endpoint has received for this one.
  struct Forwarded {
    Path path;
    std::uint16_t ip_id = 0;  // as in ReceiveRing
    wire::Bytes datagram;     // from the BTH through the ICRC; valid until the next call
  };

  // Claims a share of the port. Call it before the UDP socket is bound, and bound() afterwards.
  // Error: kSystem, all shares are in use.
  [[nodiscard]] static fabric::Expected<std::unique_ptr<PortShare>> claim(
      const fabric::Address& local);
  // An endpoint that has no other beside it now receives all packets itself for as long as it
  // lives. Only the others need to look for forwarded ones.
  void bound();

  [[nodiscard]] std::uint8_t share() const { return share_; }

  // Claims a listener's port on this address. Error: kSystem, another endpoint has it.
  [[nodiscard]] fabric::Expected<void> claim_port(std::uint16_t port);
  void release_port(std::uint16_t port);

  // Returns true if it has forwarded the packet, or dropped it because the other endpoint is too
  // slow. False: it is ours, or nobody's. `datagram`: at least a BTH and an ICRC.
  [[nodiscard]] bool forward(const Path& path, std::uint16_t ip_id, wire::Bytes datagram,
                             UdpCounters& counters) {
    const std::uint32_t qpn = wire::load_be24(datagram.data() + 5);
    if (qpn != wire::kGsiQp && share_of_qpn(qpn) == share_) [[likely]] {
      return false;
    }
    return forward_other(qpn, path, ip_id, datagram, counters);
  }
  // Sends what forward() has collected.
  void flush(UdpCounters& counters);

  // Makes system calls until something was received. False: there was nothing.
  [[nodiscard]] bool fill();
  // Returns the next packet of fill(); false: none is left.
  [[nodiscard]] bool next(Forwarded& packet);
  // The sockets that become readable when something was forwarded; none for an endpoint that
  // receives all packets itself.
  [[nodiscard]] std::vector<int> descriptors() const;

 private:
  struct Waiting {
    std::vector<std::uint8_t> bytes;
    std::uint64_t packets = 0;
    bool known = false;  // somebody had the name when the last message was sent
  };

  explicit PortShare(const fabric::Address& local) : local_(local) {}
  [[nodiscard]] std::string share_name(std::uint8_t share) const;
  [[nodiscard]] std::string port_name(std::uint16_t port) const;
  // Returns the name of the endpoint to which the packet belongs; null: it is ours.
  [[nodiscard]] const std::string* owner_of(std::uint32_t qpn, wire::Bytes datagram);
  [[nodiscard]] bool forward_other(std::uint32_t qpn, const Path& path, std::uint16_t ip_id,
                                   wire::Bytes datagram, UdpCounters& counters);
  // Returns false if nobody has this name.
  bool send(const std::string& name, Waiting& waiting, UdpCounters& counters);
  [[nodiscard]] bool fill_from(int fd);

  fabric::Address local_;
  std::uint8_t share_ = 0;
  bool alone_ = false;
  std::array<std::string, kShares> names_;
  std::string port_name_;  // of the latest connection request
  base::FileDescriptor socket_;
  std::map<std::uint16_t, base::FileDescriptor> ports_;
  std::map<std::string, Waiting> waiting_;  // by the receiver's name
  std::unique_ptr<std::uint8_t[]> memory_;  // allocated with the first forwarded packet
  wire::Bytes rest_;
};

}  // namespace rpcrdma::soft
