// The whole document over time, always in sight; a brush selects the range that all views show.
#pragma once

#include "document.h"

#include <QWidget>

namespace rpcrdma::gui {

class TimeStrip : public QWidget {
  Q_OBJECT

 public:
  explicit TimeStrip(Document& document, QWidget* parent = nullptr);

 private:
  Document& document_;
};

}  // namespace rpcrdma::gui
