// The analysis of a capture or of live endpoints while it is read, for the views: written by one
// thread in batches, read by others at any time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <rpcrdma/capture/source.h>
#include <rpcrdma/index/call_detail.h>
#include <rpcrdma/index/chunked.h>
#include <rpcrdma/index/credits.h>
#include <rpcrdma/index/row.h>
#include <rpcrdma/index/rows.h>
#include <rpcrdma/report/report.h>
#include <rpcrdma/rules/capture_quality.h>
#include <rpcrdma/rules/findings.h>
#include <rpcrdma/states/call_states.h>
#include <rpcrdma/trace_reader/reader.h>

namespace rpcrdma::index {

// Who shows a connection: the packets between its ends, or the endpoint at one end. Times and
// latencies are as seen there.
enum class SeenBy : std::uint8_t { kPackets, kClient, kServer };
[[nodiscard]] const char* observer_name(SeenBy observer);  // "packets", "client's view", ...

// The current state of a connection.
struct ConnectionInfo {
  std::uint32_t id = 0;            // as in reports; 0: not an RPC-over-RDMA connection
  std::array<std::string, 2> end;  // address and QPN; 0 the client, if that is known
  std::uint8_t client = 0;         // the tracker's side that is the client
  report::Roles roles = report::Roles::kUnknown;
  bool set_up_seen = false;
  bool recorded = false;  // reported by its endpoint, not seen in packets
  // Whose view it is, and what else shows the same connection.
  SeenBy observer = SeenBy::kPackets;
  std::vector<SeenBy> other_observers;
  // The other views, and how they compare: a line each.
  std::vector<std::string> views;
  // "RoCEv2", "RoCEv1", "InfiniBand"; for events of an endpoint its provider: "soft fabric", or
  // "device" if the provider does not see the peer's operations.
  const char* transport = "";
  std::string tunnels;  // around its packets
  std::uint32_t version = 0;
  wire::Dialect dialect = wire::Dialect::kDraft02;
  model::InlineThresholds thresholds;
  std::string private_data, invalidation;  // who sent it, and who supports it: "both", "client"
  roce::State state = roce::State::kOpen;
  std::string ended;                             // why, and by whom; empty while it is up
  std::array<model::CallerCounts, 2> direction;  // 0 forward, 1 reverse
  std::uint64_t messages = 0;
  std::uint64_t inline_bytes = 0;
  std::array<std::uint64_t, 3> chunks{};         // by model::ChunkList
  std::array<std::uint64_t, 3> chunk_bytes{};    // moved
  std::uint64_t retransmitted = 0, refused = 0;  // retransmitted packets; NAKs and RNR NAKs
  // By end, as sender: all packets, those marked CE, and CNPs.
  struct Signals {
    std::uint64_t packets = 0, marked = 0, cnps = 0;
  };
  std::array<Signals, 2> signals{};
  std::uint64_t lost = 0;  // by the capture, or events
  std::int64_t first_ns = 0, last_ns = 0;
  // The live endpoint that reported it ended without closing it.
  bool endpoint_ended = false;
  // The live endpoint at the other end, which shows it too, ended without closing it.
  bool peer_ended = false;
  // Number of findings on it, by rules::Severity.
  std::array<std::uint64_t, 3> findings{};
};

// Violations of one rule by one side on one connection, counted together.
struct FoundKind {
  const rules::Rule* rule = nullptr;
  rules::Severity severity = rules::Severity::kNote;
  std::uint32_t connection = 0;  // ID; 0: none
  std::string peer;              // at fault; empty: neither
  std::string role;              // "client", "server"; empty: not known
  std::uint64_t count = 0;
  std::vector<rules::Span> spans;  // the first ones, of a condition that lasts
  std::string text;                // of the first one; for a condition that lasts, of the latest
  std::string advice;
  struct Place {
    std::uint64_t message = 0;  // 0: none
    std::uint64_t frame = 0;
  };
  std::vector<Place> places;  // the first ones
  static constexpr std::size_t kMostPlaces = 100;
};

// One violation: its kind and its message.
struct Found {
  std::uint64_t message = 0;
  std::uint32_t kind = 0;
};

// Latency of the Calls of one procedure, and its parts. Nanoseconds.
struct ProcedureTimes {
  report::ProcedureKey key;
  std::string label;
  std::uint64_t calls = 0, errors = 0;
  base::Histogram total;
  // Parts for Calls with RDMA operations: to the first one, to the end of the last, to the Reply.
  base::Histogram before_data, data, after_data;
  // Parts as endpoints measured them: waiting for a credit, until it was passed to the fabric, from
  // there to its Reply, until nothing of it was in flight.
  base::Histogram waiting, sending, turn, completion;
  // Linux: parts of `sending`, besides `waiting`: for a request slot, encoding and registration,
  // posting the Send.
  base::Histogram slot_wait, marshal, post;
  struct Slow {
    std::int64_t latency_ns = 0;
    std::uint64_t message = 0;  // the Call
    std::uint64_t frame = 0;
    std::int64_t time_ns = 0;
  };
  std::vector<Slow> slowest;  // the slowest first
  static constexpr std::size_t kMostSlow = 50;
};

// Bytes moved through chunks, by model::ChunkList, over time, and chunk lengths.
struct ChunkBin {
  std::array<std::uint64_t, 3> bytes{};
  void join(const ChunkBin& other) {
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] += other.bytes[i];
  }
};
struct ChunkSums {
  report::Series<ChunkBin> over_time;
  std::array<std::array<std::uint64_t, 33>, 3> sizes{};  // by list, by the length's power of two
};

