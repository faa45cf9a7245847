// Simulates RPC-over-RDMA connections at packet level for tests: the packets that a capture point
// between two ports sees, and the truth behind them.
//
// Each connection has two QPs with a requester and a responder that follow IBA volume 1 section 9.7
// (PSNs, go-back-N, NAK, RNR NAK, timeout, coalesced ACKs, a READ restarted from the middle after a
// lost response), and an RPC client and server on top. The same options always produce the same
// traffic. A packet can be lost, damaged or late on either side of the capture point; the tests
// themselves simulate faults of the capture (loss, copies, truncation).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include <rpcrdma/capture/address.h>
#include <rpcrdma/model/message.h>
#include <rpcrdma/roce/tracker.h>

namespace rpcrdma::model::testing {

struct TrafficOptions {
  std::uint64_t seed = 1;
  int connections = 1;
  int calls = 12;  // of the client, on each connection
  std::uint32_t mtu = 256;
  std::uint32_t version = 1;
  bool cm = true;
  bool ipv6 = false;
  bool reverse = true;           // the server calls back
  bool reuse_numbers = false;    // XIDs and rkeys are reused as soon as a Call has ended
  bool psn_wraps = false;        // the PSNs of the first connection start shortly before 2^24
  bool near_psns = false;        // all connections start at nearly the same PSN
  bool one_after_other = false;  // each connection after the end of the one before,
  bool same_qpns = false;        // with its QPNs and communication IDs
  bool rdma = true;              // Calls with chunks
  // Probabilities for one packet.
  double lost_before = 0;     // neither the capture nor the receiver sees it
  double lost_behind = 0;     // the capture sees it
  double late = 0;            // overtaken by packets of the same direction
  double damaged_before = 0;  // bad ICRC; the receiver drops it
  double damaged_copy = 0;    // bad ICRC in the capture only
  double rnr = 0;             // for a SEND: answered with an RNR NAK
};

enum class Role : std::uint8_t { kCm, kCall, kReply, kRead, kReadResponse, kWrite, kAck };

struct CapturedPacket {
  int connection = 0;
  int from = 0;  // side; 0 opened the connection
  Role role = Role::kAck;
  int call = -1;  // the Call that it belongs to; -1: none
  std::uint32_t psn = 0;
  std::int64_t time_ns = 0;
  bool bad_icrc = false;
  bool cut_short = false;
  std::size_t wire_length = 0;
  std::vector<std::uint8_t> bytes;  // BTH through ICRC
};

struct TrueChunk {
  ChunkList list = ChunkList::kRead;
  std::uint32_t index = 0;          // in its list
  std::vector<std::uint8_t> bytes;  // moved through it
};

struct TrueCall {
  int connection = 0;
  int caller = 0;
  std::uint32_t xid = 0;
  bool error = false;  // answered with RDMA_ERROR
  std::vector<TrueChunk> chunks;
};

struct TrueConnection {
  std::array<capture::Address, 2> address;
  std::array<std::uint32_t, 2> qpn{};
};

struct Traffic {
  std::vector<CapturedPacket> packets;
  std::vector<TrueCall> calls;
  std::vector<TrueConnection> connections;
  std::uint64_t lost_before = 0;
  std::uint64_t lost_behind = 0;
};

[[nodiscard]] Traffic make_traffic(const TrafficOptions& options);

// Passes each packet to `packet`. Frames count from 1, so frame n is packets[n - 1].
void play(const Traffic& traffic, const std::function<void(const roce::PreparedPacket&)>& packet);
// The same with a tracker, up to finish().
void play(const Traffic& traffic, roce::Tracker& tracker);

}  // namespace rpcrdma::model::testing
