#include "fleet_cells.h"

#include <QCoreApplication>
#include <QGuiApplication>
#include <array>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

namespace {

struct Heading {
  const char* title;
  const char* help;
};

constexpr std::array<Heading, FleetModel::kColumns> kHeadings{{
    {QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "Host, endpoint"), ""},
    {QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "State"),
     QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet",
                       "Live; or why its figures are the last ones, and in no sum")},
    {QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "Age"),
     QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "Time since the latest state was sent")},
    {QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "Conns"),
     QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "Open connections")},
    {QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "Granted"),
     QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "Credits granted")},
    {QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "In use"),
     QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "Credits in use")},
    {QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "Waiting"),
     QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "Calls that wait for a credit")},
    {QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "Calls/s"), ""},
    {QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "Last minute"),
     QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet",
                       "Calls/s of the last minute; gaps are times without a summary")},
    {QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "Chunk bytes/s"),
     QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "Bytes moved through chunks")},
    {QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "p50"),
     QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet",
                       "Median latency of the Calls answered in the last 10 s, of the merged "
                       "histograms")},
    {QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "p99"),
     QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet",
                       "99th percentile of the same Calls, of the merged histograms")},
    {QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "Findings"),
     QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "Errors, warnings and notes")},
    {QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "Lost"),
     QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet",
                       "Of a host: summaries that did not arrive. Of an endpoint: trace events "
                       "that its agent did not get")},
}};

QString fleet_tr(const char* text) {
  return QCoreApplication::translate("rpcrdma::gui::Fleet", text);
}
QString counted(const char* text, std::uint64_t n) {
  return QCoreApplication::translate("rpcrdma::gui::Fleet", text).arg(n);
}
QString plain(const std::string& text) {
  return one_line(QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())));
}

// What hosts and endpoints have in common.
struct Figures {
  std::uint64_t connections, lost;
  const fleet::CreditSums& credits;
  const std::optional<fleet::ViewRates>& rates;
  const fleet::ViewLatency& latency;
  const fleet::ViewFindings& findings;
};
Figures figures_of(const fleet::HostState& h, const fleet::EndpointState* e) {
  if (e == nullptr) return {h.connections, h.lost, h.credits, h.rates, h.latency, h.findings};
  return {e->connections, e->events_lost, e->credits, e->rates, e->latency, e->findings};
}

// How an endpoint ended; nothing: it runs.
QString end_text(const fleet::EndpointState& e) {
  switch (e.end) {
    case fleet::EndpointEnd::kNone:
      return e.recordings.empty() ? QString()
                                  : fleet_tr(QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "recording"));
    case fleet::EndpointEnd::kClosed:
      return fleet_tr(QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "ended"));
    case fleet::EndpointEnd::kKilled:
      return fleet_tr(QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "killed"));
    case fleet::EndpointEnd::kRefused:
      break;
  }
  return fleet_tr(QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "not read: %1")).arg(plain(e.why));
}

QString life_text(const fleet::HostState& h, const fleet::EndpointState* e) {
  if (e != nullptr) return end_text(*e);
  QStringList parts;
  switch (life_of(h)) {
    case FleetLife::kLive:
      parts << fleet_tr(QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "live"));
      break;
    case FleetLife::kStale:
      parts << fleet_tr(QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "stale"));
      break;
    case FleetLife::kVanished:
      parts << fleet_tr(QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "vanished"));
      break;
    case FleetLife::kLeft:
      parts << fleet_tr(QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "agent stopped"));
      break;
  }
  if (!h.problem.empty()) parts << plain(h.problem);
  if (h.restarts != 0) {
    parts << counted(QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "restarted: %1"), h.restarts);
  }
  if (h.recordings != 0) {
    parts << fleet_tr(QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "recording"));
  }
  return parts.join(QStringLiteral(", "));
}

QString latency_text(std::int64_t ns) {
  return ns < 0 ? QStringLiteral("-") : QString::fromStdString(base::format_duration(ns));
}

