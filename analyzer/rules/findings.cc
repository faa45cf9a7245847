// Violations that need complete data are pending for a while before they are reported: a lost
// packet is noticed only when a later packet of the same side arrives, and it may contain the
// answer that seems to be missing. A pending violation is settled after some more messages of its
// connection, or when the connection ends.
#include <algorithm>
#include <climits>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/rules/findings.h>
#include <rpcrdma/rules/sort.h>

namespace rpcrdma::rules {

namespace {

// Limits the number of distinct findings: a hostile capture can cause any number of them.
constexpr std::size_t kMaxFindings = 4096;
constexpr std::size_t kMaxInconclusive = 1024;
// Pending violations of one connection, and the number of messages for which they stay pending.
constexpr std::size_t kMaxPending = 64;
constexpr std::uint64_t kMessagesToWait = 32;
// Pending violations of all connections. Beyond it, a violation is settled at once.
constexpr std::size_t kMaxWaiting = 16384;

const char* const kLost = "the capture lost packets of the connection";
const char* const kOrder =
    "the capture shows acknowledgments or RDMA operations before the packets that they belong to: "
    "those are missing, or out of order";
const char* const kOneDirection = "the capture contains only one direction of the connection";
const char* const kSetupUnseen = "the capture does not contain the set-up of the connection";
const char* const kClock = "the capture's clock stepped back";
const char* const kEventsLost = "events of the connection are missing from the recording";
const char* const kOperationsUnseen =
    "the recording does not contain the RDMA operations of that side";

bool lost_packets(const roce::Connection& c) {
  return std::any_of(c.side.begin(), c.side.end(), [](const roce::Side& side) {
    return side.counters.lost_capture + side.counters.reads_unseen != 0;
  });
}

}  // namespace

Severity severity_of(Level level) {
  switch (level) {
    case Level::kError:
      return Severity::kError;
    case Level::kWarning:
      return Severity::kWarning;
    default:
      return Severity::kNote;
  }
}

const char* severity_name(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kNote:
      return "note";
  }
  return "note";
}

std::string with_share(std::uint64_t count, std::uint64_t of, std::string_view clause) {
  return fmt::format("{} of {} {}", count, of, clause);
}

std::string_view without_share(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  constexpr std::string_view kOf = " of ";
  const std::size_t count = text.find_first_not_of(kDigits);
  if (count == 0 || count == std::string_view::npos) return text;
  if (text.substr(count, kOf.size()) != kOf) return text;
  const std::size_t of = text.find_first_not_of(kDigits, count + kOf.size());
  if (of == count + kOf.size() || of == std::string_view::npos || text[of] != ' ') return text;
  return text.substr(of + 1);
}

Evidence evidence(const model::Message& m, const roce::Connection& connection, int side) {
  Evidence e;
  e.connection = &connection;
  e.side = side;
  e.message = m.id;
  e.frames = {m.frame, 0};
  e.suspect = m.suspect;
  return e;
}

struct Findings::Impl {
  Impl(Options o, const roce::Connections& c, const model::Model& m)
      : options(std::move(o)), connections(c), model(m) {}

  struct Pending {
    RuleId id;
    Evidence evidence;
    std::string text;
    const char* advice;
    std::uint64_t losses = 0;  // at the time of the violation
    std::uint64_t due = 0;     // number of a message of the connection
    std::uint64_t calls = 0;   // of Evidence::doubted_caller, so far
  };
  struct Connection {
    std::uint64_t messages = 0;
    std::vector<Pending> pending;
  };
  // Connection, rule, side, topic.
  using Key = std::tuple<std::uint32_t, RuleId, int, std::uint32_t>;

  Options options;
  const roce::Connections& connections;
  const model::Model& model;
  std::map<Key, std::size_t> index;
  struct Kept {
    Key key;
    Finding finding;
  };
  std::vector<Kept> kept;
  // Connection, rule, reason.
  std::map<std::tuple<std::uint32_t, RuleId, const char*>, std::uint64_t> held_back;
  std::array<std::uint64_t, 3> omitted{};
  std::map<std::uint32_t, Connection> waiting;  // only connections with pending violations
  std::size_t waiting_count = 0;                // pending violations of all connections
  std::array<Violation, 2> latest_violation;    // by side
  std::vector<Finding> list;
  std::vector<Inconclusive> inconclusive;

