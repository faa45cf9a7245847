// One Call as all points saw it: where its time went, and which side is to blame.
//
// A point is one source that saw a connection: the kernel or the endpoint at one of its ends, or a
// capture of its packets somewhere between them. Each has a clock of its own. Collector (below the
// session of one source) collects the half of each Call that this source saw; join() joins the
// halves by connection and XID, aligns the clocks (clock.h), and divides the time of each Call into
// stages.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/ends/clock.h>
#include <rpcrdma/wire/dialects.h>

namespace rpcrdma::ends {

enum class PointKind : std::uint8_t { kClient, kServer, kWire };

// What happens to a Call, in order. kRead is the server's RDMA Reads of Read chunks, kWrite its
// RDMA Writes into Write and Reply chunks.
enum class Stage : std::uint8_t {
  kSlot,          // the client waits for a request slot
  kCredit,        // the client waits for a credit
  kPost,          // the client encodes, registers memory and posts the Send
  kNetworkThere,  // until the server has received it
  kDecode,        // the server decodes it and passes it on
  kRead,
  kExecute,
  kWrite,
  kSend,         // the server posts the Reply
  kNetworkBack,  // until the client has received it
  kWake,         // until the client's caller continues
};
inline constexpr std::size_t kStages = 11;
inline constexpr std::int64_t kUnknownNs = -1;

// "waiting for a credit", "network, to the server"; and as a JSON key: "credit", "network_there".
[[nodiscard]] const char* stage_text(Stage stage);
[[nodiscard]] const char* stage_key(Stage stage);

enum class Side : std::uint8_t { kNone, kClient, kNetwork, kServer, kInconclusive };
[[nodiscard]] const char* side_key(Side side);
// The side that a stage belongs to. A credit is the server's to grant, so waiting for one is the
// server's time if the server's grant was the limit.
[[nodiscard]] Side side_of(Stage stage);

// A source, with the clock that all its points share.
struct Source {
  std::string file;                  // as the user named it; of a live endpoint its name
  bool reference = false;            // times of the result are by this clock
  ClockMap clock;                    // to the reference; empty for the reference itself
  std::uint64_t lost = 0;            // events or packets known to be missing
  std::uint64_t calls = 0;           // halves that it gave
  std::uint64_t joined = 0;          // of these, joined with a half of another source
  std::vector<std::uint32_t> files;  // indices of those given to read_ends(): several of a ring
};

// What a connection is in one of the files given to read_ends().
struct ShownAs {
  std::uint32_t file = 0;        // index
  std::uint32_t connection = 0;  // ID in a report of that file alone
};

// A connection that at least two sources saw.
struct EndsConnection {
  std::string client, server;  // addresses
  std::uint32_t first_source = 0;
  std::uint32_t connection = 0;        // ID in the report of the first source
  std::vector<std::uint32_t> sources;  // indices
  std::vector<PointKind> kinds;        // of each of them
  std::vector<ShownAs> shown_as;
  std::uint64_t smallest_round_trip_ns = 0;  // client to server and back, without the server's time
};

// Half-open spans by the clock of the reference; a stage that no source shows is unknown, and its
// time is part of `between`, see below.
struct EndsCall {
  std::uint32_t connection = 0;  // index
  std::uint32_t xid = 0;
  bool reverse = false;
  std::uint32_t program = 0, version = 0, procedure = 0;
  std::string name;  // of the procedure: "NFS v3 READ"
  std::int64_t begin_ns = 0, end_ns = 0;
  std::array<std::int64_t, kStages> began_ns{};  // kUnknownNs: unknown
  std::array<std::int64_t, kStages> took_ns{};   // kUnknownNs: unknown; 0: did not happen
  std::int64_t unknown_ns = 0;                   // of its time, in no known stage
  std::int64_t bound_ns = kUnknownNs;  // error of the network stages; kUnknownNs: no bound
  std::uint32_t seen_by = 0;           // set of sources: bit i is source i
  Side side = Side::kNone;
  Stage stage = Stage::kSlot;  // most of the side's time, if a side is named
  bool contradictory = false;
};

// What the sources contradict each other about.
struct Contradiction {
  std::string what;                 // one sentence
  std::uint32_t connection = 0;     // index
  std::vector<std::uint32_t> xids;  // at most 8
  std::uint64_t calls = 0;
};

struct StageSum {
  std::uint64_t calls = 0;  // in which it is known
  std::int64_t total_ns = 0, p50_ns = 0, p99_ns = 0, max_ns = 0;
};

// The judged Calls of one procedure on one connection.
struct ProcedureEnds {
  std::uint32_t connection = 0;
  std::string name;
  std::uint64_t calls = 0;
  std::array<StageSum, kStages> stages{};
  StageSum all;
  std::array<std::uint64_t, 5> sides{};  // Calls by Side
};

struct Ends {
  std::vector<Source> sources;
  std::vector<EndsConnection> connections;
  std::vector<ProcedureEnds> procedures;
  std::vector<EndsCall> slowest;  // the slowest of each procedure first; see EndsOptions
  std::vector<EndsCall> calls;    // all, if they were asked for; in order of begin_ns
  std::vector<Contradiction> contradictions;
  std::uint64_t calls_total = 0;
  std::uint64_t seen_once = 0;           // Calls of shared connections that only one source saw
  std::uint64_t withheld = 0;            // not judged: events lost, a clock jumped, no overlap
  std::uint64_t not_kept = 0;            // more than the limit: not joined
  std::array<std::uint64_t, 5> sides{};  // Calls by Side
  // "The server: 980 of 1,000 slow Calls of NFS v3 WRITE waited for it to execute (median 20 ms)."
  std::string verdict;
  Side accused = Side::kNone;  // by the verdict
  // Why nothing, or not everything, is judged; one sentence each.
  std::vector<std::string> notes;
};

// From how long on a Call is slow, and so is judged.
struct SlowProcedure {
  std::string procedure;  // the last word of a name, such as "READ"; empty: of all procedures
  std::int64_t limit_ns = 0;
};

struct EndsOptions {
  std::size_t slowest = 10;  // of each procedure
  // Below, no side is to blame. Above the accuracy of a busy machine's scheduling.
  std::int64_t slow_ns = 5'000'000;
  std::vector<SlowProcedure> limits = {};  // the first that fits replaces `slow_ns`
  bool keep_calls = false;
  unsigned threads = 1;    // of each session that read_ends() runs
  bool check_icrc = true;  // as in model::ModelOptions
  std::optional<wire::Dialect> dialect = std::nullopt;
  std::size_t most_calls = 1'000'000;  // of all sources together
};

// No connection was seen by two sources: then `connections` is empty, and notes states why.
[[nodiscard]] bool any(const Ends& ends);

}  // namespace rpcrdma::ends
