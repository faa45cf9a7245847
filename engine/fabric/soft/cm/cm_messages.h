// Builds the CM's messages from a connection's state, and converts the units of their fields.
#pragma once

#include "cm_state.h"

#include <cstdint>

#include <rpcrdma/fabric/address.h>
#include <rpcrdma/fabric/time.h>
#include <rpcrdma/soft/cm.h>
#include <rpcrdma/soft/packet.h>
#include <rpcrdma/wire/cm.h>

namespace rpcrdma::soft {

// Times in messages are 4.096 us * 2^code, with a 5-bit code (12.7); codes are rounded up.
[[nodiscard]] fabric::Time cm_time(std::uint8_t code);
[[nodiscard]] std::uint8_t cm_time_code(fabric::Time time);

// A CA keeps its GUID across restarts, so that a peer can recognize stale connections. Ours is
// derived from the address.
[[nodiscard]] std::uint64_t cm_guid(const fabric::Address& local);

// Derives a RoCEv2 connection's UDP source port from its flow label (as Linux does), and a label
// that yields a given port. Each side can thus predict the port of the other direction.
[[nodiscard]] std::uint16_t cm_source_port(std::uint32_t flow_label);
[[nodiscard]] std::uint32_t cm_flow_label(std::uint16_t udp_source_port);

// An address as in the IP CM header: IPv4 in the last four bytes.
[[nodiscard]] wire::Gid cm_ip(const fabric::Address& address);

// Returns whether a peer or an owner may use this QPN: 0 and 1 are for management, the highest is
// for multicast.
[[nodiscard]] constexpr bool cm_qpn_good(std::uint32_t qpn) {
  return qpn >= 2 && qpn < 0xffffff;
}
[[nodiscard]] constexpr bool cm_path_mtu_good(std::uint8_t code) {
  return code >= 1 && code <= 5;
}

// Times that go into messages but do not belong to a connection.
struct CmTimes {
  std::uint8_t response_code = 0;  // how long we wait for an answer
  std::uint8_t retries = 0;
  std::uint8_t service_code = 0;  // how long our MRA makes the peer wait
};

// Writes the message for `pending` (one bit) into `out`, wire::kMadBytes long.
void cm_write(const CmConnection& connection, CmPending pending, const CmTimes& times,
              wire::MutableBytes out);

// An answer to a message for no known connection.
struct CmAnswer {
  Path path;
  std::uint64_t transaction_id = 0;
  bool drep = false;  // else REJ
  std::uint32_t local_id = 0, remote_id = 0;
  std::uint8_t about = 0;    // REJ
  std::uint16_t reason = 0;  // REJ
};
void cm_write(const CmAnswer& answer, wire::MutableBytes out);

}  // namespace rpcrdma::soft
