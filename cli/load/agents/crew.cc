#include "channel.h"

#include <algorithm>
#include <csignal>
#include <deque>
#include <map>
#include <utility>

#include <fmt/core.h>
#include <poll.h>

#include <rpcrdma/load_agents/crew.h>

namespace rpcrdma::load_agents {
namespace {

constexpr std::int64_t kHeartbeat = base::kSecond;
constexpr std::int64_t kLongestWait = 100 * base::kMillisecond;
// Between the end of an agent's output and that of its process.
constexpr std::int64_t kLastWords = base::kSecond;
constexpr std::size_t kMostShown = 100;         // of what something that is no agent printed
constexpr std::size_t kMostPings = 64;          // without an answer
constexpr std::uint64_t kMostDropped = 10'000;  // lines
// Messages besides kPong: so many, and so many for each second.
constexpr std::int64_t kMostAtOnce = 64;
constexpr std::int64_t kMostPerSecond = 4;

std::string seconds(std::int64_t ns) {
  return fmt::format("{} s", static_cast<double>(ns) / base::kSecond);
}

}  // namespace

struct Crew::Member {
  AgentName name;
  Crew::State state = Crew::State::kWaiting;
  std::optional<Channel> channel;
  std::string version, address;
  std::int64_t started = 0;
  std::int64_t heard = 0;
  std::optional<std::int64_t> output_ended;
  std::int64_t events = 0;
  load_ranks::State how = load_ranks::State::kDone;
  std::string why;

  struct SentPing {
    std::uint64_t number;
    std::int64_t at;
  };
  std::deque<SentPing> pings;
  std::uint64_t next_ping = 0;
  std::int64_t last_ping = 0;
  std::uint32_t exchanges_left = 0;
  load_ranks::OffsetEstimate clock;
};

Crew::Crew(std::vector<AgentName> agents, CrewOptions options) : options_(std::move(options)) {
  for (AgentName& name : agents) {
    members_.push_back(std::make_unique<Member>());
    members_.back()->name = std::move(name);
  }
}

Crew::~Crew() = default;

const std::string& Crew::name(std::size_t agent) const {
  return members_[agent]->name.name;
}
const std::string& Crew::host(std::size_t agent) const {
  return members_[agent]->name.host;
}
Crew::State Crew::state(std::size_t agent) const {
  return members_[agent]->state;
}
bool Crew::all(State state) const {
  return std::ranges::all_of(members_, [&](const auto& m) { return m->state == state; });
}
load_ranks::State Crew::how_lost(std::size_t agent) const {
  return members_[agent]->how;
}
const std::string& Crew::why_lost(std::size_t agent) const {
  return members_[agent]->why;
}
bool Crew::answers(std::size_t agent) const {
  return base::monotonic_ns() - members_[agent]->heard < 2 * kHeartbeat;
}
const std::string& Crew::address(std::size_t agent) const {
  return members_[agent]->address;
}
std::optional<load_ranks::ClockOffset> Crew::clock(std::size_t agent) const {
  return members_[agent]->clock.best();
}

std::int64_t Crew::round_trip() const {
  std::int64_t longest = 0;
  for (const auto& m : members_) {
    if (const auto clock = m->clock.best()) longest = std::max(longest, 2 * clock->error);
  }
  return longest;
}

std::vector<Crew::Event> Crew::turn(std::int64_t wait) {
  start_some();
  wait_for_something(wait);
  std::vector<Event> events;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i]->channel) exchange(i, events);
  }
  return events;
}

void Crew::start_some() {
  std::size_t starting = 0;
  std::map<std::string_view, std::size_t> of_host;
  for (const auto& m : members_) {
    if (m->state != State::kStarting) continue;
    ++starting;
    ++of_host[m->name.host];
  }
  for (const auto& m : members_) {
    if (starting >= options_.most_starting) return;
    if (m->state != State::kWaiting || of_host[m->name.host] >= options_.most_starting_of_host) {
      continue;
    }
    start(*m);
    ++starting;
    ++of_host[m->name.host];
  }
}

void Crew::start(Member& member) {
  auto channel = Channel::start(options_.words(member.name));
  if (!channel) {
    lose(member, load_ranks::State::kDead, channel.error().message);
    return;
  }
  member.channel.emplace(std::move(*channel));
  member.state = State::kStarting;
  member.started = member.heard = base::monotonic_ns();
}

