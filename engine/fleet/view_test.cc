// The view of a fleet in given situations: ages, restarts, lost summaries, contradictions, limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/fleet/subjects.h>
#include <rpcrdma/fleet/view.h>

namespace rpcrdma::fleet {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kNoon = 1'793'534'400 * kSecond;

// A host with one endpoint, whose agent makes a summary whenever the test says so.
struct Agent {
  explicit Agent(const std::string& host) {
    s.host = host;
    s.instance = host + "-1";
    s.version = "0.6.0";
    s.endpoints.emplace_back();
    s.endpoints[0].name = "nfsd";
    s.endpoints[0].generation = 1;
    s.endpoints[0].connections = 2;
    s.endpoints[0].credits = {64, 32, 5, 1};
    s.endpoints[0].findings = {3, 2, 1};
  }
  EndpointSummary& endpoint() { return s.endpoints[0]; }
  void call(std::uint64_t times, std::int64_t latency_ns) {
    endpoint().counters.calls += times;
    endpoint().counters.replies += times;
    for (std::uint64_t i = 0; i < times; ++i) endpoint().latency.add(latency_ns);
  }
  // `at`: time of the test; the host's clocks differ by constants.
  const Summary& make(std::int64_t at) {
    ++s.sequence;
    s.monotonic_ns = at + monotonic_ahead;
    s.wall_ns = kNoon + at + wall_ahead;
    return s;
  }
  void restart(const std::string& instance) {
    s.instance = instance;
    s.sequence = 0;
    endpoint() = {};
    endpoint().name = "nfsd";
    endpoint().generation = 1;
  }

  Summary s;
  std::int64_t monotonic_ahead = 77 * kSecond;
  std::int64_t wall_ahead = 0;
};

class ViewTest : public ::testing::Test {
 protected:
  ViewTest() { view.bus(true, {}, time(0)); }

