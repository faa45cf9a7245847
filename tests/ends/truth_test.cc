// Delays that this test injects itself, and the side that the joined recordings of both ends blame
// for them. Client and server are in namespaces of their own; a wire between them holds up
// messages, and remembers which.
#include "support/traffic_count.h"
#include "two_hosts.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sched.h>

#include <rpcrdma/ends/read.h>

namespace rpcrdma::e2e {
namespace {

using ends::EndsCall;
using ends::Side;
using ends::Stage;

// By hand with more: RPCRDMA_TRUTH_CALLS=1000.
unsigned calls() {
  const char* text = std::getenv("RPCRDMA_TRUTH_CALLS");
  return text == nullptr ? 300 : static_cast<unsigned>(std::atoi(text));
}

constexpr std::int64_t kHold = 20 * base::kMillisecond;
constexpr std::int64_t kSlow = kHold / 2;

// Every other Send of this direction is held up.
DelayingWire::Rule holds_up(DelayingWire::Direction held) {
  return [held](DelayingWire::Direction direction, std::uint64_t n) {
    return direction == held && n % 2 == 1 ? kHold : 0;
  };
}

std::int64_t holds_up_none(DelayingWire::Direction, std::uint64_t) {
  return 0;
}

class Truth : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    // Other work of the machine would delay what nothing was injected into. The programs inherit
    // it.
    const sched_param first{.sched_priority = 1};
    static_cast<void>(::sched_setscheduler(0, SCHED_RR, &first));
    if (!hosts_.make()) GTEST_SKIP() << "not permitted to make namespaces";
  }

  // The files of both ends, and, if the parameter states so, of the wire.
  ends::Ends joined() const {
    std::vector<std::string> files{hosts_.file("client.pcapng"), hosts_.file("server.pcapng")};
    if (GetParam()) files.push_back(hosts_.file("wire.pcapng"));
    auto read = ends::read_ends(files, {.slow_ns = kSlow, .keep_calls = true});
    EXPECT_TRUE(read);
    return read ? std::move(*read) : ends::Ends();
  }

  // At least `percent` of the Calls that the injection hit are blamed on `side`, in one of
  // `stages`.
  static void expect_blamed(const ends::Ends& ends, Side side, std::set<Stage> stages,
                            const std::function<bool(const EndsCall&)>& hit,
                            const std::string& injection, unsigned percent = 99) {
    unsigned all = 0, right = 0, inconclusive = 0, none = 0, right_stage = 0;
    for (const EndsCall& call : ends.calls) {
      if (!hit(call)) continue;
      ++all;
      if (call.side == side) ++right;
      if (call.side == side && stages.count(call.stage) != 0) ++right_stage;
      if (call.side == Side::kInconclusive) ++inconclusive;
      if (call.side == Side::kNone) ++none;
    }
    for (const EndsCall& call : ends.calls) {
      if (!hit(call) || call.side == side) continue;
      fmt::print("  {:#x} {} {} ms, seen by {:#x}, side {}: unknown {}", call.xid, call.name,
                 static_cast<double>(call.end_ns - call.begin_ns) * 1e-6, call.seen_by,
                 ends::side_key(call.side), call.unknown_ns);
      for (std::size_t i = 0; i < ends::kStages; ++i) {
        if (call.took_ns[i] <= 0) continue;
        fmt::print(" {} {}", ends::stage_key(static_cast<Stage>(i)), call.took_ns[i]);
      }
      fmt::print("\n");
    }
    std::string clock;
    for (const ends::Source& source : ends.sources) {
      if (const auto bound = source.clock.usual_bound_ns())
        clock += fmt::format(" {} us", *bound / 1000);
    }
    fmt::print(
        "{}: {} Calls hit of {}, {} right side ({} right stage), {} wrong, {} inconclusive, "
        "{} not slow; bound{}\n  {}\n",
        injection, all, ends.calls.size(), right, right_stage, all - right - inconclusive - none,
        inconclusive, none, clock, ends.verdict);
    for (const std::string& note : ends.notes) fmt::print("  note: {}\n", note);
    for (const ends::Contradiction& c : ends.contradictions) {
      fmt::print("  contradiction: {} ({} Calls)\n", c.what, c.calls);
    }
    EXPECT_GE(all, calls() / 3);
    EXPECT_GE(right * 100, all * percent);
    EXPECT_GE(right_stage * 100, all * percent);
    EXPECT_GE(ends.calls.size() * 100, calls() * 99u);
  }