// Signals of congestion in an interval.
struct CongestionBin {
  std::array<std::uint64_t, 2> marked{}, cnps{};  // of a connection, by the tracker's side
  void join(const CongestionBin& other) {
    for (std::size_t i = 0; i < 2; ++i) {
      marked[i] += other.marked[i];
      cnps[i] += other.cnps[i];
    }
  }
};
// Pause frames in an interval. They belong to no connection.
struct PauseBin {
  std::array<std::uint64_t, 9> paused{};  // by class; the last: without classes
  void join(const PauseBin& other) {
    for (std::size_t i = 0; i < paused.size(); ++i) paused[i] += other.paused[i];
  }
};

// Where outstanding Calls of a connection's client were in an interval, by states::State.
struct StatesBin {
  std::array<std::uint32_t, states::kStates> most{};
  std::array<std::uint32_t, states::kStates> last{};  // at the end of the interval
  bool any = false;                                   // false: as at the end of the one before
  void join(const StatesBin& later) {
    for (std::size_t i = 0; i < most.size(); ++i) most[i] = std::max(most[i], later.most[i]);
    if (later.any) last = later.last;
    any = any || later.any;
  }
};
struct StatesLog {
  report::Series<StatesBin> over_time;
  states::Counts now;
};

// What all connections did in an interval.
struct ActivityBin {
  std::uint64_t calls = 0;
  bool no_credit = false;  // at some moment a connection could send no further Call
  void join(const ActivityBin& other) {
    calls += other.calls;
    no_credit = no_credit || other.no_credit;
  }
};

// An event that no message shows, such as a closed connection or an injected fault.
struct Notable {
  std::uint64_t frame = 0;
  std::int64_t time_ns = 0;
  std::uint32_t connection = 0;  // ID; 0: none
  std::string text;
};

// Whether the capture is complete.
struct Integrity {
  std::uint64_t frames = 0, cut_short = 0, fragments = 0, unknown_link = 0;
  std::map<std::string, std::uint64_t> unread;  // report::CaptureSummary::unread
  std::uint64_t dropped = 0;                    // while capturing
  std::uint64_t lost_capture = 0;               // packets that their receiver acknowledged
  bool file_cut_short = false;
  std::string damage;
  std::string note;  // how a file was read whose header is wrong
  trace_reader::ReaderStats events;
  bool finished = false;
  rules::CaptureGaps capture_gaps;  // valid once `finished` is set
};

// A live endpoint that the window is or was attached to.
struct LiveEndpoint {
  std::string name;  // its own, once it has reported that; any bytes
  bool ended = false;
  // With `ended`: it closed its connections; false: it was killed, or crashed.
  bool in_order = true;
  std::int64_t ended_ns = 0;  // since the epoch
  std::string why;            // the reason why the stream broke off; empty: the endpoint ended it
};

// The buffer of a live source is a ring: at its limit, the oldest frames make room, except for
// those at its beginning, with which most connections begin.
struct BufferGap {
  std::uint64_t first_frame = 0, last_frame = 0;  // frames no longer kept; 0: none
  capture::Mark after;                            // from which reading can resume
  [[nodiscard]] bool has(std::uint64_t frame) const {
    return first_frame != 0 && first_frame <= frame && frame <= last_frame;
  }
};

struct Progress {
  std::uint64_t bytes_read = 0, bytes_total = 0;  // of the file as stored; total 0: not known
  std::uint64_t buffer_bytes = 0;  // of the file that keeps what cannot be read twice; 0: none
  std::uint64_t buffer_limit = 0;  // of a live source, bytes; 0: none
  BufferGap gap;
  bool finished = false;
  bool cancelled = false;
  std::string error;             // why reading ended early
  std::int64_t finished_ns = 0;  // with `finished`: the time, since the epoch
};

