// Which of the joined Calls are shown, and in which order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/ends/ends.h>

namespace rpcrdma::gui {

using SharedEnds = std::shared_ptr<const ends::Ends>;

enum class EndsOrder : std::uint8_t {
  kSlowestFirst,
  kFastestFirst,
  kOldestFirst,
  kNewestFirst,
  kBySide,  // client, network, server, inconclusive, none; of each the slowest first
};

struct EndsFilter {
  std::optional<ends::Side> side;
  std::optional<std::string> procedure;  // EndsCall::name
  friend bool operator==(const EndsFilter&, const EndsFilter&) = default;
};

// The Calls to show: all of them if they were kept, else the slowest.
[[nodiscard]] const std::vector<ends::EndsCall>& calls_of(const ends::Ends& all);

struct EndsRows {
  std::vector<std::uint32_t> calls;  // indices in calls_of()
  std::int64_t longest_ns = 0;       // of these
  EndsOrder order = EndsOrder::kSlowestFirst;
};

// Linear in the number of Calls, apart from sorting: not for the interface's thread.
[[nodiscard]] EndsRows rows_of(const ends::Ends& all, EndsOrder order, const EndsFilter& filter);

}  // namespace rpcrdma::gui
