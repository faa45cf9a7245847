// The client's connections: setup, version fallback, probes, reconnection with backoff, and orderly
// shutdown.
#include "channel_options.h"
#include "counters.h"
#include "later.h"
#include "rdma_config.h"
#include "thresholds.h"
#include "trace_hooks.h"

#include <algorithm>
#include <new>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <rpcrdma/fabric/out_of_memory.h>
#include <rpcrdma/fabric/rejection.h>
#include <rpcrdma/fabric/ring.h>
#include <rpcrdma/fabric/time_heap.h>
#include <rpcrdma/protocol/channel.h>
#include <rpcrdma/service/client.h>

namespace rpcrdma::service {

using fabric::EventType;
using fabric::Expected;
using fabric::Time;

namespace {

// Intervals that may pass without an answer. Usually the fabric reports a dead peer earlier, but
// not if the peer keeps answering with RNR NAKs because it has no Receives.
constexpr int kProbes = 3;
// Connections that are being established at a time. The requests of thousands would overflow the
// server's socket buffer and its list of waiting requests.
constexpr std::uint32_t kConnectingAtOnce = 128;
// Reverse Calls at a time that a client without programs refuses.
constexpr std::uint32_t kRefused = 4;
// Until a connection that found no memory tries again.
constexpr Time kWithoutMemory = 10 * fabric::kMillisecond;

// "1", "1 to 2"
std::string range_text(const protocol::Versions& v) {
  return v.low == v.high ? fmt::format("{}", v.low) : fmt::format("{} to {}", v.low, v.high);
}

std::string_view or_else(const std::string& text, std::string_view other) {
  return text.empty() ? other : std::string_view(text);
}

}  // namespace

const char* link_state_name(LinkState state) {
  switch (state) {
    case LinkState::kConnecting:
      return "connecting";
    case LinkState::kUp:
      return "up";
    case LinkState::kWaiting:
      return "waiting to try again";
    case LinkState::kClosing:
      return "closing";
    case LinkState::kClosed:
      return "closed";
  }
  return "?";
}

void CallDurations::add(const protocol::CallTimes& times) {
  whole.add(times.ended - times.called);
  credit.add(times.sent - times.called);
  reply.add(times.replied - times.sent);
  fence.add(times.ended - times.replied);
}

// A sequence of connections, and the requester that outlives them.
struct Link : protocol::RequesterOwner {
  Link(ClientObserver& o, CallDurations& d, const protocol::RequesterOptions& options,
       const protocol::Versions& v, std::uint32_t n)
      : observer(o), durations(d), versions(v), number(n), requester(*this, options) {
    info.number = n;
  }
  // Serves Calls of the server. `answered_later`: called when there is something to flush.
  void serve(const ClientOptions& options, Loop& loop, DuplicateCache* duplicates,
             std::function<void()> answered_later) {
    dispatcher.emplace(options.programs, options.server, loop.memory(), loop.clock(), duplicates);
    responder.emplace(*dispatcher, options.reverse);
    dispatcher->attach([this](std::uint64_t id, std::span<const protocol::Piece> message,
                              Time at) { return responder->reply(id, message, at); },
                       std::move(answered_later), {}, {},
                       [this](std::uint64_t id, Time at) { responder->drop(id, at); });
  }
  // Returns the server's versions if the client supports none of them. A channel may have been
  // offered fewer versions than the client supports: see remember_version().
  [[nodiscard]] std::optional<protocol::Versions> refused() const {
    if (channel == nullptr) return info.refused;
    const auto spoken = channel->refused();
    return spoken && !protocol::highest_common(versions, *spoken) ? spoken : std::nullopt;
  }
  [[nodiscard]] bool busy() const {
    return requester.outstanding() + requester.waiting() != 0 ||
           (responder && responder->outstanding() != 0);
  }

