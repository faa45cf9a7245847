// The list of marks and comments.
#pragma once

#include "marks.h"

#include <QDialog>
#include <QTreeWidget>

namespace rpcrdma::gui {

class MarksDialog : public QDialog {
  Q_OBJECT

 public:
  // Both outlive this.
  MarksDialog(Document& document, Marks& marks, QWidget* parent = nullptr);

  [[nodiscard]] const QTreeWidget& list() const { return *list_; }

 private:
  void update_list();
  void remove_current();

  Document& document_;
  Marks& marks_;
  QTreeWidget* list_;
};

}  // namespace rpcrdma::gui
