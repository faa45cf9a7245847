// The contents of recordings other than messages and RDMA operations: how long the phases of Calls
// took, memory, errors, and whether events were lost. A plain value.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/base/histogram.h>
#include <rpcrdma/roce/absent.h>
#include <rpcrdma/trace/event.h>
#include <rpcrdma/trace_reader/reader.h>

namespace rpcrdma::report {

// Maximum lengths of lists. Items beyond are counted.
inline constexpr std::size_t kMaxRecordedEndpoints = 64;
inline constexpr std::size_t kMaxRecordedErrors = 64;
inline constexpr std::size_t kMaxRecordedFaults = 64;
inline constexpr std::size_t kMaxRecordedSums = 1024;

struct RecordedEndpoint {
  std::string name;
  std::string role;
  std::uint32_t process = 0;
  roce::Origin origin = roce::Origin::kEndpoint;
  friend bool operator==(const RecordedEndpoint&, const RecordedEndpoint&) = default;
};

// Phases of completed Calls, as their endpoint measured them. A served Call has no `waiting`; its
// `sending` ends when its Read chunks have been read, and its `turn` is the time of the program.
struct RecordedTimes {
  base::Histogram waiting;     // for a credit
  base::Histogram sending;     // until it was posted to the fabric, without `waiting`
  base::Histogram turn;        // from `sending` to its Reply
  base::Histogram completion;  // from its Reply until nothing of it was in flight
};

// Linux only: parts of the time until a Call was posted, besides the wait for a credit.
struct RecordedSending {
  base::Histogram slot_wait;  // for a request slot
  base::Histogram marshal;    // encoding, and registration of memory
  base::Histogram post;       // from then until the Send was posted

  [[nodiscard]] bool any() const { return slot_wait.count() + marshal.count() + post.count() != 0; }
};

// Sums that a source counted instead of recording events, since it began: of a procedure on a
// connection.
struct RecordedProcedure {
  std::uint32_t connection = 0;  // its ID in the report
  bool by_peer = false;          // the peer made the Calls
  std::uint32_t program = 0, version = 0, procedure = 0;
  std::uint64_t calls = 0, replies = 0, errors = 0;
  std::uint64_t call_bytes = 0, reply_bytes = 0;  // of Sends
  std::uint64_t read_chunk_bytes = 0, write_chunk_bytes = 0;
  std::uint64_t latency_ns = 0;  // sum over all Replies
  std::uint64_t max_latency_ns = 0;
  // By trace::sum_bucket(): bucket and count, lowest first.
  std::vector<std::array<std::uint64_t, 2>> latencies;
};
struct RecordedConnection {
  std::uint32_t connection = 0;  // its ID in the report
  trace::ConnectionSums sums;
};
// "NFS v4 COMPOUND"
[[nodiscard]] std::string procedure_text(const RecordedProcedure& p);
// Returns a quantile of the latencies of a procedure, in ns; nothing if there are none.
[[nodiscard]] std::optional<std::uint64_t> latency_of(const RecordedProcedure& p, double q);

// An error that an endpoint detected.
struct RecordedError {
  std::string reason;
  bool peer = false;  // caused by the peer, not the endpoint
  std::uint64_t count = 0;
  std::uint64_t first_frame = 0;
};

struct RecordedFault {
  std::string rule;  // as declared
  bool outgoing = false;
  std::uint8_t action = 0;  // a value of rpcrdma.trace.fault.action
  std::uint64_t packets = 0;
};

struct Recording {
  trace_reader::ReaderStats events;
  std::vector<RecordedEndpoint> endpoints;
  RecordedSending sending;
  RecordedTimes made, served;  // of the endpoints' own Calls, and of their peers' Calls
  std::uint64_t credit_waits = 0;
  std::uint64_t advertised = 0;  // regions that were advertised
  std::uint64_t advertised_bytes = 0;
  std::uint64_t invalidated_locally = 0;  // invalidated by the endpoint
  std::uint64_t invalidated = 0;          // by its peer: Send with Invalidate
  std::uint64_t receives = 0;             // posted
  std::vector<RecordedError> errors;
  std::uint64_t errors_omitted = 0;  // errors of kinds that are not listed
  std::vector<RecordedFault> faults;
  std::uint64_t faults_omitted = 0;
  std::vector<RecordedProcedure> procedures;
  std::vector<RecordedConnection> connections;
  std::uint64_t sums_omitted = 0;  // procedures and connections beyond these

  [[nodiscard]] bool any() const { return events.any(); }
  [[nodiscard]] bool has_sums() const { return !procedures.empty() || !connections.empty(); }
  // Whether Linux alone recorded.
  [[nodiscard]] bool only_kernel() const {
    return !endpoints.empty() && std::all_of(endpoints.begin(), endpoints.end(), [](const auto& e) {
      return roce::is_kernel(e.origin);
    });
  }
  // Add an item, or count it if the list is full.
  void note(const RecordedError& error);
  void note(const RecordedFault& fault);
  void note(const RecordedEndpoint& endpoint);
  // Adds a later recording. `frames`: the number of frames before its first.
  void add(const Recording& later, std::uint64_t frames);
};

}  // namespace rpcrdma::report
