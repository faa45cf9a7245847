// The sums of a fleet: large figures in a row above the table of hosts. Only live hosts are in
// them; the row says how many are not.
#pragma once

#include "fleet_shown.h"

#include <QString>
#include <QWidget>
#include <vector>

namespace rpcrdma::gui {

class FleetTotalsRow : public QWidget {
  Q_OBJECT

 public:
  struct Figure {
    QString title, value, detail;
    int severity = -1;  // of the detail: 0 error, 1 warning; -1: none
  };

  explicit FleetTotalsRow(QWidget* parent = nullptr);
  void set(const FleetShown& now);
  [[nodiscard]] const std::vector<Figure>& figures() const { return figures_; }

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override { return {200, sizeHint().height()}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  std::vector<Figure> figures_;
};

}  // namespace rpcrdma::gui
