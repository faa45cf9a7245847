// Follows each outstanding Call of each connection from its first event to its last, and counts
// them by state.
//
// Calls are known from two places: the source's own events (Call, CreditWait, CallEnd), which the
// model does not use, and the model's messages and RDMA operations, which name the Call that they
// belong to. A Call that is first seen in the middle of its way is followed from there.
//
// Loss. After lost events, Calls may be outstanding that are not known, and known ones may have
// ended. The counts stay uncertain until the source reports that no Call is in flight. Each such
// report also bounds how many of the doubtful Calls can still be sent: the oldest are dropped.
#include <algorithm>
#include <bit>
#include <deque>
#include <utility>
#include <vector>

#include <tsl/robin_map.h>

#include <rpcrdma/roce/by_connection.h>
#include <rpcrdma/states/call_states.h>

namespace rpcrdma::states {

namespace {

using trace::EventSource;
using trace::EventType;

constexpr std::uint8_t bit(State state) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(state));
}
constexpr std::uint8_t kAllStates = (1U << kStates) - 1;

constexpr std::size_t at(State state) {
  return static_cast<std::size_t>(state);
}

// What a source sees of the Calls that it sends. Linux reserves a slot before a Call has an XID.
std::uint8_t visible_of_caller(EventSource source, bool sees_peer_operations) {
  switch (source) {
    case EventSource::kEndpoint:
      // It has no slots besides credits: no Call waits for one.
      return sees_peer_operations ? kAllStates
                                  : static_cast<std::uint8_t>(kAllStates & ~bit(State::kMoving));
    case EventSource::kKernelBpf:
      return bit(State::kCredit) | bit(State::kPreparing) | bit(State::kPosted) |
             bit(State::kAtServer) | bit(State::kAnswered);
    case EventSource::kKernelTracepoints:
      return bit(State::kCredit) | bit(State::kPosted) | bit(State::kAtServer) |
             bit(State::kAnswered);
    case EventSource::kKernelSums:
      break;
  }
  return 0;
}

// What it sees of the Calls that it receives. The Send of a Reply is seen to end in two of them.
std::uint8_t visible_of_responder(EventSource source) {
  switch (source) {
    case EventSource::kEndpoint:
    case EventSource::kKernelTracepoints:
      return bit(State::kAtServer) | bit(State::kMoving) | bit(State::kAnswered);
    case EventSource::kKernelBpf:
      return bit(State::kAtServer) | bit(State::kMoving);
    case EventSource::kKernelSums:
      break;
  }
  return 0;
}

// States that rest on events which a recording or a filter excludes.
std::uint8_t without(std::uint64_t left_out) {
  const auto is_out = [&](EventType type) { return (left_out & trace::type_bit(type)) != 0; };
  unsigned states = 0;
  if (is_out(EventType::kMessage)) states |= kAllStates & ~unsigned{bit(State::kCredit)};
  if (is_out(EventType::kCall)) states |= bit(State::kPreparing);
  if (is_out(EventType::kCreditWait)) states |= bit(State::kCredit) | bit(State::kPreparing);
  if (is_out(EventType::kOperation) || is_out(EventType::kOperationEnd))
    states |= bit(State::kMoving);
  if (is_out(EventType::kCallEnd)) states |= bit(State::kAnswered);
  return static_cast<std::uint8_t>(states);
}

struct Outstanding {
  State state = State::kPreparing;
  bool has_end = false;          // its source will report its end
  bool doubtful = false;         // events were lost since
  std::uint32_t operations = 0;  // in progress
  std::uint64_t order = 0;       // of its Send among those of its direction; 0: not sent
};

// Calls of one side.
struct Direction {
  tsl::robin_map<std::uint32_t, Outstanding> calls;  // by XID
  std::array<std::uint32_t, kStates> count{};
  // Posted Sends that are not known to have arrived, in order. May contain Calls that have ended.
  std::deque<std::pair<std::uint64_t, std::uint32_t>> posted;
  std::uint64_t order = 0;
  std::uint32_t earlier = 0;
  bool credits_seen = false;
  bool uncertain = false;
  std::size_t doubtful = 0;
};

