// The model already keeps nearly everything shown and is read once a second, so an event costs
// little more here than in the model. Only what must be seen as it happens is taken from events:
// Call latency, maximum credits in use, findings.
#include "counts.h"
#include "ends_window.h"
#include "network.h"
#include "sum_histogram.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/base/histogram.h>
#include <rpcrdma/ends/collector.h>
#include <rpcrdma/roce/by_connection.h>
#include <rpcrdma/session/session.h>
#include <rpcrdma/states/call_states.h>
#include <rpcrdma/top/gather.h>
#include <rpcrdma/trace_reader/stream_end.h>

namespace rpcrdma::top {

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
// Latency covers the current interval of this length and the previous one.
constexpr unsigned kLatencySeconds = 5;
constexpr std::int64_t kMostSilentNs = 10 * kSecond;  // as long as the rules allow for a Reply
constexpr std::size_t kMostText = 512;  // maximum bytes of an endpoint's name or error text
// Latencies in one histogram; a bucket holds twice as many.
constexpr std::uint64_t kMostLatencies = std::uint64_t{1} << 31U;

}  // namespace

// Latencies of recent Calls.
class RecentTimes {
 public:
  void add(std::int64_t ns) {
    if (now_ == nullptr) now_ = std::make_unique<base::Histogram>();
    now_->add(ns);
    changed_ = true;
  }
  void rotate() {
    changed_ |= before_ != nullptr || now_ != nullptr;
    before_ = std::move(now_);
  }
  [[nodiscard]] const Latency& latency() {
    if (!std::exchange(changed_, false)) return latency_;
    latency_ = {};
    if (now_ == nullptr && before_ == nullptr) return latency_;
    base::Histogram both = now_ != nullptr ? *now_ : *before_;
    if (now_ != nullptr && before_ != nullptr) both.merge(*before_);
    latency_ = {both.quantile(0.5), both.quantile(0.99)};
    return latency_;
  }

 private:
  std::unique_ptr<base::Histogram> now_, before_;
  bool changed_ = false;
  Latency latency_;
};

struct ConnectionRow {
  std::uint32_t index = 0;  // roce::Connection::index
  std::uint32_t endpoint = 0;
  std::uint8_t local = 0;
  bool recorded = false;   // credits were seen in events
  bool peer_gone = false;  // the endpoint at the other end ended without closing it
  Credits credits;
  Credits most;  // maximum in this second
  std::uint64_t sent_again = 0, naks = 0, rnr_naks = 0;
  RecentTimes times;
  Totals totals;  // at the last tick
  Rates rates;
  Latency latency;
  std::deque<Credits> history;
  std::int64_t closed_ns = -1;
  std::int64_t moved_ns = -1;  // latest second with a message or without Calls in flight
  // Since when no message came while Calls sent before this view began are in flight; -1: not so.
  // In the clock of tick().
  std::int64_t silent_since_ns = -1;
  std::uint32_t silent_calls = 0;
  bool silence_found = false;
};

