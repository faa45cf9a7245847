// The result of `rpcrdma analyze`, as a plain value. Analysis or the JSON reader makes it, a merge
// joins several, and functions write it as text, page, tables or JSON without other input.
//
// Frames count from 1 over the whole capture. Times are nanoseconds since 1970, durations
// nanoseconds. Where a table has an entry for each direction, 0 is forward (what the RPC client
// calls) and 1 reverse; where it has one for each side, 0 is the client and 1 the server, and with
// roles unknown the side that was seen first.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/base/histogram.h>
#include <rpcrdma/model/model.h>
#include <rpcrdma/report/reconnects.h>
#include <rpcrdma/report/recording.h>
#include <rpcrdma/report/series.h>
#include <rpcrdma/report/slow_calls.h>
#include <rpcrdma/roce/connections.h>
#include <rpcrdma/rules/finding.h>
#include <rpcrdma/rules/rule.h>

namespace rpcrdma::report {

// Limits that bound memory for any capture and any report that is read.
inline constexpr std::size_t kMaxProcedures = 1024;  // statistics of one take 22 KiB
inline constexpr std::size_t kMaxFindings = 4096;
inline constexpr std::size_t kMaxInconclusive = 1024;
inline constexpr std::size_t kMaxCreditSeries = 256;  // connections
inline constexpr std::size_t kMaxEdges = 8192;        // Calls, and Replies
inline constexpr std::size_t kMaxSlowCalls = 20;
inline constexpr std::size_t kMaxSlowCallsOfProcedure = 3;

struct CaptureSummary {
  std::uint64_t files = 0;
  std::uint64_t frames = 0;     // of any kind
  std::uint64_t events = 0;     // events of recordings among them
  std::uint64_t cut_short = 0;  // RoCE, captured without a whole BTH
  std::uint64_t fragments = 0;
  std::uint64_t unknown_link = 0;  // frames of an unknown link type
  // Frames that may carry RDMA and were not decoded, by encapsulation: "VXLAN", "IP fragments".
  std::map<std::string, std::uint64_t> unread;
  std::int64_t first_ns = 0;  // 0 without a frame, as is the next
  std::int64_t last_ns = 0;
  std::uint64_t clock_steps_back = 0;
  std::uint64_t dropped = 0;    // while capturing, according to the files
  bool file_cut_short = false;  // a file ends within a record
  std::string damage;           // empty: none
  roce::PacketStats packets;
};

struct MessageCounts {
  std::array<std::uint64_t, 7> kinds{};  // by model::Kind
  // By the name of rdma_proc, such as "RDMA_MSG".
  std::map<std::string, std::uint64_t> types;
};

[[nodiscard]] const char* profile_name(rules::Profile p);  // "rfc5666", "rfc8166"

enum class Roles : std::uint8_t { kUnknown, kLikely, kCertain };
[[nodiscard]] const char* roles_name(Roles roles);         // "unknown", "likely", "certain"
[[nodiscard]] const char* protocol_name(model::Speaks s);  // "rpc-over-rdma", "other", "unknown"
[[nodiscard]] const char* state_name(roce::State s);       // "opening", "open", ...

struct PrivateData {
  std::uint32_t version = 0;
  bool remote_invalidation = false;
  std::uint32_t send_size = 0;     // bytes
  std::uint32_t receive_size = 0;  // bytes
};

struct EndPoint {
  std::string address;
  std::optional<std::uint32_t> qpn;  // nothing while only one direction was seen
  bool cm_seen = false;              // its REQ or REP, or the event of its endpoint
  std::uint64_t cm_frame = 0;
  std::uint32_t responder_resources = 0;
  std::uint32_t initiator_depth = 0;
  std::optional<std::uint32_t> rnr_retry_count;  // not recorded by an endpoint
  std::optional<PrivateData> private_data;
  roce::SideCounters counters;
  // The connection comes from the recording of its peer, which does not see its retransmissions.
  bool resends_unseen = false;
};

// Calls of one direction, and their credits.
struct Direction {
  std::uint64_t calls = 0;
  std::uint64_t replies = 0;          // that answer a Call in the capture
  std::uint64_t errors = 0;           // RDMA_ERRORs that do
  std::uint64_t unmatched_calls = 0;  // without an answer
  std::uint64_t unmatched_replies = 0;
  std::uint32_t requested = 0;  // by the last Call
  std::uint32_t granted = 0;    // by the last Reply
  std::uint32_t requested_max = 0;
  std::uint32_t granted_min = 0;
  std::uint32_t granted_max = 0;
  std::uint32_t in_use_max = 0;
};

// The dialect of version 2, if later than draft-02.
struct Dialect {
  std::string name;         // "ietf-03"; empty: none of them
  std::uint64_t frame = 0;  // of the message that showed it; 0: given by an option
  std::string reason;       // what showed it
};

struct Connection {
  std::uint32_t id = 0;
  model::Speaks speaks = model::Speaks::kUnknown;
  Dialect dialect;
  std::array<EndPoint, 2> side;
  Roles roles = Roles::kUnknown;
  bool by_cm = false;              // its set-up was captured, or recorded by its endpoint
  bool recorded = false;           // from a recording, not from packets
  std::uint64_t events_lost = 0;   // recorded: of the thread that emitted its events
  bool operations_unseen = false;  // recorded: its peer's RDMA operations are not
  std::uint64_t joined = 0;        // how often it continued, or ended, in a later report
  roce::State state = roce::State::kOpen;
  std::string reject_reason;  // state is kRejected
  int closed_by = -1;         // the side that sent the DREQ or REJ; -1: none was seen
  std::uint64_t closed_frame = 0;
  std::uint64_t service_id = 0;  // by_cm
  std::uint32_t path_mtu = 0;    // bytes; 0 while unknown
  std::uint32_t version = 0;     // of RPC-over-RDMA, of the latest message; 0: none
  std::uint64_t sends = 0;
  std::uint64_t messages = 0;
  std::uint64_t malformed = 0;
  std::uint64_t cut_short = 0;  // truncated messages
  bool clock_stepped_back = false;
  std::array<Direction, 2> direction;
  model::InlineThresholds thresholds;
  std::array<std::uint64_t, 3> chunks{};       // offered by Calls; by model::ChunkList
  std::array<std::uint64_t, 3> chunk_bytes{};  // moved through them
  std::uint64_t inline_bytes = 0;              // of SENDs with messages
  std::uint64_t unmatched_operations = 0;      // on no chunk of an outstanding Call
  std::uint64_t icrc_good = 0;
  std::uint64_t icrc_bad = 0;
  std::uint64_t first_frame = 0;
  std::uint64_t last_frame = 0;
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
};

// Totals of the connections that the tracker evicted to follow newer ones (roce::kMaxConnections).
// All totals of the report include them.
struct NotListed {
  std::uint64_t connections = 0;
  std::uint64_t packets = 0;
  std::uint64_t messages = 0;
  std::uint64_t chunk_bytes = 0;       // moved through chunks
  std::array<Direction, 2> direction;  // counts of messages only

