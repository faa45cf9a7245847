// The CM's messages from what it keeps of a connection, and the units of their fields.
#pragma once

#include "cm_state.h"

#include <cstdint>

#include <rpcrdma/fabric/address.h>
#include <rpcrdma/fabric/time.h>
#include <rpcrdma/soft/cm.h>
#include <rpcrdma/soft/packet.h>
#include <rpcrdma/wire/cm.h>

namespace rpcrdma::soft {

// Times in messages are 4.096 us * 2^code, of 5 bits (12.7); a code is rounded up.
[[nodiscard]] fabric::Time cm_time(std::uint8_t code);
[[nodiscard]] std::uint8_t cm_time_code(fabric::Time time);

// A CA has one GUID however often it is started: that is how a peer knows that a connection of its
// is stale. We have an address for it.
[[nodiscard]] std::uint64_t cm_guid(const fabric::Address& local);

// A RoCEv2 connection's UDP source port out of its flow label (as Linux does it), and a label that
// gives that port: the two directions of a connection take ports that each other can foresee.
[[nodiscard]] std::uint16_t cm_source_port(std::uint32_t flow_label);
[[nodiscard]] std::uint32_t cm_flow_label(std::uint16_t udp_source_port);

// An address as the IP CM header has it: IPv4 in the last four bytes.
[[nodiscard]] wire::Gid cm_ip(const fabric::Address& address);

// What a peer, or an owner, may name: 0 and 1 are management's, the last is multicast's.
[[nodiscard]] constexpr bool cm_qpn_good(std::uint32_t qpn) {
  return qpn >= 2 && qpn < 0xffffff;
}
[[nodiscard]] constexpr bool cm_path_mtu_good(std::uint8_t code) {
  return code >= 1 && code <= 5;
}

// What goes into messages but does not belong to a connection.
struct CmTimes {
  std::uint8_t response_code = 0;  // how long we wait for an answer
  std::uint8_t retries = 0;
  std::uint8_t service_code = 0;  // how long our MRA lets the peer wait
};

// Writes the message that `pending` (one bit) stands for into `out`, wire::kMadBytes.
void cm_write(const CmConnection& connection, CmPending pending, const CmTimes& times,
              wire::MutableBytes out);

// An answer to a message of which nothing is kept.
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