namespace {

std::string text_of(wire::Bytes payload) {
  payload = payload.first(std::min(payload.size(), kMostText));
  return {reinterpret_cast<const char*>(payload.data()), payload.size()};
}

std::string end_text(const roce::Side& side) {
  return side.qpn_known ? fmt::format("{}.{}", side.address.to_string(), side.qpn)
                        : side.address.to_string() + ".?";
}

Totals totals_of(const model::ConnectionModel& c) {
  Totals t;
  for (const model::CallerCounts& caller : c.caller) {
    t.calls += caller.calls;
    t.replies += caller.replies;
    t.errors += caller.errors;
  }
  t.chunks = c.chunks;
  t.chunk_bytes = c.chunk_bytes;
  return t;
}

void add_to(Totals& to, const Totals& t) {
  to.calls += t.calls;
  to.replies += t.replies;
  to.errors += t.errors;
  for (std::size_t i = 0; i < t.chunks.size(); ++i) {
    to.chunks[i] += t.chunks[i];
    to.chunk_bytes[i] += t.chunk_bytes[i];
  }
}

void add_to(Rates& to, const Rates& r) {
  to.calls += r.calls;
  for (std::size_t i = 0; i < r.chunk_bytes.size(); ++i) to.chunk_bytes[i] += r.chunk_bytes[i];
}

Rates rates_of(const Totals& now, const Totals& before, double seconds) {
  const auto rate = [&](std::uint64_t to, std::uint64_t from) {
    return to > from ? static_cast<double>(to - from) / seconds : 0;
  };
  Rates r;
  r.calls = rate(now.calls, before.calls);
  for (std::size_t i = 0; i < r.chunk_bytes.size(); ++i) {
    r.chunk_bytes[i] = rate(now.chunk_bytes[i], before.chunk_bytes[i]);
  }
  return r;
}

Credits most_of(const Credits& a, const Credits& b) {
  return {std::max(a.requested, b.requested), std::max(a.granted, b.granted),
          std::max(a.in_use, b.in_use), std::max(a.waiting, b.waiting), std::max(a.limit, b.limit)};
}

// Address and QPN of both ends of a connection.
using Ends = std::array<std::pair<std::string, std::uint32_t>, 2>;
Ends ends_of(const roce::Connection& c) {
  return {{{c.side[0].address.to_string(), c.side[0].qpn},
           {c.side[1].address.to_string(), c.side[1].qpn}}};
}

// Sort key: larger comes first.
double weight(const ConnectionRow& r, Sort sort) {
  switch (sort) {
    case Sort::kCalls:
      return r.rates.calls;
    case Sort::kLatency:
      return static_cast<double>(r.latency.p99_ns);
    case Sort::kInUse:
      return r.history.empty() ? 0 : r.history.back().in_use;
    case Sort::kWaiting:
      return r.history.empty() ? 0 : r.history.back().waiting;
    case Sort::kId:
      break;
  }
  return 0;
}

// Rule, connection, peer; topic, for a finding with a share.
using FindingKey = std::tuple<std::string, std::uint32_t, std::string, std::uint32_t>;

}  // namespace

struct KeptFinding {
  ShownFinding finding;
  std::uint64_t order = 0;  // increases with each sighting
};

// What Follow::kCalls needs.
struct FollowedCalls {
  states::CallStates states;
  // Half Calls of a second, of all endpoints.
  static constexpr std::size_t kMostHalves = 1 << 16;
  ends::Collector halves{kMostHalves};
  EndsWindow window;
};

struct Gather::Impl final : model::Observer, trace_reader::Observer {
  Impl(rules::Profile profile, Follow follow)
      : followed(follow == Follow::kCalls ? std::make_unique<FollowedCalls>() : nullptr),
        session(
            {.rules = rules::Findings::Options{profile,
                                               [this](const rules::Occurrence& o) { found(o); }},
             .join_views = false},
            observers()),
        pipeline(session.pipeline()) {
    if (followed != nullptr) followed->halves.attach(session.context());
  }

  session::Observers observers() {
    session::Observers all{.after_rules = {this}, .events = {this}};
    if (followed == nullptr) return all;
    all.after_rules.insert(all.after_rules.end(), {&followed->states, &followed->halves});
    all.events.insert(all.events.end(), {&followed->states, &followed->halves});
    return all;
  }

  std::unique_ptr<FollowedCalls> followed;  // null: Follow::kCounts
  session::Session session;
  session::Pipeline& pipeline;

