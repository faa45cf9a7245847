// The lists below the table of hosts: findings, and what happened to the hosts themselves.
#pragma once

#include "fleet_shown.h"
#include "keyed_rows.h"

namespace rpcrdma::gui {

class FleetFindingsModel : public KeyedRows<fleet::FindingNote> {
  Q_OBJECT

 public:
  enum Column : int { kTime, kSeverity, kHost, kEndpoint, kRule, kCount, kText, kColumns };

  using KeyedRows::KeyedRows;
  void set(const std::vector<fleet::FindingNote>& findings);

  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;
};

class FleetEventsModel : public KeyedRows<fleet::ViewEvent> {
  Q_OBJECT

 public:
  enum Column : int { kTime, kHost, kText, kColumns };

  using KeyedRows::KeyedRows;
  void set(const std::vector<fleet::ViewEvent>& events);

  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;
};

// 0 error, 1 warning, 2 note: for theme.h. An unknown word counts as a note.
[[nodiscard]] int severity_of(const fleet::FindingNote& finding);

}  // namespace rpcrdma::gui
