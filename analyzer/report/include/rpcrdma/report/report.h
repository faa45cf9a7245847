// The result of `rpcrdma analyze`, as a plain value. Analysis or the JSON reader creates it,
// merge() combines several, and functions that need nothing else write it as text, JSON, HTML and
// CSV.
//
// Frame numbers start at 1 and run over the whole capture. Times are nanoseconds since 1970,
// durations nanoseconds. In arrays by direction, 0 is forward (Calls of the RPC client) and 1
// reverse. In arrays by side, 0 is the client and 1 the server; with unknown roles, 0 is the side
// that was seen first.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/base/histogram.h>
#include <rpcrdma/ends/ends.h>
#include <rpcrdma/model/model.h>
#include <rpcrdma/mounts/mounts.h>
#include <rpcrdma/report/files.h>
#include <rpcrdma/report/latency.h>
#include <rpcrdma/report/procedure_key.h>
#include <rpcrdma/report/reconnects.h>
#include <rpcrdma/report/recording.h>
#include <rpcrdma/report/series.h>
#include <rpcrdma/report/slow_calls.h>
#include <rpcrdma/report/timing.h>
#include <rpcrdma/roce/connections.h>
#include <rpcrdma/rules/finding.h>
#include <rpcrdma/rules/rule.h>
#include <rpcrdma/session/views.h>

