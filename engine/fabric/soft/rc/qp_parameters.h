// What a connected queue pair needs to know.
#pragma once

#include <cstdint>

#include <rpcrdma/fabric/time.h>

namespace rpcrdma::soft {

struct QpParameters {
  std::uint32_t remote_qpn = 0;
  std::uint32_t send_psn = 0;            // the first that our requester sends
  std::uint32_t receive_psn = 0;         // the first that the peer's requester sends
  std::uint32_t mtu = 1024;              // payload bytes a packet: 256, 512, 1024, 2048 or 4096
  std::uint8_t responder_resources = 1;  // Reads of the peer's at a time; more is its error
  std::uint8_t initiator_depth = 1;      // own Reads outstanding at a time; 0: none may be posted
  std::uint8_t retry_count = 7;          // without progress
  std::uint8_t rnr_retry_count = 7;      // 7: without end
  bool flow_control = true;              // end to end: the peer counts its Receives in its ACKs
  fabric::Time ack_timeout = 67 * fabric::kMillisecond;  // 0: none
  // How long the ACK of a Send waits for something to be sent with which it can leave; 0: not.
  fabric::Time ack_hold = 0;
  // While this is true it waits kSleepersHold times as long. Null: it never is.
  const bool* owner_sleeps = nullptr;
  std::uint8_t min_rnr_timer = 12;  // code of how long the peer waits for a Receive: 0.64 ms
  // Packets that are under way at most, so that they fit into the peer's socket buffer: it cannot
  // tell of what is lost there.
  std::uint32_t window = 64;
  std::uint32_t read_packets = 32;  // a Read is asked for in parts of so many packets
};

}  // namespace rpcrdma::soft
