// Checks that peers that keep the rules are never accused, whatever the network and the capture do
// to their packets. The traffic is simulated: see analyzer/model/traffic_for_tests.h.
#include "support/model_traffic.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

#include <rpcrdma/session/session.h>

namespace rpcrdma::rules {
namespace {

using model::testing::make_traffic;
using model::testing::Traffic;
using model::testing::TrafficOptions;

// Returns the findings without notes, diagnoses, and those about the capture: the traffic keeps all
// credits in use.
std::string accusations(const Traffic& traffic) {
  session::Session session({.rules = Findings::Options{Profile::k8166, nullptr}});
  session::Pipeline& pipeline = session.pipeline();
  model::testing::play(traffic, [&](const roce::PreparedPacket& p) { pipeline.packet(p); });
  pipeline.finish();
  session.finish_rules();
  std::string text;
  for (const Finding& f : session.findings().list()) {
    const Rule* broken = find_rule(f.rule);
    const bool reported = broken != nullptr && (broken->where == Where::kDiagnosis ||
                                                broken->where == Where::kCaptureItself);
    if (f.severity == Severity::kNote || reported) continue;
    text +=
        f.rule + " " + std::string(severity_name(f.severity)) + " " + f.peer + ": " + f.text + "\n";
  }
  return text;
}

class Traffics : public ::testing::TestWithParam<int> {
 protected:
  TrafficOptions options() const {
    TrafficOptions o;
    o.seed = static_cast<std::uint64_t>(GetParam()) + 1;
    o.connections = 3;
    o.calls = 40;
    return o;
  }
};

TEST_P(Traffics, Undisturbed) {
  EXPECT_EQ(accusations(make_traffic(options())), "");
}

TEST_P(Traffics, LossAndReorderingOnTheWay) {
  TrafficOptions o = options();
  o.lost_before = o.lost_behind = 0.02;
  o.late = 0.05;
  EXPECT_EQ(accusations(make_traffic(o)), "");
}

TEST_P(Traffics, NumbersComeBack) {
  TrafficOptions o = options();
  o.reuse_numbers = o.psn_wraps = true;
  EXPECT_EQ(accusations(make_traffic(o)), "");
}

TEST_P(Traffics, OneConnectionAfterTheOther) {
  TrafficOptions o = options();
  o.one_after_other = o.same_qpns = true;
  EXPECT_EQ(accusations(make_traffic(o)), "");
}

TEST_P(Traffics, LossInTheCapture) {
  for (const double share : {0.002, 0.02, 0.2}) {
    Traffic traffic = make_traffic(options());
    std::mt19937_64 random(static_cast<std::uint64_t>(GetParam()));
    std::erase_if(traffic.packets, [&](const auto&) {
      return std::uniform_real_distribution<>(0, 1)(random) < share;
    });
    EXPECT_EQ(accusations(traffic), "") << share;
  }
}

TEST_P(Traffics, TheBeginningIsMissing) {
  for (const std::size_t missing : {5U, 50U, 333U}) {
    Traffic traffic = make_traffic(options());
    traffic.packets.erase(traffic.packets.begin(),
                          traffic.packets.begin() + static_cast<std::ptrdiff_t>(missing));
    EXPECT_EQ(accusations(traffic), "") << missing;
  }
}

TEST_P(Traffics, OneDirectionIsMissing) {
  for (const int side : {0, 1}) {
    Traffic traffic = make_traffic(options());
    std::erase_if(traffic.packets, [side](const auto& p) { return p.from == side; });
    EXPECT_EQ(accusations(traffic), "") << side;
  }
}

TEST_P(Traffics, CutShort) {
  for (const std::size_t kept : {28U, 40U, 48U, 60U, 100U}) {
    Traffic traffic = make_traffic(options());
    for (auto& p : traffic.packets) {
      if (p.bytes.size() <= kept) continue;
      p.bytes.resize(kept);
      p.cut_short = true;
    }
    EXPECT_EQ(accusations(traffic), "") << kept;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Traffics, ::testing::Range(0, 6));

}  // namespace
}  // namespace rpcrdma::rules
