// Decides when Calls are due, and when the load ends. With a rate, Calls are due at fixed moments,
// regardless of earlier ones: a Call that could not start in time is late, and its latency counts
// from its due time. (Otherwise a peer that stalls would hide its own stalls, which is known as
// coordinated omission.)
#pragma once

#include <cstdint>

#include <rpcrdma/fabric/time.h>

namespace rpcrdma::load {

struct PacerOptions {
  double rate = 0;                         // Calls per second of all threads; 0: no rate
  std::uint64_t count = 0;                 // Calls of all threads; 0: no end by count
  fabric::Time duration = fabric::kNever;  // from begin() on
  std::uint32_t thread = 0;                // this thread's number
  std::uint32_t threads = 1;               // threads that share the load evenly
};

class Pacer {
 public:
  explicit Pacer(const PacerOptions& options);

  void begin(fabric::Time now);
  // No more Calls from now on.
  void stop(fabric::Time now);

  // Returns when the next Call is due, which may be in the past; without a rate, `now`. kNever:
  // there are no more.
  [[nodiscard]] fabric::Time due(fabric::Time now) const;
  // No Call is due from then on; kNever: no end by time.
  [[nodiscard]] fabric::Time end() const { return end_; }
  // Called when that Call has started.
  void took() { ++taken_; }

  // All Calls of this thread's part of the count have started.
  [[nodiscard]] bool all_taken() const { return taken_ >= share_; }
  // How long the load takes at its rate: up to its end, or until the Call after the last of the
  // count would be due. 0: without a rate, or before an end is known.
  [[nodiscard]] fabric::Time planned() const;

  // Calls that were due before the end and have not started.
  [[nodiscard]] std::uint64_t missed() const;

 private:
  [[nodiscard]] fabric::Time due_of(std::uint64_t call) const;

  PacerOptions options_;
  std::uint64_t share_;  // this thread's part of `count`
  fabric::Time begin_ = 0;
  fabric::Time end_ = fabric::kNever;  // Calls due then or later do not start
  std::uint64_t taken_ = 0;
};

}  // namespace rpcrdma::load
