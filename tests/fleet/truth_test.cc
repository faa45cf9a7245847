// The view of a fleet against the truth: twenty hosts in network namespaces, each with an agent and
// an endpoint, which are killed, partitioned and lose their bus under load. What the view says is
// compared with what the test did, at every moment.
#include "support/command.h"
#include "support/hosts_on_a_bridge.h"
#include "support/nats_server.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <poll.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/fleet/bus.h>
#include <rpcrdma/fleet/subjects.h>
#include <rpcrdma/fleet/view.h>

namespace rpcrdma::fleet {
namespace {

constexpr std::size_t kHosts = 20;  // even ones serve, odd ones call the one before

// A process in a host's namespace, at most until the end of the test.
class Process {
 public:
  Process(const e2e::HostsOnABridge& hosts, std::size_t host, const std::string& folder,
          std::vector<std::string> words) {
    words.insert(words.begin(), RPCRDMA_COMMAND);
    child_ = ::fork();
    if (child_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::setenv("XDG_RUNTIME_DIR", folder.c_str(), 1);
    const std::string log = folder + "/" + words[1] + ".log";
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    if (hosts.become(host)) ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  Process(Process&& other) noexcept : child_(std::exchange(other.child_, -1)) {}
  Process& operator=(Process&& other) noexcept {
    std::swap(child_, other.child_);
    return *this;
  }
  ~Process() { end(SIGKILL); }
  void end(int signal) {
    if (child_ <= 0) return;
    ::kill(child_, signal);
    ::waitpid(child_, nullptr, 0);
    child_ = -1;
  }

 private:
  pid_t child_ = -1;
};

std::string name_of(std::size_t host) {
  return "host" + std::to_string(host);
}

// What the test knows of a host.
struct Truth {
  // On the monotonic clock: from then on its agent could make no summary that arrives; 0: it can.
  std::int64_t cut_ns = 0;
  Summary latest;                   // with the highest number of its instance
  std::set<std::uint64_t> numbers;  // of the instance
  std::set<std::string> instances;
  std::uint64_t arrived = 0, missing_before = 0;

  [[nodiscard]] std::uint64_t missing() const {
    return numbers.empty() ? 0 : *numbers.rbegin() - *numbers.begin() + 1 - numbers.size();
  }
};

class FleetTruth : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!e2e::NatsServer::installed()) GTEST_SKIP() << "nats-server is not installed";
    if (!e2e::HostsOnABridge::enter()) GTEST_SKIP() << "needs root, to make network namespaces";
    std::filesystem::create_directory(folder_.file("bus"));
  }

  void start_all() {
    server_.configure({.address = e2e::HostsOnABridge::kOwn});
    ASSERT_TRUE(server_.start()) << server_.log();
    for (std::size_t i = 0; i < kHosts; ++i) {
      ASSERT_TRUE(hosts_.add());
      std::filesystem::create_directory(folder(i));
    }
    BusOptions options;
    options.url = server_.url();
    auto bus = Bus::connect(options);
    ASSERT_TRUE(bus) << bus.error().message;
    bus_ = std::move(*bus);
    auto states = bus_->subscribe(kAllStates);
    ASSERT_TRUE(states) << states.error().message;
    states_ = std::move(*states);
    for (std::size_t i = 0; i < kHosts; ++i) {
      endpoints_.push_back(i % 2 == 0 ? serve(i) : load(i));
      agents_.push_back(agent(i));
    }
  }
  [[nodiscard]] std::string folder(std::size_t host) const { return folder_.file(name_of(host)); }
  Process serve(std::size_t host) {
    return {hosts_,
            host,
            folder(host),
            {"serve", "--listen", e2e::HostsOnABridge::address(host), "--provider", "soft"}};
  }
  Process load(std::size_t host) {
    return {hosts_,
            host,
            folder(host),
            {"load", e2e::HostsOnABridge::address(host - 1), "--from",
             e2e::HostsOnABridge::address(host), "--provider", "soft", "--rate", "20", "--duration",
             "1h", "--size", "512"}};
  }
  Process agent(std::size_t host) {
    return {hosts_, host, folder(host), {"agent", "--bus", server_.url(), "--host", name_of(host)}};
  }

  static ViewTime now() { return {base::monotonic_ns(), base::wall_clock_ns()}; }

