// Two captures, or two ranges of time, side by side.
#pragma once

#include "document.h"

#include <QWidget>

namespace rpcrdma::gui {

class ComparePage : public QWidget {
  Q_OBJECT

 public:
  explicit ComparePage(Document& document, QWidget* parent = nullptr);

 private:
  Document& document_;
};

}  // namespace rpcrdma::gui
