// When Calls are due, and when there are to be no more. Calls of a given rate are due at fixed
// moments, whatever became of those before: one that could not begin in time is late, and its
// latency counts from when it was due. (Else a peer that stalls would hide its own stalls: what is
// known as coordinated omission.)
#pragma once

#include <cstdint>

#include <rpcrdma/fabric/time.h>

namespace rpcrdma::load {

struct PacerOptions {
  double rate = 0;                         // Calls a second of all threads; 0: no rate
  std::uint64_t count = 0;                 // Calls of all threads; 0: no end by count
  fabric::Time duration = fabric::kNever;  // from begin() on
  std::uint32_t thread = 0;                // of
  std::uint32_t threads = 1;               // that share the load evenly
};

class Pacer {
 public:
  explicit Pacer(const PacerOptions& options);

  void begin(fabric::Time now);
  // No more Calls from now on.
  void stop(fabric::Time now);

  // When the next Call is due, which may be past; without a rate that is `now`. kNever: there are
  // to be no more.
  [[nodiscard]] fabric::Time due(fabric::Time now) const;
  // No Call is due from then on; kNever: not by time.
  [[nodiscard]] fabric::Time end() const { return end_; }
  // That Call has begun.
  void took() { ++taken_; }

  // Calls that were due before the end and have not begun.
  [[nodiscard]] std::uint64_t missed() const;

 private:
  [[nodiscard]] fabric::Time due_of(std::uint64_t call) const;

  PacerOptions options_;
  std::uint64_t share_;  // of `count`, this thread's
  fabric::Time begin_ = 0;
  fabric::Time end_ = fabric::kNever;  // Calls due then or later do not begin
  std::uint64_t taken_ = 0;
};

}  // namespace rpcrdma::load