struct ConnectionState {
  std::uint8_t local = 0;
  std::uint64_t source = 0;  // the point of its stream
  bool sees_peer_operations = false;
  bool in_sample = true;  // otherwise its Calls are not traced
  std::uint64_t lost = 0;
  std::array<Direction, 2> of;  // by the side of the caller
};

}  // namespace

const char* state_text(State state) {
  constexpr std::array<const char*, kStates> kTexts{
      "waiting for a slot", "waiting for a credit", "being prepared", "posted",
      "at the server",      "moving data",          "answered"};
  return kTexts[at(state)];
}

const char* state_label(State state) {
  constexpr std::array<const char*, kStates> kLabels{"slot",   "credit", "prepare", "posted",
                                                     "server", "moving", "answered"};
  return kLabels[at(state)];
}

const char* state_key(State state) {
  constexpr std::array<const char*, kStates> kKeys{"slot",      "credit", "preparing", "posted",
                                                   "at_server", "moving", "answered"};
  return kKeys[at(state)];
}

std::optional<std::uint32_t> Counts::of(State state) const {
  if ((visible & bit(state)) == 0) return std::nullopt;
  return calls[at(state)];
}

bool Counts::at_least(State state) const {
  return (visible & hidden & bit(state)) != 0;
}

std::uint64_t Counts::outstanding() const {
  std::uint64_t all = earlier;
  for (const std::uint32_t n : calls) all += n;
  return all;
}

void add(Counts& to, const Counts& from) {
  for (std::size_t i = 0; i < kStates; ++i) to.calls[i] += from.calls[i];
  to.visible |= from.visible;
  to.hidden |= from.hidden;
  to.earlier += from.earlier;
  to.uncertain |= from.uncertain;
}

struct CallStates::Impl {
  struct Source {
    EventSource kind = EventSource::kEndpoint;
    std::uint64_t left_out = 0;
  };

  roce::ByConnection<ConnectionState> connections;
  tsl::robin_map<std::uint64_t, Source> sources;  // by the point of their stream
  std::size_t calls = 0;

  void open(const trace_reader::Event& event);
  void end(std::uint32_t index);
  Outstanding* enter(Direction& d, std::uint32_t xid, State state);
  void move(Direction& d, Outstanding& call, State state);
  void erase(Direction& d, std::uint32_t xid);
  void sent(Direction& d, std::uint32_t xid, Outstanding& call);
  void arrived(Direction& d, const Outstanding& call);
  void lost(ConnectionState& c, std::uint64_t events_lost);
  [[nodiscard]] Source source_of(const ConnectionState& c) const {
    const auto known = sources.find(c.source);
    return known != sources.end() ? known->second : Source{};
  }
  void credits(ConnectionState& c, const trace::Credits& credits, std::uint8_t caller);
  void drop_doubtful(Direction& d, std::uint32_t in_use);
  void call(ConnectionState& c, const trace::Call& recorded, std::uint8_t caller);
  void credit_wait(ConnectionState& c, const trace::CreditWait& recorded);
  void call_end(ConnectionState& c, const trace::CallEnd& recorded, std::uint8_t caller);
  [[nodiscard]] Counts counts(const ConnectionState& c, bool reverse) const;
};

void CallStates::Impl::open(const trace_reader::Event& event) {
  const std::uint32_t index = event.connection->index;
  if (connections.find(index) != nullptr) return;
  ConnectionState& c = connections[index];
  c.local = event.local;
  const auto recorded = *trace::read_event<trace::Connection>(event.view);
  c.sees_peer_operations = recorded.sees_peer_operations != 0;
  c.in_sample = recorded.not_sampled == 0;
  c.lost = event.connection->events_lost;
}