// Everything about a row, for its tooltip: a column may be too narrow.
QString tip_of(const fleet::HostState& h, const fleet::EndpointState* e) {
  QStringList lines;
  if (e != nullptr) {
    lines << plain(e->name);
    if (!e->role.empty()) lines << plain(e->role);
    lines << fleet_tr(QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "Process %1 of %2"))
                 .arg(e->process)
                 .arg(plain(e->user));
    lines << counted(QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "Trace events lost: %1"),
                     e->events_lost);
    return lines.join('\n');
  }
  lines << plain(h.name);
  if (!h.version.empty()) {
    lines << fleet_tr(QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "Agent: %1")).arg(plain(h.version));
  }
  lines << fleet_tr(QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "State sent %1 ago"))
               .arg(age_text(h.age_ns));
  if (h.clock_off) {
    lines << fleet_tr(QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "Its clock differs by %1 s"))
                 .arg(static_cast<double>(h.clock_off_ns) / 1e9, 0, 'f', 1);
  }
  lines << fleet_tr(QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet",
                                      "Summaries: %1 received, %2 lost, %3 late, %4 repeated"))
               .arg(h.received)
               .arg(h.lost)
               .arg(h.late)
               .arg(h.repeated);
  if (h.agent.states_dropped != 0 || h.agent.findings_dropped != 0) {
    lines << fleet_tr(QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet",
                                        "The agent dropped %1 summaries and %2 findings"))
                 .arg(h.agent.states_dropped)
                 .arg(h.agent.findings_dropped);
  }
  if (h.agent.endpoints_unread != 0 || h.endpoints_left_out != 0) {
    lines << fleet_tr(QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet",
                                        "Endpoints not read: %1; left out of the list: %2"))
                 .arg(h.agent.endpoints_unread)
                 .arg(h.endpoints_left_out);
  }
  return lines.join('\n');
}

QString number_text(const fleet::HostState& h, const fleet::EndpointState* e, int column) {
  const Figures f = figures_of(h, e);
  switch (column) {
    case FleetModel::kAge:
      return e == nullptr ? age_text(h.age_ns) : QString();
    case FleetModel::kConnections:
      return QString::number(f.connections);
    case FleetModel::kGranted:
      return QString::number(f.credits.granted);
    case FleetModel::kInUse:
      return QString::number(f.credits.in_use);
    case FleetModel::kWaiting:
      return QString::number(f.credits.waiting);
    case FleetModel::kCalls:
      return f.rates ? calls_text(f.rates->calls) : QStringLiteral("-");
    case FleetModel::kBytes:
      return f.rates ? bytes_rate_text(bytes_of(*f.rates)) : QStringLiteral("-");
    case FleetModel::kP50:
      return latency_text(f.latency.p50_ns);
    case FleetModel::kP99:
      return latency_text(f.latency.p99_ns);
    case FleetModel::kLost:
      return QString::number(f.lost);
    default:
      return {};
  }
}

QVariant order_of(const fleet::HostState& h, const fleet::EndpointState* e, int column) {
  const Figures f = figures_of(h, e);
  const auto number = [](std::uint64_t n) { return QVariant(static_cast<qulonglong>(n)); };
  switch (column) {
    case FleetModel::kLife:
      return static_cast<int>(e != nullptr ? life_of(h, *e) : life_of(h));
    case FleetModel::kAge:
      return static_cast<qlonglong>(h.age_ns);
    case FleetModel::kConnections:
      return number(f.connections);
    case FleetModel::kGranted:
      return number(f.credits.granted);
    case FleetModel::kInUse:
      return number(f.credits.in_use);
    case FleetModel::kWaiting:
      return number(f.credits.waiting);
    case FleetModel::kCalls:
    case FleetModel::kCourse:
      return f.rates ? f.rates->calls : -1.0;
    case FleetModel::kBytes:
      return f.rates ? bytes_of(*f.rates) : -1.0;
    case FleetModel::kP50:
      return static_cast<qlonglong>(f.latency.p50_ns);
    case FleetModel::kP99:
      return static_cast<qlonglong>(f.latency.p99_ns);
    case FleetModel::kFindings:  // an error outweighs any number of warnings
      return static_cast<double>(f.findings.errors) * 1e12 +
             static_cast<double>(f.findings.warnings) * 1e6 + static_cast<double>(f.findings.notes);
    case FleetModel::kLost:
      return number(f.lost);
    default:
      return plain(e != nullptr ? e->name : h.name);
  }
}

bool is_text(int column) {
  return column == FleetModel::kName || column == FleetModel::kLife ||
         column == FleetModel::kCourse || column == FleetModel::kFindings;
}

}  // namespace

QString age_text(std::int64_t ns) {
  const double seconds = static_cast<double>(std::max<std::int64_t>(0, ns)) / 1e9;
  if (seconds < 10) {
    return QCoreApplication::translate("rpcrdma::gui::Fleet", "%1 s").arg(seconds, 0, 'f', 1);
  }
  if (seconds < 120) {
    return QCoreApplication::translate("rpcrdma::gui::Fleet", "%1 s").arg(seconds, 0, 'f', 0);
  }
  if (seconds < 7200) {
    return QCoreApplication::translate("rpcrdma::gui::Fleet", "%1 min")
        .arg(seconds / 60, 0, 'f', 0);
  }
  return QCoreApplication::translate("rpcrdma::gui::Fleet", "%1 h").arg(seconds / 3600, 0, 'f', 0);
}

