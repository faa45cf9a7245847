// What endpoints tell of themselves in recordings, beside messages and RDMA operations: where the
// time of their Calls went, memory, errors, and whether all that they told is here. A plain value.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <rpcrdma/base/histogram.h>
#include <rpcrdma/trace_reader/reader.h>

namespace rpcrdma::report {

// What is listed at most; more is counted.
inline constexpr std::size_t kMaxRecordedEndpoints = 64;
inline constexpr std::size_t kMaxRecordedErrors = 64;
inline constexpr std::size_t kMaxRecordedFaults = 64;

struct RecordedEndpoint {
  std::string name;
  std::string role;
  std::uint32_t process = 0;
  friend bool operator==(const RecordedEndpoint&, const RecordedEndpoint&) = default;
};

// Parts of the time of Calls that ended, as their endpoint measured them. Of Calls that it served,
// nothing waits; `sending` is until their Read chunks were there, `turn` is the program's.
struct RecordedTimes {
  base::Histogram waiting;     // for a credit
  base::Histogram sending;     // until it was handed to the fabric, without that
  base::Histogram turn;        // from there to its Reply
  base::Histogram completion;  // until nothing of it was under way any more
};

// What an endpoint found wrong.
struct RecordedError {
  std::string reason;
  bool peer = false;  // who did it
  std::uint64_t count = 0;
  std::uint64_t first_frame = 0;
};

struct RecordedFault {
  std::string rule;  // as it was declared
  bool outgoing = false;
  std::uint8_t action = 0;  // a value of rpcrdma.trace.fault.action
  std::uint64_t packets = 0;
};

struct Recording {
  trace_reader::ReaderStats events;
  std::vector<RecordedEndpoint> endpoints;
  RecordedTimes made, served;  // Calls
  std::uint64_t credit_waits = 0;
  std::uint64_t exposed = 0;  // registrations
  std::uint64_t exposed_bytes = 0;
  std::uint64_t withdrawn = 0;    // by the endpoint
  std::uint64_t invalidated = 0;  // by its peer
  std::uint64_t receives = 0;     // posted
  std::vector<RecordedError> errors;
  std::uint64_t errors_omitted = 0;  // kinds are listed; these are of others
  std::vector<RecordedFault> faults;
  std::uint64_t faults_omitted = 0;

  [[nodiscard]] bool any() const { return events.any(); }
  // An error or a fault, where there is room for it.
  void note(const RecordedError& error);
  void note(const RecordedFault& fault);
  void note(const RecordedEndpoint& endpoint);
  // A later one; `frames` come before its first.
  void add(const Recording& later, std::uint64_t frames);
};

}  // namespace rpcrdma::report
