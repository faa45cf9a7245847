#include "time_strip.h"

namespace rpcrdma::gui {

TimeStrip::TimeStrip(Document& document, QWidget* parent) : QWidget(parent), document_(document) {
  setAccessibleName(tr("Time"));
}

}  // namespace rpcrdma::gui