  static std::string words(bool wire) { return wire ? ", with the wire" : ""; }

  TwoHosts hosts_;
};

TEST_P(Truth, NothingInjectedAccusesNobody) {
  hosts_.connect(holds_up_none);
  hosts_.run("", fmt::format("-c {}", calls()));
  const ends::Ends ends = joined();
  fmt::print(
      "nothing{}: {} Calls; none {}, client {}, network {}, server {}, inconclusive {}\n  {}\n",
      words(GetParam()), ends.calls.size(), ends.sides[0], ends.sides[1], ends.sides[2],
      ends.sides[3], ends.sides[4], ends.verdict);
  EXPECT_GE(ends.calls.size() * 100, calls() * 99u);
  EXPECT_THAT(ends.verdict, ::testing::HasSubstr("No side is accused"));
}

TEST_P(Truth, NetworkThere) {
  hosts_.connect(holds_up(DelayingWire::kThere));
  hosts_.run("", fmt::format("-c {}", calls()));
  expect_blamed(
      joined(), Side::kNetwork, {Stage::kNetworkThere},
      [&](const EndsCall& call) { return hosts_.wire().delayed().count(call.xid) != 0; },
      "network there" + words(GetParam()));
}

TEST_P(Truth, NetworkBack) {
  hosts_.connect(holds_up(DelayingWire::kBack));
  hosts_.run("", fmt::format("-c {}", calls()));
  expect_blamed(
      joined(), Side::kNetwork, {Stage::kNetworkBack},
      [&](const EndsCall& call) { return hosts_.wire().delayed().count(call.xid) != 0; },
      "network back" + words(GetParam()));
}

TEST_P(Truth, SlowServer) {
  hosts_.connect(holds_up_none);
  hosts_.run("", fmt::format("-c {} --procedure echo:1,sleep:1 --sleep 20ms", calls()));
  expect_blamed(
      joined(), Side::kServer, {Stage::kExecute},
      [&](const EndsCall& call) { return call.name.find("SLEEP") != std::string::npos; },
      "slow server" + words(GetParam()));
}

TEST_P(Truth, OneCredit) {
  hosts_.connect(holds_up_none);
  hosts_.run("--credits 1", fmt::format("-c {} --procedure sleep --sleep 3ms --depth 8", calls()));
  const ends::Ends ends = joined();
  expect_blamed(
      ends, Side::kServer, {Stage::kCredit},
      [](const EndsCall& call) { return call.end_ns - call.begin_ns >= kSlow; },
      "one credit" + words(GetParam()));
}

// The server's clock is a second ahead, and gains 50 ppm.
std::int64_t by_shifted_clock(std::int64_t time_ns, std::int64_t since_ns) {
  return time_ns + base::kSecond + (time_ns - since_ns) / 20'000;
}

// Sets the times of a recording, whose blocks are in this machine's byte order, to that clock;
// returns the first and the last before that.
std::pair<std::int64_t, std::int64_t> shift_clock(std::string& file) {
  constexpr std::uint32_t kEnhancedPacket = 6;
  std::int64_t first = 0, last = 0;
  for (std::size_t at = 0; at + 20 <= file.size();) {
    std::array<std::uint32_t, 5> block{};  // type, length, interface, time (high, low)
    std::memcpy(block.data(), &file[at], sizeof block);
    if (block[0] == kEnhancedPacket) {
      const auto time = static_cast<std::int64_t>(std::uint64_t{block[3]} << 32U | block[4]);
      if (first == 0) first = time;
      last = std::max(last, time);
      const auto shifted = static_cast<std::uint64_t>(by_shifted_clock(time, first));
      block[3] = static_cast<std::uint32_t>(shifted >> 32U);
      block[4] = static_cast<std::uint32_t>(shifted);
      std::memcpy(&file[at], block.data(), sizeof block);
    }
    if (block[1] < 12) break;
    at += block[1];
  }
  return {first, last};
}

class TruthOfTheEnds : public Truth {};

