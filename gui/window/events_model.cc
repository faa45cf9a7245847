#include "events_model.h"

#include <QGuiApplication>
#include <QPalette>
#include <array>

#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {

namespace {

constexpr std::size_t kEventsAtOnce = 1000;  // the rest is listed in the next steps

}  // namespace

EventsModel::EventsModel(Document& document, QObject* parent)
    : QAbstractTableModel(parent), document_(document) {
  connect(&document_, &Document::changed, this, &EventsModel::read_on);
  connect(&document_, &Document::reset, this, [this] {
    events_.clear();
    registrations_ = omitted_ = 0;
    choose_again();
  });
  connect(&document_.time_range(), &TimeRange::changed, this, &EventsModel::choose_again);
  connect(&document_, &Document::time_format_changed, this, [this] {
    if (shown_.empty()) return;
    Q_EMIT dataChanged(index(0, kTimeColumn), index(rowCount() - 1, kTimeColumn));
  });
}

bool EventsModel::is_registration(const Event& event) {
  return event.kind == "registration";
}

bool EventsModel::is_shown(const Event& event) const {
  if (!with_registrations_ && is_registration(event)) return false;
  const auto range = document_.time_range().range();
  if (range && !range->has(event.time_ns)) return false;
  return filter_.isEmpty() || event.kind.contains(filter_, Qt::CaseInsensitive) ||
         event.details.contains(filter_, Qt::CaseInsensitive);
}

void EventsModel::read_on() {
  std::vector<index::Notable> fresh;
  document_.store().read([&](const index::Content& c) {
    omitted_ = c.notable_omitted;
    for (std::size_t i = events_.size(); i < c.notable.size() && fresh.size() < kEventsAtOnce;
         ++i) {
      fresh.push_back(c.notable[i]);
    }
  });
  if (fresh.empty()) return;
  std::vector<std::size_t> more;
  for (const index::Notable& n : fresh) {
    // "fault | outgoing, Fault drop"
    const QString text = one_line(QString::fromStdString(n.text));
    const auto bar = text.indexOf(" | ");
    Event& event = events_.emplace_back();
    event.time_ns = n.time_ns;
    event.frame = n.frame;
    event.connection = n.connection;
    event.kind = bar < 0 ? text : text.left(bar);
    event.details = bar < 0 ? QString() : text.mid(bar + 3);
    if (is_registration(event)) ++registrations_;
    if (is_shown(event)) more.push_back(events_.size() - 1);
  }
  if (!more.empty()) {
    const auto first = static_cast<int>(shown_.size());
    beginInsertRows({}, first, first + static_cast<int>(more.size()) - 1);
    shown_.insert(shown_.end(), more.begin(), more.end());
    endInsertRows();
  }
  Q_EMIT updated();
}

void EventsModel::choose_again() {
  beginResetModel();
  shown_.clear();
  for (std::size_t i = 0; i < events_.size(); ++i) {
    if (is_shown(events_[i])) shown_.push_back(i);
  }
  endResetModel();
  Q_EMIT updated();
}

void EventsModel::set_filter(const QString& text) {
  filter_ = text.trimmed();
  choose_again();
}

void EventsModel::set_registrations(bool shown) {
  with_registrations_ = shown;
  choose_again();
}

std::uint64_t EventsModel::frame(int row) const {
  return row >= 0 && row < rowCount() ? events_[shown_[static_cast<std::size_t>(row)]].frame : 0;
}

int EventsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(shown_.size());
}

int EventsModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumnCount;
}

QVariant EventsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const Event& event = events_[shown_[static_cast<std::size_t>(index.row())]];
  const bool right = index.column() != kKindColumn && index.column() != kDetailsColumn;
  switch (role) {
    case Qt::DisplayRole:
      break;
    case Qt::TextAlignmentRole:
      return QVariant::fromValue(Qt::AlignVCenter | (right ? Qt::AlignRight : Qt::AlignLeft));
    case Qt::ToolTipRole:
      return index.column() == kDetailsColumn ? tool_tip(event.details) : QVariant();
    case Qt::ForegroundRole:
      if (index.column() != kKindColumn) return {};
      if (event.kind == "error" || event.kind == "loss") {
        return severity_colour(QGuiApplication::palette(), 0);
      }
      if (event.kind == "fault") return severity_colour(QGuiApplication::palette(), 1);
      return {};
    default:
      return {};
  }
  switch (index.column()) {
    case kTimeColumn:
      return document_.time_text(event.time_ns);
    case kConnectionColumn:
      return event.connection != 0 ? QString::number(event.connection) : QString();
    case kKindColumn:
      return event.kind;
    case kDetailsColumn:
      return event.details;
    case kFrameColumn:
      return QString::number(event.frame);
    default:
      return {};
  }
}

QVariant EventsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  const std::array<QString, kColumnCount> names{tr("Time"), tr("Conn."), tr("Event"), tr("Details"),
                                                tr("Frame")};
  return section >= 0 && section < kColumnCount ? names[static_cast<std::size_t>(section)]
                                                : QVariant();
}

}  // namespace rpcrdma::gui
