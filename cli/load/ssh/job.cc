#include "load/ssh/job.h"

#include "input.h"
#include "interrupt.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/load_ranks/tick.h>
#include <rpcrdma/version/version.h>

namespace rpcrdma::cli {
namespace {

using load_agents::Crew;
using load_agents::FrameType;
using load_ranks::State;

// Ping-pongs with each agent: the shortest of them counts.
constexpr std::uint32_t kExchanges = 32;
constexpr fabric::Time kTurn = 50 * fabric::kMillisecond;

bool is_loopback(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &address, sizeof in);
    return ntohl(in.sin_addr.s_addr) >> 24 == 127;
  }
  sockaddr_in6 in{};
  std::memcpy(&in, &address, sizeof in);
  return IN6_IS_ADDR_LOOPBACK(&in.sin6_addr);
}

struct Resolved {
  std::string address;
  bool loopback = false;
};

// The first address of a name, IPv4 if it has both.
std::optional<Resolved> resolve(const std::string& name) {
  for (const int family : {AF_INET, AF_INET6}) {
    addrinfo hints{};
    hints.ai_family = family;
    hints.ai_socktype = SOCK_DGRAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) continue;
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);
    char text[INET6_ADDRSTRLEN + 16] = {};
    if (::getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof text, nullptr, 0,
                      NI_NUMERICHOST) == 0) {
      return Resolved{text, is_loopback(*found->ai_addr)};
    }
  }
  return std::nullopt;
}

load_agents::CrewOptions crew_options(const AgentsPlan& plan) {
  load_agents::CrewOptions options;
  options.words = [&plan](const load_agents::AgentName& name) { return agent_words(plan, name); };
  options.version = version::text();
  options.print = [](const std::string& line) { inform(line); };
  options.silence = plan.silence;
  return options;
}

}  // namespace

AgentsJob::AgentsJob(const AgentsPlan& plan, std::vector<std::string> servers, AgentsJobHooks hooks)
    : plan_(plan),
      servers_(std::move(servers)),
      hooks_(std::move(hooks)),
      crew_(plan.agents, crew_options(plan)),
      said_(plan.agents.size(), false) {}

std::optional<load_ranks::Results> AgentsJob::run() {
  bool begun = prepare();
  if (begun) {
    for (std::uint32_t round = 0; round < schedule_.rounds.size() && !stopped_; ++round) {
      if (!run_round(round)) {
        begun = round != 0;
        break;
      }
    }
  }
  if (!begun) wait_for_others();
  say_lost();
  crew_.dismiss();
  if (!begun) {
    if (!lost_any_ && Interrupt::came()) complain("load: interrupted before the load began");
    return std::nullopt;
  }
  return gather_.finish();
}

// A fault of one host is often a fault of others: all of them are named.
void AgentsJob::wait_for_others() {
  const fabric::Time until = base::monotonic_ns() + fabric::kSecond;
  const auto starts = [&](std::size_t i) { return crew_.state(i) == Crew::State::kStarting; };
  const Members all = everyone();
  while (lost_any_ && base::monotonic_ns() < until && std::ranges::any_of(all, starts)) {
    (void)crew_.turn(kTurn);
  }
}

bool AgentsJob::prepare() {
  if (!turn_until([this] { return crew_.all(Crew::State::kHere); })) return false;
  if (servers_.empty() && !find_addresses()) return false;
  if (!make_schedule()) return false;
  crew_.measure_clocks(kExchanges);
  if (!turn_until([this] { return crew_.clocks_measured(); })) return false;
  send_options();
  return wait_for(FrameType::kReady, everyone());
}

