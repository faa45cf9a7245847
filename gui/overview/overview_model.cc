// The verdict, findings and tables of the overview. Tiles: overview_tiles.cc.
#include "overview_model.h"

#include "words.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <rpcrdma/report/latency_table.h>
#include <rpcrdma/report/verdict.h>

namespace rpcrdma::gui {

namespace {

using report::Report;

Sign sign_of_verdict(const report::Verdict& v) {
  switch (v.health) {
    case report::Health::kErrors:
      return Sign::kError;
    case report::Health::kWarnings:
    case report::Health::kLossy:
      return Sign::kWarning;
    case report::Health::kHealthy:
      return v.judged ? Sign::kGood : Sign::kUnknown;
    case report::Health::kNothing:
      break;
  }
  return Sign::kUnknown;
}

std::uint64_t messages_of(const Report& r) {
  std::uint64_t sum = 0;
  for (const std::uint64_t n : r.messages.kinds) sum += n;
  return sum;
}

QString scope_of(const Report& r) {
  QString text =
      messages_of(r) == 1 ? Words::tr("1 message") : Words::tr("%L1 messages").arg(messages_of(r));
  if (r.capture.frames != 0) {
    text += Words::tr(" in %1, from %2 UTC")
                .arg(Words::duration(r.capture.last_ns - r.capture.first_ns),
                     QString::fromStdString(report::format_time(r.capture.first_ns)).left(19));
  }
  const std::size_t connections = r.connections.size();
  if (connections != 0) {
    text += connections == 1 ? Words::tr("; 1 connection")
                             : Words::tr("; %L1 connections").arg(connections);
  }
  return text;
}

// Rules that were judged, those that were withheld because data are missing, and those that the
// source cannot show.
void judge(const Report& r, OverviewModel& m) {
  std::map<std::string, std::set<QString>> withheld;  // reason: rules
  std::set<std::string> names;
  for (const report::Inconclusive& i : r.inconclusive) {
    names.insert(i.rule);
    withheld[i.reason].insert(Words::plain(i.rule));
  }
  std::size_t judged = 0;
  QStringList unseen;
  for (const rules::Rule& rule : rules::rules()) {
    if (rule.where == rules::Where::kEndpoint || rule.level(r.profile) == rules::Level::kOff ||
        names.contains(rule.name)) {
      continue;
    }
    const bool seen =
        std::any_of(r.connections.begin(), r.connections.end(), [&](const report::Connection& c) {
          return c.messages != 0 && rules::is_judged(rule, static_cast<std::uint16_t>(c.absent));
        });
    if (seen) {
      ++judged;
    } else {
      unseen << rule.name;
    }
  }
  if (messages_of(r) == 0) {
    m.judged = Words::tr("No rule was judged.");
    return;
  }
  m.judged = judged == 1 ? Words::tr("1 rule judged") : Words::tr("%L1 rules judged").arg(judged);
  if (!names.empty()) m.judged += Words::tr(", %L1 withheld").arg(names.size());
  if (!unseen.isEmpty()) m.judged += Words::tr(", %L1 not judged").arg(unseen.size());
  for (const auto& [reason, rules] : withheld) {
    m.reasons << Words::tr("%1 withheld: %2")
                     .arg(QStringList(rules.begin(), rules.end()).join(", "), Words::plain(reason));
  }
  if (!unseen.isEmpty()) {
    m.reasons << Words::tr("%1 not judged: the source does not show what they need")
                     .arg(unseen.join(", "));
  }
}

// The part of a Call that took most of its time.
QString longest_part(const report::SlowCall& s) {
  if (s.data_ns < 0) return {};
  const std::pair<const char*, std::int64_t> parts[] = {
      {QT_TRANSLATE_NOOP("rpcrdma::gui::Overview", "before RDMA operations: %1"), s.before_data_ns},
      {QT_TRANSLATE_NOOP("rpcrdma::gui::Overview", "RDMA operations: %1"), s.data_ns},
      {QT_TRANSLATE_NOOP("rpcrdma::gui::Overview", "after RDMA operations: %1"), s.after_data_ns}};
  const auto* const most =
      std::max_element(std::begin(parts), std::end(parts),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return Words::tr(most->first).arg(Words::duration(most->second));
}

void add_slowest(const Report& r, OverviewModel& m) {
  for (const report::SlowCall& s : r.slowest.list()) {
    if (m.slowest.size() >= OverviewModel::kMostSlowCalls) break;
    m.slowest.push_back({.procedure = s.reverse ? Words::tr("reverse %1").arg(Words::plain(s.label))
                                                : Words::plain(s.label),
                         .latency_ns = s.latency_ns,
                         .time_ns = s.time_ns,
                         .frame = s.frame,
                         .connection = s.connection,
                         .longest = longest_part(s)});
  }
}

void add_files(const Report& r, OverviewModel& m) {
  const auto busiest = report::busiest_files(r.files, OverviewModel::kMostFiles);
  for (const report::FileEntry* const entry : busiest) {
    if (m.files.size() >= OverviewModel::kMostFiles) break;
    const report::FileStats& f = entry->second;
    OverviewFile file{.name = Words::plain(report::file_name(*entry)),
                      .server = Words::plain(entry->first.server),
                      .reads = f.reads,
                      .writes = f.writes,
                      .other = f.other,
                      .errors = f.errors,
                      .bytes = {},
                      .pattern = report::pattern_of(f)};
    QStringList bytes;
    if (f.read_bytes != 0) {
      bytes << Words::tr("%1 read").arg(Words::bytes(f.read_bytes));
    }
    if (f.written_bytes != 0) {
      bytes << Words::tr("%1 written").arg(Words::bytes(f.written_bytes));
    }
    file.bytes = bytes.join(", ");
    if (f.latency.count() != 0) {
      file.p50_ns = f.latency.quantile(0.5);
      file.max_ns = f.latency.max();
    }
    m.files.push_back(std::move(file));
  }
  const std::size_t all = r.files.with_calls();
  m.more_files = all - std::min(all, m.files.size());
}

QString mount_limit(const mounts::Mount& mount) {
  QStringList parts;
  if (mount.slots && mount.slots_in_use_max) {
    parts << Words::tr("%1 of %2 slots").arg(*mount.slots_in_use_max).arg(*mount.slots);
  }
  if (mount.credits_granted() != 0) {
    std::uint32_t of_one = 0;
    for (const mounts::MountConnection& c : mount.connections) {
      of_one = std::max(of_one, c.credits_granted);
    }
    parts << Words::tr("%1 of %2 credits").arg(mount.credits_in_use_max()).arg(of_one);
  }
  QString text = parts.join(", ");
  switch (mount.limit()) {
    case mounts::Limit::kSlots:
      return Words::tr("slots are the limit: %1").arg(text);
    case mounts::Limit::kCredits:
      return Words::tr("credits are the limit: %1").arg(text);
    case mounts::Limit::kBoth:
      return Words::tr("slots and credits are the limit: %1").arg(text);
    case mounts::Limit::kNone:
    case mounts::Limit::kUnknown:
      break;
  }
  return text;
}

void add_mounts(const Report& r, OverviewModel& m) {
  for (const mounts::Mount& mount : r.mounts.list) {
    if (m.mounts.size() >= OverviewModel::kMostMounts) break;
    QStringList ids;
    for (const mounts::MountConnection& c : mount.connections) {
      if (ids.size() == 4) {
        ids.back() += Words::tr(" and %1 more").arg(mount.connections.size() - 4);
        break;
      }
      ids << QString::number(c.id);
    }
    m.mounts.push_back({.name = Words::plain(mounts::version_text(mount) + " " + mount.client +
                                             " - " + mount.server),
                        .calls = mount.calls,
                        .connections = ids.join(", "),
                        .limit = mount_limit(mount),
                        .backchannel = mount.backchannel.down_at_end         ? Words::tr("down")
                                       : mount.backchannel.down_replies != 0 ? Words::tr("was down")
                                                                             : QString()});
  }
  m.more_mounts = r.mounts.list.size() - m.mounts.size();
}

QString congestion_of(const Report& r) {
  std::uint64_t marked = 0;
  std::uint64_t cnps = 0;
  std::uint64_t pauses = 0;
  const auto& t = r.traffic;
  for (std::int64_t n = t.first(); n <= t.last(); ++n) {
    marked += t.bin(n).ce;
    cnps += t.bin(n).cnps;
    pauses += t.bin(n).pauses;
  }
  QStringList parts;
  if (marked != 0) {
    parts << (marked == 1 ? Words::tr("1 packet marked CE")
                          : Words::tr("%L1 packets marked CE").arg(marked));
  }
  if (cnps != 0) parts << (cnps == 1 ? Words::tr("1 CNP") : Words::tr("%L1 CNPs").arg(cnps));
  if (pauses != 0) {
    parts << (pauses == 1 ? Words::tr("1 pause frame") : Words::tr("%L1 pause frames").arg(pauses));
  }
  return parts.join(", ");
}

// Says what was judged, never more.
QString nothing_found(const Report& r, const report::Verdict& v, bool growing) {
  const std::uint64_t n = messages_of(r);
  if (n == 0) return {};
  const QString messages = n == 1 ? Words::tr("1 message") : Words::tr("%L1 messages").arg(n);
  if (growing) return Words::tr("No problem found so far in %1.").arg(messages);
  if (!v.judged) return Words::tr("No problem found in what was judged of %1.").arg(messages);
  return Words::tr("No problem found in %1.").arg(messages);
}

}  // namespace

Sign sign_of(rules::Severity severity) {
  switch (severity) {
    case rules::Severity::kError:
      return Sign::kError;
    case rules::Severity::kWarning:
      return Sign::kWarning;
    case rules::Severity::kNote:
      break;
  }
  return Sign::kNote;
}

std::vector<FindingCard> finding_cards(const Report& r) {
  using Key = std::tuple<rules::Severity, std::string_view, std::string_view, std::string_view>;
  std::map<Key, std::size_t> index;
  std::vector<FindingCard> cards;
  std::vector<std::vector<std::uint32_t>> connections;
  for (const report::Finding& f : r.findings) {
    const auto [it, added] =
        index.try_emplace(Key{f.severity, f.rule, f.peer, f.role}, cards.size());
    if (added) {
      FindingCard card{.sign = sign_of(f.severity),
                       .rule = Words::plain(f.rule),
                       .title = rule_title(f.rule),
                       .side = Words::plain(f.role.empty()   ? f.peer
                                            : f.peer.empty() ? f.role
                                                             : f.role + " " + f.peer),
                       .connections = {},
                       .text = Words::plain(f.text),
                       .advice = Words::plain(f.advice)};
      cards.push_back(std::move(card));
      connections.emplace_back();
    }
    FindingCard& card = cards[it->second];
    card.count += f.count;
    if (card.spans.empty()) card.spans = f.spans;
    if (card.frame == 0 && !f.frames.empty()) card.frame = f.frames.front();
    auto& ids = connections[it->second];
    if (f.connection != 0 && std::find(ids.begin(), ids.end(), f.connection) == ids.end()) {
      ids.push_back(f.connection);
    }
  }
  for (std::size_t i = 0; i < cards.size(); ++i) {
    constexpr std::size_t kNamed = 3;
    const auto& ids = connections[i];
    QStringList named;
    for (std::size_t n = 0; n < std::min(ids.size(), kNamed); ++n) named << QString::number(ids[n]);
    if (ids.size() == 1) {
      cards[i].connection = ids.front();
      cards[i].connections = Words::tr("connection %1").arg(named.front());
    } else if (!ids.empty()) {
      cards[i].connections = Words::tr("connections %1").arg(named.join(", "));
      if (ids.size() > kNamed)
        cards[i].connections += Words::tr(" and %1 more").arg(ids.size() - kNamed);
    }
  }
  // A diagnosis says what went wrong; other rules say by what it shows.
  const auto is_diagnosis = [](const FindingCard& card) {
    const rules::Rule* const rule = rules::find_rule(card.rule.toStdString());
    return rule != nullptr && rule->where == rules::Where::kDiagnosis;
  };
  std::stable_sort(cards.begin(), cards.end(), [&](const FindingCard& a, const FindingCard& b) {
    return std::pair(a.sign, !is_diagnosis(a)) < std::pair(b.sign, !is_diagnosis(b));
  });
  return cards;
}

QString observer_of(const Report& r) {
  bool packets = false;
  bool client = false;
  bool server = false;
  bool unknown = false;
  for (const report::Connection& c : r.connections) {
    if (c.messages == 0) continue;
    if (!c.recorded) {
      packets = true;
    } else if (c.side[1].resends_unseen) {
      client = true;
    } else if (c.side[0].resends_unseen) {
      server = true;
    } else {
      unknown = true;
    }
  }
  if (packets && !client && !server && !unknown) return Words::tr("at the capture point");
  if (client && !packets && !server && !unknown) return Words::tr("client's view");
  if (server && !packets && !client && !unknown) return Words::tr("server's view");
  if (unknown && !packets && !client && !server) return Words::tr("endpoint's view");
  if (!packets && !client && !server) return {};
  return Words::tr("views of several observers");
}

std::vector<OverviewConnection> connections_by_trouble(const Report& r) {
  std::map<std::uint32_t, std::array<std::uint64_t, 2>> found;
  for (const report::Finding& f : r.findings) {
    if (f.connection != 0 && f.severity != rules::Severity::kNote) {
      found[f.connection][static_cast<std::size_t>(f.severity)] += f.count;
    }
  }
  std::vector<OverviewConnection> all;
  for (const report::Connection& c : r.connections) {
    const bool refused = c.state == roce::State::kRejected;
    if (c.speaks != model::Speaks::kRpc && !refused && !found.contains(c.id)) continue;
    OverviewConnection one{.id = c.id,
                           .ends = Words::plain(c.side[0].address + " - " + c.side[1].address),
                           .state = report::state_name(c.state)};
    if (const auto it = found.find(c.id); it != found.end()) one.findings = it->second;
    for (const report::Direction& d : c.direction) {
      one.calls += d.calls;
      one.unanswered += d.unmatched_calls;
    }
    one.retransmitted = c.side[0].counters.retransmitted + c.side[1].counters.retransmitted;
    one.retransmissions_seen = !c.lacks(roce::kAbsentRefusals);
    all.push_back(std::move(one));
  }
  const auto order = [](const OverviewConnection& c) {
    return std::tuple(c.findings[0], c.findings[1], c.unanswered, c.retransmitted, c.calls);
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const OverviewConnection& a, const OverviewConnection& b) {
                     return order(a) > order(b);
                   });
  return all;
}

OverviewModel overview_of(const Report& r, bool growing) {
  const report::Verdict verdict = report::verdict(r);
  OverviewModel m;
  m.sign = sign_of_verdict(verdict);
  m.sentence = Words::plain(verdict.sentence());
  m.scope = scope_of(r);
  judge(r, m);
  for (const report::Finding& f : r.findings) {
    m.counts[static_cast<std::size_t>(f.severity)] += f.count;
  }
  for (FindingCard& card : finding_cards(r)) {
    auto& list = card.sign == Sign::kNote ? m.notes : m.cards;
    if (list.size() < OverviewModel::kMostCards) {
      list.push_back(std::move(card));
    } else {
      ++m.more_cards;
    }
  }
  if (m.cards.empty()) m.nothing = nothing_found(r, verdict, growing);
  m.observer = observer_of(r);
  m.tiles = overview_tiles(r, growing);
  m.connections = connections_by_trouble(r);
  m.more_connections = r.not_listed.connections;
  if (m.connections.size() > OverviewModel::kMostConnections) {
    m.more_connections += m.connections.size() - OverviewModel::kMostConnections;
    m.connections.resize(OverviewModel::kMostConnections);
  }
  for (OverviewConnection& c : m.connections) {
    for (const report::ConnectionLatency& l : r.latencies.connections) {
      if (l.connection != c.id || l.direction[0].empty()) continue;
      const base::Histogram all = l.direction[0].total.expanded();
      c.p99_ns = report::given_quantile(all, 0.99).value_or(-1);
      c.max_ns = all.max();
    }
  }
  add_slowest(r, m);
  add_files(r, m);
  add_mounts(r, m);
  m.congestion = congestion_of(r);
  return m;
}

}  // namespace rpcrdma::gui
