// Tests what a live view shows of Calls whose both ends it sees.
#include "ends_window.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace rpcrdma::top {
namespace {

using ends::EndsCall;
using ends::Side;
using ends::Stage;

constexpr std::int64_t kEndsSecond = 1'000'000'000;

EndsCall call(std::int64_t begin_ns, std::int64_t execute_ns, Side side = Side::kNone) {
  EndsCall c;
  c.begin_ns = begin_ns;
  c.took_ns.fill(0);
  c.took_ns[static_cast<std::size_t>(Stage::kPost)] = 10;
  c.took_ns[static_cast<std::size_t>(Stage::kNetworkThere)] = 20;
  c.took_ns[static_cast<std::size_t>(Stage::kExecute)] = execute_ns;
  c.took_ns[static_cast<std::size_t>(Stage::kNetworkBack)] = 30;
  c.took_ns[static_cast<std::size_t>(Stage::kRead)] = ends::kUnknownNs;
  c.took_ns[static_cast<std::size_t>(Stage::kWrite)] = ends::kUnknownNs;
  c.end_ns = begin_ns + 60 + execute_ns;
  c.seen_by = 3;
  c.bound_ns = 5;
  c.side = side;
  c.stage = Stage::kExecute;
  return c;
}

ends::Ends joined(std::vector<EndsCall> calls) {
  ends::Ends e;
  e.connections.emplace_back().connection = 7;
  e.calls = std::move(calls);
  return e;
}

TEST(EndsWindow, SharesOfTheTime) {
  const ShownEnds s = show_ends(joined({call(1000, 40), call(2000, 40)}), 0, 2100);
  EXPECT_EQ(s.id, 7U);
  EXPECT_EQ(s.calls, 2U);
  EXPECT_DOUBLE_EQ(s.at_client, 0.1);
  EXPECT_DOUBLE_EQ(s.there, 0.2);
  EXPECT_DOUBLE_EQ(s.at_server, 0.4);
  EXPECT_DOUBLE_EQ(s.back, 0.3);
  EXPECT_DOUBLE_EQ(s.unknown, 0);
  EXPECT_LT(s.data, 0);
  EXPECT_EQ(s.p50_ns, 100);
  EXPECT_EQ(s.bound_ns, 5);
  EXPECT_EQ(s.side, Side::kNone);
}

TEST(EndsWindow, NamesTheSideThatMostSlowCallsAreBlamedOn) {
  EndsCall network = call(1000, 40, Side::kNetwork);
  network.stage = Stage::kNetworkBack;
  const ShownEnds s = show_ends(joined({network, call(1000, 900, Side::kServer), call(1000, 40),
                                        call(1000, 900, Side::kServer)}),
                                0, 2000);
  EXPECT_EQ(s.side, Side::kServer);
  EXPECT_EQ(s.slow, 2U);
  EXPECT_EQ(s.stage, Stage::kExecute);
}

TEST(EndsWindow, OnlyTheLastSecondAndOnlyBothEnds) {
  EndsCall once = call(3 * kEndsSecond, 40);
  once.seen_by = 2;
  EndsCall odd = call(3 * kEndsSecond, 40);
  odd.contradictory = true;
  const ShownEnds s =
      show_ends(joined({call(kEndsSecond, 40), once, odd, call(3 * kEndsSecond, 40)}), 0,
                3 * kEndsSecond + 100);
  EXPECT_EQ(s.calls, 1U);
  EXPECT_EQ(s.withheld, 1U);
}

TEST(EndsWindow, OneEndpointHasNothingToJoin) {
  ends::SourceHalves halves;
  halves.connections.emplace_back().id = 1;
  halves.calls.emplace_back();
  EndsWindow window;
  window.add(
      halves, [](std::uint32_t) { return 0U; }, 0);
  window.join({"a"}, 0);
  EXPECT_TRUE(window.shown().empty());
}

// What a session's collector could not place is left out, not misplaced.
TEST(EndsWindow, HalvesOfUnknownEndpointsAreLeftOut) {
  ends::SourceHalves halves;
  halves.connections.resize(2);
  halves.calls.resize(3);
  halves.calls[1].connection = 1;
  halves.calls[2].connection = 99;
  EndsWindow window;
  window.add(
      halves, [](std::uint32_t) { return EndsWindow::kNone; }, 0);
  window.join({}, 0);
  EXPECT_TRUE(window.shown().empty());
}

}  // namespace
}  // namespace rpcrdma::top
