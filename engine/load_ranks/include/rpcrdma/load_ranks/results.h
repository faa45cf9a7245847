// The results of one or several ranks of a coordinated load. They merge exactly, in any order and
// grouping, also in their encoded form: as a user-defined MPI_Op does it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include <rpcrdma/base/error.h>
#include <rpcrdma/base/histogram.h>
#include <rpcrdma/fabric/time.h>
#include <rpcrdma/load/hdr_histogram.h>
#include <rpcrdma/load/report.h>
#include <rpcrdma/load/tally.h>
#include <rpcrdma/load_ranks/clock.h>
#include <rpcrdma/load_ranks/series.h>

namespace rpcrdma::load_ranks {

inline constexpr std::uint32_t kMostRanks = 65536;
inline constexpr std::uint32_t kMostRounds = 65536;
inline constexpr std::size_t kMostRows = 1U << 20;  // ranks times rounds
inline constexpr std::size_t kMostText = 1024;      // bytes of a text of a row; longer ones are cut
inline constexpr std::size_t kMostServers = 65536;  // of a row
inline constexpr std::size_t kMostFailed = 64;      // thresholds of a row
inline constexpr std::size_t kMostEncoded = 1U << 30;  // bytes

enum class State : std::uint8_t {
  kDone,    // ran to its end
  kFailed,  // ended early and said why; what it did before that is complete
  kDead,    // its process or connection ended without a result
  kStuck,   // it lives and does not answer
  kLost,    // nothing is heard from it any more, and whether it lives is not known
};
[[nodiscard]] const char* state_name(State state);  // "done", "failed", ...

// One rank in one round.
struct Row {
  std::uint32_t rank = 0;
  std::uint32_t round = 0;
  std::string host;
  std::string from;                  // own address
  std::vector<std::string> servers;  // as the command line names them
  State state = State::kDone;
  std::string why;  // for kFailed and later; one clause for display
  // kDead and later: the numbers below are those of this time after the round's start, and what
  // came later is not known.
  fabric::Time last_heard = 0;

  std::optional<ClockOffset> offset;
  // From the agreed start until this rank began, by its own clock: add the offset's error.
  fabric::Time skew = 0;

  std::uint64_t calls = 0;  // that ended, in whatever way
  std::uint64_t errors = 0, mismatches = 0;
  std::uint64_t bytes = 0;
  std::uint64_t not_begun = 0, abandoned = 0;
  std::uint64_t lost = 0, down = 0;  // connections: lost; lost and not re-established at the end
  std::string why_down;
  std::uint64_t stalls = 0, resent = 0;
  fabric::Time elapsed = 0;  // from its own begin to its last outcome
  fabric::Time user = 0, system = 0;
  bool interrupted = false;
  std::optional<load::Packets> packets;
  std::optional<load::Reverse> reverse;
  base::CompactHistogram latency;   // of Calls with a correct answer, nanoseconds
  std::vector<std::string> failed;  // thresholds that this rank exceeded
  Series series;                    // from the start of the round

  [[nodiscard]] std::uint64_t right() const;  // Calls with a correct answer
};

// Copies what a rank's own result says: all but who, state, times of clocks, and the series.
void fill(Row& row, const load::Result& result);

// When a round began, from the begin of the first one, by the coordinator's clock.
struct RoundTime {
  std::uint32_t round = 0;
  fabric::Time start = 0;
  bool operator==(const RoundTime&) const = default;
};

struct Results {
  std::vector<Row> rows;            // by round and rank, each once
  std::vector<RoundTime> rounds;    // by round, each once
  load::Tally tally;                // of all rows
  load::HdrHistogram latency;       // likewise
  LatencySeries latency_over_time;  // of all rows, from the start of the first round
};

// Adds other ranks or rounds. Fails if a row is in both, or rounds contradict each other; `to` is
// unchanged then.
[[nodiscard]] base::Expected<void> merge(Results& to, const Results& from);

// Versioned; the same results have the same bytes. At most kMostEncoded.
[[nodiscard]] std::vector<std::uint8_t> encode(const Results& results);
// The bytes are untrusted.
[[nodiscard]] base::Expected<Results> decode(std::span<const std::uint8_t> bytes);
// encode() of both together. It is not longer than both.
[[nodiscard]] base::Expected<std::vector<std::uint8_t>> merge_encoded(
    std::span<const std::uint8_t> a, std::span<const std::uint8_t> b);

}  // namespace rpcrdma::load_ranks