namespace rpcrdma::report {

// Limits of what a report keeps, whatever the capture or the JSON text contains.
inline constexpr std::size_t kMaxProcedures = 1024;  // one has 28 KiB of statistics
inline constexpr std::size_t kMaxFindings = 4096;
inline constexpr std::size_t kMaxInconclusive = 1024;
inline constexpr std::size_t kMaxCreditSeries = 256;  // connections
inline constexpr std::size_t kMaxEdges = 8192;        // Calls, and Replies
inline constexpr std::size_t kMaxSlowCalls = 20;
inline constexpr std::size_t kMaxViews = 16;  // of one connection
inline constexpr std::size_t kMaxSlowCallsOfProcedure = 3;

struct CaptureSummary {
  std::uint64_t files = 0;
  std::uint64_t frames = 0;     // of any kind
  std::uint64_t events = 0;     // frames that are trace events of endpoints
  std::uint64_t cut_short = 0;  // RoCE frames captured without a complete BTH
  std::uint32_t snaplen = 0;    // bytes of the longest truncated frame; 0: none is truncated
  std::uint64_t fragments = 0;
  std::uint64_t unknown_link = 0;  // frames of link types that cannot be decoded
  // Frames that may carry RDMA and were not decoded, by encapsulation: "VXLAN", "IP fragments".
  std::map<std::string, std::uint64_t> unread;
  std::uint64_t nfs_tcp = 0;  // Calls of NFS over TCP
  capture::PauseFrames::BySource pauses;
  std::int64_t first_ns = 0;  // this and last_ns are 0 without a frame
  std::int64_t last_ns = 0;
  std::uint64_t clock_steps_back = 0;
  std::uint64_t dropped = 0;    // while capturing, according to the files
  bool file_cut_short = false;  // a file ends within a record
  std::string damage;           // empty: no damage
  std::string note;             // how a file was read whose header is wrong; empty: none
  roce::PacketStats packets;
};

struct MessageCounts {
  std::array<std::uint64_t, 7> kinds{};  // by model::Kind
  // By the name of rdma_proc, such as "RDMA_MSG".
  std::map<std::string, std::uint64_t> types;
};

[[nodiscard]] const char* profile_name(rules::Profile p);  // "rfc5666", "rfc8166"

enum class Roles : std::uint8_t { kUnknown, kLikely, kCertain };
[[nodiscard]] const char* roles_name(Roles roles);            // "unknown", "likely", "certain"
[[nodiscard]] const char* transport_name(roce::Transport t);  // "roce", "iwarp"
[[nodiscard]] const char* protocol_name(model::Speaks s);     // "rpc-over-rdma", "other", "unknown"
[[nodiscard]] const char* state_name(roce::State s);          // "opening", "open", ...

struct PrivateData {
  std::uint32_t version = 0;
  bool remote_invalidation = false;
  std::uint32_t send_size = 0;     // bytes
  std::uint32_t receive_size = 0;  // bytes
};

struct EndPoint {
  std::string address;
  std::optional<std::uint32_t> qpn;   // unknown while only one direction has been seen
  std::optional<std::uint32_t> port;  // iWARP: TCP port, in place of the QPN
  std::uint64_t cm_frame = 0;
  std::uint32_t responder_resources = 0;
  std::uint32_t initiator_depth = 0;
  bool cm_seen = false;      // its REQ or REP was captured, or recorded by an endpoint
  bool depths_known = true;  // both
  // The connection is from its peer's recording, which does not show retransmissions of this side.
  bool resends_unseen = false;
  std::optional<std::uint32_t> rnr_retry_count;  // unknown in recordings
  std::optional<PrivateData> private_data;
  roce::SideCounters counters;
};

// One encapsulation around packets, and the key in its header.
struct TunnelLayer {
  std::string type;  // "VXLAN"
  std::optional<std::uint32_t> key;
  std::string key_name;  // "VNI"; empty without a key
  friend bool operator==(const TunnelLayer&, const TunnelLayer&) = default;
};

// Encapsulations in which packets of one side were captured, the outermost first.
struct Tunnels {
  bool from_server = false;
  std::vector<TunnelLayer> layers;
  std::string src, dst;  // of the outermost IP packet that carries a tunnel; empty: there is none
  std::optional<std::uint32_t> erspan_session;
  std::uint64_t packets = 0;
  [[nodiscard]] bool same_as(const Tunnels& other) const {
    return from_server == other.from_server && layers == other.layers && src == other.src &&
           dst == other.dst && erspan_session == other.erspan_session;
  }
};
inline constexpr std::size_t kMaxTunnels = 2 * roce::kMaxTunnelsSeen;
inline constexpr std::size_t kMaxTunnelLayers = capture::Tunnels::kMost;
// "ERSPAN II session 5, VXLAN VNI 72 from 192.0.2.1 to 192.0.2.2"
[[nodiscard]] std::string tunnels_text(const Tunnels& tunnels);
// Those of both sides of a connection, the client's first.
[[nodiscard]] std::vector<Tunnels> tunnels_of(const roce::Connection& c, std::size_t client);

// The Calls of one direction and their credits.
struct Direction {
  std::uint64_t calls = 0;
  std::uint64_t replies = 0;          // to a Call in the capture
  std::uint64_t errors = 0;           // RDMA_ERRORs that answer a Call in the capture
  std::uint64_t unmatched_calls = 0;  // without an answer
  std::uint64_t unmatched_replies = 0;
  std::uint32_t requested = 0;  // by the last Call
  std::uint32_t granted = 0;    // by the last Reply
  std::uint32_t requested_max = 0;
  std::uint32_t granted_min = 0;
  std::uint32_t granted_max = 0;
  std::uint32_t in_use_max = 0;
  bool requested_known = true;  // the source shows the credit values of Calls
  bool granted_known = true;    // and of Replies
};

// The dialect of a version 2 connection, if it is later than draft-02.
struct Dialect {
  std::string name;         // "ietf-03"; empty: no later dialect
  std::uint64_t frame = 0;  // the message that shows it; 0: set by the user
  std::string reason;       // how the message shows it
};

// The name of one bit of roce::Absent, of those that a report lists: "bytes", "requested_credits".
enum class AbsentName : std::uint8_t {
  kBytes = 1,
  kRequests,
  kGrants,
  kLengths,
  kChunks,
  kInvalidation,
  kSetup,
  kOperations,
  kRefusals,
  kPackets,
  kMessages
};
inline constexpr unsigned kAbsentNames = 11;
[[nodiscard]] const char* absent_name(AbsentName name);
[[nodiscard]] std::uint64_t absent_bit(AbsentName name);

// The first and the last Reply to a Call of the client in the capture; frame 0: there is none.
struct ReplyTimes {
  std::uint64_t first_frame = 0;
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
};

struct Connection {
  std::uint32_t id = 0;
  model::Speaks speaks = model::Speaks::kUnknown;
  Roles roles = Roles::kUnknown;
  bool by_cm = false;     // its set-up was captured, or recorded by its endpoint
  bool recorded = false;  // from the recording of an endpoint, not from packets
  roce::Transport transport = roce::Transport::kRoce;
  roce::Origin origin = roce::Origin::kPackets;
  roce::State state = roce::State::kOpen;
  bool operations_unseen = false;  // recorded: RDMA operations of its peer are not recorded
  bool clock_stepped_back = false;
  int closed_by = -1;              // the side that sent the DREQ or REJ; -1: neither was seen
  std::uint32_t mpa_revision = 0;  // iWARP, if its set-up was captured
  Dialect dialect;
  std::array<EndPoint, 2> side;
  std::uint64_t absent = 0;       // roce::Absent: what it does not show; not judged by it
  std::uint64_t events_lost = 0;  // recorded: lost events of the thread that recorded it
  std::uint64_t joined = 0;       // how often it continued, or ended, in a later report
  std::string reject_reason;      // if state is kRejected
  std::string reject_data;        // of the REJ: rules::rejection_data()
  std::uint64_t closed_frame = 0;
  // If state is kClosed or kRejected: the time of the DREQ or REJ, or of the packet that reused its
  // QPNs. Packets of its peer can come later. 0: not known.
  std::int64_t ended_ns = 0;
  std::uint64_t service_id = 0;  // if by_cm
  std::uint32_t path_mtu = 0;    // bytes; 0 while unknown
  std::uint32_t version = 0;     // RPC-over-RDMA version of the latest message; 0: unknown
  std::uint64_t sends = 0;
  std::uint64_t messages = 0;
  std::uint64_t malformed = 0;
  std::uint64_t cut_short = 0;  // messages that the capture truncated
  std::array<Direction, 2> direction;
  ReplyTimes forward_replies;
  model::InlineThresholds thresholds;
  std::vector<Tunnels> tunnels;                // around its packets; empty: none
  std::array<std::uint64_t, 3> chunks{};       // in Calls, by model::ChunkList
  std::array<std::uint64_t, 3> chunk_bytes{};  // moved through them
  std::uint64_t inline_bytes = 0;              // of SENDs that carry messages
  std::uint64_t unmatched_operations = 0;      // on no chunk of an in-flight Call
  std::uint64_t icrc_good = 0;
  std::uint64_t icrc_bad = 0;
  std::uint64_t first_frame = 0;
  std::uint64_t last_frame = 0;
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
  // If several files show it: the file from which everything above comes, and the views in other
  // files, which were compared with it. Sides are those of the connection.
  std::string file;
  std::vector<session::View> views;

