// Times that a verdict states: the longest silences of responders, and Calls above the limits of
// the user. Procedures have latencies of their own.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <rpcrdma/rules/silence.h>

namespace rpcrdma::report {

inline constexpr std::size_t kMaxSilences = rules::kSilences;
inline constexpr std::size_t kMaxLimits = 16;
inline constexpr std::size_t kMaxLimitedCalls = 1024;  // connections times limits

// The longest time of one direction of a connection in which Calls waited and the responder sent
// nothing.
struct Silence {
  std::uint32_t connection = 0;  // its ID
  bool reverse = false;          // the Calls are the server's
  std::int64_t since_ns = 0;
  std::int64_t until_ns = 0;
  bool ended = true;        // false: the connection or the capture ended first
  std::uint64_t calls = 0;  // in flight
  std::uint64_t frame = 0;  // of the latest of them

  // Saturates: a file can contain any times.
  [[nodiscard]] std::int64_t length_ns() const;
};

// A limit of the user for the latency of Calls.
struct SlowLimit {
  std::string procedure;  // "READ"; empty: of all procedures
  std::int64_t limit_ns = 0;

  friend auto operator<=>(const SlowLimit&, const SlowLimit&) = default;
};
// "READ above 20 ms", "Calls above 20 ms"
[[nodiscard]] std::string limit_text(const SlowLimit& limit);

// The Calls of one connection that a limit covers.
struct LimitedCalls {
  std::uint32_t connection = 0;  // its ID
  std::string client;            // address
  SlowLimit limit;
  std::uint64_t calls = 0;            // answered, or longer without an answer than the limit
  std::uint64_t slow = 0;             // above the limit
  std::uint64_t unanswered = 0;       // of `slow`
  std::int64_t worst_ns = 0;          // of `slow`
  std::uint64_t worst_frame = 0;      // of that Call
  std::vector<std::uint64_t> frames;  // of slow Calls: at most rules::kMaxFrames, the first ones

  void add(const LimitedCalls& later);
};

struct Timing {
  std::vector<SlowLimit> limits;
  std::vector<Silence> silences;      // the longest first
  std::vector<LimitedCalls> limited;  // by connection, then by limit
  std::uint64_t omitted = 0;          // Calls that are not in `limited`, which is full

  // Keeps the longest silences, sorts both lists, and joins entries of one connection and limit.
  void settle();
};

}  // namespace rpcrdma::report
