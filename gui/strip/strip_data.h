// What the strip of time draws, read from the store: bounded, however many messages there are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/index/store.h>

namespace rpcrdma::gui {

struct StripData {
  struct Bin {  // of the activity of all connections
    std::int64_t from_ns = 0, to_ns = 0;
    std::uint64_t calls = 0;
    double per_second = 0;
    bool no_credit = false;
  };
  struct Mark {  // evidence of a finding
    std::int64_t ns = 0;
    std::uint64_t message = 0;  // 0: none
    rules::Severity severity = rules::Severity::kNote;
    const char* rule = "";
  };
  struct Stall {
    std::int64_t from_ns = 0, to_ns = 0;
  };

  std::vector<Bin> bins;
  double most_per_second = 0;
  // Credits of the connection's forward direction, a column for every two pixels.
  std::vector<index::CreditSpan> credits;
  std::uint32_t most_in_flight = 0, most_allowed = 0;
  std::vector<Mark> marks;  // the worst ones last: they are drawn on top
  std::vector<Stall> stalls;
};

// `connection`: the selected one, whose credits are shown.
[[nodiscard]] StripData strip_data(const index::Content& content,
                                   std::optional<std::uint32_t> connection, std::int64_t from_ns,
                                   std::int64_t to_ns, int columns);

// The number of Calls that may be in flight: the endpoint's limit, or else the grant.
[[nodiscard]] inline std::uint32_t allowed(const index::CreditSpan& span) {
  return span.limit_max != 0 ? span.limit_max : span.granted_max;
}

}  // namespace rpcrdma::gui
