// Draws the cells of the table of hosts that are more than text: the sign of the state, the course
// of Calls/s, the findings by severity. Figures that are not current are greyed and in italics.
#pragma once

#include <QStyledItemDelegate>

namespace rpcrdma::gui {

class FleetDelegate : public QStyledItemDelegate {
  Q_OBJECT

 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override;
};

}  // namespace rpcrdma::gui
