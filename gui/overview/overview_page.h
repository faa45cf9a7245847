// What opens first: the verdict, findings as cards, rates, connections by trouble, slow Calls,
// files.
#pragma once

#include "document.h"

#include <QWidget>

namespace rpcrdma::gui {

class OverviewPage : public QWidget {
  Q_OBJECT

 public:
  explicit OverviewPage(Document& document, QWidget* parent = nullptr);

 Q_SIGNALS:
  void view_wanted(const QString& view);    // as for MainWindow::show_view()
  void filter_wanted(const QString& text);  // a display filter to apply

 private:
  Document& document_;
};

}  // namespace rpcrdma::gui
