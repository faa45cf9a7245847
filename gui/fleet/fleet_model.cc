#include "fleet_model.h"

#include "fleet_cells.h"

#include <tuple>

namespace rpcrdma::gui {

namespace {

// What fleet::View sorts endpoints by.
auto place_of(const fleet::EndpointState& e) {
  return std::tie(e.name, e.process);
}

}  // namespace

FleetLife life_of(const fleet::HostState& host) {
  if (host.presence == fleet::HostPresence::kLeft) return FleetLife::kLeft;
  if (host.fresh) return FleetLife::kLive;
  const bool long_silent =
      host.presence == fleet::HostPresence::kSilent && host.age_ns >= kVanishedNs;
  return long_silent ? FleetLife::kVanished : FleetLife::kStale;
}

FleetLife life_of(const fleet::HostState& host, const fleet::EndpointState& endpoint) {
  return endpoint.end != fleet::EndpointEnd::kNone ? FleetLife::kLeft : life_of(host);
}

FleetModel::FleetModel(QObject* parent) : QAbstractItemModel(parent) {}

// Both lists are sorted by name: one pass removes, keeps and inserts rows.
void FleetModel::set(const FleetShown& now) {
  const std::int64_t second = now.state.wall_ns / 1'000'000'000;
  const bool next_second = second != course_second_;
  course_second_ = second;
  const auto number = [this] {
    row_of_id_.clear();
    for (std::size_t i = 0; i < rows_.size(); ++i) row_of_id_[rows_[i].id] = static_cast<int>(i);
  };
  std::size_t at = 0;
  for (const fleet::HostState& host : now.state.hosts) {
    while (at < rows_.size() && rows_[at].host.name < host.name) {
      beginRemoveRows({}, static_cast<int>(at), static_cast<int>(at));
      rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(at));
      number();
      endRemoveRows();
    }
    const int row = static_cast<int>(at);
    if (at == rows_.size() || rows_[at].host.name != host.name) {
      beginInsertRows({}, row, row);
      Row made;
      made.id = ++last_id_;
      made.host.name = host.name;
      rows_.insert(rows_.begin() + row, std::move(made));
      number();
      endInsertRows();
    }
    take(row, host, next_second);
    ++at;
  }
  if (at < rows_.size()) {
    beginRemoveRows({}, static_cast<int>(at), static_cast<int>(rows_.size()) - 1);
    rows_.resize(at);
    number();
    endRemoveRows();
  }
  announce();
}

void FleetModel::take(int row, const fleet::HostState& now, bool next_second) {
  Row& r = rows_[static_cast<std::size_t>(row)];
  const QModelIndex host = index(row, 0);
  std::vector<fleet::EndpointState>& kept = r.host.endpoints;
  std::size_t at = 0;
  for (const fleet::EndpointState& endpoint : now.endpoints) {
    const auto place = [&] { return kept.begin() + static_cast<std::ptrdiff_t>(at); };
    while (at < kept.size() && place_of(kept[at]) < place_of(endpoint)) {
      beginRemoveRows(host, static_cast<int>(at), static_cast<int>(at));
      kept.erase(place());
      endRemoveRows();
    }
    if (at == kept.size() || place_of(kept[at]) != place_of(endpoint)) {
      beginInsertRows(host, static_cast<int>(at), static_cast<int>(at));
      kept.insert(place(), endpoint);
      endInsertRows();
    }
    ++at;
  }
  if (at < kept.size()) {
    beginRemoveRows(host, static_cast<int>(at), static_cast<int>(kept.size()) - 1);
    kept.resize(at);
    endRemoveRows();
  }
  r.host = now;
  if (next_second) {
    r.course.push_back(now.fresh && now.rates ? std::optional(now.rates->calls) : std::nullopt);
    if (r.course.size() > kCourseLength) r.course.pop_front();
  }
}

// One signal for all hosts, so that a sorted view orders them once.
void FleetModel::announce() {
  if (rows_.empty()) return;
  Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, kColumns - 1));
  for (int row = 0; row < rowCount(); ++row) {
    const QModelIndex host = index(row, 0);
    if (const int endpoints = rowCount(host); endpoints != 0) {
      Q_EMIT dataChanged(index(0, 0, host), index(endpoints - 1, kColumns - 1, host));
    }
  }
}

int FleetModel::row_of(quintptr id) const {
  return row_of_id_.value(id, -1);
}

FleetModel::At FleetModel::at(const QModelIndex& index) const {
  if (!index.isValid()) return {};
  const int row = index.internalId() == 0 ? index.row() : row_of(index.internalId());
  if (row < 0 || row >= static_cast<int>(rows_.size())) return {};
  const fleet::HostState& host = rows_[static_cast<std::size_t>(row)].host;
  if (index.internalId() == 0) return {&host, nullptr};
  const auto endpoint = static_cast<std::size_t>(index.row());
  return endpoint < host.endpoints.size() ? At{&host, &host.endpoints[endpoint]} : At{};
}

// An index of a host has the ID 0, one of an endpoint the ID of its host.
QModelIndex FleetModel::index(int row, int column, const QModelIndex& parent) const {
  if (!hasIndex(row, column, parent)) return {};
  return createIndex(row, column,
                     parent.isValid() ? rows_[static_cast<std::size_t>(parent.row())].id : 0);
}

QModelIndex FleetModel::parent(const QModelIndex& child) const {
  if (!child.isValid() || child.internalId() == 0) return {};
  const int row = row_of(child.internalId());
  return row < 0 ? QModelIndex() : createIndex(row, 0, quintptr{0});
}

int FleetModel::rowCount(const QModelIndex& parent) const {
  if (!parent.isValid()) return static_cast<int>(rows_.size());
  if (parent.internalId() != 0 || parent.column() != 0) return 0;
  return static_cast<int>(rows_[static_cast<std::size_t>(parent.row())].host.endpoints.size());
}

int FleetModel::columnCount(const QModelIndex& /*parent*/) const {
  return kColumns;
}

QVariant FleetModel::data(const QModelIndex& index, int role) const {
  const At row = at(index);
  if (row.host == nullptr) return {};
  if (role == kCourseRole) {
    if (row.endpoint != nullptr) return {};
    const int of = index.row();
    QVariantList course;
    for (const std::optional<double>& v : rows_[static_cast<std::size_t>(of)].course) {
      course << (v ? QVariant(*v) : QVariant());
    }
    return course;
  }
  return fleet_cell(*row.host, row.endpoint, index.column(), role);
}

QVariant FleetModel::headerData(int section, Qt::Orientation orientation, int role) const {
  return orientation == Qt::Horizontal ? fleet_title(section, role) : QVariant();
}

}  // namespace rpcrdma::gui
