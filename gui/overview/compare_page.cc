#include "compare_page.h"

namespace rpcrdma::gui {

ComparePage::ComparePage(Document& document, QWidget* parent)
    : QWidget(parent), document_(document) {
  setAccessibleName(tr("Compare"));
}

}  // namespace rpcrdma::gui
