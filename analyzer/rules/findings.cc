// A breach that needs whole data waits a little before it is told: a packet that the capture lost
// is noticed only when a later one of its side has come, and the answer to a Call that seems to be
// missing may be in just that packet. What still waits when its connection has seen some more
// messages, or has ended, is settled by what is known then.
#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include <rpcrdma/rules/findings.h>

namespace rpcrdma::rules {

namespace {

// Different findings that are kept; what a hostile capture can make is without end.
constexpr std::size_t kMaxFindings = 4096;
constexpr std::size_t kMaxWithheld = 1024;
// Breaches of one connection that wait, and for how many more messages.
constexpr std::size_t kMaxPending = 64;
constexpr std::uint64_t kMessagesToWait = 32;

const char* const kLost = "the capture lost packets of the connection";
const char* const kOneDirection = "packets of one direction are not in the capture";
const char* const kNoBeginning = "the connection began before the capture";
const char* const kClock = "the capture's clock stepped back";

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

}  // namespace

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
  explicit Impl(Options o) : options(std::move(o)) {}

  struct Pending {
    RuleId id;
    Evidence evidence;
    std::string text;
    const char* advice;
    std::uint64_t losses = 0;  // when it was found
    std::uint64_t due = 0;     // message of the connection
  };
  struct Connection {
    std::uint64_t messages = 0;
    std::vector<Pending> pending;
  };
  // Rule, connection, side, topic.
  using Key = std::tuple<RuleId, std::uint32_t, int, std::uint32_t>;

  Options options;
  const roce::Tracker* tracker = nullptr;
  const model::Model* model = nullptr;
  std::map<Key, std::size_t> index;
  struct Kept {
    Key key;
    Finding finding;
  };
  std::vector<Kept> kept;
  std::map<std::tuple<RuleId, std::uint32_t, const char*>, std::uint64_t> held_back;
  std::array<std::uint64_t, 3> omitted{};
  std::map<std::uint32_t, Connection> waiting;  // only connections on which something waits
  std::vector<Finding> list;
  std::vector<Withheld> withheld;

  // Why a breach that was found when the connection had missed `losses` cannot be told; null: it
  // can.
  static const char* obstacle(const Rule& r, const Evidence& e, std::uint64_t losses) {
    const roce::Connection* c = e.connection;
    if (c == nullptr) return nullptr;
    if (e.unsure != nullptr) return e.unsure;
    if ((r.needs & kBeginning) != 0 && c->setup != roce::Setup::kCm) return kNoBeginning;
    if ((r.needs & kBothDirections) != 0 &&
        (c->side[0].counters.packets == 0 || c->side[1].counters.packets == 0)) {
      return kOneDirection;
    }
    if ((r.needs & kSteadyClock) != 0 && c->clock_stepped_back) return kClock;
    const std::uint64_t now = model::losses(*c);
    if ((r.needs & kLossFree) != 0 && now != 0) return kLost;
    if ((r.needs & kLossFreeCall) != 0 && (now != losses || now != e.losses_before)) return kLost;
    return nullptr;
  }

  void withhold(const Rule& r, const Evidence& e, const char* why) {
    const auto key = std::tuple(r.id, e.connection->index, why);
    const auto it = held_back.find(key);
    if (it != held_back.end()) {
      ++it->second;
    } else if (held_back.size() < kMaxWithheld) {
      held_back.emplace(key, 1);
    }
  }

  void settle(const Pending& p) {
    const Rule& r = rule(p.id);
    if (const char* why = obstacle(r, p.evidence, p.losses)) {
      withhold(r, p.evidence, why);
    } else {
      tell(
          r, p.evidence, [&] { return p.text; }, p.advice);
    }
  }

  void tell(const Rule& r, const Evidence& e, const Text& text, const char* advice) {
    Severity severity = severity_of(r.level(options.profile));
    // Bytes that came with a wrong ICRC are not what the sender sent.
    if (e.suspect && severity == Severity::kError) severity = Severity::kWarning;
    const char* what_to_do = e.suspect
                                 ? "A packet of it has a wrong ICRC: the bytes were damaged, in "
                                   "the capture or before."
                             : advice != nullptr ? advice
                                                 : r.advice;
    const std::uint32_t connection = e.connection != nullptr ? e.connection->index : UINT32_MAX;
    const Key key{r.id, connection, e.side, e.topic * 2 + (e.suspect ? 1U : 0U)};
    const auto it = index.find(key);
    Finding* f = nullptr;
    if (it != index.end()) {
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
      for (const std::uint64_t frame : e.frames) {
        if (frame != 0 && f->frames.size() < kMaxFrames) f->frames.push_back(frame);
      }
    }
    if (options.on_occurrence) {
      const std::string own = text();
      options.on_occurrence({r, severity, e, own, what_to_do});
    }
  }

