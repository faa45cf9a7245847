// The selected Call over time, in lanes: client, wire and server.
#pragma once

#include "document.h"

#include <QWidget>

namespace rpcrdma::gui {

class Waterfall : public QWidget {
  Q_OBJECT

 public:
  explicit Waterfall(Document& document, QWidget* parent = nullptr);

 private:
  Document& document_;
};

}  // namespace rpcrdma::gui