void CallStates::Impl::end(std::uint32_t index) {
  const ConnectionState* c = connections.find(index);
  if (c == nullptr) return;
  for (const Direction& d : c->of) calls -= d.calls.size();
  connections.erase(index);
}

// Null: too many Calls are outstanding.
Outstanding* CallStates::Impl::enter(Direction& d, std::uint32_t xid, State state) {
  if (const auto known = d.calls.find(xid); known != d.calls.end()) {
    move(d, known.value(), state);
    return &known.value();
  }
  if (calls >= kMostCalls) {
    d.uncertain = true;
    return nullptr;
  }
  ++calls;
  ++d.count[static_cast<std::size_t>(state)];
  Outstanding& call = d.calls[xid];
  call.state = state;
  return &call;
}

void CallStates::Impl::move(Direction& d, Outstanding& call, State state) {
  --d.count[static_cast<std::size_t>(call.state)];
  ++d.count[static_cast<std::size_t>(state)];
  call.state = state;
}

void CallStates::Impl::erase(Direction& d, std::uint32_t xid) {
  const auto known = d.calls.find(xid);
  if (known == d.calls.end()) return;
  --d.count[static_cast<std::size_t>(known->second.state)];
  if (known->second.doubtful) --d.doubtful;
  d.calls.erase(known);
  --calls;
}

void CallStates::Impl::sent(Direction& d, std::uint32_t xid, Outstanding& call) {
  call.order = ++d.order;
  d.posted.emplace_back(call.order, xid);
  // Calls that ended unanswered stay in the list until a later one is answered.
  constexpr std::size_t kSlack = 64;
  if (d.posted.size() <= 2 * d.calls.size() + kSlack) return;
  std::erase_if(d.posted, [&](const auto& one) {
    const auto known = d.calls.find(one.second);
    return known == d.calls.end() || known->second.order != one.first;
  });
}

// This Call has arrived, and so have all that were sent before it.
void CallStates::Impl::arrived(Direction& d, const Outstanding& call) {
  while (!d.posted.empty() && d.posted.front().first <= call.order) {
    const auto [order, xid] = d.posted.front();
    d.posted.pop_front();
    const auto known = d.calls.find(xid);
    if (known == d.calls.end() || known->second.order != order) continue;
    if (known->second.state == State::kPosted) move(d, known.value(), State::kAtServer);
  }
}

void CallStates::Impl::lost(ConnectionState& c, std::uint64_t events_lost) {
  if (events_lost == c.lost) return;
  c.lost = events_lost;
  for (Direction& d : c.of) {
    d.uncertain = true;
    d.doubtful = d.calls.size();
    for (auto known = d.calls.begin(); known != d.calls.end(); ++known) {
      known.value().doubtful = true;
    }
  }
}

// Calls whose events came before the source was read are known from the credits alone: those in
// use or waited for, less the Calls that are followed. They only become fewer.
void CallStates::Impl::credits(ConnectionState& c, const trace::Credits& credits,
                               std::uint8_t caller) {
  // The kernel's server does not count the Calls in flight.
  if (caller != c.local && source_of(c).kind != EventSource::kEndpoint) return;
  Direction& d = c.of[caller];
  const std::uint32_t in_flight =
      d.count[at(State::kPosted)] + d.count[at(State::kAtServer)] + d.count[at(State::kMoving)];
  const std::uint32_t waiting = d.count[at(State::kCredit)];
  const std::uint32_t others = (credits.in_use > in_flight ? credits.in_use - in_flight : 0) +
                               (credits.waiting > waiting ? credits.waiting - waiting : 0);
  d.earlier = std::exchange(d.credits_seen, true) ? std::min(d.earlier, others) : others;
  if (d.doubtful != 0) drop_doubtful(d, credits.in_use);
  const bool none = credits.in_use == 0 && credits.waiting == 0;
  if (none && d.doubtful == 0) d.uncertain = false;
}