  void finish();
};

Findings::Findings(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Findings::~Findings() = default;

void Findings::attach(const roce::Tracker& tracker, const model::Model& model) {
  impl_->tracker = &tracker;
  impl_->model = &model;
}

Profile Findings::profile() const {
  return impl_->options.profile;
}
bool Findings::tells_sums() const {
  return impl_->options.tell_sums;
}

void Findings::add(RuleId id, const Evidence& e, const Text& text, const char* advice) {
  const Rule& r = rule(id);
  if (r.level(impl_->options.profile) == Level::kOff) return;
  if (e.connection == nullptr || (r.needs & (kLossFree | kLossFreeCall | kBothDirections)) == 0) {
    if (const char* why = Impl::obstacle(r, e, 0)) return impl_->withhold(r, e, why);
    return impl_->tell(r, e, text, advice);
  }
  const std::uint64_t losses = model::losses(*e.connection);
  Impl::Connection& c = impl_->waiting[e.connection->index];
  if (c.pending.size() >= kMaxPending) {
    impl_->settle(c.pending.front());
    c.pending.erase(c.pending.begin());
  }
  c.pending.push_back({id, e, text(), advice, losses, c.messages + kMessagesToWait});
  if (impl_->options.on_pending) impl_->options.on_pending(e);
}

void Findings::repeat(const Occurrence& told) {
  impl_->tell(
      told.rule, told.evidence, [&] { return told.text; }, told.advice);
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
  if (c.pending.empty()) impl_->waiting.erase(it);
}

void Findings::connection_closed(const roce::Connection& connection) {
  const auto it = impl_->waiting.find(connection.index);
  if (it == impl_->waiting.end()) return;
  for (const Impl::Pending& p : it->second.pending) impl_->settle(p);
  impl_->waiting.erase(it);
}

void Findings::finish() {
  for (auto& [index, c] : impl_->waiting) {
    for (const Impl::Pending& p : c.pending) impl_->settle(p);
  }
  impl_->waiting.clear();
  impl_->finish();
}

void Findings::Impl::finish() {
  // A direction that turned out to belong to another connection goes under that one's name.
  std::map<Key, std::size_t> canonical;
  for (Kept& k : kept) {
    auto& [id, connection, side, topic] = k.key;
    if (connection != UINT32_MAX) {
      const std::uint32_t to = model->canonical(connection);
      if (to != connection && side >= 0) side = 1 - side;
      connection = to;
    }
    const auto [it, added] = canonical.try_emplace(k.key, list.size());
    if (!added) {
      Finding& f = list[it->second];
      f.count += k.finding.count;
      for (const std::uint64_t frame : k.finding.frames) {
        if (f.frames.size() < kMaxFrames) f.frames.push_back(frame);
      }
      continue;
    }
    Finding& f = list.emplace_back(std::move(k.finding));
    if (connection == UINT32_MAX) continue;
    f.connection = connection + 1;
    if (side < 0) continue;
    f.peer =
        tracker->connection(connection).side[static_cast<std::size_t>(side)].address.to_string();
    const int client = model->connection(connection).client;
    if (client >= 0) f.role = client == side ? "client" : "server";
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const Finding& a, const Finding& b) { return a.severity < b.severity; });
  for (const auto& [key, count] : held_back) {
    const auto& [id, connection, reason] = key;
    withheld.push_back({rule(id).name, model->canonical(connection) + 1, count, reason});
  }
}

const std::vector<Finding>& Findings::list() const {
  return impl_->list;
}
const std::vector<Withheld>& Findings::withheld() const {
  return impl_->withheld;
}
const std::array<std::uint64_t, 3>& Findings::omitted() const {
  return impl_->omitted;
}

}  // namespace rpcrdma::rules