  // Returns why a violation is inconclusive if it was found when the connection had `losses`
  // losses; null: it is conclusive.
  static const char* inconclusive_reason(const Rule& r, const Evidence& e, std::uint64_t losses) {
    const roce::Connection* c = e.connection;
    if (c == nullptr) return nullptr;
    if (e.unsure != nullptr) return e.unsure;
    const std::uint32_t needs = r.needs | e.needs;
    if ((needs & kSetupSeen) != 0 && !setup_seen(*c)) return kSetupUnseen;
    if ((needs & kBothDirections) != 0 && !roce::both_directions_seen(*c)) return kOneDirection;
    if ((needs & kOperations) != 0 && e.side >= 0 &&
        c->side[static_cast<std::size_t>(e.side)].operations_unseen) {
      return kOperationsUnseen;
    }
    if ((needs & kSteadyClock) != 0 && c->clock_stepped_back) return kClock;
    const std::uint64_t now = model::losses(*c);
    const char* const lost = c->recorded ? kEventsLost : lost_packets(*c) ? kLost : kOrder;
    if ((needs & kLossFree) != 0 && now != 0) return lost;
    if ((needs & kLossFreeCall) != 0 && (now != losses || now != e.losses_before)) return lost;
    return nullptr;
  }

  // Whether the source of the connection shows what the rule rests on, as far as is known now.
  [[nodiscard]] bool judged(const Rule& r, const Evidence& e) const {
    if (e.connection == nullptr) return true;
    return is_judged(r, e.connection->absent | model.connection(e.connection->index).absent);
  }

  void mark_inconclusive(const Rule& r, const Evidence& e, const char* why) {
    const auto key = std::tuple(e.connection->index, r.id, why);
    const auto it = held_back.find(key);
    if (it != held_back.end()) {
      ++it->second;
    } else if (held_back.size() < kMaxInconclusive) {
      held_back.emplace(key, 1);
    }
  }

  [[nodiscard]] std::uint64_t calls_of_doubted(const Evidence& e) const {
    if (e.doubted_caller < 0) return 0;
    const auto side = static_cast<std::size_t>(e.doubted_caller);
    return model.connection(e.connection->index).caller[side].calls;
  }

  void settle(Pending& p) {
    const Rule& r = rule(p.id);
    if (!judged(r, p.evidence)) {
      if (options.on_settled) options.on_settled(p.evidence);
      return;
    }
    const roce::Connection& c = *p.evidence.connection;
    // The receiver drops a damaged packet and uses it only when it is retransmitted.
    const bool damaged = c.icrc_bad > c.icrc_accepted && c.icrc_good != 0 &&
                         ((r.needs | p.evidence.needs) & (kLossFree | kLossFreeCall)) != 0;
    const bool doubted = p.evidence.doubted_caller >= 0 && calls_of_doubted(p.evidence) == p.calls;
    if (damaged || doubted) {
      p.evidence.at_most = std::min(p.evidence.at_most, Level::kWarning);
    }
    if (const char* why = inconclusive_reason(r, p.evidence, p.losses)) {
      mark_inconclusive(r, p.evidence, why);
    } else {
      report(
          r, p.evidence, [&] { return p.text; }, p.advice);
    }
    if (options.on_settled) options.on_settled(p.evidence);
  }

  static Key key_of(const Rule& r, const Evidence& e) {
    const std::uint32_t connection = e.connection != nullptr ? e.connection->index : UINT32_MAX;
    return {connection, r.id, e.side, e.topic * 2 + (e.suspect ? 1U : 0U)};
  }
  [[nodiscard]] Finding* find(RuleId id, const Evidence& e) {
    const auto it = index.find(key_of(rule(id), e));
    return it == index.end() ? nullptr : &kept[it->second].finding;
  }