// The data as of the latest batch. Access it only through Store::read().
struct Content {
  Rows rows;
  std::vector<ProcedureText> procedures{1};  // by MessageRow::procedure
  std::vector<Outcome> outcomes{1};          // by MessageRow::outcome
  Chunked<CallDetail> details;               // by MessageRow::detail - 1
  std::vector<std::string> files{1};         // by CallDetail::file, escaped for a terminal
  std::vector<ConnectionInfo> connections;   // by index
  // Index of the connection that continues this one; otherwise its own.
  std::vector<std::uint32_t> goes_on_as;
  // For connections whose index is kMostConnections or more, only the messages are kept.
  static constexpr std::uint32_t kMostConnections = 65536;
  // By index * 2 + the calling side.
  std::vector<std::unique_ptr<CreditLog>> credits;
  std::vector<std::unique_ptr<ChunkSums>> chunks;                          // by index
  std::vector<std::unique_ptr<report::Series<CongestionBin>>> congestion;  // by index
  report::Series<PauseBin> pauses;
  // By index; only of connections that an endpoint or the kernel reported.
  std::vector<std::unique_ptr<StatesLog>> states;
  report::Series<ActivityBin> activity;
  bool check_icrc = true;  // as in LoadOptions
  std::vector<FoundKind> kinds;
  Chunked<Found> found;                        // on messages, in the order found
  std::array<std::uint64_t, 3> found_total{};  // by rules::Severity
  std::unordered_multimap<std::uint64_t, std::uint32_t> kinds_of;  // by message
  std::map<report::ProcedureKey, ProcedureTimes> times;
  std::vector<Notable> notable;
  std::uint64_t notable_omitted = 0;
  // Frames that set up a connection, by index: a reader of later frames needs them.
  std::vector<std::vector<std::uint64_t>> set_up;
  std::vector<capture::Mark> marks;  // before frame kMarkEvery * n + 1
  Integrity integrity;
  std::vector<LiveEndpoint> endpoints;  // in the order of Loading::endpoints()
  Progress progress;
  // What `rpcrdma analyze` would report about what has been read, about once a second and at the
  // end; null: none yet.
  std::shared_ptr<const report::Report> report;
  std::int64_t first_ns = 0;  // of the first frame
  std::int64_t last_ns = 0;
  std::uint64_t calls_over = 0;

  static constexpr std::uint64_t kMarkEvery = 128;

  // The index under which the connection is known now.
  [[nodiscard]] std::uint32_t canonical(std::uint32_t index) const {
    while (index < goes_on_as.size() && goes_on_as[index] != index) index = goes_on_as[index];
    return index;
  }
  [[nodiscard]] std::uint32_t connection_id(std::uint32_t index) const {
    return canonical(index) + 1;
  }
  // Null: not known (yet).
  [[nodiscard]] const ConnectionInfo* connection(std::uint32_t index) const {
    const std::uint32_t at = canonical(index);
    return at < connections.size() && connections[at].id != 0 ? &connections[at] : nullptr;
  }
  // Which end of ConnectionInfo sent the message; and whether it belongs to the reverse direction.
  [[nodiscard]] std::size_t sender(const MessageRow& row) const;
  [[nodiscard]] bool reverse(const MessageRow& row) const;
  // The Call of a message, itself or the one that it answers; nothing: none is known.
  [[nodiscard]] std::optional<MessageRow> call_of(const MessageRow& row) const;
  // Null: nothing is known of it.
  [[nodiscard]] const CallDetail* detail(const MessageRow& call) const {
    return call.detail != 0 ? &details[call.detail - 1] : nullptr;
  }
  // What a Call asks for: "READ 64 KiB at 1 MiB of big". Empty: not known.
  [[nodiscard]] std::string request(const MessageRow& call) const;
  // Returns its Info text, which begins with the substance: "READ 64 KiB at 1 MiB of big: 4 RDMA
  // Writes, 12.3 ms". It repeats no column of a single number.
  [[nodiscard]] std::string summary(const MessageRow& row) const;
  [[nodiscard]] std::size_t footprint() const;  // bytes of rows, credits and findings
};

class Store {
 public:
  // Calls f(const Content&) while nothing is written. Others can read at the same time: the
  // interface's thread waits for no search. f must be short, since the writer waits, and must not
  // read again.
  template <typename Function>
  auto read(Function&& f) const {
    std::unique_lock turn(turn_);
    const std::shared_lock lock(mutex_);
    turn.unlock();
    return f(static_cast<const Content&>(content_));
  }
  template <typename Function>
  void write(Function&& f) {
    std::unique_lock turn(turn_);
    const std::unique_lock lock(mutex_);
    turn.unlock();
    f(content_);
  }

 private:
  // Readers whose turns overlap would keep the writer out for good: it waits for them with the turn
  // in its hands, so that none follows.
  mutable std::mutex turn_;
  mutable std::shared_mutex mutex_;
  Content content_;
};

}  // namespace rpcrdma::index
