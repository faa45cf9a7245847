// Keeps the latest sums that a source has sent: counts of each procedure on each connection with
// their latencies, and counts of each connection. Each event repeats all counts since the source
// began, so the latest one replaces those before it.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include <rpcrdma/trace/read.h>

namespace rpcrdma::trace_reader {

// Latencies in the buckets of trace::sum_bucket().
class SumLatencies {
 public:
  // Reads the payload of a ProcedureSums event. Entries without such a bucket are skipped.
  static SumLatencies read(std::span<const std::uint8_t> payload);

  // Adds to one bucket, if there is such a bucket.
  void add(std::uint32_t bucket, std::uint64_t count);
  void add(const SumLatencies& other);
  // Subtracts what `earlier` had counted. A bucket never becomes negative.
  void subtract(const SumLatencies& earlier);

  [[nodiscard]] std::uint64_t count() const;
  // Returns the latency below which the fraction `q` (0..1) of all lies: the middle of its bucket,
  // so at most an eighth off, in ns. Nothing if there are none.
  [[nodiscard]] std::optional<std::uint64_t> quantile(double q) const;

  // The buckets that are not empty, lowest first.
  [[nodiscard]] const std::map<std::uint32_t, std::uint64_t>& buckets() const { return buckets_; }

 private:
  std::map<std::uint32_t, std::uint64_t> buckets_;
};

struct ProcedureKey {
  std::uint32_t connection = 0;
  std::uint8_t side = 0;  // the requester: 0 is the endpoint, 1 its peer
  std::uint32_t program = 0, version = 0, procedure = 0;
  friend auto operator<=>(const ProcedureKey&, const ProcedureKey&) = default;
};

struct ProcedureCount {
  trace::ProcedureSums sums;
  SumLatencies latencies;
};
// Adds the counts of the same procedure on another connection.
void add(ProcedureCount& to, const ProcedureCount& from);
void add(trace::ConnectionSums& to, const trace::ConnectionSums& from);

// The latest counts, and those before them: two points of a rate.
template <typename Count>
struct Counted {
  Count latest, before;        // before the first event everything was zero
  std::int64_t latest_ns = 0;  // times by the source's clock
  std::int64_t before_ns = 0;
  bool has_before = false;  // false: only one event has come, or the source began again

  // Returns the growth per second of one count, such as &trace::ProcedureSums::calls, as of
  // `now_ns`. A source repeats its sums about once a second while they grow: after some seconds of
  // silence the rate is 0. Nothing if it takes one more event to know.
  template <typename Sums>
  [[nodiscard]] std::optional<double> per_second(std::uint64_t Sums::*count,
                                                 std::int64_t now_ns) const {
    constexpr std::int64_t kSilent = 3'000'000'000;
    if (now_ns >= latest_ns &&
        static_cast<std::uint64_t>(now_ns) - static_cast<std::uint64_t>(latest_ns) >
            std::uint64_t{kSilent}) {
      return 0;
    }
    if (!has_before || latest_ns <= before_ns) return std::nullopt;
    const std::uint64_t now = sums(latest).*count, then = sums(before).*count;
    const auto ns = static_cast<std::uint64_t>(latest_ns) - static_cast<std::uint64_t>(before_ns);
    return now < then ? 0 : static_cast<double>(now - then) * 1e9 / static_cast<double>(ns);
  }

 private:
  static const trace::ProcedureSums& sums(const ProcedureCount& c) { return c.sums; }
  static const trace::ConnectionSums& sums(const trace::ConnectionSums& c) { return c; }
};
using CountedProcedure = Counted<ProcedureCount>;
using CountedConnection = Counted<trace::ConnectionSums>;

// Returns the latencies of the Replies between the two latest events, or all of them if there is
// one event only.
[[nodiscard]] SumLatencies recent_latencies(const CountedProcedure& procedure);

class Sums {
 public:
  // Takes a ProcedureSums or ConnectionSums event and ignores others. `connection` is what the
  // caller knows the connection by: the number in the event's header is unique only within its
  // source.
  void take(std::uint32_t connection, const trace::EventView& view);
  // Drops a connection that is over.
  void forget(std::uint32_t connection);

  [[nodiscard]] const std::map<ProcedureKey, CountedProcedure>& procedures() const {
    return procedures_;
  }
  [[nodiscard]] const std::map<std::uint32_t, CountedConnection>& connections() const {
    return connections_;
  }
  [[nodiscard]] bool empty() const { return procedures_.empty() && connections_.empty(); }
  // Events of procedures or connections beyond the number that is kept.
  [[nodiscard]] std::uint64_t omitted() const { return omitted_; }

 private:
  static constexpr std::size_t kMaxProcedures = 8192;
  static constexpr std::size_t kMaxConnections = 8192;

  std::map<ProcedureKey, CountedProcedure> procedures_;
  std::map<std::uint32_t, CountedConnection> connections_;
  std::uint64_t omitted_ = 0;
};

}  // namespace rpcrdma::trace_reader
