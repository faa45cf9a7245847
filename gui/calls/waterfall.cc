#include "waterfall.h"

namespace rpcrdma::gui {

Waterfall::Waterfall(Document& document, QWidget* parent) : QWidget(parent), document_(document) {
  setAccessibleName(tr("Waterfall of the Call"));
}

}  // namespace rpcrdma::gui