AgentsJob::Members AgentsJob::everyone() const {
  Members all(crew_.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

bool AgentsJob::find_addresses() {
  addresses_.resize(crew_.size());
  if (!plan_.network.empty()) {
    const std::vector<std::uint8_t> body = load_agents::Locate{plan_.network}.encode();
    for (std::size_t i = 0; i < crew_.size(); ++i) crew_.send(i, FrameType::kLocate, body);
    return wait_for(FrameType::kLocated, everyone());
  }
  for (std::size_t i = 0; i < crew_.size(); ++i) {
    auto address = address_of(i);
    if (!address) return false;
    addresses_[i] = std::move(*address);
  }
  return true;
}

// Servers of a pattern listen at the address of their agent's host: that of the name, or, if the
// name is an alias that only ssh knows, or is loopback's there, that which ssh used.
std::optional<std::string> AgentsJob::address_of(std::size_t agent) const {
  std::string host = crew_.host(agent);
  if (const std::size_t at = host.rfind('@'); at != std::string::npos) host.erase(0, at + 1);
  const auto resolved = resolve(host);
  const std::string& of_ssh = crew_.address(agent);
  if (resolved && (!resolved->loopback || of_ssh.empty())) return resolved->address;
  if (!of_ssh.empty()) return of_ssh;
  complain(
      fmt::format("load: {}: the address of this agent is not known, so nobody can call a "
                  "server there; name it by its address, or give HOST or --network",
                  crew_.name(agent)));
  return std::nullopt;
}

void AgentsJob::take_address(const Crew::Event& event) {
  auto located = load_agents::Located::decode(event.frame.body);
  // It comes from another host, and becomes a word of command lines.
  if (!located || located->address.starts_with('-')) {
    crew_.lose(event.agent, State::kFailed, "it has sent no address");
    return;
  }
  addresses_[event.agent] = std::move(located->address);
}

bool AgentsJob::make_schedule() {
  std::vector<load_ranks::Place> places;
  for (std::size_t i = 0; i < crew_.size(); ++i) {
    places.push_back({crew_.host(i), servers_.empty() ? addresses_[i] : std::string()});
  }
  auto schedule = load_ranks::schedule(plan_.pattern, places, servers_);
  if (!schedule) {
    complain(fmt::format("load: --pattern {}: {}", load_ranks::pattern_name(plan_.pattern),
                         schedule.error().message));
    return false;
  }
  schedule_ = std::move(*schedule);
  return true;
}

void AgentsJob::send_options() {
  for (std::size_t i = 0; i < crew_.size(); ++i) {
    load_agents::Options options;
    options.rank = static_cast<std::uint32_t>(i);
    options.name = crew_.name(i);
    if (std::ranges::find(schedule_.serving, options.rank) != schedule_.serving.end()) {
      options.serve = {"--listen", addresses_[i], "--quiet"};
      options.serve.insert(options.serve.end(), plan_.serve.begin(), plan_.serve.end());
    }
    options.words = plan_.words;
    crew_.send(i, FrameType::kOptions, options.encode());
  }
}

bool AgentsJob::turn_until(const std::function<bool()>& done) {
  while (!done()) {
    for (const Crew::Event& event : crew_.turn(kTurn)) {
      crew_.lose(event.agent, State::kFailed, "a message came at the wrong time");
    }
    say_lost();
    if (lost_any_ || Interrupt::came()) return false;
  }
  return true;
}

bool AgentsJob::wait_for(FrameType expected, const Members& from) {
  std::vector<bool> wanted(crew_.size(), false);
  for (const std::size_t i : from) wanted[i] = true;
  while (std::ranges::find(wanted, true) != wanted.end()) {
    for (const Crew::Event& event : crew_.turn(kTurn)) {
      if (event.frame.type != expected || !wanted[event.agent]) {
        crew_.lose(event.agent, State::kFailed, "a message came at the wrong time");
      }
      wanted[event.agent] = false;
      if (expected == FrameType::kLocated) take_address(event);
    }
    say_lost();
    if (lost_any_ || Interrupt::came()) return false;
  }
  return true;
}

bool AgentsJob::run_round(std::uint32_t round) {
  Members callers;
  for (std::size_t i = 0; i < crew_.size(); ++i) {
    if (!schedule_.rounds[round][i].empty()) callers.push_back(i);
  }
  if (!connect(round, callers)) {
    stopped_ = true;
    return false;
  }
  start(round, callers);
  gather(round, callers);
  return true;
}

bool AgentsJob::connect(std::uint32_t round, const Members& callers) {
  for (const std::size_t i : callers) {
    const load_ranks::ClockOffset clock = crew_.clock(i).value_or(load_ranks::ClockOffset{});
    const load_agents::Connect message{round, schedule_.rounds[round][i], clock.offset,
                                       clock.error};
    crew_.send(i, FrameType::kConnect, message.encode());
  }
  return wait_for(FrameType::kConnected, callers);
}

void AgentsJob::start(std::uint32_t round, const Members& callers) {
  for (const std::size_t i : callers) {
    load_ranks::Row row;
    row.rank = static_cast<std::uint32_t>(i);
    row.round = round;
    row.host = crew_.name(i);
    row.servers = schedule_.rounds[round][i];
    row.offset = crew_.clock(i);
    gather_.expect(row);
  }
  const fabric::Time now = base::monotonic_ns();
  round_start_ = load_ranks::start_time(now, crew_.round_trip());
  if (round == 0) {
    first_start_ = round_start_;
    hooks_.on_begin(base::wall_clock_ns() + round_start_ - now);
  }
  const fabric::Time since_first = round_start_ - first_start_;
  gather_.begin_round(round, since_first);
  for (const std::size_t i : callers) {
    const load_agents::Start message{
        load_ranks::to_rank(round_start_, crew_.clock(i).value_or(load_ranks::ClockOffset{})),
        since_first};
    crew_.send(i, FrameType::kStart, message.encode());
  }
  next_second_ = seconds_ = 0;
  elapsed_ = 0;
}

void AgentsJob::gather(std::uint32_t round, const Members& callers) {
  while (!gather_.missing(round).empty()) {
    for (const Crew::Event& event : crew_.turn(kTurn)) take(round, event);
    watch(round);
    say_lost();
    for (const std::size_t i : callers) {
      // Gather ignores those that have a result.
      if (crew_.state(i) == Crew::State::kLost) {
        gather_.give_up(round, static_cast<std::uint32_t>(i), crew_.how_lost(i), crew_.why_lost(i));
      }
    }
    if (lost_any_ && !stopped_) stop("an agent is lost: the load ends");
    // Before the start there is no load that could be stopped.
    if (Interrupt::came() && !stopped_ && base::monotonic_ns() > round_start_ + kTurn) stop("");
    show_seconds(round);
  }
  show_seconds(round);
}

void AgentsJob::take(std::uint32_t round, const Crew::Event& event) {
  const auto rank = static_cast<std::uint32_t>(event.agent);
  base::Expected<void> taken;
  if (event.frame.type == FrameType::kInterval) {
    const auto tick = load_ranks::decode_tick(event.frame.body);
    if (!tick) {
      taken = base::fail(tick.error().message);
    } else if (tick->rank != rank || tick->round != round) {
      taken = base::fail("it reports an interval of another rank or round");
    } else if (const fabric::Time now = base::monotonic_ns() - round_start_;
               tick->index >
               static_cast<std::uint64_t>(std::max<fabric::Time>(now + plan_.silence, 0) /
                                          fabric::kSecond)) {
      taken = base::fail("it reports a second that has not come");
    } else {
      taken = gather_.take(*tick, now);
      seconds_ = std::max(seconds_, tick->index + 1);
      elapsed_ = std::max(elapsed_, tick->elapsed);
    }
  } else if (event.frame.type == FrameType::kResult) {
    auto results = load_ranks::decode(event.frame.body);
    if (!results) {
      taken = base::fail(results.error().message);
    } else if (results->rows.size() != 1 || results->rows[0].rank != rank ||
               results->rows[0].round != round) {
      taken = base::fail("it reports the result of another rank or round");
    } else {
      // The coordinator knows these better.
      results->rows[0].host = crew_.name(event.agent);
      results->rows[0].offset = crew_.clock(event.agent);
      taken = gather_.take(*results);
    }
  } else {
    taken = base::fail("a message came at the wrong time");
  }
  if (!taken) crew_.lose(event.agent, State::kFailed, taken.error().message);
}

void AgentsJob::show_seconds(std::uint32_t round) {
  for (; next_second_ < seconds_ && gather_.complete(round, next_second_); ++next_second_) {
    // The last second is shorter.
    const fabric::Time end =
        std::min((static_cast<fabric::Time>(next_second_) + 1) * fabric::kSecond, elapsed_);
    if (!hooks_.on_second(gather_.second(round, next_second_), round_start_ - first_start_ + end) &&
        !stopped_) {
      stop("");
    }
    gather_.forget(round, next_second_);
  }
}

void AgentsJob::watch(std::uint32_t round) {
  const fabric::Time now = base::monotonic_ns();
  for (const std::uint32_t rank : gather_.missing(round)) {
    // It answers pings, but its load does not report. One that does not answer either is the crew's
    // to name.
    if (!crew_.answers(rank)) continue;
    const fabric::Time heard = round_start_ + gather_.heard(round, rank).value_or(0);
    const fabric::Time since = stopped_ ? std::max(heard, stopped_at_) : heard;
    if (now - since > plan_.silence) {
      crew_.lose(rank, State::kStuck,
                 fmt::format("its load reported nothing for {} s",
                             static_cast<double>(plan_.silence) / fabric::kSecond));
    }
  }
}

void AgentsJob::stop(const std::string& why) {
  if (!why.empty()) complain("load: " + why);
  stopped_ = true;
  stopped_at_ = base::monotonic_ns();
  for (std::size_t i = 0; i < crew_.size(); ++i) crew_.send(i, FrameType::kStop);
}

void AgentsJob::say_lost() {
  for (std::size_t i = 0; i < crew_.size(); ++i) {
    if (said_[i] || crew_.state(i) != Crew::State::kLost) continue;
    said_[i] = true;
    lost_any_ = true;
    complain(fmt::format("load: agent {}: {}", crew_.name(i), crew_.why_lost(i)));
  }
}

}  // namespace rpcrdma::cli
