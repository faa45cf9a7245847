// The parameters of a connected queue pair.
#pragma once

#include <cstdint>

#include <rpcrdma/fabric/time.h>

namespace rpcrdma::soft {

class PeerPath;

struct QpParameters {
  std::uint32_t remote_qpn = 0;
  std::uint32_t send_psn = 0;            // the first that our requester sends
  std::uint32_t receive_psn = 0;         // the first that the peer's requester sends
  std::uint32_t mtu = 1024;              // payload bytes per packet: 256, 512, 1024, 2048 or 4096
  std::uint8_t responder_resources = 1;  // the peer's concurrent Reads; more are an error
  std::uint8_t initiator_depth = 1;      // own Reads in flight; 0: none may be posted
  std::uint8_t retry_count = 7;          // without progress
  std::uint8_t rnr_retry_count = 7;      // 7: unlimited
  bool flow_control = true;              // end to end: the peer reports its Receives in its ACKs
  fabric::Time ack_timeout = 67 * fabric::kMillisecond;  // 0: none
  // How long the ACK of a Send waits for a packet of ours to leave with; 0: it does not wait.
  fabric::Time ack_hold = 0;
  // While this is true, the ACK waits 20 times as long, for a quarter of ack_timeout or 2 ms at
  // most. Null: never.
  const bool* owner_sleeps = nullptr;
  std::uint8_t min_rnr_timer = 12;  // code of the peer's wait for a Receive: 0.64 ms
  // The maximum number of packets in flight, chosen to fit into the peer's socket buffer: the peer
  // cannot report losses there.
  std::uint32_t window = 64;
  // Shared with the other queue pairs to the same peer; null: nothing is shared. It outlives the
  // queue pair.
  PeerPath* shared = nullptr;
  std::uint32_t read_packets = 32;  // Reads are requested in parts of this many packets
};

}  // namespace rpcrdma::soft