  static ViewTime time(std::int64_t at) { return {at + 1000 * kSecond, kNoon + at}; }
  void at(std::int64_t t) {
    now = t;
    view.tick(time(t));
  }
  FleetState state() const { return view.state(); }
  HostState host(const std::string& name) const {
    for (const HostState& h : view.state().hosts) {
      if (h.name == name) return h;
    }
    ADD_FAILURE() << "no host " << name;
    return {};
  }
  std::vector<std::string> events() const {
    std::vector<std::string> lines;
    for (const ViewEvent& e : view.state().events) lines.push_back(e.host + ": " + e.text);
    return lines;
  }
  // Each of the agents makes a summary in each second from `from` to `to`, both included.
  void run(std::vector<Agent*> agents, int from, int to, std::uint64_t calls = 100) {
    for (int second = from; second <= to; ++second) {
      at(second * kSecond);
      for (Agent* a : agents) {
        a->call(calls, 20'000);
        view.apply(a->make(now), time(now));
      }
    }
  }

  View view;
  std::int64_t now = 0;
};

TEST_F(ViewTest, RatesAreDifferencesOverTheHostsOwnTime) {
  Agent a("a");
  a.call(5000, 1'000'000);
  view.apply(a.make(0), time(0));
  EXPECT_FALSE(host("a").rates) << "what came before the view is not a rate";
  EXPECT_EQ(host("a").latency.calls, 0U);
  a.call(300, 20'000);
  a.endpoint().counters.chunk_bytes = {1000, 2000, 3000};
  // It arrives late, but was made two seconds after the other.
  view.apply(a.make(2 * kSecond), time(2 * kSecond + 700'000'000));
  const HostState h = host("a");
  ASSERT_TRUE(h.rates);
  EXPECT_DOUBLE_EQ(h.rates->calls, 150);
  EXPECT_DOUBLE_EQ(h.rates->read_bytes, 500);
  EXPECT_DOUBLE_EQ(h.rates->write_bytes, 1000);
  EXPECT_DOUBLE_EQ(h.rates->reply_bytes, 1500);
  EXPECT_EQ(h.latency.calls, 300U);
  EXPECT_NEAR(static_cast<double>(h.latency.p99_ns), 20'000, 500);
  EXPECT_EQ(h.age_ns, 700'000'000);
  EXPECT_EQ(h.findings.errors, 3U);
  EXPECT_EQ(h.findings.warnings, 2U);
  EXPECT_EQ(h.findings.notes, 1U);
}

TEST_F(ViewTest, SumsIncludeOnlyWhatIsFresh) {
  Agent a("a"), b("b");
  run({&a, &b}, 0, 5);
  EXPECT_EQ(state().totals.hosts, 2U);
  EXPECT_EQ(state().totals.endpoints, 2U);
  EXPECT_EQ(state().totals.credits, (CreditSums{128, 64, 10, 2}));
  EXPECT_DOUBLE_EQ(state().totals.rates->calls, 200);
  run({&a}, 6, 8);
  EXPECT_TRUE(host("b").fresh) << "exactly three seconds old";
  at(8 * kSecond + 1);
  EXPECT_FALSE(host("b").fresh);
  EXPECT_EQ(host("b").presence, HostPresence::kSilent);
  EXPECT_EQ(host("b").age_ns, 3 * kSecond + 1);
  EXPECT_EQ(state().totals.hosts, 1U);
  EXPECT_EQ(state().totals.old_hosts, 1U);
  EXPECT_EQ(state().totals.connections, 2U);
  EXPECT_DOUBLE_EQ(state().totals.rates->calls, 100);
  EXPECT_EQ(host("b").connections, 2U) << "its last state is kept";
  EXPECT_THAT(events(), Contains("b: vanished: no summary for 3 s"));
  run({&a, &b}, 9, 9);
  EXPECT_TRUE(host("b").fresh);
  EXPECT_THAT(events(), Contains("b: is back after 4 s"));
  EXPECT_DOUBLE_EQ(host("b").rates->calls, 25) << "a hundred Calls in four seconds";
}

TEST_F(ViewTest, LatenciesAreThoseOfTheWindow) {
  Agent a("a");
  run({&a}, 0, 20);
  a.call(1000, 5'000'000);
  view.apply(a.make(21 * kSecond), time(21 * kSecond));
  EXPECT_NEAR(static_cast<double>(host("a").latency.p99_ns), 5'000'000, 100'000);
  run({&a}, 22, 40);
  EXPECT_NEAR(static_cast<double>(host("a").latency.max_ns), 20'000, 700);
  EXPECT_EQ(host("a").latency.calls, 1000U);
}

TEST_F(ViewTest, WhileTheBusIsDisconnectedEverythingIsOld) {
  Agent a("a"), b("b");
  run({&a, &b}, 0, 5);
  view.bus(false, "connection refused", time(5 * kSecond));
  EXPECT_EQ(state().totals.hosts, 0U);
  EXPECT_EQ(state().totals.old_hosts, 2U);
  EXPECT_FALSE(state().totals.rates);
  EXPECT_FALSE(state().connected);
  EXPECT_EQ(state().bus, "connection refused");
  at(60 * kSecond);
  EXPECT_EQ(host("a").age_ns, 55 * kSecond);
  EXPECT_EQ(host("a").presence, HostPresence::kHere) << "nobody knows whether it vanished";
  EXPECT_THAT(events(), Not(Contains(HasSubstr("vanished"))));
  // The bus is back; hosts have some time to be heard.
  view.bus(true, {}, time(60 * kSecond));
  at(63 * kSecond);
  EXPECT_EQ(host("a").presence, HostPresence::kHere);
  EXPECT_FALSE(host("a").fresh);
  run({&a}, 63, 63);
  at(64 * kSecond);
  EXPECT_TRUE(host("a").fresh);
  EXPECT_EQ(host("b").presence, HostPresence::kSilent);
  EXPECT_THAT(events(), Contains("b: vanished: no summary for 59 s"));
  EXPECT_THAT(events(), Contains(": bus disconnected: connection refused"));
}

TEST_F(ViewTest, WhatWaitedOnItsWayIsOld) {
  Agent a("a");
  run({&a}, 0, 5);
  std::vector<Summary> waiting;
  for (int second = 6; second <= 12; ++second) waiting.push_back(a.make(second * kSecond));
  at(13 * kSecond);
  view.apply(waiting[0], time(now));
  EXPECT_FALSE(host("a").fresh) << "it was made seven seconds ago";
  EXPECT_EQ(host("a").age_ns, 7 * kSecond);
  for (std::size_t i = 1; i < waiting.size(); ++i) view.apply(waiting[i], time(now));
  EXPECT_TRUE(host("a").fresh);
  EXPECT_EQ(host("a").age_ns, kSecond);
  EXPECT_EQ(host("a").lost, 0U);
}

TEST_F(ViewTest, WhatTheStreamStoredLongAgoIsOld) {
  Agent a("a");
  view.apply(a.make(-40 * kSecond), time(0), 40 * kSecond);
  EXPECT_FALSE(host("a").fresh);
  EXPECT_EQ(host("a").age_ns, 40 * kSecond);
  at(4 * kSecond);
  EXPECT_EQ(host("a").presence, HostPresence::kSilent);
  run({&a}, 5, 5);
  EXPECT_TRUE(host("a").fresh);
}

TEST_F(ViewTest, GoodbyeIsNoVanishing) {
  Agent a("a");
  run({&a}, 0, 5);
  a.s.goodbye = true;
  view.apply(a.make(6 * kSecond), time(6 * kSecond));
  EXPECT_EQ(host("a").presence, HostPresence::kLeft);
  EXPECT_EQ(state().totals.hosts, 0U);
  EXPECT_EQ(state().totals.left_hosts, 1U);
  EXPECT_EQ(state().totals.old_hosts, 0U);
  at(100 * kSecond);
  EXPECT_THAT(events(), Contains("a: left: its agent stopped"));
  EXPECT_THAT(events(), Not(Contains(HasSubstr("vanished"))));
  at(700 * kSecond);
  EXPECT_THAT(state().hosts, IsEmpty());
  EXPECT_EQ(state().forgotten, 1U);
  EXPECT_EQ(state().totals.received, 7U);
}

TEST_F(ViewTest, LostLateAndRepeatedSummariesAreCounted) {
  Agent a("a");
  run({&a}, 0, 2);
  a.call(100, 20'000);
  const Summary late = a.make(3 * kSecond);
  a.make(4 * kSecond);  // lost
  run({&a}, 5, 5, 300);
  EXPECT_EQ(host("a").lost, 2U);
  EXPECT_DOUBLE_EQ(host("a").rates->calls, 400.0 / 3) << "nothing that a lost summary said is lost";
  view.apply(late, time(5 * kSecond));
  EXPECT_EQ(host("a").lost, 1U);
  EXPECT_EQ(host("a").late, 1U);
  EXPECT_DOUBLE_EQ(host("a").rates->calls, 400.0 / 3) << "it is older than what is shown";
  view.apply(late, time(5 * kSecond));
  EXPECT_EQ(host("a").repeated, 1U);
  EXPECT_EQ(host("a").received, 5U);
  EXPECT_EQ(state().totals.lost, 1U);
}

TEST_F(ViewTest, RestartsMakeNoNegativeRate) {
  Agent a("a");
  run({&a}, 0, 5, 1000);
  a.endpoint().counters = {};
  a.endpoint().latency = {};
  a.endpoint().generation = 2;
  run({&a}, 6, 6);
  EXPECT_FALSE(host("a").rates);
  EXPECT_EQ(host("a").latency.calls, 0U);
  EXPECT_THAT(events(), Contains("a: endpoint nfsd started"));
  run({&a}, 7, 7);
  EXPECT_DOUBLE_EQ(host("a").rates->calls, 100);
  // Counters that step back without a new generation are no reason, either.
  a.endpoint().counters = {};
  run({&a}, 8, 8);
  EXPECT_FALSE(host("a").rates);
  // A new agent counts from zero.
  a.restart("a-2");
  run({&a}, 9, 9);
  EXPECT_FALSE(host("a").rates);
  EXPECT_EQ(host("a").restarts, 1U);
  EXPECT_EQ(host("a").lost, 0U);
  EXPECT_EQ(host("a").agents, 1U);
  EXPECT_THAT(events(), Contains("a: its agent restarted"));
  run({&a}, 10, 10);
  EXPECT_DOUBLE_EQ(host("a").rates->calls, 100);
  EXPECT_EQ(host("a").latency.calls, 100U);
}

TEST_F(ViewTest, TheFirstSummariesOfARestartedAgentMayBeLost) {
  Agent a("a");
  run({&a}, 0, 5);
  a.restart("a-2");
  a.make(6 * kSecond);
  a.make(7 * kSecond);
  run({&a}, 8, 8);
  EXPECT_EQ(host("a").lost, 2U);
  // Losses before anyone looked are not counted.
  Agent b("b");
  b.s.sequence = 500;
  run({&b}, 9, 9);
  EXPECT_EQ(host("b").lost, 0U);
}

TEST_F(ViewTest, TwoAgentsWithOneNameAreReportedAndNotAdded) {
  Agent one("a"), other("a");
  other.s.instance = "a-other";
  other.endpoint().name = "other";
  run({&one}, 0, 3);
  run({&one, &other}, 4, 10);
  const HostState h = host("a");
  EXPECT_EQ(h.agents, 2U);
  EXPECT_THAT(h.problem, HasSubstr("2 agents use this name"));
  EXPECT_EQ(h.connections, 2U);
  EXPECT_DOUBLE_EQ(h.rates->calls, 100);
  EXPECT_EQ(h.restarts, 1U) << "it is no restart each second";
  EXPECT_EQ(h.lost, 0U);
  EXPECT_THAT(events(), Contains("a: 2 agents use this name"));
  // One of them stops.
  run({&one}, 11, 25);
  EXPECT_EQ(host("a").agents, 1U);
  EXPECT_THAT(host("a").problem, IsEmpty());
  EXPECT_TRUE(host("a").fresh);
  EXPECT_DOUBLE_EQ(host("a").rates->calls, 100);
}

TEST_F(ViewTest, AStragglerOfTheOldAgentChangesNothing) {
  Agent a("a");
  run({&a}, 0, 5);
  const Summary straggler = a.make(6 * kSecond);
  a.restart("a-2");
  run({&a}, 7, 8);
  view.apply(straggler, time(8 * kSecond));
  EXPECT_EQ(host("a").agents, 1U);
  EXPECT_EQ(host("a").restarts, 1U);
  EXPECT_DOUBLE_EQ(host("a").rates->calls, 100);
}

TEST_F(ViewTest, AClockThatIsOffIsReported) {
  Agent ahead("ahead"), behind("behind"), right("right");
  ahead.wall_ahead = 12 * kSecond;
  behind.wall_ahead = -3 * kSecond;
  right.wall_ahead = 900'000'000;
  run({&ahead, &behind, &right}, 0, 5);
  EXPECT_THAT(host("ahead").problem, HasSubstr("clock 12 s ahead"));
  EXPECT_THAT(host("behind").problem, HasSubstr("clock 3 s behind"));
  EXPECT_THAT(host("right").problem, IsEmpty());
  EXPECT_TRUE(host("ahead").fresh) << "an age does not depend on the host's clock";
  ahead.wall_ahead = 0;
  run({&ahead}, 6, 6);
  EXPECT_THAT(host("ahead").problem, IsEmpty());
}

TEST_F(ViewTest, EndsOfEndpointsAreReported) {
  Agent a("a");
  a.s.endpoints.push_back(a.s.endpoints[0]);
  a.s.endpoints[1].name = "load";
  a.s.endpoints[1].generation = 2;
  run({&a}, 0, 2);
  EXPECT_EQ(host("a").running, 2U);
  a.s.endpoints[0].end = EndpointEnd::kKilled;
  a.s.endpoints[1].end = EndpointEnd::kClosed;
  run({&a}, 3, 5);
  EXPECT_EQ(host("a").running, 0U);
  EXPECT_EQ(host("a").connections, 0U);
  EXPECT_EQ(host("a").endpoints.size(), 2U);
  EXPECT_THAT(events(), Contains("a: endpoint nfsd was killed or crashed"));
  EXPECT_THAT(events(), Contains("a: endpoint load ended"));
  a.s.endpoints.pop_back();
  run({&a}, 6, 6);
  EXPECT_EQ(host("a").endpoints.size(), 1U);
  EXPECT_THAT(events(), Not(Contains(HasSubstr("not reported"))));
}

TEST_F(ViewTest, WhatIsNoSummaryIsRefusedAndHarmsNobody) {
  Agent a("a");
  run({&a}, 0, 5);
  const std::string good = to_json(a.make(6 * kSecond));
  view.take(state_subject("b"), good, time(6 * kSecond));
  EXPECT_EQ(state().refused.wrong_host, 1U);
  EXPECT_EQ(state().refused.latest, "b: it is about another host: forged");
  view.take(state_subject("a"), good.substr(0, good.size() / 2), time(6 * kSecond));
  view.take(state_subject("a"), "", time(6 * kSecond));
  view.take("rpcrdma.state", good, time(6 * kSecond));
  EXPECT_EQ(state().refused.malformed, 3U);
  std::string other = good;
  const std::size_t schema = other.find("\"schema\":1");
  ASSERT_NE(schema, std::string::npos);
  other.replace(schema, 10, "\"schema\":2");
  for (int i = 0; i < 3; ++i) view.take(state_subject("new"), other, time(6 * kSecond));
  EXPECT_EQ(state().refused.other_schema, 3U);
  EXPECT_THAT(state().refused.latest, HasSubstr("new: "));
  const auto lines = state().events;
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines[0].host, "new");
  EXPECT_EQ(lines[0].count, 3U) << "one line, not one per second";
  view.take(state_subject("a"), good, time(6 * kSecond));
  EXPECT_TRUE(host("a").fresh);
  EXPECT_EQ(state().totals.hosts, 1U);
  EXPECT_EQ(host("a").received, 7U);
}

TEST(View, IsBounded) {
  View view({.hosts = 3, .endpoints = 5, .buckets = 1000, .events = 4, .kept_left_ns = kSecond});
  const auto time = [](std::int64_t at) { return ViewTime{at, kNoon + at}; };
  view.bus(true, {}, time(0));
  std::vector<Agent> agents;
  for (int i = 0; i < 5; ++i) {
    agents.emplace_back(std::string(200, static_cast<char>('a' + i)));
    agents.back().s.endpoints.resize(3, agents.back().s.endpoints[0]);
    for (std::size_t e = 0; e < 3; ++e) agents.back().s.endpoints[e].generation = e;
  }
  for (int second = 0; second < 10; ++second) {
    for (Agent& a : agents) {
      for (EndpointSummary& e : a.s.endpoints) {
        for (std::int64_t latency = 1; latency < 1'000'000'000; latency *= 2)
          e.latency.add(latency);
      }
      view.apply(a.make(second * kSecond), time(second * kSecond));
    }
    view.tick(time(second * kSecond));
  }
  const FleetState s = view.state();
  EXPECT_EQ(s.hosts.size(), 3U);
  EXPECT_EQ(s.refused.hosts, 20U);
  EXPECT_EQ(s.totals.endpoints, 5U);
  EXPECT_EQ(s.hosts[1].endpoints_left_out, 1U);
  EXPECT_EQ(s.hosts[2].endpoints_left_out, 3U);
  EXPECT_LE(s.events.size(), 4U);
  EXPECT_EQ(s.refused.histograms, 0U);
  // Hosts that are gone make room.
  view.tick(time(20 * kSecond));
  for (Agent& a : agents) view.apply(a.make(20 * kSecond), time(20 * kSecond));
  view.tick(time(20 * kSecond));
  EXPECT_EQ(view.state().hosts.size(), 3U);
}

TEST(View, HistogramsBeyondTheLimitAreCountedAndRatesStay) {
  View view({.buckets = 10});
  view.bus(true, {}, {0, kNoon});
  Agent a("a");
  for (std::int64_t latency = 1; latency < 1'000'000'000; latency *= 2)
    a.endpoint().latency.add(latency);
  for (int second = 0; second < 3; ++second) {
    a.endpoint().counters.calls += 50;
    view.apply(a.make(second * kSecond), {second * kSecond, kNoon + second * kSecond});
  }
  const FleetState s = view.state();
  EXPECT_EQ(s.refused.histograms, 3U);
  EXPECT_EQ(s.hosts[0].latency.calls, 0U) << "unknown";
  EXPECT_DOUBLE_EQ(s.hosts[0].rates->calls, 50);
}

TEST(View, ForgedNumbersOverflowNothing) {
  View view;
  view.bus(true, {}, {kSecond, kNoon});
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  for (const char* const name : {"a", "b"}) {
    Agent a(name);
    for (const std::uint64_t sequence : {std::uint64_t{1}, kMost - 1, kMost}) {
      a.s.endpoints.resize(2, a.s.endpoints[0]);
      for (EndpointSummary& e : a.s.endpoints) {
        e.generation = static_cast<std::uint64_t>(&e - a.s.endpoints.data());
        e.connections = kMost;
        e.credits = {kMost, kMost, kMost, kMost};
        e.counters = {kMost, kMost, kMost, {kMost, kMost, kMost}};
        e.findings = {kMost, kMost, kMost};
      }
      a.s.sequence = sequence;
      a.s.wall_ns = std::numeric_limits<std::int64_t>::max();
      a.s.monotonic_ns = sequence == 1 ? std::numeric_limits<std::int64_t>::min()
                                       : std::numeric_limits<std::int64_t>::max();
      view.apply(a.s, {2 * kSecond, kNoon});
    }
  }
  view.tick({3 * kSecond, kNoon});
  const FleetState s = view.state();
  EXPECT_EQ(s.totals.credits.in_use, kMost);
  EXPECT_GT(s.totals.lost, 0U);
  EXPECT_LT(s.totals.lost, 3'000'000'000U);
}

}  // namespace
}  // namespace rpcrdma::fleet
