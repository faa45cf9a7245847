// The view of a fleet against the truth: hosts with random Calls, restarts, lost, late and repeated
// summaries and bus failures, in virtual time. After each step, what the view says must be what a
// simple model of the deliveries says.
#include <algorithm>
#include <limits>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include <rpcrdma/fleet/view.h>

namespace rpcrdma::fleet {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kTick = 1000 * kMs;
constexpr std::int64_t kDay = 1'793'534'400 * kTick;
constexpr std::int64_t kStep = 50 * kMs;

struct Delivery {
  std::int64_t at = 0;
  Summary summary;
  std::int64_t made = 0;  // in true time
};

struct TrueHost {
  Summary s;
  std::int64_t monotonic_ahead = 0, wall_ahead = 0;
  std::int64_t next = 0;          // next summary
  std::int64_t silent_until = 0;  // killed or partitioned
  unsigned instances = 0;
  std::uint64_t generations = 0;
};

// What the view has received from a host, by the rules in view.h.
struct Model {
  std::map<std::uint64_t, int> arrived;  // numbers of the current instance
  std::string instance;
  std::uint64_t first = 0, latest = 0;
  std::uint64_t lost_before = 0;
  std::int64_t made = 0, made_before = -1;
  std::int64_t quickest = std::numeric_limits<std::int64_t>::max();  // on its way
  std::int64_t sent = 0;  // the latest, as far as the quickest one shows
  std::map<std::uint64_t, std::uint64_t> calls, calls_before;  // by generation
  std::uint64_t repeated = 0, late = 0;

  [[nodiscard]] std::uint64_t lost() const {
    if (latest == 0) return 0;
    std::uint64_t lost = 0;
    for (std::uint64_t n = first; n <= latest; ++n) lost += arrived.contains(n) ? 0 : 1;
    return lost;
  }
};

class Fleet {
 public:
  explicit Fleet(unsigned seed) : random_(seed) {
    for (std::size_t i = 0; i < 12; ++i) {
      TrueHost h;
      h.s.host = "host" + std::to_string(i);
      h.monotonic_ahead = chance(1'000'000) * kTick;
      h.wall_ahead = (chance(20) - 10) * kTick;
      h.next = chance(1000) * kMs;
      start_agent(h);
      hosts_.push_back(std::move(h));
    }
    view_.bus(true, {}, time());
  }

  void step() {
    now_ += kStep;
    for (TrueHost& h : hosts_) live(h);
    if (connected_ && chance(400) == 0) set_bus(false);
    if (!connected_ && chance(60) == 0) set_bus(true);
    deliver();
    view_.tick(time());
    check();
  }

 private:
  std::int64_t chance(std::int64_t of) {
    return std::uniform_int_distribution<std::int64_t>(0, of - 1)(random_);
  }
  [[nodiscard]] ViewTime time() const { return {now_ + 5 * kTick, kDay + now_}; }

  void start_agent(TrueHost& h) {
    h.s.instance = h.s.host + "-" + std::to_string(++h.instances);
    h.s.sequence = 0;
    h.s.endpoints.clear();
    for (std::int64_t n = chance(3) + 1; n > 0; --n) h.s.endpoints.push_back(endpoint(h));
  }
  EndpointSummary endpoint(TrueHost& h) {
    EndpointSummary e;
    e.generation = ++h.generations;
    e.name = "e" + std::to_string(e.generation);
    return e;
  }