  void report(const Rule& r, const Evidence& e, const Text& text, const char* advice) {
    Severity severity = severity_of(std::min(r.level(options.profile), e.at_most));
    // Bytes with an invalid ICRC are not the bytes that the sender sent.
    if (e.suspect && severity == Severity::kError) severity = Severity::kWarning;
    const char* what_to_do = e.suspect
                                 ? "Check the link and the capture file first: a packet of this "
                                   "message has an invalid ICRC, so its bytes are damaged."
                             : advice != nullptr ? advice
                                                 : r.advice;
    const Key key = key_of(r, e);
    const auto it = index.find(key);
    Finding* f = nullptr;
    if (e.phase != ReportPhase::kFound) {
      if (it == index.end()) return;  // it was inconclusive, or beyond kMaxFindings
      sum_up(kept[it->second].finding, e, text);
    } else if (it != index.end()) {
      f = &kept[it->second].finding;
      f->count += e.count;
    } else if (kept.size() < kMaxFindings) {
      index.emplace(key, kept.size());
      f = &kept.emplace_back(Kept{key, {}}).finding;
      f->rule = r.name;
      f->severity = severity;
      f->topic = std::get<3>(key);
      f->count = e.count;
      f->text = text();
      f->advice = what_to_do;
    } else {
      ++omitted[static_cast<std::size_t>(severity)];
    }
    if (f != nullptr) {
      if (e.span.since_ns != 0 && f->spans.size() < kMaxSpans) f->spans.push_back(e.span);
      const auto& [first, last] = e.frames;
      for (const std::uint64_t frame : {first, last == first ? 0 : last}) {
        if (frame != 0 && f->frames.size() < kMaxFrames) f->frames.push_back(frame);
      }
      if (e.of != 0) state_share(*f, e.of, text(), what_to_do);
    }
    if (options.on_occurrence) {
      const std::string own = f != nullptr && e.of != 0 ? f->text : text();
      options.on_occurrence({r, severity, e, own, what_to_do});
    }
  }

  static void sum_up(Finding& f, const Evidence& e, const Text& text) {
    if (f.count == 1) {
      f.text = text();
      const auto& [first, last] = e.frames;
      if (last != 0) f.frames = {first};
      for (const std::uint64_t frame : {first, last}) {
        const bool there = std::find(f.frames.begin(), f.frames.end(), frame) != f.frames.end();
        if (frame != 0 && !there && f.frames.size() < kMaxFrames) f.frames.push_back(frame);
      }
    }
    if (f.spans.empty() || f.spans.back().since_ns != e.span.since_ns) return;
    f.spans.back().until_ns = e.span.until_ns;
  }

  static void state_share(Finding& f, std::uint64_t of, std::string_view clause,
                          const char* advice) {
    f.of = std::max({f.of, of, f.count});
    f.text = with_share(f.count, f.of, clause);
    f.advice = advice;
  }

  void settle_all(std::map<std::uint32_t, Connection>::iterator at) {
    for (Pending& p : at->second.pending) settle(p);
    waiting_count -= at->second.pending.size();
    waiting.erase(at);
  }
  void name(const Key& key, Finding& f) const;
  [[nodiscard]] std::vector<Finding> named(std::vector<Kept> all) const;
  [[nodiscard]] std::vector<Inconclusive> all_inconclusive() const;
  // Joins two findings that turned out to be the same.
  static void join(Finding& to, Finding& from);
  void finish();
};

Findings::Findings(Options options, const roce::Connections& connections, const model::Model& model)
    : impl_(std::make_unique<Impl>(std::move(options), connections, model)) {}
Findings::~Findings() = default;

Profile Findings::profile() const {
  return impl_->options.profile;
}
bool Findings::has_sums() const {
  return impl_->options.emit_sums;
}

const Violation& Findings::latest_violation(std::size_t side) const {
  return impl_->latest_violation[side];
}
Level Findings::level(const Violation& violation) const {
  return std::min(violation.rule->level(impl_->options.profile), violation.evidence.at_most);
}
bool Findings::certain(const Violation& violation) const {
  const Evidence& e = violation.evidence;
  return !e.suspect &&
         Impl::inconclusive_reason(*violation.rule, e, model::losses(*e.connection)) == nullptr;
}