// At most `in_use` Calls are in flight: of those that may have ended unseen, the oldest have.
void CallStates::Impl::drop_doubtful(Direction& d, std::uint32_t in_use) {
  constexpr std::uint8_t kInFlight =
      bit(State::kPosted) | bit(State::kAtServer) | bit(State::kMoving);
  std::vector<std::pair<std::uint64_t, std::uint32_t>> doubtful;
  std::size_t in_flight = 0;
  for (const auto& [xid, call] : d.calls) {
    const bool flies = (bit(call.state) & kInFlight) != 0;
    if (flies) ++in_flight;
    // None of the others can be there if no credit is in use.
    if (call.doubtful && (flies || in_use == 0)) doubtful.emplace_back(call.order, xid);
  }
  const std::size_t over = in_use == 0          ? doubtful.size()
                           : in_flight > in_use ? std::min(in_flight - in_use, doubtful.size())
                                                : 0;
  std::ranges::sort(doubtful);
  for (std::size_t i = 0; i < over; ++i) erase(d, doubtful[i].second);
}

void CallStates::Impl::call(ConnectionState& c, const trace::Call& recorded, std::uint8_t caller) {
  Direction& d = c.of[caller];
  const bool own = caller == c.local;
  // A received Call was entered with its message; this is when its program gets it.
  const auto known = d.calls.find(recorded.xid);
  Outstanding* const call =
      !own && known != d.calls.end()
          ? &known.value()
          : enter(d, recorded.xid, own ? State::kPreparing : State::kAtServer);
  if (call == nullptr) return;
  call->has_end = true;
  if (own) {
    call->operations = 0;
    call->order = 0;
  }
}

void CallStates::Impl::credit_wait(ConnectionState& c, const trace::CreditWait& recorded) {
  Direction& d = c.of[c.local];
  if (!d.calls.contains(recorded.xid) && d.earlier != 0) --d.earlier;
  (void)enter(d, recorded.xid, recorded.begun != 0 ? State::kCredit : State::kPreparing);
}

void CallStates::Impl::call_end(ConnectionState& c, const trace::CallEnd& recorded,
                                std::uint8_t caller) {
  Direction& d = c.of[caller];
  if (!d.calls.contains(recorded.xid)) {
    if (d.earlier != 0) --d.earlier;
    return;
  }
  erase(d, recorded.xid);
}

Counts CallStates::Impl::counts(const ConnectionState& c, bool reverse) const {
  const std::uint8_t caller = reverse ? 1 : 0;  // side 0 has connected: it is the RPC client
  const Direction& d = c.of[caller];
  const Source source = source_of(c);
  Counts counts;
  counts.visible = caller == c.local ? visible_of_caller(source.kind, c.sees_peer_operations)
                                     : visible_of_responder(source.kind);
  counts.visible &= static_cast<std::uint8_t>(~without(source.left_out));
  if (!c.in_sample) counts.visible = 0;
  counts.hidden = kAllStates & ~counts.visible;
  counts.calls = d.count;
  for (std::size_t i = 0; i < kStates; ++i) {
    if (!counts.of(static_cast<State>(i))) counts.calls[i] = 0;
  }
  counts.earlier = d.earlier;
  counts.uncertain = d.uncertain;
  return counts;
}

CallStates::CallStates() : impl_(std::make_unique<Impl>()) {}
CallStates::~CallStates() = default;

Counts CallStates::counts(std::uint32_t connection, bool reverse) const {
  const ConnectionState* c = impl_->connections.find(connection);
  return c != nullptr ? impl_->counts(*c, reverse) : Counts{};
}

Counts CallStates::all(bool reverse) const {
  Counts all;
  impl_->connections.for_each(
      [&](const ConnectionState& c) { add(all, impl_->counts(c, reverse)); });
  return all;
}

