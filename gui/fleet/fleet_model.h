// Hosts, and below each its endpoints, as a tree. Rows keep their place and their selection while
// figures change.
#pragma once

#include "fleet_shown.h"

#include <QAbstractItemModel>
#include <QHash>
#include <deque>
#include <optional>

namespace rpcrdma::gui {

// How current the figures of a row are.
enum class FleetLife : std::uint8_t {
  kLive,
  kStale,     // the figures are the last ones, and in no sum
  kVanished,  // the host has not reported for a long time
  kLeft,      // the agent stopped, or the endpoint ended
};
// A silent host counts as vanished after this time; until then its summaries may only be late.
inline constexpr std::int64_t kVanishedNs = 10'000'000'000;

[[nodiscard]] FleetLife life_of(const fleet::HostState& host);
[[nodiscard]] FleetLife life_of(const fleet::HostState& host, const fleet::EndpointState& endpoint);

class FleetModel : public QAbstractItemModel {
  Q_OBJECT

 public:
  enum Column : int {
    kName,
    kLife,
    kAge,
    kConnections,
    kGranted,
    kInUse,
    kWaiting,
    kCalls,
    kCourse,
    kBytes,
    kP50,
    kP99,
    kFindings,
    kLost,
    kColumns,
  };
  enum Role : int {
    kSortRole = Qt::UserRole,  // a number or a text
    kFilterRole,               // the text that the filter by name searches
    kLifeRole,                 // int, a FleetLife
    kCourseRole,               // QVariantList of Calls/s; an invalid one is not known
    kCountsRole,               // QVariantList: errors, warnings, notes
  };
  // Points of a course, one a second.
  static constexpr std::size_t kCourseLength = 60;

  explicit FleetModel(QObject* parent = nullptr);

  // `now.state.hosts` are sorted by name, as fleet::View returns them.
  void set(const FleetShown& now);

  struct At {
    const fleet::HostState* host = nullptr;          // null: no such row
    const fleet::EndpointState* endpoint = nullptr;  // null: the row is the host
  };
  // Valid until set().
  [[nodiscard]] At at(const QModelIndex& index) const;

  [[nodiscard]] QModelIndex index(int row, int column,
                                  const QModelIndex& parent = {}) const override;
  [[nodiscard]] QModelIndex parent(const QModelIndex& child) const override;
  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

 private:
  struct Row {
    quintptr id = 0;  // stays while rows above it come and go; never 0
    fleet::HostState host;
    std::deque<std::optional<double>> course;
  };
  void take(int row, const fleet::HostState& now, bool next_second);
  void announce();
  [[nodiscard]] int row_of(quintptr id) const;

  std::vector<Row> rows_;
  QHash<quintptr, int> row_of_id_;
  quintptr last_id_ = 0;
  std::int64_t course_second_ = 0;
};

}  // namespace rpcrdma::gui