void Findings::add(RuleId id, const Evidence& e, const Text& text, const char* advice) {
  const Rule& r = rule(id);
  if (r.level(impl_->options.profile) == Level::kOff || !impl_->judged(r, e)) return;
  if (e.message != 0 && e.side >= 0) {
    Violation& latest = impl_->latest_violation[static_cast<std::size_t>(e.side)];
    const Violation now{&r, e};
    if (latest.evidence.message != e.message || level(latest) < level(now)) latest = now;
  }
  // A violation that is judged by elapsed time is not deferred: no further message may arrive.
  if (e.span.since_ns != 0) {
    const char* const why = e.phase == ReportPhase::kFound
                                ? Impl::inconclusive_reason(r, e, model::losses(*e.connection))
                                : nullptr;
    if (why != nullptr) return impl_->mark_inconclusive(r, e, why);
    return impl_->report(r, e, text, advice);
  }
  constexpr std::uint32_t kWaits = kLossFree | kLossFreeCall | kBothDirections;
  if (e.connection == nullptr || ((r.needs | e.needs) & kWaits) == 0) {
    if (const char* why = Impl::inconclusive_reason(r, e, 0))
      return impl_->mark_inconclusive(r, e, why);
    return impl_->report(r, e, text, advice);
  }
  const std::uint64_t losses = model::losses(*e.connection);
  Impl::Pending pending{id, e, text(), advice, losses, 0, impl_->calls_of_doubted(e)};
  if (impl_->waiting_count >= kMaxWaiting) return impl_->settle(pending);
  Impl::Connection& c = impl_->waiting[e.connection->index];
  if (c.pending.size() >= kMaxPending) {
    impl_->settle(c.pending.front());
    c.pending.erase(c.pending.begin());
    --impl_->waiting_count;
  }
  ++impl_->waiting_count;
  pending.due = c.messages + kMessagesToWait;
  c.pending.push_back(std::move(pending));
  if (impl_->options.on_pending) impl_->options.on_pending(e);
}

const char* Findings::inconclusive_reason(RuleId id, const Evidence& e) {
  return Impl::inconclusive_reason(rule(id), e,
                                   e.connection == nullptr ? 0 : model::losses(*e.connection));
}

void Findings::restate(RuleId id, const Evidence& e, const Text& text, const char* advice) {
  Finding* const f = impl_->find(id, e);
  if (f == nullptr || f->count == 0) return;
  Impl::state_share(*f, e.of, text(), advice != nullptr ? advice : rule(id).advice);
}

void Findings::retract(RuleId id, const Evidence& e) {
  if (Finding* const f = impl_->find(id, e)) f->count = 0;
}

void Findings::repeat(const Occurrence& reported) {
  const std::string_view clause =
      reported.evidence.of != 0 ? without_share(reported.text) : std::string_view(reported.text);
  impl_->report(
      reported.rule, reported.evidence, [&] { return std::string(clause); }, reported.advice);
}

void Findings::message_seen(const roce::Connection& connection) {
  if (impl_->waiting.empty()) return;
  const auto it = impl_->waiting.find(connection.index);
  if (it == impl_->waiting.end()) return;
  Impl::Connection& c = it->second;
  ++c.messages;
  std::size_t due = 0;
  while (due < c.pending.size() && c.pending[due].due <= c.messages)
    impl_->settle(c.pending[due++]);
  c.pending.erase(c.pending.begin(), c.pending.begin() + static_cast<std::ptrdiff_t>(due));
  impl_->waiting_count -= due;
  if (c.pending.empty()) impl_->waiting.erase(it);
}

void Findings::connection_closed(const roce::Connection& connection) {
  const auto it = impl_->waiting.find(connection.index);
  if (it != impl_->waiting.end()) impl_->settle_all(it);
}

void Findings::connections_merged(const roce::Connection& into, const roce::Connection& from) {
  connection_closed(from);
  Impl& all = *impl_;
  for (auto at = all.index.lower_bound({from.index, RuleId{}, INT_MIN, 0});
       at != all.index.end() && std::get<0>(at->first) == from.index;) {
    auto node = all.index.extract(at++);
    auto& [connection, id, side, topic] = node.key();
    connection = into.index;
    if (side >= 0) side = 1 - side;
    all.kept[node.mapped()].key = node.key();
    const auto there = all.index.insert(std::move(node));
    if (!there.inserted) {
      Impl::join(all.kept[there.position->second].finding, all.kept[there.node.mapped()].finding);
    }
  }
  for (auto at = all.held_back.lower_bound({from.index, RuleId{}, nullptr});
       at != all.held_back.end() && std::get<0>(at->first) == from.index;) {
    const auto node = all.held_back.extract(at++);
    all.held_back[{into.index, std::get<1>(node.key()), std::get<2>(node.key())}] += node.mapped();
  }
}