  std::vector<ShownEndpoint> endpoints;
  std::vector<std::string> hosts;                    // of each, as put before its name
  std::vector<trace_reader::StreamEnd> stream_ends;  // one per endpoint
  std::uint32_t from = 0;                            // the endpoint that sent the current frame
  std::int64_t frame_ns = 0;
  roce::ByConnection<ConnectionRow> rows;
  Totals gone;  // of connections that no longer have a row
  RecentTimes times;
  Counts counts;
  Network network;
  // All latencies of this epoch: of messages; of counted connections, forgotten ones and those of
  // earlier epochs.
  base::Histogram latencies;
  trace_reader::SumLatencies gone_latencies, earlier_latencies;
  std::uint64_t latency_epoch = 0;
  std::int64_t tick_ns = 0;  // of the latest tick
  std::uint64_t faults = 0;
  std::map<FindingKey, KeptFinding> kept;
  std::uint64_t found_order = 0;
  std::uint64_t found_kinds = 0;
  std::array<std::uint64_t, 3> found_count{};

  std::int64_t second_began = -1;
  unsigned seconds = 0;
  bool measured = false;
  std::uint64_t events_before = 0;
  double events_rate = 0;
  Totals totals;
  Rates rates;

  [[nodiscard]] const model::ConnectionModel& model(const ConnectionRow& r) const {
    return pipeline.model().connection(r.index);
  }
  [[nodiscard]] Credits credits_of(const ConnectionRow& r) const {
    if (r.recorded) return r.credits;
    const model::Credits& counted = counted_credits(r);
    return {counted.requested, counted.granted, counted.in_use, 0, 0};
  }
  // A connection with sums has no messages.
  [[nodiscard]] bool is_counted(const ConnectionRow& r) const { return counts.has(r.index); }
  [[nodiscard]] Totals totals_of_row(const ConnectionRow& r) const {
    return is_counted(r) ? counts.totals(r.index) : totals_of(model(r));
  }
  // Returns the credits as counted from messages.
  [[nodiscard]] const model::Credits& counted_credits(const ConnectionRow& r) const {
    const model::ConnectionModel& c = model(r);
    return c.caller[c.client == 1 ? 1 : 0].credits;
  }

  [[nodiscard]] trace_reader::SumLatencies counted_latencies() const {
    trace_reader::SumLatencies counted = counts.all_latencies();
    counted.add(gone_latencies);
    return counted;
  }
  void begin_epoch();

  void on_event(const trace_reader::Event& event) override;
  void credits(const trace_reader::Event& event);
  void on_call_end(const model::CallEnded& event) override;
  void on_refusal(const roce::Acknowledgement& event) override;
  void on_retransmission(const roce::Retransmission& event) override;
  void on_evict(const roce::Connection& connection) override { forget(connection.index); }
  void forget(std::uint32_t index);
  void found(const rules::Occurrence& o);
  void note(ShownFinding finding, std::uint32_t topic = 0);
  // Returns null if it was evicted.
  [[nodiscard]] const roce::Connection* connection(const ConnectionRow& r) const {
    return pipeline.connections().find(r.index);
  }
  [[nodiscard]] bool is_open(const ConnectionRow& r) const {
    const roce::Connection* c = connection(r);
    return c != nullptr && c->state < roce::State::kRejected && !endpoints[r.endpoint].ended &&
           !r.peer_gone;
  }
  [[nodiscard]] const char* state_of(const ConnectionRow& r) const;
  void ended(std::uint32_t endpoint, const std::string& why, std::int64_t wall_ns);
  void find_silence(ConnectionRow& r, bool open, const Totals& now, std::int64_t now_ns);
  void end_second(std::int64_t now_ns, double length);
  void join_ends(std::int64_t now_ns);
  [[nodiscard]] std::vector<const ConnectionRow*> in_order(Sort sort) const;
  [[nodiscard]] ShownConnection shown(const ConnectionRow& r) const;
};