  // Takes what has come, and checks what the view says.
  void look() {
    pollfd readable{states_->fd(), POLLIN, 0};
    ::poll(&readable, 1, 50);
    const BusState bus = bus_->state();
    view_.bus(bus.connected, bus.why, now());
    while (const auto message = states_->take()) {
      view_.take(message->subject, message->data, now());
      const auto summary = summary_from_json(message->data);
      ASSERT_TRUE(summary) << summary.error().message;
      record(*summary);
    }
    const ViewTime at = now();
    view_.tick(at);
    state_ = view_.state();
    check(at.monotonic_ns, bus.connected);
  }
  void record(const Summary& s) {
    Truth& t = truth_[s.host];
    ++t.arrived;
    if (!t.instances.contains(s.instance)) {
      t.missing_before += t.missing();
      t.numbers.clear();
      // The view knows the host, so it misses the first ones of a new agent.
      if (!t.instances.empty()) t.numbers.insert(0);
      t.instances.insert(s.instance);
    }
    t.numbers.insert(s.sequence);
    t.latest = s;
  }
  void check(std::int64_t now_ns, bool connected) {
    // One machine has one monotonic clock, so the age of each state is known exactly; a view knows
    // it up to the time that the quickest message took.
    constexpr std::int64_t kWay = 500'000'000;
    ASSERT_EQ(state_.hosts.size(), truth_.size());
    std::uint64_t fresh = 0, endpoints = 0, connections = 0;
    CreditSums credits;
    for (const HostState& h : state_.hosts) {
      const Truth& t = truth_.at(h.name);
      const std::int64_t age = now_ns - t.latest.monotonic_ns;
      EXPECT_LE(h.age_ns, age) << h.name;
      EXPECT_GE(h.age_ns, age - kWay) << h.name;
      if (h.fresh) {
        EXPECT_TRUE(connected);
        EXPECT_LE(age, kFreshNs + kWay) << h.name;
        EXPECT_TRUE(t.cut_ns == 0 || now_ns - t.cut_ns <= kFreshNs + kWay)
            << h.name << " was cut off " << (now_ns - t.cut_ns) / 1'000'000 << " ms ago";
      } else {
        EXPECT_TRUE(!connected || age > kFreshNs || h.presence != HostPresence::kHere) << h.name;
      }
      EXPECT_EQ(h.received, t.arrived) << h.name;
      EXPECT_EQ(h.lost, t.missing_before + t.missing()) << h.name;
      EXPECT_EQ(h.restarts + 1, t.instances.size()) << h.name;
      EXPECT_EQ(h.endpoints.size(), t.latest.endpoints.size()) << h.name;
      for (const EndpointState& e : h.endpoints) {
        EXPECT_TRUE(!e.rates || e.rates->calls >= 0) << h.name;
      }
      if (!h.fresh) continue;
      ++fresh;
      for (const EndpointSummary& e : t.latest.endpoints) {
        if (e.end != EndpointEnd::kNone) continue;
        ++endpoints;
        connections += e.connections;
        credits.in_use += e.credits.in_use;
        credits.granted += e.credits.granted;
      }
    }
    EXPECT_EQ(state_.totals.hosts, fresh);
    EXPECT_EQ(state_.totals.endpoints, endpoints);
    EXPECT_EQ(state_.totals.connections, connections);
    EXPECT_EQ(state_.totals.credits.in_use, credits.in_use);
    EXPECT_EQ(state_.totals.credits.granted, credits.granted);
    EXPECT_EQ(state_.refused.malformed + state_.refused.other_schema + state_.refused.wrong_host,
              0U);
  }
  // Looks until the view says so.
  ::testing::AssertionResult comes_true(const std::function<bool()>& what) {
    const std::int64_t end = base::monotonic_ns() + 120 * base::kSecond;
    while (base::monotonic_ns() < end) {
      look();
      if (HasFailure()) return ::testing::AssertionFailure() << "the view was wrong";
      if (what()) return ::testing::AssertionSuccess();
    }
    std::string text;
    for (const HostState& h : state_.hosts) {
      text += h.name + (h.fresh ? " fresh" : " old") + ", " + std::to_string(h.running) +
              " endpoints, " + std::to_string(h.connections) + " connections\n";
    }
    return ::testing::AssertionFailure()
           << text << "agent: " << e2e::read_file(folder(0) + "/agent.log");
  }
  [[nodiscard]] const HostState& host(std::size_t number) const {
    return *std::ranges::find(state_.hosts, name_of(number), &HostState::name);
  }
  [[nodiscard]] bool said(std::size_t number, const std::string& text) const {
    return std::ranges::any_of(state_.events, [&](const ViewEvent& e) {
      return e.host == name_of(number) && e.text.starts_with(text);
    });
  }
  // Whether all hosts report, but for those, and each other one runs its endpoint.
  [[nodiscard]] bool all_report(std::size_t hosts, std::size_t endpoints,
                                std::size_t connections) const {
    return state_.totals.hosts == hosts && state_.totals.endpoints == endpoints &&
           state_.totals.connections == connections && state_.totals.rates &&
           state_.totals.rates->calls > 0;
  }