TEST_P(TruthOfTheEnds, AClockASecondAheadThatDriftsIsAligned) {
  hosts_.connect(holds_up_none);
  hosts_.run("", fmt::format("-c {}", calls()));
  const ends::Ends before = joined();
  std::string server = read_file(hosts_.file("server.pcapng"));
  const auto [first, last] = shift_clock(server);
  write_file(hosts_.file("server.pcapng"), server);
  const ends::Ends ends = joined();

  ASSERT_EQ(ends.connections.empty(), false);
  EXPECT_EQ(ends.calls.size(), before.calls.size());
  EXPECT_EQ(ends.withheld, before.withheld);
  EXPECT_TRUE(ends.contradictions.empty());
  for (const EndsCall& call : ends.calls) {
    EXPECT_GE(call.took_ns[static_cast<std::size_t>(Stage::kNetworkThere)], 0);
    EXPECT_GE(call.took_ns[static_cast<std::size_t>(Stage::kNetworkBack)], 0);
  }
  // The client has the true clock, and either of both may be the reference.
  const bool by_server = ends.sources[1].reference;
  const ends::ClockMap& map = ends.sources[by_server ? 0 : 1].clock;
  const std::int64_t since = first;
  std::int64_t worst = 0;
  unsigned known = 0;
  for (const EndsCall& call : before.calls) {
    const std::int64_t time = call.begin_ns;
    const std::int64_t shifted = by_shifted_clock(time, since);
    const auto mapped = map.to_reference(by_server ? time : shifted);
    const auto bound = map.bound_at(by_server ? time : shifted);
    if (!mapped || !bound) continue;
    ++known;
    const std::int64_t error = std::abs(*mapped - (by_server ? shifted : time));
    EXPECT_LE(error, *bound);
    worst = std::max(worst, error);
  }
  EXPECT_GE(known * 100, calls() * 99);
  EXPECT_GE(last - first, base::kMillisecond);
  std::uint64_t smallest = UINT64_MAX;
  for (const auto& connection : ends.connections) {
    if (connection.smallest_round_trip_ns != 0) {
      smallest = std::min(smallest, connection.smallest_round_trip_ns);
    }
  }
  const std::int64_t bound = map.usual_bound_ns().value_or(INT64_MAX);
  fmt::print(
      "clock{}: {} Calls, worst error {} ns, bound {} ns, half of the smallest round trip {} ns\n",
      words(GetParam()), ends.calls.size(), worst, bound, smallest / 2);
  EXPECT_LT(static_cast<std::uint64_t>(bound), smallest);
}

class TruthWithTheWire : public Truth {};

// Not with AddressSanitizer, which delays the programs so much that the capture at the client is no
// nearer to it than the server.
#if !defined(RPCRDMA_ADDRESS_SANITIZER)
// The client's process gets no CPU for a while, again and again. The capture at the client shows
// that its Replies had come; both ends alone could not know it from a network that held them up.
TEST_P(TruthWithTheWire, BusyClient) {
  // Far enough from the server for the capture to be at the client without doubt.
  hosts_.connect([](DelayingWire::Direction, std::uint64_t) { return base::kMillisecond / 2; });
  const unsigned stops = calls() / 5;
  hosts_.run(
      "", fmt::format("--depth 4 --procedure sleep --sleep 5ms --duration {}ms", stops * 52 + 500),
      [stops](Background& client) {
        for (unsigned i = 0; i < stops; ++i) {
          ::poll(nullptr, 0, 22);
          client.signal(SIGSTOP);
          ::poll(nullptr, 0, 30);
          client.signal(SIGCONT);
        }
      });
  // Every slow Call counts as hit. A busy machine stops the server and the wire now and then, too,
  // and those Calls are not the client's.
  constexpr unsigned kOfSlow = 95;
  expect_blamed(
      joined(), Side::kClient, {Stage::kPost, Stage::kWake, Stage::kSlot},
      [&](const EndsCall& call) { return call.end_ns - call.begin_ns >= kSlow; },
      "busy client" + words(GetParam()), kOfSlow);
}

INSTANTIATE_TEST_SUITE_P(Sources, TruthWithTheWire, ::testing::Values(true),
                         [](const auto&) { return "EndsAndWire"; });
#endif

INSTANTIATE_TEST_SUITE_P(Sources, Truth, ::testing::Values(false, true),
                         [](const auto& of) { return of.param ? "EndsAndWire" : "Ends"; });

INSTANTIATE_TEST_SUITE_P(Sources, TruthOfTheEnds, ::testing::Values(false),
                         [](const auto&) { return "Ends"; });

}  // namespace
}  // namespace rpcrdma::e2e