void CallStates::on_event(const trace_reader::Event& event) {
  Impl& i = *impl_;
  if (event.type() == EventType::kEndpoint) {
    const auto recorded = *trace::read_event<trace::Endpoint>(event.view);
    i.sources[event.meta.point] = {recorded.source, recorded.left_out};
    return;
  }
  if (event.connection == nullptr) return;
  if (event.type() == EventType::kConnection) {
    i.open(event);
    if (ConnectionState* c = i.connections.find(event.connection->index))
      c->source = event.meta.point;
    return;
  }
  ConnectionState* const c = i.connections.find(event.connection->index);
  if (c == nullptr || event.local != c->local) return;
  i.lost(*c, event.connection->events_lost);
  switch (event.type()) {
    case EventType::kCredits: {
      const auto recorded = *trace::read_event<trace::Credits>(event.view);
      return i.credits(*c, recorded, event.side(recorded.side));
    }
    case EventType::kCall: {
      const auto recorded = *trace::read_event<trace::Call>(event.view);
      return i.call(*c, recorded, event.side(recorded.side));
    }
    case EventType::kCreditWait:
      return i.credit_wait(*c, *trace::read_event<trace::CreditWait>(event.view));
    case EventType::kCallEnd: {
      const auto recorded = *trace::read_event<trace::CallEnd>(event.view);
      return i.call_end(*c, recorded, event.side(recorded.side));
    }
    default:
      return;
  }
}

void CallStates::on_message(const model::MessageSeen& event) {
  Impl& i = *impl_;
  const model::Message& m = event.message;
  ConnectionState* const c = i.connections.find(m.connection);
  if (c == nullptr) return;
  Direction& d = c->of[m.caller];
  const bool own = m.caller == c->local;
  if (m.kind == model::Kind::kCall) {
    if (own && !d.calls.contains(m.xid) && d.earlier != 0) --d.earlier;
    Outstanding* const call = i.enter(d, m.xid, own ? State::kPosted : State::kAtServer);
    if (call != nullptr && own) i.sent(d, m.xid, *call);
    return;
  }
  if (m.kind != model::Kind::kReply && m.kind != model::Kind::kError) return;
  const auto known = d.calls.find(m.xid);
  if (known == d.calls.end()) {
    if (d.earlier != 0) --d.earlier;
    return;
  }
  i.arrived(d, known->second);
  const bool ends = own || i.source_of(*c).kind != EventSource::kKernelBpf;
  if (known->second.has_end && ends) {
    i.move(d, known.value(), State::kAnswered);
  } else {
    i.erase(d, m.xid);
  }
}

void CallStates::on_operation(const model::OperationSeen& event) {
  if (event.call == nullptr) return;
  Impl& i = *impl_;
  ConnectionState* const c = i.connections.find(event.connection.index);
  if (c == nullptr) return;
  Direction& d = c->of[event.call->message.caller];
  const auto known = d.calls.find(event.call->message.xid);
  if (known == d.calls.end() || known->second.state == State::kAnswered) return;
  i.arrived(d, known->second);
  ++known.value().operations;
  i.move(d, known.value(), State::kMoving);
}

void CallStates::on_operation_end(const model::OperationSeen& event) {
  if (event.call == nullptr) return;
  Impl& i = *impl_;
  ConnectionState* const c = i.connections.find(event.connection.index);
  if (c == nullptr) return;
  Direction& d = c->of[event.call->message.caller];
  const auto known = d.calls.find(event.call->message.xid);
  if (known == d.calls.end() || known->second.state != State::kMoving) return;
  if (known->second.operations > 0 && --known.value().operations == 0) {
    i.move(d, known.value(), State::kAtServer);
  }
}

void CallStates::on_close(const roce::Connection& connection) {
  impl_->end(connection.index);
}

void CallStates::on_evict(const roce::Connection& connection) {
  impl_->end(connection.index);
}

}  // namespace rpcrdma::states
