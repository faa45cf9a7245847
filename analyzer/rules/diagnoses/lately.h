// Faults of a connection that are found while it lasts, by what happened in the last kWindowNs,
// with their beginning and end. Each is reported when it begins and when it is over.
#pragma once

#include "credit_starvation.h"
#include "latency_attribution.h"
#include "loss.h"
#include "sums.h"
#include "window.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include <rpcrdma/rules/findings.h>

namespace rpcrdma::rules {

class Lately {
 public:
  // What is judged. Of those that either side can have, the first is side 0's.
  enum class Fault : std::uint8_t {
    kStorm,  // by sender, as is RNR
    kStorm1,
    kRnr,
    kRnr1,
    kExcusedRnr,
    kExcusedRnr1,
    kStarved,  // by caller
    kStarved1,
    kSlowStalls,  // as Turns tells them apart
    kSlowWay,
    kSlowPeer,
  };
  static constexpr std::size_t kFaults = 11;
  [[nodiscard]] static constexpr Fault of_side(Fault first, std::size_t side) {
    return static_cast<Fault>(static_cast<std::size_t>(first) + side);
  }

  // What is known of the connection.
  struct Knowledge {
    Findings& findings;
    const roce::Connection& connection;
    int client = -1;  // -1: nothing is said of turns
    const std::array<Recovery, 2>& recovery;
    const std::array<CreditStarvation, 2>& credit_starvation;
    const LatencyAttribution& latency;
    std::array<const SideHistory*, 2> history;
  };
  [[nodiscard]] static Sums sums(const Knowledge& knowledge, std::int64_t now_ns);

  // Time has passed.
  void judge(const Knowledge& knowledge, std::int64_t now_ns);
  // At the connection's end; `lasts`: only the capture has ended.
  [[nodiscard]] Reported reported(Fault fault, bool lasts) const;
  // What was not summed up by who knows all of the connection's life ends here.
  void end(const Knowledge& knowledge, Fault fault, std::int64_t now_ns, bool lasts);

 private:
  struct Episode {
    Fault fault = Fault::kStorm;
    Window<Sums>::Mark begin;
    std::int64_t latest_ns = 0;  // when something of it was seen last
    std::int64_t good_ns = -1;   // since when it is no longer so bad; -1: it is
    int side = -1;               // at fault
  };
  [[nodiscard]] static bool is_notable(const Sums& sums);
  [[nodiscard]] static int guilty(const Knowledge& knowledge, Fault fault);
  [[nodiscard]] static std::uint64_t amount(Fault fault, const Sums& sums);
  [[nodiscard]] static bool is_bad(const Knowledge& knowledge, Fault fault, const Sums& lately,
                                   std::int64_t ns);
  void report(const Knowledge& knowledge, const Episode& episode, const Sums& now,
              std::int64_t now_ns, ReportPhase phase, std::int64_t until_ns);
  void judge(const Knowledge& knowledge, Fault fault, const Sums& now, std::int64_t now_ns);
  [[nodiscard]] std::vector<Episode>::iterator find(Fault fault);

  // There may be very many connections of which nothing is notable: those have no marks, only when
  // they were last seen without a packet for a second, and how many packets they had.
  std::int64_t quiet_until_ns_ = -1;
  std::uint64_t activity_ = 0;
  Window<Sums> window_;
  std::vector<Episode> episodes_;                 // that are not over
  std::array<bool, kFaults> ever_{};              // reported
  std::array<std::int64_t, kFaults> ended_ns_{};  // the latest that is over
};

}  // namespace rpcrdma::rules