void Gather::Impl::on_event(const trace_reader::Event& event) {
  switch (event.type()) {
    case trace::EventType::kEndpoint: {
      const auto recorded = *trace::read_event<trace::Endpoint>(event.view);
      const std::size_t name =
          std::min<std::size_t>(recorded.name_bytes, event.view.payload.size());
      if (name != 0) endpoints[from].name = hosts[from] + text_of(event.view.payload.first(name));
      endpoints[from].role = text_of(event.view.payload.subspan(name));
      endpoints[from].source = recorded.source;
      endpoints[from].process = recorded.process;
      endpoints[from].since_ns = recorded.since;
      break;
    }
    case trace::EventType::kConnection:
      if (event.connection != nullptr) {
        ConnectionRow& r = rows[event.connection->index];
        r.index = event.connection->index;
        r.endpoint = from;
        r.local = event.local;
        if (trace::read_event<trace::Connection>(event.view)->sees_peer_operations != 0)
          network.has_fabric(from);
      }
      break;
    case trace::EventType::kFabric:
      network.fabric(from, *trace::read_event<trace::Fabric>(event.view));
      break;
    case trace::EventType::kCredits:
      credits(event);
      break;
    case trace::EventType::kProcedureSums:
    case trace::EventType::kConnectionSums:
      counts.take(event);
      break;
    case trace::EventType::kError: {
      const auto recorded = *trace::read_event<trace::Error>(event.view);
      ShownFinding f;
      f.count = 1;
      f.severity = rules::Severity::kError;
      f.text = text_of(event.view.payload);
      if (event.connection != nullptr) {
        f.connection = event.connection->index + 1;
        f.peer = event.connection->side[event.side(recorded.side)].address.to_string();
      }
      note(std::move(f));
      break;
    }
    case trace::EventType::kFault:
      faults += trace::read_event<trace::Fault>(event.view)->packets;
      break;
    default:
      break;
  }
}

void Gather::Impl::credits(const trace_reader::Event& event) {
  if (event.connection == nullptr) return;
  ConnectionRow* r = rows.find(event.connection->index);
  if (r == nullptr) return;
  const auto recorded = *trace::read_event<trace::Credits>(event.view);
  if (model(*r).reverse(event.side(recorded.side))) return;
  r->recorded = true;
  r->credits = {recorded.requested,
                trace::granted_credits(recorded).value_or(counted_credits(*r).granted),
                recorded.in_use, recorded.waiting, trace::credit_limit(recorded)};
  r->most = most_of(r->most, r->credits);
  r->most.in_use = std::max(r->most.in_use, recorded.in_use_most);
}

void Gather::Impl::on_call_end(const model::CallEnded& event) {
  const model::Message* const answer = event.answer;
  if (answer == nullptr || answer->latency_ns < 0) return;
  times.add(answer->latency_ns);
  latencies.add(answer->latency_ns);
  if (ConnectionRow* r = rows.find(event.call.message.connection)) r->times.add(answer->latency_ns);
}

void Gather::Impl::on_refusal(const roce::Acknowledgement& event) {
  if (ConnectionRow* r = rows.find(event.connection.index)) {
    ++(event.aeth.is_rnr() ? r->rnr_naks : r->naks);
  }
}

void Gather::Impl::on_retransmission(const roce::Retransmission& event) {
  if (ConnectionRow* r = rows.find(event.connection.index)) r->sent_again += event.count;
}

// Called before the model evicts the connection.
void Gather::Impl::forget(std::uint32_t index) {
  const ConnectionRow* r = rows.find(index);
  if (r == nullptr) return;
  add_to(gone, totals_of_row(*r));
  gone_latencies.add(counts.all_latencies(index));
  counts.forget(index);
  rows.erase(index);
}