void Crew::wait_for_something(std::int64_t wait) {
  std::vector<pollfd> polled;
  for (const auto& m : members_) {
    if (m->channel) m->channel->add_to(polled);
  }
  const timespec limit{0, static_cast<long>(std::clamp<std::int64_t>(wait, 0, kLongestWait))};
  ::ppoll(polled.data(), polled.size(), &limit, nullptr);
}

void Crew::exchange(std::size_t agent, std::vector<Event>& events) {
  Member& member = *members_[agent];
  if (member.channel->exchange()) member.heard = base::monotonic_ns();
  pass_lines(member);
  if (member.state == State::kLost) return;
  if (member.channel->errors().dropped() > kMostDropped) {
    lose(member, load_ranks::State::kFailed, "it floods its standard error");
    return;
  }
  for (;;) {
    auto frame = member.channel->next();
    if (!frame) {
      lose(member, load_ranks::State::kFailed, frame.error().message);
      return;
    }
    if (!*frame) {
      watch(member);
      return;
    }
    handle(member, agent, std::move(**frame), events);
    if (member.state == State::kLost) return;
  }
}

void Crew::handle(Member& member, std::size_t agent, Frame frame, std::vector<Event>& events) {
  if ((member.state == State::kStarting) != (frame.type == FrameType::kHello)) {
    if (frame.type != FrameType::kRefusal) {
      lose(member, load_ranks::State::kFailed, "a message came at the wrong time");
      return;
    }
  }
  switch (frame.type) {
    case FrameType::kHello:
      greet(member, frame.body);
      return;
    case FrameType::kPong:
      take_pong(member, frame.body);
      return;
    case FrameType::kRefusal: {
      const auto refusal = Refusal::decode(frame.body);
      lose(member, load_ranks::State::kFailed,
           refusal && !refusal->why.empty() ? refusal->why : "it refused without a reason");
      return;
    }
    case FrameType::kLocated:
    case FrameType::kReady:
    case FrameType::kConnected:
    case FrameType::kInterval:
    case FrameType::kResult:
      if (++member.events >
          kMostAtOnce + kMostPerSecond * (base::monotonic_ns() - member.started) / base::kSecond) {
        lose(member, load_ranks::State::kFailed, "it sends more than an agent of a load does");
        return;
      }
      events.push_back({agent, std::move(frame)});
      return;
    case FrameType::kPing:
    case FrameType::kLocate:
    case FrameType::kOptions:
    case FrameType::kConnect:
    case FrameType::kStart:
    case FrameType::kStop:
      lose(member, load_ranks::State::kFailed, "it sends a message of a coordinator");
      return;
  }
}

void Crew::greet(Member& member, Bytes body) {
  const auto hello = Hello::decode(body);
  if (!hello) {
    lose(member, load_ranks::State::kFailed, "its first message is malformed");
    return;
  }
  if (hello->version != options_.version || hello->protocol != kProtocol) {
    lose(member, load_ranks::State::kFailed,
         fmt::format("it runs rpcrdma {}, and this is rpcrdma {}: both must be the same version",
                     hello->version, options_.version));
    return;
  }
  const std::string& banner = member.channel->banner();
  if (!banner.empty()) {
    options_.print(fmt::format("{}: ignored {} bytes of text that it printed at login",
                               member.name.name, banner.size()));
  }
  member.state = State::kHere;
  member.address = hello->address;
}

void Crew::take_pong(Member& member, Bytes body) {
  const std::int64_t now = base::monotonic_ns();
  const auto pong = Pong::decode(body);
  const auto sent = pong ? std::ranges::find(member.pings, pong->number, &Member::SentPing::number)
                         : member.pings.end();
  if (sent == member.pings.end()) {
    lose(member, load_ranks::State::kFailed, "it answers what it was not asked");
    return;
  }
  member.clock.add({sent->at, pong->clock, now});
  member.pings.erase(member.pings.begin(), sent + 1);
  if (member.exchanges_left != 0 && --member.exchanges_left != 0) ping(member);
}

void Crew::ping(Member& member) {
  if (member.pings.size() >= kMostPings) return;
  member.last_ping = base::monotonic_ns();
  member.pings.push_back({member.next_ping++, member.last_ping});
  member.channel->send(FrameType::kPing, Ping{member.pings.back().number}.encode());
}

