// The server's connections: admission, setup, grants of credits, probes, and closing.
#include "channel_options.h"
#include "counters.h"
#include "later.h"
#include "rdma_config.h"
#include "thresholds.h"
#include "trace_hooks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include <rpcrdma/base/text.h>
#include <rpcrdma/fabric/out_of_memory.h>
#include <rpcrdma/fabric/rejection.h>
#include <rpcrdma/fabric/time_heap.h>
#include <rpcrdma/protocol/channel.h>
#include <rpcrdma/service/reverse_client.h>
#include <rpcrdma/service/server.h>

namespace rpcrdma::service {

using fabric::EventType;
using fabric::Expected;
using fabric::Time;

namespace {

constexpr std::uint32_t kListener = UINT32_MAX;  // its key in the loop
constexpr std::string_view kNoMemory = "too little memory";
constexpr std::string_view kTooMany = "too many connections";
// An eighth of the connections is reserved for peers that have none, so that no peer can exclude
// all others.
constexpr std::uint32_t kReservedPart = 8;
// See about_to_come().
constexpr Time kMoment = 250 * fabric::kMillisecond;
constexpr std::size_t kMostRecent = 512;

// Its Read chunks, and results that are as long.
std::uint64_t single_call(const ServerOptions& options) {
  constexpr std::uint64_t kMost = 1ULL << 40;
  return 2 * std::bit_ceil(std::min(options.responder.max_chunk_bytes, kMost));
}

// Reason code for a rejection by the consumer of connections (IBA 12.6.7.2).
constexpr std::uint16_t kConsumerReject = 28;

enum class State : std::uint8_t { kAccepted, kUp, kClosing };

// A cookie of the loop, which is dropped unless it is kept.
class Cookie {
 public:
  Cookie(Loop& loop, std::uint64_t value) : loop_(loop), value_(value) {}
  ~Cookie() {
    if (!kept_) loop_.drop_cookie(value_);
  }
  Cookie(const Cookie&) = delete;
  Cookie& operator=(const Cookie&) = delete;

  [[nodiscard]] std::uint64_t value() const { return value_; }
  void keep() { kept_ = true; }

 private:
  Loop& loop_;
  const std::uint64_t value_;
  bool kept_ = false;
};

// Members in the order of their dependencies: the channel is destroyed first.
struct Connection {
  Connection(std::span<Program* const> programs, const fabric::Address& peer, Loop& loop,
             const protocol::ResponderOptions& options, DuplicateCache* duplicates,
             protocol::MemoryShares& shares)
      : share(shares, peer),
        dispatcher(programs, peer, loop.memory(), loop.clock(), duplicates),
        responder(dispatcher, options) {
    dispatcher.limit_by(share);
  }