void Gather::Impl::found(const rules::Occurrence& o) {
  ShownFinding f;
  f.severity = o.severity;
  f.rule = o.rule.name;
  f.text = o.text;
  f.advice = o.advice != nullptr ? o.advice : "";
  f.count = o.evidence.phase == rules::ReportPhase::kFound ? o.evidence.count : 0;
  f.span = o.evidence.span;
  if (const roce::Connection* c = o.evidence.connection) {
    f.connection = c->index + 1;
    if (o.evidence.side >= 0) {
      const int client = pipeline.model().connection(c->index).client;
      f.peer = fmt::format("{}{}",
                           client < 0                  ? ""
                           : client == o.evidence.side ? "client "
                                                       : "server ",
                           c->side[static_cast<std::size_t>(o.evidence.side)].address.to_string());
    }
  }
  note(std::move(f), o.evidence.of != 0 ? o.evidence.topic : 0);
}

void Gather::Impl::note(ShownFinding finding, std::uint32_t topic) {
  finding.count = std::max<std::uint64_t>(finding.count, 1);
  found_count[static_cast<std::size_t>(finding.severity)] += finding.count;
  finding.last_ns = frame_ns;
  // A report by an endpoint about itself has no rule; its text identifies it.
  if (const ConnectionRow* r =
          finding.connection != 0 ? rows.find(finding.connection - 1) : nullptr;
      r != nullptr && connection(*r) != nullptr) {
    finding.local_end = end_text(connection(*r)->side[r->local]);
    finding.peer_end = end_text(connection(*r)->side[1U - r->local]);
  }
  const FindingKey key{finding.rule.empty() ? finding.text : finding.rule, finding.connection,
                       finding.peer, topic};
  auto at = kept.find(key);
  if (at == kept.end()) {
    if (kept.size() >= kMostFindings) {
      kept.erase(std::min_element(kept.begin(), kept.end(), [](const auto& a, const auto& b) {
        return a.second.order < b.second.order;
      }));
    }
    at = kept.emplace(key, KeptFinding{}).first;
    at->second.finding.number = ++found_kinds;
  }
  finding.count += at->second.finding.count;
  finding.number = at->second.finding.number;
  at->second.finding = std::move(finding);
  at->second.order = ++found_order;
}

const char* Gather::Impl::state_of(const ConnectionRow& r) const {
  const roce::Connection& c = pipeline.connections().connection(r.index);
  switch (c.state) {
    case roce::State::kRejected:
      return "rejected";
    case roce::State::kClosed:
      return "closed";
    default:
      break;
  }
  if (endpoints[r.endpoint].ended) return "gone";
  if (r.peer_gone) return "no peer";
  return (c.absent & roce::kAbsentMessages) == 0 ? "open" : "not sampled";
}

// A peer whose adapter is gone notices only after its retries, which take seconds.
void Gather::Impl::ended(std::uint32_t endpoint, const std::string& why, std::int64_t wall_ns) {
  ShownEndpoint& e = endpoints[endpoint];
  std::set<Ends> left;
  rows.for_each([&](const ConnectionRow& r) {
    if (r.endpoint == endpoint && is_open(r)) left.insert(ends_of(*connection(r)));
  });
  e.ended = true;
  e.why = why;
  e.ended_ns = wall_ns;
  e.in_order = stream_ends[endpoint].in_order();
  if (!left.empty()) {
    rows.for_each([&](ConnectionRow& r) {
      if (r.endpoint != endpoint && is_open(r))
        r.peer_gone = left.contains(ends_of(*connection(r)));
    });
  }
  if (e.in_order) return;
  frame_ns = wall_ns;
  ShownFinding f;
  f.severity = rules::Severity::kWarning;
  f.text =
      fmt::format("{} was killed or crashed: it ended without closing its connections", e.name);
  f.advice = "find out why its process ended: the system's log, a core file, the service manager";
  note(std::move(f));
}

