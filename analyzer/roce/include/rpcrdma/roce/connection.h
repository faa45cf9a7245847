// A reliable connection between two QPs, as seen in a capture or as recorded by one of its
// endpoints.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <rpcrdma/capture/address.h>
#include <rpcrdma/capture/tunnels.h>
#include <rpcrdma/roce/absent.h>

namespace rpcrdma::roce {

// What carries the connection. iWARP has TCP ports in place of QPNs, MPA's Request and Reply in
// place of the CM's REQ and REP, and CRCs of its FPDUs in place of ICRCs.
enum class Transport : std::uint8_t { kRoce, kIwarp };

enum class Setup : std::uint8_t {
  kCm,  // the REQ and REP, or MPA's Request and Reply, are in the capture
  // The capture begins later: both QPs were inferred from the traffic, or came from the endpoint's
  // recording.
  kInferred,
};

enum class State : std::uint8_t {
  kOpening,   // REQ seen
  kOpen,      // REP seen, or traffic seen
  kRejected,  // REJ seen
  kClosed,    // DREQ or DREP seen
};

// Counts of packets and their faults, by the side that sent them.
struct SideCounters {
  std::uint64_t packets = 0;        // RC packets of any kind
  std::uint64_t payload_bytes = 0;  // bytes of SEND, WRITE and READ response payload, all copies
  std::uint64_t ecn_capable = 0;    // packets that switches may mark (ECN), and those marked
  std::uint64_t ce = 0;             // packets marked CE on their way: they met congestion
  std::uint64_t cnps = 0;           // CNPs: the side received marked packets and asks for fewer
  std::uint64_t retransmitted = 0;  // retransmitted request packets, repeated READ responses
  // Packets that were also captured at a second point (PacketMeta::point). They are included in the
  // first two counts; they are not retransmissions.
  std::uint64_t captured_twice = 0;
  std::uint64_t reordered = 0;     // arrived late, but sent once
  std::uint64_t lost_network = 0;  // gaps that a retransmission filled: lost before this point
  std::uint64_t lost_capture = 0;  // gaps that the peer acknowledged: missing only in the capture
  std::uint64_t acks = 0;
  std::array<std::uint64_t, 5> naks{};  // by wire::NakCode
  std::uint64_t rnr = 0;
  std::uint64_t orphans = 0;  // parts of operations whose beginning was not captured
  // RDMA READs that were answered, judged by what the peer sent later, but with responses of this
  // side missing in the capture.
  std::uint64_t reads_unseen = 0;
  // How often the peer acknowledged packets that had not been seen, or accessed memory that no Call
  // seen so far advertises: packets are missing in the capture, or it shows the two directions out
  // of order.
  std::uint64_t acknowledged_unseen = 0;
  std::uint64_t illegal_sequence = 0;  // opcodes out of First/Middle/Last order
  std::uint64_t wrong_length = 0;      // WRITEs with more or fewer bytes than their RETH announces
  std::uint64_t wrong_response = 0;    // READs answered with more or fewer bytes than requested
  std::uint64_t wrong_payload = 0;     // non-last packets of another size than the path MTU
  std::uint64_t first_irregular = 0;   // frame of the first packet counted in one of these four
  // On a connection recorded by its endpoint, replaces `packets`: an upper bound for the requests
  // and READ responses that the side's messages and operations needed, each sent once.
  std::uint64_t packets_at_most = 0;
};

// Parameters that a side announced in its REQ or REP; in a recording, what its endpoint knows of
// them.
struct CmSide {
  bool seen = false;
  std::uint64_t frame = 0;
  std::int64_t time_ns = 0;
  std::uint32_t comm_id = 0;
  std::uint32_t starting_psn = 0;
  bool depths_known = true;  // both; MPA states them in its enhanced set-up only
  std::uint16_t responder_resources = 0;
  std::uint16_t initiator_depth = 0;
  bool retries_known = false;              // of the next two; recordings do not contain them
  std::uint8_t retry_count = 0;            // REQ
  std::uint8_t rnr_retry_count = 0;        // REQ and REP
  std::vector<std::uint8_t> private_data;  // after the IP CM header, without trailing zeros
};

// Encapsulations in which packets of one side were captured.
// Whether a packet at `ns` shows that the clock was set back since one at `before_ns`. The
// processors of a host that receive and send packets stamp them before they are in one order, so
// small steps are no fault.
[[nodiscard]] constexpr bool steps_back(std::int64_t before_ns, std::int64_t ns) {
  constexpr std::int64_t kJitter = 100'000;
  return ns<before_ns&& static_cast<std::uint64_t>(before_ns) -
            static_cast<std::uint64_t>(ns)> static_cast<std::uint64_t>(kJitter);
}

struct TunnelsSeen {
  capture::Tunnels tunnels;
  std::uint64_t packets = 0;  // CM messages included
  std::uint64_t first_frame = 0;
};
// A side's packets can take several paths and be captured at several points; this many are kept.
inline constexpr std::size_t kMaxTunnelsSeen = 8;

struct Side {
  capture::Address address;
  std::uint32_t qpn = 0;
  bool is_port = false;  // iWARP: `qpn` is the TCP port
  bool qpn_known = false;
  CmSide cm;
  SideCounters counters;
  // In the order of their first packets. Empty: no packet was in a tunnel.
  std::vector<TunnelsSeen> tunnels;
  // Its RDMA READs and WRITEs are not recorded: the recording endpoint is the other side, or they
  // were excluded.
  bool operations_unseen = false;
  // By the peer's latest acknowledgement, its requests up to this PSN have arrived.
  bool acked_known = false;
  std::uint32_t acked_psn = 0;
  // This side is the recording endpoint, and it records RDMA READs when it posts them to its
  // device, which holds back those beyond the number that may be in flight.
  bool reads_recorded_at_start = false;
};

struct Connection {
  std::uint32_t index = 0;  // unique in one tracker; stays the same while the connection lives
  Transport transport = Transport::kRoce;
  std::uint8_t mpa_revision = 0;  // iWARP, if its set-up was seen
  Setup setup = Setup::kInferred;
  State state = State::kOpen;
  // Side 0 is the active side (sender of the REQ) if the set-up was seen; otherwise the side whose
  // packet was seen first.
  std::array<Side, 2> side;
  std::uint64_t service_id = 0;  // of the REQ
  std::uint32_t path_mtu = 0;    // bytes; 0 while unknown
  std::uint64_t first_frame = 0;
  std::int64_t first_ns = 0;
  std::uint64_t last_frame = 0;
  std::int64_t last_ns = 0;
  // The time of the DREQ or REJ, of the packet that reused its QPNs for another connection, or of
  // the capture's end. Until then its unanswered Calls age even if no packet comes.
  std::int64_t ended_ns = 0;  // 0: it is not over
  std::uint64_t icrc_good = 0;
  std::uint64_t icrc_bad = 0;
  std::uint64_t icrc_accepted = 0;  // of the bad ones, as in PacketStats
  // The packet that revealed the latest packet loss of the capture. Packets captured before it may
  // have been held back behind the gap; they are reported later than the peer's reactions to them.
  std::uint64_t gap_known_frame = 0;
  int closed_by = -1;  // the side that sent the DREQ or REJ
  std::uint64_t closed_frame = 0;
  std::uint16_t reject_reason = 0;
  std::vector<std::uint8_t> reject_data;  // private data of the REJ, without the zeros behind it
  std::uint32_t requests_sent = 0;        // copies of its REQ
  bool clock_stepped_back = false;        // a packet has an earlier time than the one before it
  bool evict = false;                     // no longer followed: see kMaxConnections
  bool merged_away = false;  // one direction of another connection, which now has all its counts
  // Recorded by one of its endpoints, which speaks RPC-over-RDMA, and not found in packets: no
  // packet counts except those of retransmissions and refusals.
  bool recorded = false;
  Origin origin = Origin::kPackets;
  // Absent: known not to be seen. Messages may lack more. A recording by an endpoint has no packets
  // either, and its checks take that into account one by one: the bit is not set for it.
  std::uint16_t absent = kNothingAbsent;
  // Inline threshold of each side as sender, where private data is absent; 0: unknown.
  std::array<std::uint32_t, 2> inline_threshold{};
  std::uint8_t recorder = 0;  // the side of the recording endpoint
  // Time of that endpoint's latest event on any connection: later events may not have been recorded
  // yet. Null if no endpoint records it.
  const std::int64_t* endpoint_ns = nullptr;
  std::uint64_t events_lost = 0;  // events of its thread that are missing in the recording
  std::string failure;  // the failure that ended it, in its endpoint's words as printable ASCII
};

// Returns the time up to which its events would have been seen, with the clock at `now_ns`.
[[nodiscard]] inline std::int64_t seen_until(const Connection& c, std::int64_t now_ns) {
  return c.endpoint_ns == nullptr ? now_ns : *c.endpoint_ns;
}

// The traffic of both sides is seen, apart from losses.
[[nodiscard]] inline bool both_directions_seen(const Connection& c) {
  return c.recorded || (c.side[0].counters.packets != 0 && c.side[1].counters.packets != 0);
}

// The REQ and REP that set it up were seen.
[[nodiscard]] inline bool setup_seen(const Connection& c) {
  return c.setup == Setup::kCm && c.side[0].cm.seen && c.side[1].cm.seen;
}

}  // namespace rpcrdma::roce