  protocol::MemoryShare share;
  Dispatcher dispatcher;
  protocol::Responder responder;
  std::shared_ptr<ReverseClient> reverse;
  std::unique_ptr<protocol::Channel> channel;
  ConnectionInfo info;
  std::uint64_t cookie = 0;
  std::uint32_t trace = 0;                      // its number in trace events
  std::vector<std::uint8_t> peer_private_data;  // for the event when it is up, if there is a tracer
  State state = State::kAccepted;
  CloseReason reason = CloseReason::kPeer;  // kClosing
  std::string what;                         // kClosing
  Time changed = 0;                         // start of the present state
  Time active = 0;                          // time of the last activity
  Time probed = 0;
  bool dirty = false;  // has work for flush()
};

// A request that was accepted, of a peer that has not proved its address yet. It has no place among
// the connections and no Receives, so that forged requests take neither.
struct HalfOpen {
  std::unique_ptr<fabric::Connection> connection;
  fabric::Address peer;
  std::vector<std::uint8_t> private_data;  // the peer's
  std::uint64_t cookie = 0;
  std::uint32_t trace = 0;
  Time since = 0;
};

}  // namespace

std::uint32_t accepted_connections(std::uint32_t max_connections) {
  return max_connections + std::min(max_connections / kReservedPart, UINT32_MAX - max_connections);
}

const char* close_reason_name(CloseReason reason) {
  switch (reason) {
    case CloseReason::kPeer:
      return "peer";
    case CloseReason::kProtocol:
      return "protocol";
    case CloseReason::kIdle:
      return "idle";
    case CloseReason::kHandshake:
      return "handshake";
    case CloseReason::kStopped:
      return "stopped";
    case CloseReason::kMemory:
      return "memory";
  }
  return "?";
}

struct Server::Impl : LoopMember {
  Impl(Loop& l, std::span<Program* const> p, const ServerOptions& o, ServerObserver* w)
      : loop(l),
        programs(p.begin(), p.end()),
        options(o),
        observer(w != nullptr ? *w : silent),
        invalidates(o.remote_invalidation && l.provider().limits().sends_invalidate &&
                    l.provider().limits().accepts_invalidate),
        private_data(own_private_data(o.inline_threshold, invalidates)),
        shares(l.memory(), {single_call(o), accepted_connections(o.max_connections)}),
        most_granted(o.responder.credits),
        granted(o.responder.credits) {
    if (options.profile == Profile::k5666) {
      options.responder.rfc5666 = true;
      options.responder.padding = {options.config.align, options.config.thresh, 0};
      programs.push_back(&config_program);
    }
    if (options.duplicates.entries != 0) duplicates.emplace(options.duplicates, loop.clock());
    loop.join(*this);
  }
  ~Impl() override {
    closing = true;
    for (std::uint32_t key = 0; key < slots.size(); ++key) {
      if (slots[key] == nullptr) continue;
      remove(key, CloseReason::kStopped, "the server ends", trace::kHere);
    }
    drop_half_open("the server ends");
    listener.reset();
    loop.leave(*this);
    // So that the peers are notified.
    loop.provider().progress();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Expected<void> listen() {
    auto listening = loop.provider().listen(options.port, loop.add_cookie(*this, kListener));
    if (!listening) return tl::unexpected(listening.error());
    listener = std::move(*listening);
    depths = make(0, {}, {}, 0, 0)->channel->depths();
    return {};
  }

  // ----- connections start and end

  // An observer's failure must not affect a connection.
  template <typename Function>
  void observe(Function&& function) {
    try {
      function(observer);
    } catch (const std::bad_alloc&) {
      ++counters.unobserved;
    }
  }

  void reject(fabric::Event& event, std::string_view what, std::uint64_t& counter, Time now) {
    ++counter;
    // The peer receives it, or finds that there is no answer.
    (void)event.request->reject(base::as_bytes(what));
    trace_failed(loop, new_trace_connection(loop),
                 {trace::kHere, kConsumerReject, what, false, base::as_bytes(what)},
                 {false, options.port, event.peer}, now);
    observe([&](ServerObserver& o) { o.on_rejected(event.peer, what); });
  }

  [[nodiscard]] bool has_connection(const fabric::Address& peer) const {
    return std::ranges::any_of(slots,
                               [&](const auto& c) { return c != nullptr && c->info.peer == peer; });
  }

  // The peer's half-open connections of the last moment count as if they were established, so that
  // a peer that asks for many at once is rejected, rather than accepted and disconnected. Older
  // ones are more likely forged, with its address.
  [[nodiscard]] std::uint32_t about_to_come(const fabric::Address& peer, Time now) {
    while (!recent.empty() &&
           (now - recent.front().since > kMoment || recent.size() > kMostRecent)) {
      recent.pop_front();
    }
    return static_cast<std::uint32_t>(std::ranges::count_if(recent, [&](const Recent& r) {
      const HalfOpen* const h = half_open[r.key].get();
      return h != nullptr && h->since == r.since && h->peer == peer;
    }));
  }

  // The bytes of a connection's Receives.
  [[nodiscard]] std::uint64_t receives_for(std::span<const std::uint8_t> peer_private_data) const {
    const protocol::Terms terms = terms_of(
        options.version,
        agree(options.inline_threshold, options.private_data, invalidates, peer_private_data));
    std::uint32_t longest =
        options.profile == Profile::k5666 ? options.inline_threshold : terms.inline_receive;
    if (options.version.versions.contains(protocol::kVersionTwo)) {
      longest = std::max(longest, terms.inline_receive_2);
    }
    return std::uint64_t{longest} * depths.receive;
  }

  // Empty: there is a place for a connection of this peer, after `more` others of it, of which each
  // needs `bytes`. Otherwise why not.
  [[nodiscard]] std::string_view no_place(const fabric::Address& peer, std::uint32_t more,
                                          std::uint64_t bytes) const {
    const std::uint32_t taken = count + more;
    if (closing || taken >= accepted_connections(options.max_connections) ||
        (taken >= options.max_connections && (more != 0 || has_connection(peer)))) {
      return kTooMany;
    }
    return shares.admits_receives(peer, (more + 1) * bytes) ? "" : kNoMemory;
  }
  std::uint64_t& rejections_for(std::string_view why) {
    return why == kTooMany ? counters.rejected_full : counters.rejected_memory;
  }

  void on_request(fabric::Event& event, Time now) {
    const std::string_view why =
        no_place(event.peer, about_to_come(event.peer, now), receives_for(event.private_data));
    if (!why.empty()) return reject(event, why, rejections_for(why), now);
    try {
      if (loop.provider().limits().holds_first_message) {
        accept(event, now);
      } else {
        admit(event, now);
      }
    } catch (const std::bad_alloc&) {
      if (event.request != nullptr) return reject(event, kNoMemory, counters.rejected_memory, now);
      ++counters.rejected_memory;
      observe([&](ServerObserver& o) { o.on_rejected(event.peer, kNoMemory); });
    }
  }

  // Returns a free key. Reserves the memory that a connection with that key may need in the lists.
  std::uint32_t next_key() {
    if (free_keys.empty()) {
      const std::size_t places = slots.size() + 1;
      slots.reserve(std::bit_ceil(places));
      half_open.reserve(slots.capacity());
      free_keys.reserve(slots.capacity());
      dirty.reserve(2 * slots.capacity());
      timers.reserve(places);
      slots.emplace_back();
      half_open.emplace_back();
      free_keys.push_back(static_cast<std::uint32_t>(places - 1));
    }
    return free_keys.back();
  }

  // A connection with this key, but without the fabric's.
  [[nodiscard]] std::unique_ptr<Connection> make(std::uint32_t key, const fabric::Address& peer,
                                                 std::vector<std::uint8_t> peer_private_data,
                                                 std::uint32_t trace, Time now) {
    protocol::ResponderOptions responder = options.responder;
    responder.durations = &counters.durations;
    // A loop with a clock of its own has no other time.
    if (loop.options().clock == nullptr) responder.read_clock = &Loop::read_clock;
    responder.on_refused = [this, key](const protocol::RefusedCall& call) {
      if (options.responder.on_refused) options.responder.on_refused(call);
      observe([&](ServerObserver& o) { o.on_refused(slots[key]->info, call); });
    };
    auto c = std::make_unique<Connection>(programs, peer, loop, responder,
                                          duplicates ? &*duplicates : nullptr, shares);
    c->info.peer = peer;
    c->info.thresholds =
        agree(options.inline_threshold, options.private_data, invalidates, peer_private_data);
    c->active = c->changed = now;
    c->trace = trace;
    const trace::ConnectionTracer tracer = traced(c->trace);
    c->dispatcher.trace(tracer);
    c->dispatcher.measure_by(responder.read_clock);
    if (c->trace != 0) c->peer_private_data = std::move(peer_private_data);
    protocol::ChannelOptions channel =
        channel_options(loop, options.version, options.max_segment, tracer);
    channel.terms = terms_of(options.version, c->info.thresholds);
    const protocol::Terms agreed = channel.terms;
    // CONF_RDMA can raise it later, and Receives keep their length.
    if (options.profile == Profile::k5666) channel.terms.inline_receive = options.inline_threshold;
    channel.sends_invalidate = invalidates;
    channel.accepts_invalidate = invalidates;
    channel.later_credits = options.reverse_credits;
    channel.share = &c->share;
    c->channel =
        std::make_unique<protocol::Channel>(loop.memory(), channel, nullptr, &c->responder);
    c->channel->agree(agreed);
    c->dispatcher.attach(
        [r = &c->responder](std::uint64_t id, std::span<const protocol::Piece> message, Time at) {
          return r->reply(id, message, at);
        },
        [this, key] { mark(key); },
        [this, key](std::shared_ptr<ReverseClient> client) { return bind(key, std::move(client)); },
        options.profile == Profile::k5666
            ? [this,
               key](const wire::RdmaConfigRequest& request) { return configure(key, request); }
            : Dispatcher::Configure(),
        [r = &c->responder](std::uint64_t id, Time at) { r->drop(id, at); });
    return c;
  }

  [[nodiscard]] fabric::ConnectionOptions accepting(std::uint64_t cookie,
                                                    const fabric::QueueDepths& depths_needed,
                                                    std::uint32_t trace) const {
    fabric::ConnectionOptions connection;
    connection.cookie = cookie;
    connection.depths = depths_needed;
    if (options.private_data) connection.private_data = private_data;
    connection.trace_connection = traced(trace).connection;
    return connection;
  }

  [[nodiscard]] trace::ConnectionTracer traced(std::uint32_t number) const {
    return connection_tracer(loop, number, in_trace_sample(loop, number));
  }

  void not_begun(const fabric::Address& peer, std::uint32_t trace, std::string_view what,
                 std::uint64_t& counter, Time now) {
    ++counter;
    trace_failed(loop, trace, {trace::kHere, 0, what}, {false, options.port, peer}, now);
    observe([&](ServerObserver& o) { o.on_rejected(peer, what); });
  }

  // A device serves the peer at once, so the connection gets its place and its Receives first.
  void admit(fabric::Event& event, Time now) {
    const std::uint32_t key = next_key();
    std::unique_ptr<Connection> c =
        make(key, event.peer, std::move(event.private_data), new_trace_connection(loop), now);
    if (!c->share.take_receives(c->channel->receive_bytes())) {
      return reject(event, kNoMemory, counters.rejected_memory, now);
    }
    Cookie cookie(loop, loop.add_cookie(*this, key));
    c->cookie = cookie.value();
    auto begun = c->channel->begin(std::move(event.request));
    if (begun) {
      begun = c->channel->connection().accept(accepting(c->cookie, c->channel->depths(), c->trace));
    }
    if (!begun) {
      return not_begun(c->info.peer, c->trace, begun.error().message, counters.rejected_memory,
                       now);
    }
    cookie.keep();
    free_keys.pop_back();
    place(key, std::move(c));
    watch(key);
  }

  void place(std::uint32_t key, std::unique_ptr<Connection> c) {
    c->info.number = ++last_number;
    slots[key] = std::move(c);
    slots[key]->responder.grant(granted);
    ++count;
    ++counters.accepted;
    share_credits();
  }

  // Accepts a request without giving it anything, see HalfOpen.
  void accept(fabric::Event& event, Time now) {
    const std::uint32_t key = next_key();
    auto h = std::make_unique<HalfOpen>();
    h->peer = event.peer;
    h->private_data = std::move(event.private_data);
    h->trace = new_trace_connection(loop);
    h->since = now;
    recent.push_back({now, key});
    Cookie cookie(loop, loop.add_cookie(*this, key));
    h->cookie = cookie.value();
    h->connection = std::move(event.request);
    if (auto accepted = h->connection->accept(accepting(h->cookie, depths, h->trace)); !accepted) {
      return not_begun(h->peer, h->trace, accepted.error().message, counters.rejected_memory, now);
    }
    cookie.keep();
    free_keys.pop_back();
    half_open[key] = std::move(h);
    timers.hasten(key, later(now, options.handshake));
  }

  // The peer has proved its address.
  void admit(std::uint32_t key, Time now) {
    HalfOpen& h = *half_open[key];
    if (const std::string_view why = no_place(h.peer, 0, 0); !why.empty()) {
      return drop_half_open(key, why, rejections_for(why), trace::kHere);
    }
    std::unique_ptr<Connection> c = make(key, h.peer, h.private_data, h.trace, now);
    if (!c->share.take_receives(c->channel->receive_bytes())) {
      return drop_half_open(key, kNoMemory, counters.rejected_memory, trace::kHere);
    }
    c->cookie = h.cookie;
    if (auto begun = c->channel->begin(std::move(h.connection)); !begun) {
      return drop_half_open(key, begun.error().message, counters.rejected_memory, trace::kHere);
    }
    half_open[key].reset();
    place(key, std::move(c));
  }

  void drop_half_open(std::uint32_t key, std::string_view what, std::uint64_t& counter,
                      std::uint8_t side) {
    const std::unique_ptr<HalfOpen> h = std::move(half_open[key]);
    ++counter;
    timers.remove(key);
    free_keys.push_back(key);
    loop.drop_cookie(h->cookie);
    h->connection.reset();
    trace_failed(loop, h->trace, {side, 0, what}, {false, options.port, h->peer}, loop.now());
    observe([&](ServerObserver& o) { o.on_rejected(h->peer, what); });
  }
  void drop_half_open(std::string_view what) {
    for (std::uint32_t key = 0; key < half_open.size(); ++key) {
      if (half_open[key] == nullptr) continue;
      drop_half_open(key, what, counters.closed_stopped, trace::kHere);
    }
  }

  void on_event_of_half_open(std::uint32_t key, fabric::Event& event, Time now) {
    switch (event.type) {
      case EventType::kEstablished:
        admit(key, now);
        if (slots[key] != nullptr) on_event_of(key, event, now);
        break;
      case EventType::kRejected:
        drop_half_open(
            key,
            "the client rejected it, " + fabric::rejection(event.reject_reason, event.private_data),
            counters.closed_handshake, trace::kPeer);
        break;
      case EventType::kUnreachable:
      case EventType::kDisconnected:
        drop_half_open(key, event.reason, counters.closed_handshake, trace::kPeer);
        break;
      case EventType::kRequest:
      case EventType::kProviderLost:
        break;
    }
  }

  // `side`: the side that ended it, unless we are closing it already; `failed`: see fabric::Event.
  void remove(std::uint32_t key, CloseReason reason, std::string_view what, std::uint8_t side,
              bool failed = false) {
    const std::unique_ptr<Connection> c = std::move(slots[key]);
    timers.remove(key);
    free_keys.push_back(key);
    loop.drop_cookie(c->cookie);
    const bool was_up = c->state != State::kAccepted;
    if (c->state == State::kClosing) {
      reason = c->reason;
      what = c->what;
      side = trace::kHere;
    }
    // The connection first: then no peer can access the memory of its Calls any more.
    c->channel->close(loop.now());
    c->channel.reset();
    if (c->reverse != nullptr) ReverseBinding::unbind(*c->reverse);
    const EndedConnection end{side, 0, what, failed};
    was_up ? trace_end(loop, c->trace, end, loop.now())
           : trace_failed(loop, c->trace, end, {false, options.port, c->info.peer}, loop.now());
    add(counters.responder, c->responder.counters());
    counters.calls += c->dispatcher.counters();
    if (c->state != State::kClosing) ++count_of(reason);
    --count;
    share_credits();
    observe([&](ServerObserver& o) {
      was_up ? o.on_closed(c->info, reason, what) : o.on_rejected(c->info.peer, what);
    });
  }

  Expected<void> bind(std::uint32_t key, std::shared_ptr<ReverseClient> client) {
    Connection& c = *slots[key];
    if (c.reverse == client) return {};
    const bool is_taken = c.reverse != nullptr && !c.reverse->requester().idle();
    if (is_taken || ReverseBinding::credits(*client) > options.reverse_credits) {
      return fabric::fail(fabric::Errc::kBadArgument,
                          "the connection has no credits for Calls in the reverse direction");
    }
    // A client can come back before the end of its last connection was noticed here.
    for (std::uint32_t other = 0; other < slots.size(); ++other) {
      if (slots[other] == nullptr || slots[other]->reverse != client) continue;
      remove(other, CloseReason::kStopped, "its client has another connection", trace::kHere);
    }
    if (c.reverse != nullptr) {
      c.channel->detach_requester(loop.now());
      ReverseBinding::unbind(*c.reverse);
    }
    c.reverse = std::move(client);
    ReverseBinding::bind(*c.reverse, [this, key] { mark(key); });
    c.channel->attach(ReverseBinding::requester(*c.reverse), loop.now());
    mark(key);
    return {};
  }

  Expected<wire::RdmaConfigReply> configure(std::uint32_t key,
                                            const wire::RdmaConfigRequest& request) {
    Connection& c = *slots[key];
    protocol::Terms terms = terms_of(options.version, c.info.thresholds);
    configure_server(request, options.inline_threshold, terms);
    c.info.thresholds.send = terms.inline_send;
    c.info.thresholds.receive = terms.inline_receive;
    c.info.configured = answer(options.inline_threshold, options.config);
    c.channel->agree(terms);
    observe([&](ServerObserver& o) { o.on_configured(c.info); });
    return *c.info.configured;
  }

  std::uint64_t& count_of(CloseReason reason) {
    switch (reason) {
      case CloseReason::kProtocol:
        return counters.closed_protocol;
      case CloseReason::kIdle:
        return counters.closed_idle;
      case CloseReason::kHandshake:
        return counters.closed_handshake;
      case CloseReason::kStopped:
        return counters.closed_stopped;
      case CloseReason::kMemory:
        return counters.closed_memory;
      case CloseReason::kPeer:
        break;
    }
    return counters.closed_peer;
  }

  // Its completions are still to come, and then kDisconnected.
  void begin_close(Connection& c, CloseReason reason, std::string_view what, Time now) {
    if (c.state == State::kClosing) return;
    ++count_of(reason);
    c.state = State::kClosing;
    c.changed = now;
    c.reason = reason;
    try {
      c.what = what;
    } catch (const std::bad_alloc&) {
      c.what = fabric::kOutOfMemory;
    }
    c.channel->connection().disconnect();
  }

  void share_credits() {
    const std::uint32_t share =
        std::clamp(options.max_calls / std::max(count, 1U), 1U, most_granted);
    if (share == granted) return;
    granted = share;
    for (const auto& c : slots) {
      if (c != nullptr) c->responder.grant(share);
    }
  }

  // ----- calls from the loop

  void on_event(std::uint32_t key, fabric::Event& event, Time now) override {
    if (key == kListener) {
      if (event.type == EventType::kRequest) on_request(event, now);
      return;
    }
    try {
      if (half_open[key] != nullptr) {
        on_event_of_half_open(key, event, now);
      } else {
        on_event_of(key, event, now);
      }
    } catch (const std::bad_alloc&) {
      if (half_open[key] != nullptr) {
        return drop_half_open(key, kNoMemory, counters.rejected_memory, trace::kHere);
      }
      if (slots[key] == nullptr) return;
      if (event.type == EventType::kEstablished) {
        return begin_close(*slots[key], CloseReason::kMemory, fabric::kOutOfMemory, now);
      }
      remove(key, CloseReason::kMemory, fabric::kOutOfMemory, trace::kHere, event.failed);
    }
  }

  void on_event_of(std::uint32_t key, fabric::Event& event, Time now) {
    Connection& c = *slots[key];
    switch (event.type) {
      case EventType::kEstablished:
        if (c.state != State::kAccepted) break;
        c.state = State::kUp;
        c.info.since = c.active = c.changed = now;
        trace_established(
            loop, c.trace,
            {false, options.port, options.private_data ? wire::Bytes(private_data) : wire::Bytes(),
             c.peer_private_data, c.info.thresholds, event, options.version.versions,
             in_trace_sample(loop, c.trace)},
            now);
        c.peer_private_data = {};
        observe([&](ServerObserver& o) { o.on_connected(c.info); });
        c.channel->established(now);
        mark(key);
        break;
      case EventType::kRejected:
        remove(
            key, CloseReason::kHandshake,
            "the client rejected it, " + fabric::rejection(event.reject_reason, event.private_data),
            trace::kPeer);
        break;
      case EventType::kUnreachable:
        remove(key, CloseReason::kHandshake, event.reason, trace::kPeer);
        break;
      case EventType::kDisconnected:
        // Prefer the failure: it also names what failed. The side that detected it is the one that
        // ends the connection.
        if (const std::string& failure = c.channel->failure(); !failure.empty()) {
          event.reason = failure;
          remove(key, CloseReason::kPeer, event.reason, trace::kHere, event.failed);
        } else {
          if (!event.failed && c.state == State::kUp) c.channel->peer_closes();
          remove(key, CloseReason::kPeer, event.reason, event.failed ? trace::kHere : trace::kPeer,
                 event.failed);
        }
        break;
      case EventType::kRequest:
      case EventType::kProviderLost:
        break;
    }
  }

  void on_provider_lost(Time) override {
    for (std::uint32_t key = 0; key < slots.size(); ++key) {
      if (slots[key] == nullptr) continue;
      remove(key, CloseReason::kPeer, "the device is gone", trace::kHere);
    }
    drop_half_open("the device is gone");
  }

  void on_completion(std::uint32_t key, const fabric::Completion& completion, Time now) override {
    slots[key]->channel->completed(completion, now);
    mark(key);
  }

  // Called on activity: a message arrived, work completed, a deferred Call was answered.
  void mark(std::uint32_t key) {
    if (slots[key] == nullptr) return;
    slots[key]->active = loop.now();
    if (slots[key]->dirty) return;
    dirty.push_back(key);
    slots[key]->dirty = true;
  }

  void flush(Time now) override {
    // By index: a handler may answer a Call of another connection.
    for (std::size_t i = 0; i < dirty.size(); ++i) {
      const std::uint32_t key = dirty[i];
      if (slots[key] == nullptr) continue;
      Connection& c = *slots[key];
      c.dirty = false;
      c.channel->flush(now);
      if (const std::string& failure = c.channel->failure(); !failure.empty()) {
        const bool is_ours = failure == fabric::kOutOfMemory;
        begin_close(c, is_ours ? CloseReason::kMemory : CloseReason::kProtocol, failure, now);
      }
      watch(key);
    }
    dirty.clear();
  }

  // ----- time

  [[nodiscard]] Time probe_due(const Connection& c) const {
    return later(std::max(c.channel->heard(), c.probed), options.probe);
  }

  [[nodiscard]] Time deadline_of(const Connection& c) const {
    switch (c.state) {
      case State::kAccepted:
      case State::kClosing:
        return later(c.changed, options.handshake);
      case State::kUp:
        break;
    }
    Time least = std::min(c.channel->deadline(), probe_due(c));
    if (is_idle(c)) least = std::min(least, later(c.active, options.idle));
    return least;
  }

  [[nodiscard]] static bool is_idle(const Connection& c) {
    if (c.responder.outstanding() != 0) return false;
    if (c.reverse == nullptr) return true;
    return c.reverse->requester().outstanding() + c.reverse->requester().waiting() == 0;
  }

  void watch(std::uint32_t key) { timers.hasten(key, deadline_of(*slots[key])); }

  [[nodiscard]] Time deadline() const override {
    if (!dirty.empty()) return 0;
    Time least = timers.first_time();
    for (const Program* p : programs) least = std::min(least, p->deadline());
    return least;
  }

  void expire(Time now) override {
    for (Program* p : programs) {
      if (p->deadline() <= now) p->expire(now);
    }
    while (timers.first_time() <= now) {
      const std::uint32_t key = timers.first();
      timers.remove(key);
      if (half_open[key] != nullptr) {
        expire_half_open(key, now);
        continue;
      }
      if (deadline_of(*slots[key]) <= now) expire(key, now);
      if (slots[key] != nullptr) watch(key);
    }
  }

  void expire_half_open(std::uint32_t key, Time now) {
    const Time end = later(half_open[key]->since, options.handshake);
    if (now < end) return timers.hasten(key, end);
    drop_half_open(key, "never established", counters.closed_handshake, trace::kHere);
  }

  void expire(std::uint32_t key, Time now) {
    Connection& c = *slots[key];
    if (c.state == State::kAccepted) {
      return remove(key, CloseReason::kHandshake, "never established", trace::kHere);
    }
    if (c.state == State::kClosing) return remove(key, c.reason, c.what, trace::kHere);
    if (c.channel->deadline() <= now) {
      c.channel->expire(now);
      mark(key);
    }
    if (probe_due(c) <= now) {
      c.probed = now;
      c.channel->probe(now);
    }
    if (is_idle(c) && later(c.active, options.idle) <= now) {
      begin_close(c, CloseReason::kIdle, "no Calls", now);
    }
  }

  Loop& loop;
  RdmaConfigProgram config_program;
  std::vector<Program*> programs;
  ServerOptions options;
  ServerObserver silent;
  ServerObserver& observer;
  // The flag R applies to both roles (RFC 8797 section 4.1).
  const bool invalidates;
  const std::array<std::uint8_t, wire::kPrivateDataBytes> private_data;
  std::unique_ptr<fabric::Listener> listener;
  std::optional<DuplicateCache> duplicates;
  protocol::MemoryShares shares;
  std::vector<std::unique_ptr<Connection>> slots;    // by key; null: free, or half-open
  std::vector<std::unique_ptr<HalfOpen>> half_open;  // by key; null: free, or a connection
  struct Recent {
    Time since = 0;
    std::uint32_t key = 0;
  };
  std::deque<Recent> recent;   // half-open connections of the last moment, the oldest first
  fabric::QueueDepths depths;  // of each connection
  std::vector<std::uint32_t> free_keys;
  std::vector<std::uint32_t> dirty;
  // The time at which a connection needs attention, or earlier: activity postpones most deadlines.
  fabric::TimeHeap timers;
  std::uint32_t count = 0;
  std::uint32_t last_number = 0;
  std::uint32_t most_granted;
  std::uint32_t granted;
  bool closing = false;
  ServerCounters counters;  // of past connections
};

Expected<std::unique_ptr<Server>> Server::create(Loop& loop, std::span<Program* const> programs,
                                                 const ServerOptions& options,
                                                 ServerObserver* observer) {
  if (!is_threshold(options.inline_threshold)) {
    return fabric::fail(fabric::Errc::kBadArgument,
                        "an inline threshold is 1 to 256 KiB, in whole KiB");
  }
  if (auto checked = check(options.version); !checked) return tl::unexpected(checked.error());
  if (options.responder.credits == 0 || options.max_connections == 0 || options.idle <= 0 ||
      options.probe <= 0 || options.handshake <= 0) {
    return fabric::fail(fabric::Errc::kBadArgument, "a limit is 0");
  }
  auto impl = std::make_unique<Impl>(loop, programs, options, observer);
  const auto listening = impl->listen();
  if (!listening) return tl::unexpected(listening.error());
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

void Server::close() {
  impl_->closing = true;
  impl_->listener.reset();
  impl_->drop_half_open("the server closes");
  for (std::uint32_t key = 0; key < impl_->slots.size(); ++key) {
    if (impl_->slots[key] == nullptr) continue;
    impl_->begin_close(*impl_->slots[key], CloseReason::kStopped, "the server closes",
                       impl_->loop.now());
    impl_->watch(key);
  }
}

fabric::Expected<void> Server::limit(std::uint32_t max_connections, std::uint32_t max_calls,
                                     fabric::Time idle) {
  if (max_connections == 0 || max_calls == 0 || idle <= 0) {
    return fabric::fail(fabric::Errc::kBadArgument, "a limit of 0");
  }
  impl_->options.max_connections = max_connections;
  impl_->shares.set_connections(accepted_connections(max_connections));
  impl_->options.max_calls = max_calls;
  impl_->options.idle = idle;
  impl_->share_credits();
  for (std::uint32_t key = 0; key < impl_->slots.size(); ++key) {
    if (impl_->slots[key] != nullptr) impl_->watch(key);
  }
  return {};
}

const ServerOptions& Server::options() const {
  return impl_->options;
}

std::uint32_t Server::connections() const {
  return impl_->count;
}

std::uint32_t Server::outstanding() const {
  std::uint32_t sum = 0;
  for (const auto& c : impl_->slots) {
    if (c != nullptr) sum += c->responder.outstanding();
  }
  return sum;
}

void Server::grant(std::uint32_t most) {
  impl_->most_granted = std::clamp(most, 1U, impl_->options.responder.credits);
  impl_->share_credits();
}

std::uint32_t Server::granted() const {
  return impl_->granted;
}

ServerCounters Server::counters() const {
  ServerCounters sum = impl_->counters;
  if (impl_->duplicates) sum.duplicates = impl_->duplicates->counters();
  for (const auto& c : impl_->slots) {
    if (c == nullptr) continue;
    add(sum.responder, c->responder.counters());
    sum.calls += c->dispatcher.counters();
  }
  return sum;
}

std::vector<ConnectionInfo> Server::list() const {
  std::vector<ConnectionInfo> infos;
  for (const auto& c : impl_->slots) {
    if (c != nullptr && c->state == State::kUp) infos.push_back(c->info);
  }
  return infos;
}

}  // namespace rpcrdma::service
