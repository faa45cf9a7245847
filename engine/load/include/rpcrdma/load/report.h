// A load's result as text and as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/load/device_work.h>
#include <rpcrdma/load/tally.h>

namespace rpcrdma::load {

// The parameters of the load.
struct Setup {
  std::string server;  // "127.0.0.1 port 20049"
  std::string from;    // "127.0.0.2"
  std::uint32_t connections = 1;
  std::uint32_t depth = 1;  // Calls in flight on a connection
  std::uint32_t threads = 1;
  double rate = 0;  // Calls per second; 0: as fast as answers arrive
  std::uint64_t seed = 0;
  std::vector<std::string> procedures;  // names, indexed by the numbers in the tally
};

// Calls that the server made to this end.
struct Reverse {
  std::uint64_t right = 0, wrong = 0, failed = 0;
  std::uint64_t resent = 0;  // on another connection
};

// Packet statistics of this end; an RDMA device does not report them.
struct Packets {
  std::uint64_t retransmitted = 0;   // by this end
  std::uint64_t naks = 0, rnrs = 0;  // received: for a gap, and for a missing Receive
};

struct Result {
  Tally tally;
  // From the first Call to the last outcome; with a rate, at least the time that the Calls fill.
  fabric::Time elapsed = 0;
  fabric::Time user = 0;        // processor time of this process meanwhile, nanoseconds
  fabric::Time system = 0;      // and of the kernel for it
  std::uint64_t not_begun = 0;  // Calls that were due and never started
  std::uint64_t abandoned = 0;  // Calls without an outcome when the load was aborted
  std::uint64_t lost = 0;       // connections that were lost
  std::uint64_t down = 0;       // of these, not established at the end
  std::string why_down;         // why the last of them was lost
  std::uint64_t stalls = 0;     // Calls that waited for a credit
  bool interrupted = false;
  std::optional<Packets> packets;
  std::optional<DeviceWork> device_work;
  std::optional<Reverse> reverse;
  std::vector<std::string> failed;  // thresholds that were exceeded
};

// Why Calls that were due could not start in time.
enum class Limit : std::uint8_t {
  kNone,       // they could, there was no rate, or no cause is certain
  kProcessor,  // this process used almost all time of its threads
  kCredits,    // Calls waited longer for a credit than for their Reply
  kDepth,      // as many Calls in flight as permitted cannot reach the rate at this latency
};
[[nodiscard]] Limit limit_of(const Setup& setup, const Result& result);

// "117 MB/s", "1.25 GB/s": in units of 1,000, as networks count.
[[nodiscard]] std::string format_byte_rate(double per_second);
// "84.2", "12345"
[[nodiscard]] std::string format_call_rate(double per_second);

// Several lines, each with its newline.
[[nodiscard]] std::string to_text(const Setup& setup, const Result& result);
// One object, without newline. docs/load.md describes the keys.
[[nodiscard]] std::string to_json(const Setup& setup, const Result& result);

// Totals at some moment, and the line that reports the interval between two.
struct Progress {
  std::uint64_t calls = 0, failed = 0, bytes = 0;
};
[[nodiscard]] std::string progress_line(const Progress& before, const Progress& now,
                                        fabric::Time since_before, fabric::Time since_start);

}  // namespace rpcrdma::load
