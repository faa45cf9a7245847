// Finds the times in which a client had no connection to a server that answered its Calls.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

// From the end of the last connection between a client and a server to the first Reply on a
// successor. Counts only if the client wanted a connection meanwhile: Calls of the lost connection
// had no answer, or the client requested connections in vain.
struct Outage {
  const Connection* lost = nullptr;
  const Connection* successor = nullptr;  // null: no connection answered before the capture ended
  std::int64_t from_ns = 0;
  std::int64_t until_ns = 0;   // the successor's first Reply, or the end of the capture
  std::int64_t silent_ns = 0;  // since the last Reply of the lost connection; 0: no Reply
  std::uint64_t refused = 0;   // requests for a connection that the server refused
  std::uint64_t in_vain = 0;   // other connections, or requests for one, without a Reply
  const Connection* first_refused = nullptr;

  [[nodiscard]] std::int64_t length_ns() const { return until_ns - from_ns; }
};

// In order of time. Shorter ones than 100 ms do not count.
[[nodiscard]] std::vector<Outage> outages(const Report& report);

// "7.3 s between the loss of connection 1 (closed by the server in frame 410) and the first Reply
// of its successor, connection 4 (frame 423); the server refused 2 requests for a connection
// meanwhile, the first in frame 415: invalid service ID (reason 8): nothing listens on port 20049"
[[nodiscard]] std::string outage_text(const Outage& outage);

// "invalid service ID (reason 8): nothing listens on port 20049"; empty unless it was refused.
[[nodiscard]] std::string refusal_text(const Connection& connection);

}  // namespace rpcrdma::report
