#include "calls_view.h"

namespace rpcrdma::gui {

CallsView::CallsView(Document& document, QWidget* parent) : QWidget(parent), document_(document) {
  setAccessibleName(tr("Calls"));
}

}  // namespace rpcrdma::gui
