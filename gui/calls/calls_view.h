// One row a Call: its outcome, sizes, latency and parts as bars.
#pragma once

#include "document.h"

#include <QWidget>

namespace rpcrdma::gui {

class CallsView : public QWidget {
  Q_OBJECT

 public:
  explicit CallsView(Document& document, QWidget* parent = nullptr);

 Q_SIGNALS:
  void filter_wanted(const QString& text);

 private:
  Document& document_;
};

}  // namespace rpcrdma::gui
