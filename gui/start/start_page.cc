#include "start_page.h"

namespace rpcrdma::gui {

StartPage::StartPage(QSettings& settings, QWidget* parent) : QWidget(parent), settings_(settings) {
  setAccessibleName(tr("Start"));
}

}  // namespace rpcrdma::gui
