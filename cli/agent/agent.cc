#include "control.h"
#include "endpoints.h"
#include "findings.h"
#include "recordings.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <utility>

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <rpcrdma/agent/agent.h>
#include <rpcrdma/base/clock.h>
#include <rpcrdma/fleet/random_id.h>
#include <rpcrdma/fleet/subjects.h>
#include <rpcrdma/version/version.h>

namespace rpcrdma::agent {

namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kInterval = base::kSecond;
constexpr std::int64_t kWait = 100 * base::kMillisecond;
constexpr milliseconds kHelloPatience{2000};
constexpr milliseconds kGoodbyePatience{2000};
// A line about another agent with this host's name is logged once in this time.
constexpr std::int64_t kComplainEvery = 60 * base::kSecond;

std::string boot_id() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(in, id);
  return id;
}

}  // namespace

struct Agent::Impl {
  Impl(const AgentOptions& o, fleet::Bus& b, LogLine l)
      : options(o),
        bus(b),
        log(std::move(l)),
        self{fleet::random_id(), static_cast<std::uint32_t>(::getpid()), boot_id()},
        endpoints(o.profile, log),
        findings([this](fleet::FindingNote&& note) { publish(std::move(note)); }) {}

  const AgentOptions options;
  fleet::Bus& bus;
  LogLine log;
  const fleet::Hello self;
  Endpoints endpoints;
  Findings findings;
  std::unique_ptr<Control> control;
  std::unique_ptr<fleet::Subscription> own_states;  // to notice another agent
  std::uint64_t sequence = 0;
  std::int64_t published_ns = 0;  // monotonic
  std::int64_t publish_at = 0;
  std::int64_t complained_ns = 0;
  bool connected = true;
  std::uint64_t dropped_before = 0;
  std::uint64_t bus_errors = 0;
  std::int64_t bus_error_ns = 0;

  void publish(fleet::FindingNote&& note);
  void publish_state(std::int64_t now_ns, bool goodbye);
  void turn(std::int64_t now_ns);
  void wait(std::int64_t until_ns);
  void look_at_bus();
  void look_for_another();
};

void Agent::Impl::publish(fleet::FindingNote&& note) {
  note.host = options.host;
  note.instance = self.instance;
  const std::string id = fmt::format("{}-{}", self.instance, note.sequence);
  bus.publish_finding(options.host, id, fleet::to_json(note));
}

void Agent::Impl::publish_state(std::int64_t now_ns, bool goodbye) {
  const fleet::BusCounters counters = bus.counters();
  fleet::Summary s;
  s.host = options.host;
  s.boot = self.boot;
  s.instance = self.instance;
  s.version = version::text();
  s.process = self.process;
  s.sequence = ++sequence;
  s.wall_ns = base::wall_clock_ns();
  s.monotonic_ns = now_ns;
  s.interval_ns = published_ns == 0 ? 0 : now_ns - published_ns;
  s.goodbye = goodbye;
  s.agent = {counters.reconnects, counters.states_dropped,
             counters.findings_dropped + findings.dropped(), endpoints.unread()};
  // Several endpoints may be one process.
  std::map<std::uint32_t, std::vector<fleet::RecordingSummary>> recordings;
  for (const auto& e : endpoints.all()) {
    fleet::EndpointSummary endpoint = e->summary();
    if (endpoint.end == fleet::EndpointEnd::kNone) {
      auto [at, is_new] = recordings.try_emplace(endpoint.process);
      if (is_new) at->second = recordings_of(endpoint.process);
      endpoint.recordings = at->second;
      const RecordJob* const job = control->job();
      if (job != nullptr && !job->done() && job->endpoint() == endpoint.name) {
        endpoint.recordings.push_back(job->summary());
      }
    }
    s.endpoints.push_back(std::move(endpoint));
  }
  bus.publish_state(options.host, fleet::to_json(s));
  published_ns = now_ns;
}

void Agent::Impl::look_at_bus() {
  const fleet::BusState state = bus.state();
  const std::int64_t now = base::monotonic_ns();
  if (const std::uint64_t errors = bus.counters().errors;
      errors != bus_errors && (bus_error_ns == 0 || now - bus_error_ns >= kComplainEvery)) {
    bus_errors = errors;
    bus_error_ns = now;
    log(Level::kError, fmt::format("the bus reports: {}", state.why));
  }
  if (state.connected == connected) return;
  connected = state.connected;
  if (!connected) {
    dropped_before = bus.counters().states_dropped;
    log(Level::kWarning, fmt::format("the bus is disconnected: {}", state.why));
    return;
  }
  const fleet::BusCounters counters = bus.counters();
  log(Level::kInfo,
      fmt::format("connected to {} again; {} summaries were replaced by newer ones, {} findings "
                  "wait, {} were lost",
                  state.server, counters.states_dropped - dropped_before, counters.findings_waiting,
                  counters.findings_dropped));
}