QString calls_text(double per_second) {
  return QString::number(per_second, 'f', per_second < 10 ? 1 : 0);
}

double bytes_of(const fleet::ViewRates& rates) {
  return rates.read_bytes + rates.write_bytes + rates.reply_bytes;
}

QString bytes_rate_text(double per_second) {
  const auto whole = static_cast<std::uint64_t>(std::clamp(per_second, 0.0, 1e18));
  return QString::fromStdString(base::format_bytes(whole)) + QStringLiteral("/s");
}

QString findings_text(const fleet::ViewFindings& f) {
  QStringList parts;
  const auto add = [&parts](std::uint64_t n, const char* one, const char* many) {
    if (n == 1) parts << fleet_tr(one);
    if (n > 1) parts << counted(many, n);
  };
  add(f.errors, QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "1 error"),
      QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "%1 errors"));
  add(f.warnings, QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "1 warning"),
      QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "%1 warnings"));
  add(f.notes, QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "1 note"),
      QT_TRANSLATE_NOOP("rpcrdma::gui::Fleet", "%1 notes"));
  return parts.join(QStringLiteral(", "));
}

QVariant fleet_cell(const fleet::HostState& h, const fleet::EndpointState* e, int column,
                    int role) {
  const FleetLife life = e != nullptr ? life_of(h, *e) : life_of(h);
  const Figures f = figures_of(h, e);
  switch (role) {
    case Qt::DisplayRole:
      if (column == FleetModel::kName) {
        if (e == nullptr) return plain(h.name);
        return e->role.empty() ? plain(e->name)
                               : QString("%1  %2").arg(plain(e->name), plain(e->role));
      }
      if (column == FleetModel::kLife) return life_text(h, e);
      if (column == FleetModel::kFindings) return {};  // painted
      return number_text(h, e, column);
    case Qt::AccessibleTextRole:
      if (column == FleetModel::kFindings) return findings_text(f.findings);
      return {};
    case Qt::ToolTipRole:
      if (column == FleetModel::kFindings && !findings_text(f.findings).isEmpty()) {
        return tool_tip(findings_text(f.findings));
      }
      if (column == FleetModel::kLife && !life_text(h, e).isEmpty()) {
        return tool_tip(life_text(h, e) + '\n' + tip_of(h, e));
      }
      return tool_tip(tip_of(h, e));
    case Qt::TextAlignmentRole:
      return static_cast<int>(Qt::AlignVCenter |
                              (is_text(column) ? Qt::AlignLeft : Qt::AlignRight));
    case Qt::ForegroundRole:
      if (life != FleetLife::kLive) return secondary_text(QGuiApplication::palette());
      if (column == FleetModel::kWaiting && f.credits.waiting != 0) {
        return text_ink(QGuiApplication::palette(), Ink::kWaiting);
      }
      if (column == FleetModel::kLost && f.lost != 0) {
        return severity_colour(QGuiApplication::palette(), 1);
      }
      return {};
    case FleetModel::kSortRole:
      return order_of(h, e, column);
    case FleetModel::kFilterRole:
      return e == nullptr ? plain(h.name) : plain(e->name) + ' ' + plain(e->role);
    case FleetModel::kLifeRole:
      return static_cast<int>(life);
    case FleetModel::kCountsRole:
      return QVariantList{static_cast<qulonglong>(f.findings.errors),
                          static_cast<qulonglong>(f.findings.warnings),
                          static_cast<qulonglong>(f.findings.notes)};
    default:
      return {};
  }
}

QVariant fleet_title(int column, int role) {
  if (column < 0 || column >= FleetModel::kColumns) return {};
  const Heading& heading = kHeadings[static_cast<std::size_t>(column)];
  switch (role) {
    case Qt::DisplayRole:
      return fleet_tr(heading.title);
    case Qt::ToolTipRole:
      return *heading.help == '\0' ? QVariant() : QVariant(tool_tip(fleet_tr(heading.help)));
    case Qt::TextAlignmentRole:
      return static_cast<int>(Qt::AlignVCenter |
                              (is_text(column) ? Qt::AlignLeft : Qt::AlignRight));
    default:
      return {};
  }
}

}  // namespace rpcrdma::gui