  [[nodiscard]] bool lacks(roce::Absent what) const { return (absent & what) != 0; }
};

// Messages that only one of two views shows although both looked, or that differ.
[[nodiscard]] std::uint64_t disagreements(const session::View& view);

// Connections that the tracker evicted in favour of newer ones (roce::kMaxConnections). All totals
// include them; these sums are all that is kept about them.
struct NotListed {
  std::uint64_t connections = 0;
  std::uint64_t packets = 0;
  std::uint64_t messages = 0;
  std::uint64_t chunk_bytes = 0;       // moved through chunks
  std::array<Direction, 2> direction;  // only the message counts

  void add(const Connection& c);
  void add(const NotListed& other);
};

struct Procedure {
  std::string label;  // "NFS v4 READ"
  std::uint64_t calls = 0;
  std::uint64_t replies = 0;
  std::uint64_t errors = 0;              // RDMA_ERRORs and RPC errors
  std::uint64_t unmatched = 0;           // Calls without an answer
  std::array<std::uint64_t, 3> bytes{};  // moved through chunks, by model::ChunkList
  // Latency from Call to Reply at the capture point, and, for Calls with RDMA operations, its
  // parts: to the first operation, to the end of the last operation, and to the Reply.
  base::Histogram total, before_data, data, after_data;
  // The part of the latency in the responder: without RDMA operations, and without the time until
  // its adapter had acknowledged the Call. Only of Calls for which that is known.
  base::Histogram in_responder;
  SlowCalls slowest{kMaxSlowCallsOfProcedure};
};
using Procedures = std::map<ProcedureKey, Procedure>;
// Returns the statistics of `key`, or those of all others when there are too many procedures; then
// `key` changes too. Calls `label` for the name of a new procedure.
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
  bool concluded = false;  // it follows from the report's totals: see conclude()
};
struct Inconclusive : rules::Inconclusive {
  bool concluded = false;
};

struct ConnectionCredits {
  std::uint32_t connection = 0;  // its ID
  std::array<CreditSeries, 2> direction;
};

// The Calls in flight at the end of a capture, and the Replies to Calls from before its start. With
// them, a merge joins consecutive captures.
struct OpenCall {
  std::uint32_t connection = 0;
  std::uint32_t xid = 0;
  std::uint64_t frame = 0;
  std::int64_t time_ns = 0;
  bool reverse = false;  // a Call of the server
  bool counted = true;   // it matched the filter
  ProcedureKey procedure;
};
struct EarlyReply {
  std::uint32_t connection = 0;
  std::uint32_t xid = 0;
  std::uint64_t frame = 0;
  std::int64_t time_ns = 0;
  bool reverse = false;     // answers a Call of the server
  bool rdma_error = false;  // an RDMA_ERROR
  bool failed = false;      // an RDMA_ERROR, or a Reply that reports a failed RPC
  bool counted = true;      // it matched the filter
};
struct Edges {
  std::vector<OpenCall> open_calls;       // by frame
  std::vector<EarlyReply> early_replies;  // by frame
  std::uint64_t omitted = 0;              // entries beyond kMaxEdges, of both lists
};

struct Report {
  rules::Profile profile = rules::Profile::k8166;
  // The display filter that messages and Calls had to match to be counted, as the user wrote it;
  // empty: no filter. It does not apply to connections, packets and credits.
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
  Files files;
  Latencies latencies;
  TrafficSeries traffic;
  std::vector<ConnectionCredits> credits;  // of the first connections with messages
  std::uint64_t credits_omitted = 0;       // further connections with messages
  Edges edges;
  Timing timing;
  Reconnects reconnects;
  mounts::Mounts mounts;
  std::vector<Finding> findings;                    // errors first
  std::array<std::uint64_t, 3> findings_omitted{};  // by rules::Severity
  std::vector<Inconclusive> inconclusive;
  // Several files show the same connections. It is not part of merged reports.
  std::optional<ends::Ends> ends;

  [[nodiscard]] bool has_errors() const;                               // any finding is an error
  [[nodiscard]] const Connection* connection(std::uint32_t id) const;  // null: no such ID
};

// The number of connections that had credits and are not in report.credits.
[[nodiscard]] std::uint64_t count_credits_omitted(const Report& report);

// Replaces the findings that follow from the totals and sorts all findings. Call it after a change
// of the totals.
void conclude(Report& report);

}  // namespace rpcrdma::report