void Findings::take_back(const roce::Connection& connection) {
  const auto waiting = impl_->waiting.find(connection.index);
  if (waiting != impl_->waiting.end()) {
    for (const Impl::Pending& p : waiting->second.pending) {
      if (impl_->options.on_settled) impl_->options.on_settled(p.evidence);
    }
    impl_->waiting_count -= waiting->second.pending.size();
    impl_->waiting.erase(waiting);
  }
  const auto of_messages = [](RuleId id) {
    const Where where = rule(id).where;
    return where == Where::kHeader || where == Where::kPair || where == Where::kConnection;
  };
  for (auto at = impl_->index.lower_bound({connection.index, RuleId{}, INT_MIN, 0});
       at != impl_->index.end() && std::get<0>(at->first) == connection.index; ++at) {
    if (of_messages(std::get<1>(at->first))) impl_->kept[at->second].finding.count = 0;
  }
  for (auto at = impl_->held_back.lower_bound({connection.index, RuleId{}, nullptr});
       at != impl_->held_back.end() && std::get<0>(at->first) == connection.index;) {
    at = of_messages(std::get<1>(at->first)) ? impl_->held_back.erase(at) : std::next(at);
  }
}

void Findings::connection_evicted(const roce::Connection& connection) {
  connection_closed(connection);
  for (auto at = impl_->index.lower_bound({connection.index, RuleId{}, INT_MIN, 0});
       at != impl_->index.end() && std::get<0>(at->first) == connection.index; ++at) {
    impl_->name(at->first, impl_->kept[at->second].finding);
  }
}

void Findings::finish() {
  while (!impl_->waiting.empty()) impl_->settle_all(impl_->waiting.begin());
  impl_->finish();
}

void Findings::Impl::join(Finding& to, Finding& from) {
  to.count += std::exchange(from.count, 0);
  for (const std::uint64_t frame : from.frames) {
    if (to.frames.size() < kMaxFrames) to.frames.push_back(frame);
  }
}

void Findings::Impl::name(const Key& key, Finding& f) const {
  const auto& [connection, id, side, topic] = key;
  if (connection == UINT32_MAX) return;
  f.connection = connection + 1;
  if (side < 0) return;
  f.peer =
      connections.connection(connection).side[static_cast<std::size_t>(side)].address.to_string();
  const int client = model.connection(connection).client;
  if (client >= 0) f.role = client == side ? "client" : "server";
}

std::vector<Finding> Findings::Impl::named(std::vector<Kept> all) const {
  std::vector<Finding> found;
  for (Kept& k : all) {
    if (k.finding.count == 0) continue;
    // A finding that has its names already belongs to an evicted connection.
    if (k.finding.connection == 0) name(k.key, k.finding);
    found.push_back(std::move(k.finding));
  }
  sort_by_place(found, [](const Finding& a, const Finding& b) { return a.severity < b.severity; });
  return found;
}

std::vector<Inconclusive> Findings::Impl::all_inconclusive() const {
  std::vector<Inconclusive> all;
  all.reserve(held_back.size());
  for (const auto& [key, count] : held_back) {
    const auto& [connection, id, reason] = key;
    all.push_back({rule(id).name, connection + 1, count, reason});
  }
  return all;
}

void Findings::Impl::finish() {
  list = named(std::move(kept));
  inconclusive = all_inconclusive();
}

const std::vector<Finding>& Findings::list() const {
  return impl_->list;
}
std::vector<Finding> Findings::take_list() {
  return std::move(impl_->list);
}
const std::vector<Inconclusive>& Findings::inconclusive() const {
  return impl_->inconclusive;
}
std::vector<Finding> Findings::list_so_far() const {
  return impl_->named(impl_->kept);
}
std::vector<Inconclusive> Findings::inconclusive_so_far() const {
  return impl_->all_inconclusive();
}
const std::array<std::uint64_t, 3>& Findings::omitted() const {
  return impl_->omitted;
}

}  // namespace rpcrdma::rules