void Agent::Impl::look_for_another() {
  while (const auto message = own_states->take()) {
    const auto summary = fleet::summary_from_json(message->data);
    const bool own = summary && summary->instance == self.instance;
    const std::int64_t now = base::monotonic_ns();
    if (own || (complained_ns != 0 && now - complained_ns < kComplainEvery)) continue;
    complained_ns = now;
    log(Level::kError,
        summary
            ? fmt::format("another agent (process {}{}) publishes as host {}, too: stop one, or "
                          "give it another name with --host",
                          summary->process, summary->boot == self.boot ? " on this machine" : "",
                          options.host)
            : fmt::format("somebody else publishes as host {}: {}", options.host,
                          summary.error().message));
  }
}

void Agent::Impl::turn(std::int64_t now_ns) {
  endpoints.look(now_ns);
  endpoints.tick(now_ns);
  for (const auto& e : endpoints.all()) findings.look(*e, now_ns);
  findings.keep_only(endpoints);
  control->answer(endpoints);
  look_for_another();
  look_at_bus();
  if (now_ns < publish_at) return;
  publish_state(now_ns, false);
  publish_at = publish_at == 0 || now_ns - publish_at > kInterval ? now_ns + kInterval
                                                                  : publish_at + kInterval;
}

void Agent::Impl::wait(std::int64_t until_ns) {
  std::vector<pollfd> fds;
  fds.push_back({control->fd(), POLLIN, 0});
  endpoints.add_to(fds);
  const std::int64_t left = until_ns - base::monotonic_ns();
  const auto timeout =
      static_cast<int>(std::clamp<std::int64_t>(left, 0, kWait) / base::kMillisecond);
  if (::poll(fds.data(), fds.size(), timeout) < 0) return;
  endpoints.read(fds.data() + 1);
}

Agent::Agent(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Agent::~Agent() = default;

base::Expected<std::unique_ptr<Agent>> Agent::start(const AgentOptions& options, fleet::Bus& bus,
                                                    LogLine log) {
  if (options.host.empty() || options.host.size() > fleet::kMostName) {
    return base::fail(fmt::format("--host: give a name of 1 to {} bytes", fleet::kMostName));
  }
  if (const auto prepared = bus.prepare_streams(); !prepared) {
    return tl::unexpected(prepared.error());
  }
  auto impl = std::make_unique<Impl>(options, bus, std::move(log));
  Impl& i = *impl;
  // Nobody answers unless the name is in use.
  const auto other = bus.request(fleet::control_subject(options.host),
                                 fleet::to_json(fleet::Request(i.self)), kHelloPatience);
  if (other) {
    const auto answer = fleet::answer_from_json(*other);
    const bool here = answer && answer->agent.boot == i.self.boot;
    return base::fail(fmt::format(
        "another agent{} publishes as host {} already: stop it, or choose another name with --host",
        answer ? fmt::format(" (process {}{})", answer->agent.process,
                             here ? " on this machine" : " on another machine")
               : std::string(),
        options.host));
  }
  auto control = Control::open(i.options, i.self, bus, i.log);
  if (!control) return tl::unexpected(control.error());
  i.control = std::move(*control);
  auto own = bus.subscribe(fleet::state_subject(options.host), {64, std::size_t{8} << 20},
                           fleet::kMostSummaryBytes);
  if (!own) return tl::unexpected(own.error());
  i.own_states = std::move(*own);
  // The bus reports a missing permission as an error of the connection.
  if (bus.flush(kHelloPatience) && bus.counters().errors != 0) {
    return base::fail(fmt::format("the bus does not permit this user to publish as host {}: {}",
                                  options.host, bus.state().why));
  }
  return std::unique_ptr<Agent>(new Agent(std::move(impl)));
}

base::Expected<void> Agent::run(std::int64_t until_ns) {
  Impl& i = *impl_;
  const std::int64_t now = base::monotonic_ns();
  i.turn(now);
  i.wait(std::min(until_ns, std::max(i.publish_at, now)));
  if (const fleet::BusState state = i.bus.state(); state.closed) {
    return base::fail(fmt::format("the bus ended the connection: {}", state.why));
  }
  return {};
}

void Agent::goodbye() {
  Impl& i = *impl_;
  const std::int64_t now = base::monotonic_ns();
  for (const auto& e : i.endpoints.all()) i.findings.look(*e, now, true);
  i.publish_state(now, true);
  const std::uint64_t waiting = i.bus.counters().findings_waiting;
  if (!i.bus.flush(kGoodbyePatience)) {
    i.log(Level::kWarning,
          fmt::format("the bus did not take the last state{}",
                      waiting == 0 ? "" : fmt::format(" and {} findings", waiting)));
  }
}

std::string Agent::status() const {
  const Impl& i = *impl_;
  const auto running =
      std::ranges::count_if(i.endpoints.all(), [](const auto& e) { return e->fd() >= 0; });
  return fmt::format("host {}: {} endpoint{}{}", i.options.host, running, running == 1 ? "" : "s",
                     i.connected ? "" : ", the bus is disconnected");
}

}  // namespace rpcrdma::agent
