#include "overview_page.h"

namespace rpcrdma::gui {

OverviewPage::OverviewPage(Document& document, QWidget* parent)
    : QWidget(parent), document_(document) {
  setAccessibleName(tr("Overview"));
}

}  // namespace rpcrdma::gui