// A connection that hung before this view began: the rules have not seen its Calls; only the
// endpoint's credits count them.
void Gather::Impl::find_silence(ConnectionRow& r, bool open, const Totals& now,
                                std::int64_t now_ns) {
  const auto seen = [&](std::size_t caller) {
    return pipeline.model().oldest_call(r.index, caller) != nullptr;
  };
  const std::uint32_t in_use = credits_of(r).in_use;
  const bool moved = now.calls != r.totals.calls || now.replies != r.totals.replies;
  if (!open || !r.recorded || in_use == 0 || moved || seen(0) || seen(1) || is_counted(r)) {
    r.silent_since_ns = -1;
    r.silence_found = false;
    return;
  }
  if (r.silent_since_ns < 0 || r.silent_calls != in_use) r.silent_since_ns = now_ns;
  r.silent_calls = in_use;
  if (r.silence_found || now_ns - r.silent_since_ns < kMostSilentNs) return;
  r.silence_found = true;
  const model::ConnectionModel& m = model(r);
  const bool calls_here = m.client >= 0 ? m.client == r.local : r.local == 0;
  const roce::Side& responder = connection(r)->side[calls_here ? 1U - r.local : r.local];
  ShownFinding f;
  f.severity = rules::Severity::kWarning;
  f.rule = rules::rule(rules::RuleId::kStall).name;
  f.connection = r.index + 1;
  f.peer = "server " + responder.address.to_string();
  f.text = fmt::format("{} Call{} in flight since before this view began, unanswered for {} s",
                       in_use, in_use == 1 ? "" : "s", kMostSilentNs / kSecond);
  f.advice = rules::rule(rules::RuleId::kStall).advice;
  note(std::move(f));
}

// Before a bucket of the histogram is full.
void Gather::Impl::begin_epoch() {
  trace_reader::SumLatencies counted = counted_latencies();
  const trace_reader::SumLatencies all = counted;
  counted.subtract(earlier_latencies);
  if (latencies.count() < kMostLatencies && counted.count() < kMostLatencies) return;
  latencies = {};
  earlier_latencies = all;
  ++latency_epoch;
}

void Gather::Impl::end_second(std::int64_t now_ns, double length) {
  const bool rotates = ++seconds % kLatencySeconds == 0;
  begin_epoch();
  network.end_second(length);
  if (followed != nullptr) join_ends(now_ns);
  Totals all = gone;
  Rates counted;
  std::vector<std::uint32_t> over;
  rows.for_each([&](ConnectionRow& r) {
    const roce::Connection* c = connection(r);
    const Totals t = totals_of_row(r);
    if (is_counted(r)) {
      // The source's seconds are not those of this view.
      r.rates = counts.rates(r.index, now_ns);
      r.latency = counts.latency(r.index, now_ns);
      add_to(counted, r.rates);
    } else {
      add_to(all, t);
      r.rates = rates_of(t, r.totals, length);
      r.latency = r.times.latency();
    }
    find_silence(r, is_open(r), t, now_ns);
    const bool idle = credits_of(r).in_use == 0 || is_counted(r);
    if (r.moved_ns < 0 || idle || t.calls != r.totals.calls || t.replies != r.totals.replies) {
      r.moved_ns = now_ns;
    }
    r.totals = t;
    if (rotates) r.times.rotate();
    const Credits credits = credits_of(r);
    r.history.push_back(most_of(std::exchange(r.most, credits), credits));
    if (r.history.size() > kHistory) r.history.pop_front();
    const bool open = c != nullptr && c->state < roce::State::kRejected;
    if (open) {
      r.closed_ns = -1;
    } else if (r.closed_ns < 0) {
      r.closed_ns = now_ns;
    } else if (now_ns - r.closed_ns >= kShownClosedNs && !endpoints[r.endpoint].ended) {
      over.push_back(r.index);
    }
  });
  for (const std::uint32_t index : over) forget(index);
  rates = rates_of(all, totals, length);
  add_to(rates, counted);
  totals = all;
  if (rotates) times.rotate();
  const std::uint64_t events = pipeline.frames().events;
  events_rate = static_cast<double>(events - events_before) / length;
  events_before = events;
  measured = true;
}