  void live(TrueHost& h) {
    for (EndpointSummary& e : h.s.endpoints) {
      const auto calls = static_cast<std::uint64_t>(chance(50));
      e.counters.calls += calls;
      e.connections = static_cast<std::uint64_t>(chance(5));
      e.credits.in_use = static_cast<std::uint64_t>(chance(64));
      for (std::uint64_t i = 0; i < calls; ++i) e.latency.add(chance(1'000'000));
    }
    if (now_ < h.next) return;
    h.next += kTick;
    if (now_ < h.silent_until) return;
    if (chance(60) == 0) {  // killed, and started again later, or partitioned
      h.silent_until = now_ + chance(12) * kTick;
      if (chance(2) == 0) {
        // Not while a summary of the old one is on its way, which is tested elsewhere.
        h.silent_until = now_ + (3 + chance(8)) * kTick;
        start_agent(h);
      }
      return;
    }
    if (chance(40) == 0 && !h.s.endpoints.empty()) {
      h.s.endpoints[0] = endpoint(h);  // restarted
    }
    ++h.s.sequence;
    h.s.monotonic_ns = now_ + h.monotonic_ahead;
    h.s.wall_ns = kDay + now_ + h.wall_ahead;
    if (chance(20) == 0) return;  // lost
    const bool prompt = chance(3) != 0;
    Delivery d{now_ + (prompt ? 0 : chance(25) * 100 * kMs), h.s, now_};
    way_.push_back(d);
    if (chance(30) == 0) {
      d.at += chance(10) * 100 * kMs;
      way_.push_back(std::move(d));
    }
  }

  void set_bus(bool connected) {
    connected_ = connected;
    view_.bus(connected, "test", time());
  }

  void deliver() {
    std::ranges::stable_sort(way_, {}, &Delivery::at);
    std::size_t n = 0;
    for (; n < way_.size() && way_[n].at <= now_; ++n) {
      if (!connected_) continue;  // lost
      view_.apply(way_[n].summary, time());
      model(way_[n]);
    }
    way_.erase(way_.begin(), way_.begin() + static_cast<std::ptrdiff_t>(n));
  }

  void model(const Delivery& d) {
    Model& m = models_[d.summary.host];
    const Summary& s = d.summary;
    const bool changes = s.instance != m.instance;
    if (changes) {
      m.lost_before += m.lost();
      // The bus may have lost the first ones of a restarted agent.
      m.first = m.instance.empty() ? s.sequence : 1;
      m.arrived.clear();
      m.instance = s.instance;
      m.latest = 0;
    }
    if (++m.arrived[s.sequence] > 1) {
      ++m.repeated;
      return;
    }
    m.quickest = std::min(m.quickest, now_ - d.made);
    if (s.sequence < m.latest) {
      ++m.late;
      return;
    }
    m.latest = s.sequence;
    m.made_before = changes ? -1 : m.made;
    m.made = d.made;
    m.sent = d.made + m.quickest;
    m.calls_before = changes ? decltype(m.calls){} : std::exchange(m.calls, {});
    m.calls.clear();
    for (const EndpointSummary& e : s.endpoints) m.calls[e.generation] = e.counters.calls;
    summaries_[s.host] = s;
  }

  void check() {
    const FleetState f = view_.state();
    ASSERT_EQ(f.hosts.size(), models_.size());
    std::uint64_t fresh = 0, connections = 0, in_use = 0, lost = 0;
    double calls = 0;
    for (const HostState& h : f.hosts) {
      const Model& m = models_.at(h.name);
      const Summary& s = summaries_.at(h.name);
      const std::int64_t age = now_ - m.sent;
      ASSERT_EQ(h.age_ns, age) << h.name;
      ASSERT_EQ(h.fresh, connected_ && age <= kFreshNs) << h.name << " " << now_;
      ASSERT_EQ(h.lost, m.lost_before + m.lost()) << h.name;
      ASSERT_EQ(h.late, m.late);
      ASSERT_EQ(h.repeated, m.repeated);
      ASSERT_EQ(h.agents, 1U);
      ASSERT_EQ(h.endpoints.size(), s.endpoints.size());
      lost += h.lost;
      double rate = 0;
      for (const EndpointState& e : h.endpoints) {
        const auto at = std::ranges::find(s.endpoints, e.name, &EndpointSummary::name);
        ASSERT_NE(at, s.endpoints.end());
        const auto before = m.calls_before.find(at->generation);
        ASSERT_EQ(e.rates.has_value(), m.made_before >= 0 && before != m.calls_before.end());
        if (!e.rates) continue;
        const double expected = static_cast<double>(at->counters.calls - before->second) * 1e9 /
                                static_cast<double>(m.made - m.made_before);
        ASSERT_DOUBLE_EQ(e.rates->calls, expected);
        rate += expected;
        ASSERT_LE(e.latency.calls, at->latency.count());
        ASSERT_LE(e.latency.p50_ns, e.latency.p99_ns);
      }
      if (!h.fresh) continue;
      ++fresh;
      calls += rate;
      for (const EndpointSummary& e : s.endpoints) {
        connections += e.connections;
        in_use += e.credits.in_use;
      }
    }
    ASSERT_EQ(f.totals.hosts, fresh);
    ASSERT_EQ(f.totals.connections, connections);
    ASSERT_EQ(f.totals.credits.in_use, in_use);
    ASSERT_EQ(f.totals.lost, lost);
    ASSERT_NEAR(f.totals.rates ? f.totals.rates->calls : 0, calls, 1e-6 * (1 + calls));
  }

