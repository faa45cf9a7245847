// What endpoints told beside messages that a person wants to know: what they are, connections that
// came and went, what went wrong, faults that were done.
#pragma once

#include "document.h"

#include <QTreeWidget>

namespace rpcrdma::gui {

class EventsView : public QTreeWidget {
  Q_OBJECT

 public:
  explicit EventsView(Document& document, QWidget* parent = nullptr);

 private:
  void update_list();

  Document& document_;
};

}  // namespace rpcrdma::gui