void Gather::Impl::join_ends(std::int64_t now_ns) {
  const ends::SourceHalves halves = followed->halves.take(false);
  // One endpoint alone has nothing to join.
  if (endpoints.size() < 2) return;
  const auto endpoint_of = [this](std::uint32_t id) {
    const ConnectionRow* r = id != 0 ? rows.find(id - 1) : nullptr;
    return r != nullptr ? r->endpoint : EndsWindow::kNone;
  };
  followed->window.add(halves, endpoint_of, now_ns);
  std::vector<std::string> names;
  names.reserve(endpoints.size());
  for (const ShownEndpoint& e : endpoints) names.push_back(e.name);
  followed->window.join(names, now_ns);
}

std::vector<const ConnectionRow*> Gather::Impl::in_order(Sort sort) const {
  std::vector<std::pair<double, const ConnectionRow*>> weighed;
  weighed.reserve(rows.size());
  rows.for_each([&](const ConnectionRow& r) { weighed.emplace_back(weight(r, sort), &r); });
  std::stable_sort(weighed.begin(), weighed.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<const ConnectionRow*> all;
  all.reserve(weighed.size());
  for (const auto& [w, r] : weighed) all.push_back(r);
  return all;
}

ShownConnection Gather::Impl::shown(const ConnectionRow& r) const {
  ShownConnection s;
  s.id = r.index + 1;
  s.endpoint = endpoints[r.endpoint].name;
  const roce::Connection& c = pipeline.connections().connection(r.index);
  const model::ConnectionModel& m = model(r);
  s.local = end_text(c.side[r.local]);
  s.peer = end_text(c.side[1U - r.local]);
  s.calls_here = m.client >= 0 ? m.client == r.local : r.local == 0;
  s.state = state_of(r);
  s.open = is_open(r);
  s.in_sample = (c.absent & roce::kAbsentMessages) == 0;
  s.version = m.version;
  s.inline_call = m.thresholds.call;
  s.inline_reply = m.thresholds.reply;
  s.totals = totals_of_row(r);
  s.rates = r.rates;
  s.latency = r.latency;
  s.credits = credits_of(r);
  if (r.moved_ns >= 0 && s.open) s.silent_ns = tick_ns - r.moved_ns;
  s.sent_again = r.sent_again;
  s.naks = r.naks;
  s.rnr_naks = r.rnr_naks;
  s.history.assign(r.history.begin(), r.history.end());
  if (is_counted(r)) s.counts = counts.shown(r.index, tick_ns);
  if (followed != nullptr && s.open) s.outstanding = followed->states.counts(r.index);
  return s;
}

Cumulative Gather::cumulative() const {
  const Impl& i = *impl_;
  Cumulative c;
  c.totals = i.gone;
  i.rows.for_each([&](const ConnectionRow& r) {
    add_to(c.totals, i.totals_of_row(r));
    if (!i.is_open(r)) return;
    const Credits credits = i.credits_of(r);
    ++c.open;
    c.requested += credits.requested;
    c.granted += credits.granted;
    c.in_use += credits.in_use;
    c.waiting += credits.waiting;
  });
  trace_reader::SumLatencies counted = i.counted_latencies();
  counted.subtract(i.earlier_latencies);
  c.latency = i.latencies;
  c.latency.merge(to_histogram(counted));
  c.latency_epoch = i.latency_epoch;
  c.events = i.pipeline.events();
  c.faults = i.faults;
  c.found = i.found_count;
  return c;
}

const std::array<std::uint64_t, 3>& Gather::found() const {
  return impl_->found_count;
}

const ShownEndpoint& Gather::endpoint(std::uint32_t endpoint) const {
  return impl_->endpoints[endpoint];
}

Gather::Gather(rules::Profile profile, Follow follow)
    : impl_(std::make_unique<Impl>(profile, follow)) {}
Gather::~Gather() = default;

std::uint32_t Gather::add(const std::string& name, const std::string& host) {
  impl_->hosts.push_back(host.empty() ? host : host + ":");
  impl_->endpoints.emplace_back().name = name;
  impl_->stream_ends.emplace_back();
  return static_cast<std::uint32_t>(impl_->endpoints.size() - 1);
}

void Gather::frame(std::uint32_t endpoint, const capture::Frame& frame) {
  impl_->from = endpoint;
  impl_->frame_ns = frame.time_ns;
  if (frame.link == capture::LinkType::kUpperPdu) impl_->stream_ends[endpoint].frame(frame.data);
  capture::Frame numbered = frame;
  numbered.number = impl_->pipeline.frames().total + 1;
  numbered.file = numbered.lane = endpoint;
  impl_->pipeline.frame(numbered);
}

void Gather::ended(std::uint32_t endpoint, const std::string& why, std::int64_t wall_ns) {
  impl_->ended(endpoint, why, wall_ns);
}

void Gather::devices(const host::Devices& devices) {
  impl_->network.devices(devices);
}

void Gather::tick(std::int64_t now_ns, bool at_once) {
  Impl& i = *impl_;
  i.tick_ns = now_ns;
  if (i.second_began < 0) i.second_began = now_ns;
  const std::int64_t length = now_ns - i.second_began;
  if (length <= 0 || (length < kSecond && !at_once)) return;
  i.end_second(now_ns, static_cast<double>(length) / kSecond);
  i.second_began = now_ns;
}

Shown Gather::show(View& view, std::size_t rows, std::int64_t wall_ns) const {
  const Impl& i = *impl_;
  Shown s;
  s.now_ns = wall_ns;
  s.measured = i.measured;
  s.endpoints = i.endpoints;
  s.events = i.pipeline.events();
  s.events_rate = i.events_rate;
  s.totals = i.gone;
  s.rates = i.rates;
  s.latency = impl_->times.latency();
  if (s.latency.p50_ns < 0) s.latency = i.counts.latency_of_all(i.tick_ns);
  s.faults = i.faults;
  s.found = i.found_count;

  s.network = i.network.shown(i.endpoints);
  s.network_history.assign(i.network.history().begin(), i.network.history().end());
  if (i.followed != nullptr) {
    s.ends = i.followed->window.shown();
  }

  const std::vector<const ConnectionRow*> all = i.in_order(view.sort);
  s.connections = all.size();
  std::size_t selected = 0;
  for (std::size_t at = 0; at < all.size(); ++at) {
    const ConnectionRow& r = *all[at];
    add_to(s.totals, i.totals_of_row(r));
    if (i.is_open(r)) {
      ++s.open;
      s.waiting += i.credits_of(r).waiting;
      if (i.followed != nullptr) states::add(s.outstanding, i.followed->states.counts(r.index));
    }
    if (r.index + 1 == view.selected) selected = at;
  }
  if (!all.empty()) {
    const std::ptrdiff_t to = static_cast<std::ptrdiff_t>(selected) + std::exchange(view.move, 0);
    selected = static_cast<std::size_t>(
        std::clamp<std::ptrdiff_t>(to, 0, static_cast<std::ptrdiff_t>(all.size()) - 1));
    view.selected = all[selected]->index + 1;
  }
  rows = std::min(rows, all.size());
  view.first = std::min({view.first, selected, all.size() - rows});
  if (rows != 0 && selected >= view.first + rows) view.first = selected + 1 - rows;
  s.first = view.first;
  for (std::size_t at = 0; at < rows; ++at) s.rows.push_back(i.shown(*all[view.first + at]));

  std::vector<const KeptFinding*> newest;
  newest.reserve(i.kept.size());
  for (const auto& [key, f] : i.kept) newest.push_back(&f);
  std::sort(newest.begin(), newest.end(),
            [](const auto* a, const auto* b) { return a->order > b->order; });
  for (const KeptFinding* f : newest) s.findings.push_back(f->finding);
  return s;
}

}  // namespace rpcrdma::top
