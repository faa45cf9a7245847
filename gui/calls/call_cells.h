// Paints cells of the Calls view: the sign of the status, the latency as a bar with its number, and
// the parts of the latency as a stacked bar.
#pragma once

#include "calls_model.h"

#include <QStyledItemDelegate>

namespace rpcrdma::gui {

class CallCells : public QStyledItemDelegate {
  Q_OBJECT

 public:
  explicit CallCells(const CallsModel& model, QObject* parent = nullptr)
      : QStyledItemDelegate(parent), model_(model) {}
  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& at) const override;

 private:
  const CallsModel& model_;
};

}  // namespace rpcrdma::gui