  void add(const Connection& c);
  void add(const NotListed& other);
};

// The key of the statistics of Calls.
struct ProcedureKey {
  std::uint32_t program = UINT32_MAX;  // UINT32_MAX: not known
  std::uint32_t version = 0;
  std::uint32_t procedure = 0;
  std::uint32_t operation = UINT32_MAX;  // that a COMPOUND is about; UINT32_MAX: no COMPOUND
  bool reverse = false;

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes a comparison for a null pointer
  friend auto operator<=>(const ProcedureKey&, const ProcedureKey&) = default;
  [[nodiscard]] bool known() const { return program != UINT32_MAX; }
  // The key of all procedures beyond kMaxProcedures.
  [[nodiscard]] static ProcedureKey others(bool reverse) {
    return {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, reverse};
  }
};

struct Procedure {
  std::string label;  // "NFS v4 READ"
  std::uint64_t calls = 0;
  std::uint64_t replies = 0;
  std::uint64_t errors = 0;              // RDMA_ERRORs and RPC errors
  std::uint64_t unmatched = 0;           // Calls without an answer
  std::array<std::uint64_t, 3> bytes{};  // moved through chunks, by model::ChunkList
  // Call seen to Reply seen. Of Calls with RDMA operations, the parts: to the first operation, from
  // there to the end of the last one, from there to the Reply.
  base::Histogram total, before_data, data, after_data;
  SlowCalls slowest{kMaxSlowCallsOfProcedure};
};
using Procedures = std::map<ProcedureKey, Procedure>;
// The statistics of `key`, or of all others when there are too many; `label()` is the name of a new
// entry.
template <typename Label>
Procedure& procedure_of(Procedures& all, ProcedureKey& key, Label&& label) {
  auto it = all.find(key);
  if (it != all.end()) return it->second;
  const bool full = all.size() >= kMaxProcedures;
  if (full) key = ProcedureKey::others(key.reverse);
  it = all.try_emplace(key).first;
  if (it->second.label.empty()) it->second.label = full ? "all others" : label();
  return it->second;
}

struct Finding : rules::Finding {
  bool concluded = false;  // from the report's own totals: conclude()
};
struct Inconclusive : rules::Inconclusive {
  bool concluded = false;
};

struct ConnectionCredits {
  std::uint32_t connection = 0;  // its ID
  std::array<CreditSeries, 2> direction;
};

// Calls in flight at the end of a capture, and Replies at its start whose Call precedes it: a merge
// matches them when one capture was split in two.
struct OpenCall {
  std::uint32_t connection = 0;
  std::uint32_t xid = 0;
  std::uint64_t frame = 0;
  std::int64_t time_ns = 0;
  bool reverse = false;  // a Call of the server
  bool counted = true;   // a filter took it
  ProcedureKey procedure;
};
struct EarlyReply {
  std::uint32_t connection = 0;
  std::uint32_t xid = 0;
  std::uint64_t frame = 0;
  std::int64_t time_ns = 0;
  bool reverse = false;     // answers a Call of the server
  bool rdma_error = false;  // an RDMA_ERROR
  bool failed = false;      // an RDMA_ERROR, or it says that the RPC failed
  bool counted = true;      // a filter took it
};
struct Edges {
  std::vector<OpenCall> open_calls;       // in the order of their frames
  std::vector<EarlyReply> early_replies;  // in the order of their frames
  std::uint64_t omitted = 0;              // more than kMaxEdges of either
};

struct Report {
  rules::Profile profile = rules::Profile::k8166;
  // The display filter that messages and Calls had to match to be counted; empty: none. It does not
  // affect connections, packets and credits.
  std::string filter;
  CaptureSummary capture;
  MessageCounts messages;
  std::vector<Connection> connections;  // by ID
  NotListed not_listed;
  Recording recording;
  // The highest connection ID. IDs of connections that were merged into another one are not reused.
  std::uint32_t connection_ids = 0;
  Procedures procedures;
  SlowCalls slowest{kMaxSlowCalls};
  TrafficSeries traffic;
  std::vector<ConnectionCredits> credits;  // of the first connections that had messages
  std::uint64_t credits_omitted = 0;       // connections beyond those
  Edges edges;
  Reconnects reconnects;
  std::vector<Finding> findings;                    // errors first
  std::array<std::uint64_t, 3> findings_omitted{};  // by rules::Severity
  std::vector<Inconclusive> inconclusive;

  [[nodiscard]] bool has_errors() const;                               // a finding is an error
  [[nodiscard]] const Connection* connection(std::uint32_t id) const;  // null: there is none
};

// Connections that had credits and are not among report.credits.
[[nodiscard]] std::uint64_t count_credits_omitted(const Report& report);

// Replaces the findings that follow from the totals, and sorts all findings. Call it after a change
// of the totals.
void conclude(Report& report);

}  // namespace rpcrdma::report
