// Events of endpoints that no message shows: identities, connections that were opened and closed,
// errors, injected faults.
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
