#include "fleet_lists.h"

#include "findings_kept.h"

#include <QDateTime>
#include <QGuiApplication>
#include <string>

#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

namespace {

QString text_of(const std::string& text) {
  return one_line(QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())));
}

// The time alone, if it is of this day.
QString time_of(std::int64_t wall_ns) {
  const QDateTime at = QDateTime::fromMSecsSinceEpoch(wall_ns / 1'000'000);
  return at.date() == QDate::currentDate() ? at.toString("HH:mm:ss")
                                           : at.toString("yyyy-MM-dd HH:mm:ss");
}

}  // namespace

int severity_of(const fleet::FindingNote& finding) {
  return finding.severity == "error" ? 0 : finding.severity == "warning" ? 1 : 2;
}

void FleetFindingsModel::set(const std::vector<fleet::FindingNote>& findings) {
  replace(findings, finding_key);
}

int FleetFindingsModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QVariant FleetFindingsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const fleet::FindingNote& f = row_at(index);
  const int severity = severity_of(f);
  if (role == Qt::DecorationRole && index.column() == kSeverity) {
    return severity_icon(QGuiApplication::palette(), severity);
  }
  if (role == Qt::ToolTipRole) {
    QStringList lines{text_of(f.text)};
    for (const std::string* const more : {&f.advice, &f.at_fault}) {
      if (!more->empty()) lines << text_of(*more);
    }
    if (!f.local.empty()) lines << tr("%1 - %2").arg(text_of(f.local), text_of(f.peer));
    return tool_tip(lines.join('\n'));
  }
  if (role == Qt::TextAlignmentRole && index.column() == kCount) {
    return static_cast<int>(Qt::AlignVCenter | Qt::AlignRight);
  }
  if (role != Qt::DisplayRole) return {};
  switch (index.column()) {
    case kTime:
      return time_of(f.wall_ns);
    case kSeverity:
      return severity_name(severity);
    case kHost:
      return text_of(f.host);
    case kEndpoint:
      return text_of(f.endpoint);
    case kRule:
      return text_of(f.rule);
    case kCount:
      return QString::number(f.count);
    default:
      return text_of(f.text);
  }
}

QVariant FleetFindingsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  switch (section) {
    case kTime:
      return tr("Latest");
    case kSeverity:
      return tr("Severity");
    case kHost:
      return tr("Host");
    case kEndpoint:
      return tr("Endpoint");
    case kRule:
      return tr("Rule");
    case kCount:
      return tr("Count");
    default:
      return tr("Finding");
  }
}

void FleetEventsModel::set(const std::vector<fleet::ViewEvent>& events) {
  replace(events, [](const fleet::ViewEvent& e) {
    return std::to_string(e.wall_ns) + '\0' + e.host + '\0' + e.text;
  });
}

int FleetEventsModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QVariant FleetEventsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const fleet::ViewEvent& e = row_at(index);
  if (role == Qt::DecorationRole && index.column() == kText) {
    if (e.kind == fleet::ViewEvent::Kind::kGood) return {};
    const int severity = e.kind == fleet::ViewEvent::Kind::kBad ? 0 : 2;
    return severity_icon(QGuiApplication::palette(), severity);
  }
  if (role == Qt::ToolTipRole) return tool_tip(text_of(e.text));
  if (role != Qt::DisplayRole) return {};
  switch (index.column()) {
    case kTime:
      return time_of(e.wall_ns);
    case kHost:
      return e.host.empty() ? tr("the bus") : text_of(e.host);
    default:
      return e.count > 1 ? tr("%1 (%2 times)").arg(text_of(e.text)).arg(e.count) : text_of(e.text);
  }
}

QVariant FleetEventsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  return section == kTime ? tr("Time") : section == kHost ? tr("Host") : tr("Event");
}

}  // namespace rpcrdma::gui
