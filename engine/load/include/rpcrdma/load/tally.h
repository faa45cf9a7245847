// Results of a load: Calls by how they ended, bytes, latencies and their parts. Each thread has its
// own; they are merged at the end.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <rpcrdma/base/histogram.h>
#include <rpcrdma/load/latency_bins.h>
#include <rpcrdma/load/split.h>
#include <rpcrdma/protocol/requester.h>

namespace rpcrdma::load {

enum class End : std::uint8_t {
  kRight,
  kMismatch,  // answered, with wrong data
  kError,     // any other answer, or none
};

// Parts of a latency. kTurn, kCredit, kReply and kFence of a Call add up to its latency; the parts
// of kReply (see Split) add up to kReply, if the Call has them.
enum class Part : std::uint8_t {
  kTurn,     // due, and not started: the maximum was in flight
  kCredit,   // called, and waiting for a credit or a connection
  kReply,    // sent, up to the Reply
  kSend,     // of kReply: until the Send is known to have arrived, if that was before the Reply
  kRead,     // of kReply: the peer pulls Read chunks
  kPeer,     // of kReply: the peer works, by its own account
  kNetwork,  // of kReply: the rest; the network, and the peer's RDMA Writes
  kPeerOrNetwork,  // of kReply: the rest, if the peer does not report its part
  kFence,          // replied, until the peer cannot access its memory any more
};
inline constexpr std::size_t kParts = 9;

inline constexpr std::uint32_t kMaxProcedures = 8;

struct Sample {
  End end = End::kRight;
  std::uint32_t procedure = 0;  // below kMaxProcedures
  std::uint64_t bytes = 0;      // of payload, in both directions together
  fabric::Time due = 0;
  protocol::CallTimes times;
  std::optional<ServerTimes> server;
  std::uint32_t attempts = 1;
};

// All that a tally holds, for storing it.
struct TallyState {
  struct Procedure {
    std::uint64_t calls = 0;
    base::Histogram latency;  // of Calls with a correct answer, nanoseconds
    LatencyBins over_time;    // likewise, by when they ended
  };
  using Reasons = std::map<std::string, std::uint64_t, std::less<>>;

  std::uint64_t calls = 0, errors = 0, mismatches = 0;
  std::uint64_t bytes = 0;  // of Calls with a correct answer
  std::uint64_t implausible = 0;
  std::uint64_t resent = 0;  // times that a Call was sent on one more connection
  base::Histogram latency;
  std::array<base::Histogram, kParts> parts;
  std::array<Procedure, kMaxProcedures> procedures;
  Reasons reasons;
};

class Tally {
 public:
  using Procedure = TallyState::Procedure;

  // The time from which `over_time` counts: the start of the load. Results of several hosts, whose
  // clocks differ, are the same in time then.
  void set_epoch(fabric::Time epoch) { epoch_ = epoch; }

  void add(const Sample& sample);
  // Why a Call ended as kError or kMismatch, for display. Beyond a maximum of different reasons,
  // later ones count together.
  void add_reason(std::string_view reason);
  // The result does not depend on the order in which tallies are merged.
  void merge(const Tally& other);

  [[nodiscard]] const TallyState& state() const { return s_; }
  // Nothing if no tally has this state.
  [[nodiscard]] static std::optional<Tally> restore(TallyState state);

  [[nodiscard]] std::uint64_t calls() const { return s_.calls; }
  [[nodiscard]] std::uint64_t errors() const { return s_.errors; }
  [[nodiscard]] std::uint64_t mismatches() const { return s_.mismatches; }
  [[nodiscard]] std::uint64_t right() const { return s_.calls - s_.errors - s_.mismatches; }
  [[nodiscard]] std::uint64_t bytes() const { return s_.bytes; }
  [[nodiscard]] std::uint64_t resent() const { return s_.resent; }
  // Calls with a correct answer whose server reports impossible times, see Split.
  [[nodiscard]] std::uint64_t implausible() const { return s_.implausible; }
  [[nodiscard]] const base::Histogram& latency() const { return s_.latency; }
  [[nodiscard]] const base::Histogram& part(Part part) const {
    return s_.parts[static_cast<std::size_t>(part)];
  }
  [[nodiscard]] const Procedure& procedure(std::uint32_t number) const {
    return s_.procedures[number];
  }
  [[nodiscard]] const TallyState::Reasons& reasons() const { return s_.reasons; }

 private:
  void bound_reasons();

  fabric::Time epoch_ = 0;
  TallyState s_;
};

}  // namespace rpcrdma::load
