// What one source alone shows of connections and Calls: the input of join().
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <rpcrdma/capture/address.h>
#include <rpcrdma/ends/ends.h>

namespace rpcrdma::ends {

inline constexpr std::int64_t kNoTime = INT64_MIN;

struct HalfConnection {
  PointKind kind = PointKind::kWire;
  std::uint32_t id = 0;  // in the report of this source alone
  // The RPC client's first, the server's second.
  std::array<capture::Address, 2> address{};
  std::array<std::uint32_t, 2> qpn{};  // 0: unknown
  std::uint64_t lost = 0;              // events or packets of it known to be missing
};

// Times are nanoseconds by the clock of the source; kNoTime: not seen. Durations are nanoseconds;
// kUnknownNs: not known.
struct HalfCall {
  std::uint32_t connection = 0;  // index in SourceHalves::connections
  std::uint32_t xid = 0;
  std::uint32_t program = 0, version = 0, procedure = 0;
  std::uint32_t name = 0;        // index in SourceHalves::names
  std::uint16_t attempts = 1;    // Sends of this Call that this source saw
  std::uint16_t requested = 0;   // credits, when it was sent; 0: not known
  std::uint16_t granted = 0;     // the same
  bool reverse = false;          // a Call of the server to the client
  bool named = false;            // program, version and procedure are known
  bool operation_named = false;  // and the operation of a COMPOUND, too
  bool unclear = false;          // events or packets were lost while it was in flight
  bool error = false;            // answered by an RDMA_ERROR
  bool superseded = false;       // sent again, with the same XID, before it was answered

  std::int64_t called_ns = kNoTime;      // its caller made it (at the caller's end only)
  std::int64_t call_first_ns = kNoTime;  // on the wire its first packet; else as call_ns
  std::int64_t call_ns = kNoTime;        // its Send posted, received; on the wire its last packet
  std::int64_t delivered_ns = kNoTime;   // passed to the program (at the responder's end only)
  std::int64_t read_began_ns = kNoTime, read_ended_ns = kNoTime;    // RDMA Reads of its chunks
  std::int64_t write_began_ns = kNoTime, write_ended_ns = kNoTime;  // RDMA Writes
  std::int64_t reply_first_ns = kNoTime;                            // as call_first_ns
  std::int64_t reply_ns = kNoTime;                                  // as call_ns
  std::int64_t ended_ns = kNoTime;  // nothing of it is in flight any more
  // On the wire: from the Call to its acknowledgment by the adapter of the receiver.
  std::int64_t acknowledged_after = kUnknownNs;
  // At the caller's end, parts of the time from called_ns to call_ns.
  std::int64_t slot_wait = kUnknownNs, credit_wait = kUnknownNs;
  std::uint64_t call_bytes = 0, reply_bytes = 0;  // of the Sends; 0: not known
};

struct SourceHalves {
  std::string file;
  std::vector<HalfConnection> connections;
  std::vector<std::string> names;  // "NFS v3 READ"
  std::vector<HalfCall> calls;     // in the order of their ends
  std::uint64_t lost = 0;          // events or packets of all connections known to be missing
  std::uint64_t not_kept = 0;      // Calls beyond the limit
};

// Joins the halves of several sources. Any halves are legal: nothing in them is believed that
// another source contradicts.
[[nodiscard]] Ends join(std::vector<SourceHalves> sources, const EndsOptions& options = {});

}  // namespace rpcrdma::ends
