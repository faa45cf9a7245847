// Finds the connections that several sources show, and in them the halves of the same Call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <rpcrdma/ends/half.h>

namespace rpcrdma::ends {

inline constexpr std::uint32_t kNowhere = UINT32_MAX;

// One connection, in all sources that show it.
struct Group {
  struct Member {
    std::uint32_t source = 0;
    std::uint32_t connection = 0;      // of that source
    std::vector<std::uint32_t> calls;  // of that source, by XID and then by time
  };
  std::vector<Member> members;  // from the client to the server, see order_points()
};

// The groups with at least two members. A pair of sources that show none is named in `notes`.
[[nodiscard]] std::vector<Group> shared_connections(std::span<const SourceHalves> sources,
                                                    std::vector<std::string>& notes);

// Joins a Call that was sent again before it was answered with its latest sending.
void collapse_superseded(SourceHalves& source);

// When a half happened, for a comparison: its Call, or else its Reply.
[[nodiscard]] std::int64_t moment_of(const HalfCall& half);

}  // namespace rpcrdma::ends