  std::mt19937 random_;
  View view_;
  std::int64_t now_ = 0;
  bool connected_ = true;
  std::vector<TrueHost> hosts_;
  std::vector<Delivery> way_;
  std::map<std::string, Model> models_;
  std::map<std::string, Summary> summaries_;  // the latest that counts
};

class ViewProperty : public ::testing::TestWithParam<unsigned> {};

TEST_P(ViewProperty, SaysTheTruthAtEveryMoment) {
  Fleet fleet(GetParam());
  for (int i = 0; i < 2400; ++i) {  // two minutes
    fleet.step();
    ASSERT_FALSE(::testing::Test::HasFatalFailure()) << "step " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ViewProperty, ::testing::Range(1U, 5U));

// Latencies: what the window holds is what the Calls of its seconds were, whatever was lost
// between.
TEST(ViewLatencies, AreThoseOfTheSecondsBetweenTwoSummaries) {
  std::mt19937 random(7);
  View view;
  view.bus(true, {}, {0, kDay});
  Summary s;
  s.host = "a";
  s.instance = "1";
  s.endpoints.emplace_back();
  std::map<std::int64_t, base::Histogram> seconds;  // Calls before the summary of each second
  std::vector<std::int64_t> taken;
  for (std::int64_t second = 0; second < 300; ++second) {
    base::Histogram& h = seconds[second];
    for (int i = 0; i < 40; ++i) {
      const auto latency = static_cast<std::int64_t>(random() % 10'000'000);
      h.add(latency);
      s.endpoints[0].latency.add(latency);
    }
    ++s.sequence;
    s.monotonic_ns = second * kTick;
    if (random() % 3 == 0) continue;  // lost
    view.apply(s, {second * kTick, kDay});
    taken.push_back(second);
    // The window begins with the latest summary that is at least as old as it is long.
    const auto base = std::find_if(taken.rbegin(), taken.rend(), [&](std::int64_t t) {
      return (second - t) * kTick >= kLatencyWindowNs;
    });
    const std::int64_t since = base != taken.rend() ? *base : taken.front();
    base::Histogram expected;
    for (std::int64_t t = since + 1; t <= second; ++t) expected.merge(seconds[t]);
    const ViewLatency latency = view.state().hosts[0].latency;
    ASSERT_EQ(latency.calls, expected.count()) << second;
    if (expected.count() == 0) continue;
    ASSERT_NEAR(static_cast<double>(latency.p50_ns), static_cast<double>(expected.quantile(0.5)),
                0.001 * static_cast<double>(expected.quantile(0.5)))
        << second;
    ASSERT_GE(latency.max_ns, expected.max()) << second;
    ASSERT_LE(static_cast<double>(latency.max_ns), 1.04 * static_cast<double>(expected.max()));
  }
}

}  // namespace
}  // namespace rpcrdma::fleet
