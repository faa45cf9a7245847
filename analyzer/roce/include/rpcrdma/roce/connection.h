// A reliable connection between two QPs, as a capture shows it, or as one of its endpoints tells of
// it in a recording.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <rpcrdma/capture/address.h>

namespace rpcrdma::roce {

enum class Setup : std::uint8_t {
  kCm,  // the exchange of REQ and REP is in the capture
  // The capture begins later: both QPs were found from the traffic itself, or its endpoint told
  // them.
  kInferred,
};

enum class State : std::uint8_t {
  kOpening,   // REQ seen
  kOpen,      // REP seen, or traffic seen
  kRejected,  // REJ seen
  kClosed,    // DREQ or DREP seen
};

// Packets and what went wrong with them, by the side that sent them.
struct SideCounters {
  std::uint64_t packets = 0;        // RC packets of any kind
  std::uint64_t payload_bytes = 0;  // bytes of SEND, WRITE and READ response payload, all copies
  std::uint64_t retransmitted = 0;  // request packets sent again, READ responses answered again
  // Packets that were captured at a second point too (PacketMeta::point), which count in the first
  // two: nobody sent them again.
  std::uint64_t captured_twice = 0;
  std::uint64_t reordered = 0;     // arrived late, though sent once
  std::uint64_t lost_network = 0;  // gaps that a retransmission filled: lost before this point
  std::uint64_t lost_capture = 0;  // gaps that the peer acknowledged: the capture lost them
  std::uint64_t acks = 0;
  std::array<std::uint64_t, 5> naks{};  // by wire::NakCode
  std::uint64_t rnr = 0;
  std::uint64_t orphans = 0;  // parts of operations whose beginning is not in the capture
  // RDMA READs that were answered, by what the peer sent later, of which the capture lacks
  // responses of this side.
  std::uint64_t reads_unseen = 0;
  // How often the peer acknowledged what was not seen until then, or worked on memory that nothing
  // seen until then offers: the capture lacks it, or shows the two directions out of order.
  std::uint64_t acknowledged_unseen = 0;
  std::uint64_t illegal_sequence = 0;  // opcodes out of First/Middle/Last order
  std::uint64_t wrong_length = 0;      // WRITEs of more or fewer bytes than their RETH says
  std::uint64_t wrong_response = 0;   // READs answered with more or fewer bytes than they asked for
  std::uint64_t wrong_payload = 0;    // packets other than the last of a message, no path MTU long
  std::uint64_t first_irregular = 0;  // frame of the first packet counted in one of these four
  // Of a connection that its endpoint tells of, instead of `packets`: requests and READ responses
  // that the side's messages and operations took at most, sent once each.
  std::uint64_t packets_at_most = 0;
};

// What a side told in its REQ or REP; in a recording, what its endpoint knows of that.
struct CmSide {
  bool seen = false;
  std::uint64_t frame = 0;
  std::int64_t time_ns = 0;
  std::uint32_t comm_id = 0;
  std::uint32_t starting_psn = 0;
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  bool retries_known = false;              // of the next two; an endpoint does not tell them
  std::uint8_t retry_count = 0;            // REQ
  std::uint8_t rnr_retry_count = 0;        // REQ and REP
  std::vector<std::uint8_t> private_data;  // behind the IP CM header; trailing zeros cut off
};

struct Side {
  capture::Address address;
  std::uint32_t qpn = 0;
  bool qpn_known = false;
  CmSide cm;
  SideCounters counters;
  // Its RDMA READs and WRITEs: the endpoint that tells is the other, or they were left out.
  bool operations_unseen = false;
  // Its requests have arrived up to this PSN, by the peer's latest acknowledgement.
  bool acked_known = false;
  std::uint32_t acked_psn = 0;
  // It tells itself, and of its RDMA READs as it hands them to its device, which holds back those
  // that are more than it may have in flight.
  bool reads_recorded_at_start = false;
};

struct Connection {
  std::uint32_t index = 0;  // unique in one tracker; stays the same while the connection lives
  Setup setup = Setup::kInferred;
  State state = State::kOpen;
  // Side 0 is the active one (sender of the REQ) when set up by CM; otherwise the side whose packet
  // was seen first.
  std::array<Side, 2> side;
  std::uint64_t service_id = 0;  // of the REQ
  std::uint32_t path_mtu = 0;    // bytes; 0 while unknown
  std::uint64_t first_frame = 0;
  std::int64_t first_ns = 0;
  std::uint64_t last_frame = 0;
  std::int64_t last_ns = 0;
  // When it was over: of its DREQ or REJ, of the packet that took its QPNs for another connection,
  // or the capture's end. Until then what is outstanding on it ages, though no packet comes.
  std::int64_t ended_ns = 0;  // 0: it is not over
  std::uint64_t icrc_good = 0;
  std::uint64_t icrc_bad = 0;
  // With which packet the latest loss of the capture became known. What was captured before it may
  // have been held back behind the gap, and is told later than what the peer did about it.
  std::uint64_t gap_known_frame = 0;
  int closed_by = -1;  // the side that sent the DREQ or REJ
  std::uint64_t closed_frame = 0;
  std::uint16_t reject_reason = 0;
  std::uint32_t requests_sent = 0;  // copies of its REQ
  bool clock_stepped_back = false;  // a packet has an earlier time than the one before it
  bool evict = false;               // no longer followed: see kMaxConnections
  bool merged_away = false;  // one direction of another connection; that one has all its counts
  // Told by one of its endpoints, which speaks RPC-over-RDMA, and not found in packets: of these
  // there are no counts, but for those of retransmissions and refusals.
  bool recorded = false;
  std::uint8_t recorder = 0;  // the side whose endpoint that is
  // When that endpoint told something last, of whatever connection: it need not have told what
  // happened since. Null where no endpoint tells.
  const std::int64_t* endpoint_ns = nullptr;
  std::uint64_t events_lost = 0;  // of the thread that tells of it, that the recording lacks
  std::string failure;  // what failed and so ended it, in its endpoint's words as printable ASCII
};

// Until when what happens on it would have been seen, where the clock stands at `now_ns`.
[[nodiscard]] inline std::int64_t seen_until(const Connection& c, std::int64_t now_ns) {
  return c.endpoint_ns == nullptr ? now_ns : *c.endpoint_ns;
}

// What both sides sent is seen, as far as it is not lost.
[[nodiscard]] inline bool both_directions_seen(const Connection& c) {
  return c.recorded || (c.side[0].counters.packets != 0 && c.side[1].counters.packets != 0);
}

// The exchange that set it up is seen, REQ and REP.
[[nodiscard]] inline bool setup_seen(const Connection& c) {
  return c.setup == Setup::kCm && c.side[0].cm.seen && c.side[1].cm.seen;
}

}  // namespace rpcrdma::roce