  e2e::TemporaryFolder folder_;
  e2e::HostsOnABridge hosts_;
  e2e::NatsServer server_{folder_.file("bus")};
  std::unique_ptr<Bus> bus_;
  std::unique_ptr<Subscription> states_;
  std::vector<Process> endpoints_, agents_;
  View view_;
  FleetState state_;
  std::map<std::string, Truth> truth_;
};

TEST_F(FleetTruth, TheViewIsRightAtEveryMoment) {
  start_all();
  ASSERT_TRUE(comes_true([&] { return all_report(kHosts, kHosts, kHosts); }));

  // Two agents and one endpoint are killed; a cable is pulled.
  agents_[4].end(SIGKILL);
  truth_[name_of(4)].cut_ns = base::monotonic_ns();
  agents_[7].end(SIGKILL);
  truth_[name_of(7)].cut_ns = base::monotonic_ns();
  endpoints_[10].end(SIGKILL);
  ASSERT_TRUE(hosts_.plug(13, false));
  truth_[name_of(13)].cut_ns = base::monotonic_ns();
  ASSERT_TRUE(comes_true([&] {
    return state_.totals.hosts == kHosts - 3 && state_.totals.old_hosts == 3 &&
           said(10, "endpoint serve was killed or crashed");
  }));
  for (const std::size_t gone : {4U, 7U, 13U}) {
    EXPECT_EQ(host(gone).presence, HostPresence::kSilent) << gone;
    EXPECT_TRUE(said(gone, "vanished: no summary for")) << gone;
  }
  EXPECT_EQ(state_.totals.endpoints, kHosts - 3 - 1);

  // One of them comes back as a new agent, one is plugged in again.
  truth_[name_of(4)].cut_ns = 0;
  agents_[4] = agent(4);
  truth_[name_of(13)].cut_ns = 0;
  ASSERT_TRUE(hosts_.plug(13, true));
  ASSERT_TRUE(comes_true([&] {
    return state_.totals.hosts == kHosts - 1 && said(4, "is back after") &&
           said(13, "is back after");
  }));
  EXPECT_TRUE(said(4, "its agent restarted"));
  EXPECT_EQ(host(4).restarts, 1U);
  EXPECT_EQ(host(13).restarts, 0U);

  // The bus is restarted under load.
  server_.stop(SIGKILL);
  ASSERT_TRUE(comes_true([&] { return !state_.connected; }));
  EXPECT_EQ(state_.totals.hosts, 0U);
  EXPECT_EQ(state_.totals.endpoints, 0U);
  EXPECT_FALSE(state_.totals.rates);
  ASSERT_TRUE(comes_true([&] { return host(0).age_ns > 5 * base::kSecond; }));
  EXPECT_EQ(host(0).presence, HostPresence::kHere) << "nobody knows whether it vanished";
  ASSERT_TRUE(server_.start()) << server_.log();
  ASSERT_TRUE(comes_true([&] { return state_.connected && state_.totals.hosts == kHosts - 1; }));

  // Agents replaced summaries of that time by newer ones; check() knows how many.
  EXPECT_GT(state_.totals.lost, 0U);

  // An agent that stops says goodbye.
  agents_[16].end(SIGTERM);
  ASSERT_TRUE(comes_true([&] { return host(16).presence == HostPresence::kLeft; }));
  EXPECT_TRUE(said(16, "left: its agent stopped"));
  ASSERT_TRUE(comes_true([&] { return state_.totals.hosts == kHosts - 2; }));

  // What scripts see is the same.
  const e2e::Result once = e2e::run("RPCRDMA top --fleet " + server_.url() + " --json");
  ASSERT_EQ(once.status, 0) << once.err;
  const auto json = nlohmann::json::parse(once.out);
  EXPECT_EQ(json["connected"], true);
  EXPECT_EQ(json["totals"]["hosts"]["left"], 1);
  // Whether host7 is still in the stream depends on how long the test took.
  EXPECT_GE(json["hosts"].size(), kHosts - 1);
}

}  // namespace
}  // namespace rpcrdma::fleet