void Crew::measure_clocks(std::uint32_t exchanges) {
  for (const auto& m : members_) {
    if (m->state != State::kHere || exchanges == 0) continue;
    m->exchanges_left = exchanges;
    ping(*m);
  }
}

bool Crew::clocks_measured() const {
  return std::ranges::all_of(members_, [](const auto& m) {
    return m->state == State::kLost || (m->state == State::kHere && m->exchanges_left == 0);
  });
}

void Crew::watch(Member& member) {
  const std::int64_t now = base::monotonic_ns();
  if (member.channel->output_ended()) {
    if (!member.output_ended) member.output_ended = now;
    // Its status and its last lines may come a moment later.
    if (member.channel->ended() || now - *member.output_ended > kLastWords) {
      (void)member.channel->exchange();
      pass_lines(member);
      lose(member, load_ranks::State::kDead, why_ended(member));
    }
  } else if (member.state == State::kStarting) {
    if (now - member.started > options_.reach) {
      lose(member, load_ranks::State::kStuck,
           fmt::format("no agent answered within {}", seconds(options_.reach)));
    }
  } else if (now - member.heard > options_.silence) {
    lose(member, load_ranks::State::kStuck,
         fmt::format("it sent nothing for {}", seconds(options_.silence)));
  } else if (now - member.last_ping > kHeartbeat) {
    ping(member);
  }
}

std::string Crew::why_ended(Member& member) const {
  const auto status = member.channel->ended();
  const std::string ended = status ? base::describe_wait_status(*status) : "closed its output";
  const std::string& line = member.channel->errors().last_line();
  std::string reason = line.empty() ? "" : ": " + line;
  const std::string program = options_.words(member.name)[0];
  if (member.channel->is_agent()) {
    return fmt::format("the agent ended early: {} {}{}", program, ended, reason);
  }
  const std::string& banner = member.channel->banner();
  if (line.empty()) {
    reason = banner.empty()
                 ? ", without a word"
                 : fmt::format("; it printed \"{}\"",
                               banner.substr(0, std::min(banner.find('\n'), kMostShown)));
  }
  return fmt::format("no agent began: {} {}{}", program, ended, reason);
}

void Crew::pass_lines(Member& member) {
  for (const std::string& line : member.channel->errors().take_lines()) {
    options_.print(fmt::format("{}: {}", member.name.name, line));
  }
}

void Crew::send(std::size_t agent, FrameType type, Bytes body) {
  Member& member = *members_[agent];
  if (member.state == State::kHere) member.channel->send(type, body);
}

void Crew::lose(std::size_t agent, load_ranks::State how, std::string why) {
  lose(*members_[agent], how, std::move(why));
}

void Crew::lose(Member& member, load_ranks::State how, std::string why) {
  if (member.state == State::kLost) return;
  member.state = State::kLost;
  member.how = how;
  member.why = std::move(why);
  member.exchanges_left = 0;
  // A healthy agent at the other end of an ssh ends its load when its input ends.
  if (member.channel) member.channel->close();
}

void Crew::dismiss() {
  for (const auto& m : members_) {
    if (m->channel) m->channel->close();
  }
  const std::int64_t begun = base::monotonic_ns();
  int last_signal = 0;
  for (;;) {
    bool running = false;
    for (const auto& m : members_) {
      if (!m->channel) continue;
      (void)m->channel->exchange();
      pass_lines(*m);
      running = running || !m->channel->ended();
    }
    if (!running) break;
    const std::int64_t waited = base::monotonic_ns() - begun;
    const int signal = waited > options_.farewell + base::kSecond ? SIGKILL
                       : waited > options_.farewell               ? SIGTERM
                                                                  : 0;
    if (signal != std::exchange(last_signal, signal)) {
      for (const auto& m : members_) {
        if (m->channel) m->channel->signal(signal);
      }
    }
    // Descriptors at their end would make poll() return at once.
    const timespec moment{0, 2 * base::kMillisecond};
    ::ppoll(nullptr, 0, &moment, nullptr);
  }
  for (const auto& m : members_) {
    if (!m->channel) continue;
    pass_lines(*m);
    if (const std::uint64_t dropped = m->channel->errors().dropped(); dropped != 0) {
      options_.print(fmt::format("{}: {} more lines on its standard error", m->name.name, dropped));
    }
    m->channel.reset();
  }
  for (const auto& m : members_) m->state = State::kLost;
}

}  // namespace rpcrdma::load_agents