  void on_outcome(const protocol::CallOutcome& outcome) override {
    if (configuring == outcome.xid) {
      configuring.reset();
      return configured(outcome);
    }
    const bool replied = outcome.status == protocol::CallStatus::kReplied;
    if (replied) durations.add(outcome.times);
    if (outcome.status == protocol::CallStatus::kErrorVersion) {
      info.refused = refused();
    }
    if (silent) return;
    if (replied || (state == LinkState::kUp && !outcome.lost)) {
      return observer.on_outcome(outcome, number);
    }
    protocol::CallOutcome reported = outcome;
    // If a Call timed out, the connection was lost because of it, not the other way round. If the
    // peer does not support the version, the outcome itself explains it.
    const bool explained = outcome.status == protocol::CallStatus::kErrorVersion;
    if (!explained && (outcome.lost || outcome.attempts == 0)) reported.lost_for = lost_for;
    observer.on_outcome(reported, number);
  }

  ClientObserver& observer;
  CallDurations& durations;           // of all links
  const protocol::Versions versions;  // that the client supports
  const std::uint32_t number;
  bool silent = false;  // the client is being destroyed
  protocol::Requester requester;
  std::optional<Dispatcher> dispatcher;
  std::optional<protocol::Responder> responder;
  std::unique_ptr<protocol::Channel> channel;
  std::optional<std::uint32_t> configuring;  // the XID of CONF_RDMA while that is in flight
  std::function<void(const protocol::CallOutcome&)> configured;
  ConnectionInfo info;
  LinkState state = LinkState::kWaiting;
  std::uint64_t cookie = 0;
  std::uint32_t trace = 0;         // the connection's number in trace events; 0: none
  std::optional<bool> in_sample;   // of the traced connections; reconnecting does not change it
  bool connecting = false;         // it is one of kConnectingAtOnce
  bool established = false;        // the connection is or was established
  std::uint32_t attempts = 0;      // in a row
  Time backoff = 0;                // before the next attempt
  Time up_since = fabric::kNever;  // this connection
  std::uint64_t replies = 0;       // before this connection
  bool avoids_two = false;         // version 2, see remember_version()
  Time due = fabric::kNever;       // time limit of the state
  Time probed = 0;
  Time asked = 0;        // time of the first probe since the peer was last heard
  std::string what;      // kClosing: the reason, unless the user requested it
  std::string lost_for;  // why the last connection ended, or could not be set up
  bool dirty = false;    // has work for flush()
};

struct Client::Impl : LoopMember {
  Impl(Loop& l, const ClientOptions& o, ClientObserver& w)
      : loop(l),
        options(o),
        programs(o.programs.begin(), o.programs.end()),
        observer(w),
        accepts_invalidate(o.remote_invalidation && l.provider().limits().accepts_invalidate),
        private_data(own_private_data(o.inline_threshold, accepts_invalidate)),
        config_call(o.inline_threshold, o.config),
        random(std::random_device()()) {
    // A peer with a device like this one can read or write this much in one operation.
    if (const std::uint32_t most = l.provider().limits().message; most != 0) {
      options.max_segment = std::min(options.max_segment, most);
    }
    options.programs = programs;
    // Without programs, the responder only refuses Calls.
    if (programs.empty()) options.reverse.credits = std::min(options.reverse.credits, kRefused);
    if (options.profile == Profile::k5666) {
      options.requester.rfc5666 = true;
      ++options.requester.max_calls;  // for CONF_RDMA
    }
    if (!programs.empty() && options.duplicates.entries != 0) {
      duplicates.emplace(options.duplicates, loop.clock());
    }
    dirty.reserve(options.connections);
    flushing.reserve(options.connections);
    timers.reserve(options.connections);
    in_line.reserve(options.connections);
    for (std::uint32_t i = 0; i < options.connections; ++i) {
      protocol::RequesterOptions requester = options.requester;
      requester.first_xid = static_cast<std::uint32_t>(random());
      links.push_back(std::make_unique<Link>(observer, counters.durations, requester,
                                             options.version.versions, i));
      links.back()->backoff = options.backoff_first;
      links.back()->due = 0;
      links.back()->configured = [this, i](const protocol::CallOutcome& outcome) {
        configured(*links[i], outcome);
      };
      links.back()->serve(options, loop, duplicates ? &*duplicates : nullptr,
                          [this, i] { mark(*links[i]); });
      watch(*links.back());
    }
    loop.join(*this);
  }
  ~Impl() override {
    for (const auto& link : links) {
      link->silent = true;
      detach(*link, {trace::kHere, 0, "the client ends"}, loop.now());
    }
    loop.leave(*this);
    // So that the server is notified.
    loop.provider().progress();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // ----- connections start and end

  // Ends the connection first: then no peer can access the memory of its Calls any more, and
  // outcomes that were about to be reported are reported.
  void detach(Link& link, const EndedConnection& end, Time now) {
    leave_connecting(link, now);
    if (link.cookie != 0) loop.drop_cookie(std::exchange(link.cookie, 0));
    if (const auto channel = std::exchange(link.channel, nullptr)) channel->close(now);
    const std::uint32_t number = std::exchange(link.trace, 0);
    if (number == 0) return;
    link.established ? trace_end(loop, number, end, now)
                     : trace_failed(loop, number, end, {true, options.port, options.server}, now);
  }

  // Connects, or waits until fewer others do.
  void connect_in_turn(Link& link, Time now) {
    if (link.connecting || connecting < kConnectingAtOnce) return connect(link, now);
    link.due = fabric::kNever;
    in_line.push(link.number);
  }

  // The connection is established or ended: another one may connect.
  void leave_connecting(Link& link, Time now) {
    if (!std::exchange(link.connecting, false)) return;
    --connecting;
    for (bool found = false; !found && !in_line.empty(); in_line.pop()) {
      Link& next = *links[in_line.front()];
      found = next.state == LinkState::kWaiting;
      if (!found) continue;  // it was closed meanwhile
      next.due = now;
      watch(next);
    }
  }

  void connect(Link& link, Time now) {
    // It may have run out of memory before.
    if (!std::exchange(link.connecting, true)) ++connecting;
    ++counters.attempts;
    ++link.attempts;
    link.up_since = fabric::kNever;
    link.replies = link.requester.counters().replies;
    link.trace = new_trace_connection(loop);
    if (!link.in_sample) link.in_sample = in_trace_sample(loop, link.trace);
    const trace::ConnectionTracer tracer = connection_tracer(loop, link.trace, *link.in_sample);
    link.established = false;
    if (link.dispatcher) link.dispatcher->trace(tracer);
    // Receives have our maximum length; the limit for Sends is known when the peer has answered.
    protocol::ChannelOptions channel =
        channel_options(loop, options.version, options.max_segment, tracer);
    channel.terms =
        terms_of(options.version, {kLeastThreshold, options.inline_threshold, {}, false});
    if (link.avoids_two) channel.versions.high = protocol::kVersionOne;
    channel.accepts_invalidate = accepts_invalidate;
    // In version 1, Replies of the reverse direction do not use Remote Invalidation: the terms
    // exclude it.
    channel.sends_invalidate =
        options.remote_invalidation && loop.provider().limits().sends_invalidate;
    link.channel = std::make_unique<protocol::Channel>(loop.memory(), channel, &link.requester,
                                                       link.responder ? &*link.responder : nullptr);
    link.cookie = loop.add_cookie(*this, link.number);
    fabric::ConnectionOptions connection;
    connection.cookie = link.cookie;
    connection.depths = link.channel->depths();
    if (options.private_data) connection.private_data = private_data;
    connection.trace_connection = tracer.connection;
    auto begun = loop.provider().connect(options.server, options.port, connection);
    if (!begun) return lost(link, {trace::kHere, 0, begun.error().message}, now);
    const auto posted = link.channel->begin(std::move(*begun));
    if (!posted) return lost(link, {trace::kHere, 0, posted.error().message}, now);
    link.state = LinkState::kConnecting;
    link.due = later(now, options.connect_timeout);
    watch(link);
  }

  void established(Link& link, const fabric::Event& event, Time now) {
    ++counters.established;
    leave_connecting(link, now);
    link.state = LinkState::kUp;
    link.due = fabric::kNever;
    link.up_since = now;
    link.info.peer = options.server;
    link.info.thresholds = agree(options.inline_threshold, options.private_data, accepts_invalidate,
                                 event.private_data);
    link.info.since = now;
    link.established = true;
    trace_established(
        loop, link.trace,
        {true, options.port, options.private_data ? wire::Bytes(private_data) : wire::Bytes(),
         event.private_data, link.info.thresholds, event, options.version.versions,
         link.in_sample.value_or(true)},
        now);
    protocol::Terms terms = terms_of(options.version, link.info.thresholds);
    terms.remote_invalidation = false;  // for Replies that are sent here
    link.channel->agree(terms);
    link.info.configured.reset();
    link.channel->established(now);
    mark(link);
    observer.on_connected(link.info);
    // Before any Call of its observer.
    if (options.profile == Profile::k5666) configure(link, now);
    check_finished(link, now);
  }

  // Sends CONF_RDMA before anything else. One that was lost with the last connection is resent
  // anyway.
  void configure(Link& link, Time now) {
    if (link.configuring) return;
    protocol::CallSpec spec = config_call.spec();
    spec.timeout = options.connect_timeout;
    const auto xid = link.requester.call(spec, now);
    if (xid) link.configuring = *xid;
  }

  void configured(Link& link, const protocol::CallOutcome& outcome) {
    if (link.state != LinkState::kUp) return;
    const auto reply = RdmaConfigCall::read(outcome);
    if (reply) {
      protocol::Terms terms = terms_of(options.version, link.info.thresholds);
      terms.remote_invalidation = false;  // for Replies that are sent here
      configure_client(*reply, options.inline_threshold, options.config, terms);
      link.channel->agree(terms);
      link.info.thresholds.send = terms.inline_send;
      link.info.thresholds.receive = terms.inline_receive;
      link.info.configured = reply;
    }
    if (!link.silent) observer.on_configured(link.info);
  }

  // A peer that never answered in version 2 is tried in version 1 from now on. If it does not
  // answer that either, something else failed, and version 2 is tried again.
  void remember_version(Link& link) const {
    if (link.channel == nullptr || !options.version.versions.contains(protocol::kVersionOne))
      return;
    if (link.channel->lacks_version_two()) {
      link.avoids_two = true;
    } else if (link.avoids_two && link.requester.counters().replies == link.replies) {
      link.avoids_two = false;
    }
  }

  // Returns whether the connection was a success. A peer that accepts each connection only to drop
  // it, perhaps with the first Call, is tried less and less often, too.
  [[nodiscard]] bool was_of_use(const Link& link, Time now) const {
    return link.requester.counters().replies != link.replies ||
           now >= later(link.up_since, options.backoff_most);
  }

  // The connection has ended, for whatever reason: schedules the next attempt, or closes the link.
  void lost(Link& link, const EndedConnection& end, Time now) {
    std::string why(end.what);
    const bool asked_for = link.state == LinkState::kClosing && link.what.empty();
    remember_version(link);
    const auto spoken = link.refused();
    if (spoken) {
      link.info.refused = spoken;  // before the Calls' outcomes
      why = fmt::format("the peer supports RPC-over-RDMA version {}, not {}", range_text(*spoken),
                        range_text(link.versions));
    }
    link.lost_for = asked_for || closing ? "" : why;
    detach(link, {end.side, end.reject_reason, why, end.failed, end.private_data}, now);
    if (asked_for || closing) {
      link.state = LinkState::kClosed;
      link.due = fabric::kNever;
      link.requester.close(now);
      return observer.on_lost(link.number, why, fabric::kNever);
    }
    if (spoken) return give_up(link, *spoken, why, now);
    if (was_of_use(link, now)) {
      link.attempts = 0;
      link.backoff = options.backoff_first;
    }
    if (options.max_attempts != 0 && link.attempts >= options.max_attempts) {
      ++counters.given_up;
      link.state = LinkState::kClosed;
      link.due = fabric::kNever;
      link.requester.close(now);
      return observer.on_lost(link.number, why, fabric::kNever);
    }
    link.state = LinkState::kWaiting;
    std::uniform_int_distribution<Time> less(0, link.backoff / 4);
    link.due = later(now, link.backoff - less(random));
    link.backoff = std::min(later(link.backoff, link.backoff), options.backoff_most);
    watch(link);
    observer.on_lost(link.number, why, link.due);
    check_finished(link, now);
  }

  // Another connection would get the same answer. Observers learn this first, so that they make no
  // more Calls when the present ones end.
  void give_up(Link& link, const protocol::Versions& spoken, std::string_view why, Time now) {
    ++counters.given_up;
    link.state = LinkState::kClosed;
    link.due = fabric::kNever;
    observer.on_lost(link.number, why, fabric::kNever);
    link.requester.refuse(spoken, now);
  }

  // `what`: empty if the user requested it.
  void disconnect(Link& link, std::string_view what, Time now) {
    link.state = LinkState::kClosing;
    try {
      link.what = what;
    } catch (const std::bad_alloc&) {
      link.what = fabric::kOutOfMemory;
    }
    link.due = later(now, options.connect_timeout);
    watch(link);
    link.channel->connection().disconnect();
  }

  void check_finished(Link& link, Time now) {
    if (!finishing || link.busy()) return;
    switch (link.state) {
      case LinkState::kUp:
        return disconnect(link, {}, now);
      case LinkState::kConnecting:
      case LinkState::kWaiting:
        link.state = LinkState::kClosing;
        link.what.clear();
        return lost(link, {trace::kHere, 0, "closed"}, now);
      case LinkState::kClosing:
      case LinkState::kClosed:
        break;
    }
  }

  void close(Time now) {
    finishing = closing = true;
    for (const auto& link : links) {
      link->requester.close(now);
      mark(*link);
      check_closed(*link, now);
    }
  }

  // For a client that closes: not before its Calls' outcomes are reported.
  void check_closed(Link& link, Time now) {
    switch (link.state) {
      case LinkState::kUp:
        return disconnect(link, {}, now);
      case LinkState::kConnecting:
      case LinkState::kWaiting:
        return lost(link, {trace::kHere, 0, "closed"}, now);
      case LinkState::kClosing:
      case LinkState::kClosed:
        break;
    }
  }

  // ----- calls from the loop

  void on_event(std::uint32_t key, fabric::Event& event, Time now) override {
    or_lose(*links[key], now, [&] { on_event_of(*links[key], event, now); });
  }

  // If memory runs out for a connection, that connection is lost. Returns whether memory sufficed.
  template <typename Function>
  bool or_lose(Link& link, Time now, Function&& function) {
    try {
      function();
      return true;
    } catch (const std::bad_alloc&) {
      if (link.channel != nullptr) lost(link, {trace::kHere, 0, fabric::kOutOfMemory, true}, now);
      return false;
    }
  }

  void on_event_of(Link& link, fabric::Event& event, Time now) {
    switch (event.type) {
      case EventType::kEstablished:
        if (link.state == LinkState::kConnecting) established(link, event, now);
        break;
      case EventType::kRejected:
        ++counters.rejected;
        lost(link,
             {trace::kPeer, event.reject_reason,
              "rejected, " + fabric::rejection(event.reject_reason, event.private_data), false,
              event.private_data},
             now);
        break;
      case EventType::kUnreachable:
        ++counters.unreachable;
        lost(link, {trace::kPeer, 0, or_else(event.reason, "unreachable")}, now);
        break;
      case EventType::kDisconnected:
        if (link.state == LinkState::kUp) ++counters.lost;
        // Prefer the failure: it also names what failed.
        if (link.state == LinkState::kClosing) {
          lost(link,
               {trace::kHere, 0, or_else(link.what, or_else(event.reason, "disconnected")),
                event.failed},
               now);
        } else {
          // The side that detected the failure is the one that ends the connection.
          const std::string& failure = link.channel->failure();
          lost(link,
               {failure.empty() && !event.failed ? trace::kPeer : trace::kHere, 0,
                or_else(failure, or_else(event.reason, "disconnected")), event.failed},
               now);
        }
        break;
      case EventType::kRequest:
      case EventType::kProviderLost:
        break;
    }
  }

  void on_provider_lost(Time now) override {
    closing = finishing = true;
    for (const auto& link : links) {
      if (link->state != LinkState::kClosed) {
        lost(*link, {trace::kHere, 0, "the device is gone"}, now);
      }
    }
  }

  void on_completion(std::uint32_t key, const fabric::Completion& completion, Time now) override {
    Link& link = *links[key];
    link.channel->completed(completion, now);
    mark(link);
  }

  void mark(Link& link) {
    if (link.dirty) return;
    link.dirty = true;
    dirty.push_back(link.number);
  }

  void flush(Time now) override {
    // Work caused by outcomes waits for the next iteration, which follows at once: see deadline().
    flushing.swap(dirty);
    for (const std::uint32_t number : flushing) {
      Link& link = *links[number];
      link.dirty = false;
      watch(link);  // for its Calls
      if (link.channel == nullptr) continue;
      link.channel->flush(now);
      if (link.state == LinkState::kUp && !link.channel->failure().empty()) {
        ++counters.lost;
        disconnect(link, link.channel->failure(), now);
      }
      watch(link);  // for what was sent
      check_finished(link, now);
    }
    flushing.clear();
  }

  // ----- time

  [[nodiscard]] Time probe_due(const Link& link) const {
    if (link.state != LinkState::kUp || link.requester.outstanding() == 0) return fabric::kNever;
    return later(std::max(link.channel->heard(), link.probed), options.probe);
  }

  [[nodiscard]] Time deadline_of(const Link& link) const {
    return std::min({link.due, link.requester.deadline(), serving_due(link), probe_due(link)});
  }

  // The deadline of a responder here; a requester has deadlines without a connection, too.
  [[nodiscard]] static Time serving_due(const Link& link) {
    return link.responder && link.channel != nullptr ? link.channel->deadline() : fabric::kNever;
  }

  void watch(const Link& link) { timers.hasten(link.number, deadline_of(link)); }

  [[nodiscard]] Time deadline() const override {
    if (!dirty.empty()) return 0;
    Time least = timers.first_time();
    for (const Program* p : options.programs) least = std::min(least, p->deadline());
    return least;
  }

  void expire(Time now) override {
    for (Program* p : options.programs) {
      if (p->deadline() <= now) p->expire(now);
    }
    while (timers.first_time() <= now) {
      Link& link = *links[timers.first()];
      timers.remove(link.number);
      if (or_lose(link, now, [&] { expire(link, now); })) {
        watch(link);
      } else {
        // Not again at once: without memory, a connection attempt stays due, and this would not
        // end.
        timers.hasten(link.number, now + kWithoutMemory);
      }
    }
  }

  void expire(Link& link, Time now) {
    if (link.requester.deadline() <= now) {
      link.requester.expire(now);
      mark(link);
    }
    if (serving_due(link) <= now) {
      link.channel->expire(now);
      mark(link);
    }
    if (probe_due(link) <= now) {
      if (link.asked <= link.channel->heard()) {
        link.asked = now;
      } else if (now >= later(link.asked, kProbes * options.probe)) {
        ++counters.lost;
        return disconnect(link, "no sign of life", now);
      }
      link.probed = now;
      link.channel->probe(now);
    }
    if (link.due > now) return;
    switch (link.state) {
      case LinkState::kConnecting:
        ++counters.timed_out;
        lost(link, {trace::kHere, 0, "no answer in time", true}, now);
        break;
      case LinkState::kWaiting:
        connect_in_turn(link, now);
        break;
      case LinkState::kClosing:
        lost(link, {trace::kHere, 0, or_else(link.what, "closed, without an answer")}, now);
        break;
      case LinkState::kUp:
      case LinkState::kClosed:
        break;
    }
  }

  Link* least_busy() {
    Link* best = nullptr;
    std::uint64_t least = UINT64_MAX;
    for (const auto& link : links) {
      if (link->state == LinkState::kClosed) continue;
      // A connection that is up is preferred to one that may never be.
      const std::uint64_t load = (link->state == LinkState::kUp ? 0 : std::uint64_t{1} << 32U) +
                                 link->requester.outstanding() + link->requester.waiting();
      if (load < least) {
        least = load;
        best = link.get();
      }
    }
    return best;
  }

  Expected<std::uint32_t> call(Link* link, const protocol::CallSpec& spec) {
    if (!usable(link)) return fabric::fail(fabric::Errc::kNotConnected, "the client is closed");
    return link->requester.call(spec, loop.now());
  }
  Expected<std::uint32_t> option(Link* link, const protocol::OptionSpec& spec) {
    if (!usable(link)) return fabric::fail(fabric::Errc::kNotConnected, "the client is closed");
    return link->requester.option(spec, loop.now());
  }
  [[nodiscard]] bool usable(Link* link) {
    if (finishing || link == nullptr || link->state == LinkState::kClosed) return false;
    mark(*link);
    return true;
  }

  Loop& loop;
  ClientOptions options;
  const std::vector<Program*> programs;  // copied from the options
  ClientObserver& observer;
  const bool accepts_invalidate;
  const std::array<std::uint8_t, wire::kPrivateDataBytes> private_data;
  const RdmaConfigCall config_call;
  ClientCounters counters;  // without the requesters' counters
  std::optional<DuplicateCache> duplicates;
  std::vector<std::unique_ptr<Link>> links;
  std::vector<std::uint32_t> dirty, flushing;  // links with work for flush()
  // The time at which a link needs attention, or earlier: activity postpones most deadlines.
  fabric::TimeHeap timers;
  // Links in kWaiting whose turn to connect comes when fewer others connect.
  fabric::Ring<std::uint32_t> in_line{SIZE_MAX};
  std::uint32_t connecting = 0;  // links
  std::minstd_rand random;
  bool finishing = false;
  bool closing = false;
};

Expected<std::unique_ptr<Client>> Client::create(Loop& loop, const ClientOptions& options,
                                                 ClientObserver& observer) {
  if (!is_threshold(options.inline_threshold)) {
    return fabric::fail(fabric::Errc::kBadArgument,
                        "an inline threshold is 1 to 256 KiB, in whole KiB");
  }
  if (auto checked = check(options.version); !checked) return tl::unexpected(checked.error());
  if (options.connections == 0 || options.requester.credits == 0 ||
      options.requester.max_calls == 0 || options.connect_timeout <= 0 || options.probe <= 0 ||
      options.backoff_first <= 0 || options.backoff_most < options.backoff_first) {
    return fabric::fail(fabric::Errc::kBadArgument,
                        "a limit is 0, or the longest backoff is shorter than the first");
  }
  return std::unique_ptr<Client>(new Client(std::make_unique<Impl>(loop, options, observer)));
}

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;

Expected<std::uint32_t> Client::call(const protocol::CallSpec& spec) {
  return impl_->call(impl_->least_busy(), spec);
}

Expected<std::uint32_t> Client::call_on(std::uint32_t connection, const protocol::CallSpec& spec) {
  return impl_->call(connection < impl_->links.size() ? impl_->links[connection].get() : nullptr,
                     spec);
}

Expected<std::uint32_t> Client::option(const protocol::OptionSpec& spec) {
  return impl_->option(impl_->least_busy(), spec);
}

void Client::finish() {
  impl_->finishing = true;
  for (const auto& link : impl_->links) impl_->check_finished(*link, impl_->loop.now());
}

void Client::close() {
  impl_->close(impl_->loop.now());
}

bool Client::closed() const {
  return std::ranges::all_of(impl_->links, [](const auto& link) {
    return link->state == LinkState::kClosed &&
           link->requester.outstanding() + link->requester.waiting() == 0;
  });
}

const ClientOptions& Client::options() const {
  return impl_->options;
}

std::uint32_t Client::connections() const {
  return static_cast<std::uint32_t>(impl_->links.size());
}

std::uint32_t Client::up() const {
  return static_cast<std::uint32_t>(std::ranges::count_if(
      impl_->links, [](const auto& link) { return link->state == LinkState::kUp; }));
}

LinkState Client::state(std::uint32_t connection) const {
  return impl_->links[connection]->state;
}
const ConnectionInfo& Client::info(std::uint32_t connection) const {
  return impl_->links[connection]->info;
}
const protocol::Requester& Client::requester(std::uint32_t connection) const {
  return impl_->links[connection]->requester;
}

std::uint32_t Client::outstanding() const {
  std::uint32_t sum = 0;
  for (const auto& link : impl_->links) sum += link->requester.outstanding();
  return sum;
}

std::uint32_t Client::waiting() const {
  std::uint32_t sum = 0;
  for (const auto& link : impl_->links) sum += link->requester.waiting();
  return sum;
}

ClientCounters Client::counters() const {
  ClientCounters sum = impl_->counters;
  if (impl_->duplicates) sum.duplicates = impl_->duplicates->counters();
  for (const auto& link : impl_->links) {
    add(sum.requester, link->requester.counters());
    if (!link->responder) continue;
    add(sum.reverse, link->responder->counters());
    sum.reverse_calls += link->dispatcher->counters();
  }
  return sum;
}

}  // namespace rpcrdma::service
